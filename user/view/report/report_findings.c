/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints what slowed the job down: findings, why a rule gave none, and the facts behind them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "view/report/report.h"
#include "view/report/report_page.h"
#include "view/report/report_text.h"

#define FIRST_PAGE 5 /* findings on a page without --all */

static const char *const words[] = {
	[SEVERITY_NOTE] = "note",
	[SEVERITY_WARN] = "WARN",
	[SEVERITY_BAD] = "BAD",
};
static const char *const colours[] = {
	[SEVERITY_NOTE] = "",
	[SEVERITY_WARN] = "\033[33m",
	[SEVERITY_BAD] = "\033[31m",
};

static const char *bound(const struct finding *f)
{
	return f->at_least ? "at least" : "at best";
}

/* Writes "from 0:32 to 0:40", "at 0:32 and 0:52", "at 0:32, 0:52 and 2 more times"; "": all the
 * time. */
static void write_times(const struct finding *f, char *buf, size_t size)
{
	report_number a, b;
	size_t more = f->ntimes > 2 ? f->ntimes - 2 : 0;

	*buf = '\0';
	if (!f->ntimes)
		return;
	report_text__time(f->times[0][0], a);
	report_text__time(f->times[f->ntimes > 1][f->ntimes == 1], b);
	if (f->ntimes == 1)
		snprintf(buf, size, "from %s to %s", a, b);
	else if (!more)
		snprintf(buf, size, "at %s and %s", a, b);
	else if (f->ntimes == FINDING_TIMES) /* the list of times is full: there may be others */
		snprintf(buf, size, "at %s, %s and %zu times or more", a, b, more);
	else
		snprintf(buf, size, "at %s, %s and %zu more time%s", a, b, more,
			 report_text__s((double)more));
}

static void print_cost(const struct finding *f, FILE *out)
{
	report_number cost, saving;
	char times[3 * REPORT_NUMBER], text[6 * REPORT_NUMBER];
	bool costs = f->cost_core_s > 0, saves = costs && f->saving > 0.0005;

	write_times(f, times, sizeof(times));
	if (!costs && !*times)
		return;
	snprintf(text, sizeof(text), "%s%s%s%s%s%s%s%s%s",
		 costs ? f->at_least ? "costs at least " : "costs " : "",
		 costs ? report_text__cores(f->cost_core_s, cost) : "", saves ? ", " : "",
		 saves ? bound(f) : "", saves ? " " : "",
		 saves ? report_text__share(f->saving, saving) : "", saves ? " less time" : "",
		 costs && *times ? ", " : "", times);
	fputs("        ", out);
	report_text__paragraph(out, text, 8, 8);
}

static void print_word(const struct report *r, const struct finding *f, size_t number, FILE *out)
{
	const char *colour = r->colour ? colours[f->severity] : "";

	fprintf(out, "%zu %s%-5s%s ", number, colour, words[f->severity], *colour ? "\033[0m" : "");
}

static void print_line(const struct report *r, const struct finding *f, size_t number, FILE *out)
{
	report_line text;

	print_word(r, f, number, out);
	fprintf(out, "%s\n", report_text__cut(f->text, REPORT_WIDTH - 8, text));
}

/* Prints a remedy; code to copy has a line of its own. */
static void print_remedy(const struct finding *f, FILE *out)
{
	size_t len = strlen(f->remedy), code = strlen(f->code);
	char *text = strndup(f->remedy, len > code ? len - code - (code > 0) : 0);

	if (text && *text) {
		fputs("        ", out);
		report_text__paragraph(out, text, 8, 8);
	}
	if (code)
		fprintf(out, "            %s\n", f->code);
	free(text);
}

static void print_finding(const struct report *r, const struct finding *f, size_t number, FILE *out)
{
	print_word(r, f, number, out);
	report_text__paragraph(out, f->text, 8, 8);
	print_cost(f, out);
	print_remedy(f, out);
	if (r->all)
		fprintf(out, "        [%s]\n", f->id);
}

static void print_none(const struct report *r, FILE *out)
{
	const struct verdict *v = r->verdict;
	unsigned judged = verdict__judged(v);

	fprintf(out, "\n%s: %u of %u rules were judged",
		2 * judged < v->nrules ? "Too little is known to say what held it back"
				       : "Nothing held it back that jobprof can see",
		judged, v->nrules);
	if (judged < v->nrules)
		fprintf(out, ";\n%u need%s what is missing or longer runs (--why RULE says what)",
			v->nrules - judged, v->nrules - judged == 1 ? "s" : "");
	fputs(".\n", out);
}

