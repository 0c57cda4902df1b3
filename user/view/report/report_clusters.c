/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints the clusters of bursts, and the region that was folded. */
#include <math.h>
#include <string.h>

#include "analysis/status.h"
#include "base/escape.h"
#include "base/json.h"
#include "view/cluster/cluster_view.h"
#include "view/report/report_page.h"
#include "view/report/report_text.h"

#define CLUSTERS   5 /* on a page without --all */
#define PHASES	   6 /* of a folded region */
#define PHASE_TEXT 1024
#define CODE	   60	  /* columns for what one executed */
#define LEAST	   0.0005 /* of the run time: cluster that has a line */

static bool has_status(const json_t *o, enum analysis_status status)
{
	return o && !strcmp(json__text_of(o, "status"), analysis_status__name(status));
}

static void print_cluster(const json_t *c, FILE *out)
{
	const json_t *code = json_object_get(c, "most_samples");
	cluster_time run, least, most, gap;
	const double gap_s = json__number_of(c, "gap_s");
	report_number n, share, part;
	report_line name;

	fprintf(out, "  %-7.7s %10s %8s  %10s  %s to %s, after %s", json__text_of(c, "name"),
		report_text__count(json__number_of(c, "bursts"), n),
		report_text__share(json__number_of(c, "share"), share),
		cluster_time__of(json__number_of(c, "run_s"), run),
		cluster_time__of(json__number_of(c, "least_run_s"), least),
		cluster_time__of(json__number_of(c, "most_run_s"), most),
		isnan(gap_s) ? "none" : cluster_time__of(gap_s, gap));
	if (json_is_object(code))
		fprintf(out, "; %s in %s",
			report_text__share(json__number_of(code, "samples") /
						   json__number_of(code, "of"),
					   part),
			report_text__cut(json__text_of(code, "name"), CODE, name));
	fputs("\n", out);
}

static void print_clusters(const struct report *r, const json_t *o, FILE *out)
{
	const json_t *list = json_object_get(o, "clusters");
	const json_t *hint = json_object_get(o, "hint");
	size_t shown = 0, n = json_array_size(list);

	if (n < 2 && !json_is_string(hint))
		return;
	fprintf(out, "\n%-10s%10s %8s  %10s  %s\n", "Bursts", "number", "of time", "run time",
		"least to most, after a wait of");
	for (size_t i = 1; i <= n; i++) { /* noise, the first one, comes last */
		const json_t *c = json_array_get(list, i % n);

		if (!(json__number_of(c, "share") >= LEAST))
			continue;
		if (shown++ < CLUSTERS || r->all)
			print_cluster(c, out);
	}
	if (shown > CLUSTERS && !r->all)
		fprintf(out, "  and %zu more (--all)\n", shown - CLUSTERS);
	if (json_is_string(hint))
		fprintf(out, "  %s\n", json_string_value(hint));
}

/* Of a phase that mostly does not run, what it executes else, too. */
static const char *code_of(const json_t *phase, char text[static PHASE_TEXT])
{
	const json_t *runs = json_object_get(phase, "runs");

	snprintf(text, PHASE_TEXT, "%s%s%s", json__text_of(phase, "code"),
		 json_is_string(runs) ? "; when it runs: " : "",
		 json_is_string(runs) ? json_string_value(runs) : "");
	return text;
}

static void print_phases(const json_t *fold, FILE *out)
{
	const json_t *phases = json_object_get(fold, "phases"), *p;
	char text[PHASE_TEXT];
	report_line code;
	size_t i;

	json_array_foreach(phases, i, p)
	{
		if (i >= PHASES)
			break;
		fprintf(out, "  %3.0f to %3.0f %%  ", 100 * json__number_of(p, "from"),
			100 * json__number_of(p, "to"));
		fprintf(out, "%s\n", report_text__cut(code_of(p, text), CODE, code));
	}
}

static void print_fold(const json_t *fold, FILE *out)
{
	const json_t *region = json_object_get(fold, "region");
	report_number period, n;

	fputs("\nFolded     ", out);
	if (json_is_string(region))
		print__escaped(out, json_string_value(region));
	else
		fputs("iterations that were found", out);
	fprintf(out, ": %s executions of %s, %s\n",
		report_text__count(json__number_of(fold, "executions"), n),
		report_text__time(json__number_of(fold, "period_s"), period),
		json__text_of(json_object_get(fold, "validity"), "status"));
	print_phases(fold, out);
}

/* There are samples, and nothing was made of them. */
static void print_unfolded(const json_t *fold, FILE *out)
{
	fprintf(out, "\nFolded     %s\n", json__text_of(fold, "reason"));
}

void report_clusters__print(const struct report *r, FILE *out)
{
	const struct report_besides *b = r->besides;

	if (b && has_status(b->clusters, ANALYSIS_OK))
		print_clusters(r, b->clusters, out);
	if (b && has_status(b->fold, ANALYSIS_OK))
		print_fold(b->fold, out);
	else if (b && has_status(b->fold, ANALYSIS_UNSUITABLE))
		print_unfolded(b->fold, out);
}
