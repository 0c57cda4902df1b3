/* SPDX-License-Identifier: GPL-2.0-only */
/* The page of a report: what is wrong, what that cost, where the time went, who, when, and what is
 * not known. */
#include "view/report/report_page.h"

#include <stdlib.h>

#include "base/str.h"

#define SCREEN	   40 /* lines */
#define SCREEN_RUN 30 /* below what the command has printed, with what run says */

/* Parts with a name are left out where a screen has no room for them. */
static const struct part {
	void (*print)(const struct report *r, FILE *out);
	const char *name;
	bool only_of_runs; /* that is left out */
	const char *rules; /* what they find is seen here, so it has room first */
} parts[] = {
	{report_head__print, NULL, false, NULL},
	{report_findings__print, NULL, false, NULL},
	{report_budget__print, NULL, false, NULL},
	{report_threads__print, "causes of waits", true, NULL},
	{report_culprits__print, "what had the CPU", true, NULL},
	{report_modules__print, "what was executed", true, NULL},
	{report_pop__print, "efficiency of ranks", true, NULL},
	{report_given__print, "use of what was given", true, NULL},
	{report_tasks__print, "tasks", false, "mpi."},
	{report_commands__print, "programs", false, "proc."},
	{report_time__print, "over time", false, NULL},
	{report_pika__print, NULL, false, NULL},
	{report_io__print, NULL, false, NULL},
	{report_rates__print, "input and output", false, "io."},
	{report_clusters__print, "bursts and folds", false, NULL},
	{report_end__print, NULL, false, NULL},
	{report_open__print, NULL, false, NULL},
};
#define PARTS	      (sizeof(parts) / sizeof(*parts))
#define PART_FINDINGS 1

struct text {
	char *s;
	size_t size;
	unsigned lines;
};

/* false: no memory. */
static bool print_text(const struct report *r, const struct part *part, struct text *t)
{
	FILE *f = open_memstream(&t->s, &t->size);

	if (f)
		part->print(r, f);
	if (!f || fclose(f))
		return false;
	t->lines = 0;
	for (const char *c = t->s; *c; c++)
		t->lines += *c == '\n';
	return true;
}

static bool may_go(const struct report *r, const struct part *p)
{
	return p->name && (r->is_run || !p->only_of_runs);
}

static bool is_wanted(const struct report *r, const struct part *p)
{
	bool wanted = false;

	for (size_t i = 0; p->rules && i < r->verdict->nfindings; i++)
		wanted |= str__starts(r->verdict->findings[i].id, p->rules);
	return wanted;
}

/* Of a page, not of a run, with what its findings want. */
static unsigned lines_needed(const struct report *r, const struct text t[static PARTS])
{
	unsigned lines = 1 + (r->is_run ? 1 + r->lines_after : 0);

	for (size_t i = 0; i < PARTS; i++)
		lines += !may_go(r, &parts[i]) || (!r->is_run && is_wanted(r, &parts[i]))
				 ? t[i].lines
				 : 0;
	return lines;
}

/* So many findings keep their remedies in all cases: of a page all that have one there, but for a
 * third that is a note. */
static unsigned least_in_full(const struct report *r)
{
	const struct verdict *v = r->verdict;
	bool third_is_note = v->nfindings >= REPORT_IN_FULL &&
			     v->findings[REPORT_IN_FULL - 1].severity == SEVERITY_NOTE;

	return r->is_run ? 1 : third_is_note ? REPORT_IN_FULL - 1 : REPORT_IN_FULL;
}

/* Findings that have no room lose their remedies, the last ones first. */
static bool print_texts(const struct report *r, struct text t[static PARTS])
{
	struct report less = *r;
	unsigned most = r->is_run ? SCREEN_RUN : SCREEN, least = least_in_full(r);
	bool ok = true;

	for (size_t i = 0; ok && i < PARTS; i++)
		ok = print_text(r, &parts[i], &t[i]);
	for (unsigned n = REPORT_IN_FULL; ok && n-- > least;) {
		if (lines_needed(r, t) <= most)
			break;
		less.in_full = n;
		free(t[PART_FINDINGS].s);
		t[PART_FINDINGS].s = NULL;
		ok = print_text(&less, &parts[PART_FINDINGS], &t[PART_FINDINGS]);
	}
	return ok;
}

/* Chooses what a screen has room for: what must be there, what findings want, and the rest. */
static void choose(const struct report *r, const struct text t[static PARTS], bool chosen[PARTS])
{
	unsigned lines = 1 + (r->is_run ? 1 + r->lines_after : 0);
	unsigned most = r->is_run ? SCREEN_RUN : SCREEN;

	for (size_t i = 0; i < PARTS; i++) {
		chosen[i] = !may_go(r, &parts[i]);
		lines += chosen[i] ? t[i].lines : 0;
	}
	for (int rest = 0; rest < 2; rest++)
		for (size_t i = 0; i < PARTS; i++) {
			if (chosen[i] || lines + t[i].lines > most ||
			    (!rest && !is_wanted(r, &parts[i])))
				continue;
			chosen[i] = true;
			lines += t[i].lines;
		}
}

/* Prints the texts that a screen has room for, and the names of the others. */
static void print_screen(const struct report *r, struct text t[static PARTS], FILE *out)
{
	const char *before = "Not on this page: ";
	bool chosen[PARTS];

	choose(r, t, chosen);
	for (size_t i = 0; i < PARTS; i++) {
		if (!chosen[i])
			continue;
		fputs(t[i].s, out);
		t[i].lines = 0;
	}
	for (size_t i = 0; i < PARTS; i++)
		if (t[i].lines && r->is_run) {
			fprintf(out, "More: %s\n", r->more);
			return;
		} else if (t[i].lines) {
			fprintf(out, "%s%s", before, parts[i].name);
			before = ", ";
		}
	if (*before == ',')
		fputs(" (--all)\n", out);
}

void report__print(const struct report *r, FILE *out)
{
	struct text texts[PARTS] = {0};
	bool ok = !r->all && print_texts(r, texts);

	if (r->is_run)
		putc('\n', out); /* after the output of the command */
	if (ok)
		print_screen(r, texts, out);
	for (size_t i = 0; i < PARTS; i++) {
		if (!ok)
			parts[i].print(r, out);
		free(texts[i].s);
	}
}