/* Whether a finding has all its lines: the first has; of the others, findings to act on come before
 * notes. */
static bool is_in_full(const struct verdict *v, size_t at, size_t most)
{
	bool is_note = v->findings[at].severity == SEVERITY_NOTE;
	size_t before = at > 0;

	for (size_t i = 1; i < v->nfindings; i++) {
		bool other_is_note = v->findings[i].severity == SEVERITY_NOTE;

		before += is_note == other_is_note ? i < at : is_note;
	}
	return !at || before < most;
}

void report_findings__print(const struct report *r, FILE *out)
{
	const struct verdict *v = r->verdict;
	const struct finding *first = v->findings;
	size_t most = r->all ? v->nfindings : FIRST_PAGE;
	size_t shown = v->nfindings < most ? v->nfindings : most;
	size_t in_full = r->in_full ? r->in_full : REPORT_IN_FULL;
	report_number share;

	for (size_t i = 0; i < v->errors.n; i++) {
		fputs(i ? "" : "\n", out);
		report_text__paragraph(out, v->errors.v[i], 0, 2);
	}
	if (!v->nfindings) {
		print_none(r, out);
		return;
	}
	fputs("\nWhat held it back", out);
	if (first->saving > 0.005)
		fprintf(out, "%*s%s %s less time", first->at_least ? 27 : 28, "", bound(first),
			report_text__share(first->saving, share));
	putc('\n', out);
	for (size_t i = 0; i < shown; i++)
		(r->all || is_in_full(v, i, in_full) ? print_finding
						     : print_line)(r, &v->findings[i], i + 1, out);
	if (shown < v->nfindings)
		fprintf(out, "%zu more: %s\n", v->nfindings - shown, r->is_run ? r->more : "--all");
}

bool report__print_why(const struct verdict *v, const char *rule, FILE *out)
{
	const struct report r = {.all = true};

	for (size_t i = 0; i < v->nfindings; i++)
		if (!strcmp(v->findings[i].id, rule)) {
			print_finding(&r, &v->findings[i], i + 1, out);
			return true;
		}
	for (size_t i = 0; i < v->nothers; i++)
		if (!strcmp(v->others[i].id, rule)) {
			int at =
				fprintf(out, "%s %s: ", rule,
					v->others[i].judged ? "gave no finding" : "was not judged");

			report_text__paragraph(out, v->others[i].reason, at, 4);
			return true;
		}
	return false;
}

/* ---- the list of facts, for those who write rules */

static const char *const scopes[N_SCOPES] = {
	[SCOPE_JOB] = "job", [SCOPE_NODE] = "node", [SCOPE_TASK] = "task",
	[SCOPE_GPU] = "gpu", [SCOPE_BIN] = "bin",
};

/* Prints the least, the mean and the highest of the known values. false: there is none. */
static bool print_spread(const struct facts *f, int fact, FILE *out)
{
	double min = NAN, max = NAN, sum = 0;
	size_t n = f->count[fact_infos[fact].scope], known = 0;

	for (size_t i = 0; i < n; i++) {
		double v = f->values[fact][i];

		if (isnan(v))
			continue;
		min = fmin(min, v);
		max = fmax(max, v);
		sum += v;
		known++;
	}
	if (known)
		fprintf(out, "%.6g..%.6g, mean %.6g, of %zu", min, max, sum / known, known);
	return known > 0;
}

void report__print_facts(const struct facts *f, FILE *out)
{
	for (int i = 0; i < N_FACTS; i++) {
		const struct fact_info *info = &fact_infos[i];
		bool known = info->scope != SCOPE_JOB || !isnan(f->values[i][0]);

		fprintf(out, "%s.%-22s ", scopes[info->scope], info->name);
		if (info->scope != SCOPE_JOB)
			known = print_spread(f, i, out);
		else if (known)
			fprintf(out, "%.9g", f->values[i][0]);
		if (!known)
			fputs("not known", out);
		else
			fprintf(out, "%s%s", *info->unit ? " " : "", info->unit);
		if (f->missing[i]) {
			fputs(": ", out);
			print__escaped(out, f->missing[i]);
		}
		fprintf(out, "  # %s\n", info->doc);
	}
}
