/* SPDX-License-Identifier: GPL-2.0-only */
/* The page of a report: what is wrong, what that cost, where the time went, who, when, and what is
 * not known. */
#include "view/report/report_page.h"

#include <stdlib.h>

#define SCREEN 40 /* lines */

/* Parts with a name are left out where a screen has no room for them. */
static const struct part {
	void (*print)(const struct report *r, FILE *out);
	const char *name;
} parts[] = {
	{report_head__print, NULL},
	{report_findings__print, NULL},
	{report_budget__print, NULL},
	{report_threads__print, NULL},
	{report_culprits__print, NULL},
	{report_modules__print, NULL},
	{report_pop__print, NULL},
	{report_given__print, NULL},
	{report_tasks__print, "tasks"},
	{report_commands__print, "programs"},
	{report_time__print, "over time"},
	{report_pika__print, NULL},
	{report_io__print, NULL},
	{report_rates__print, "input and output"},
	{report_clusters__print, "bursts and folds"},
	{report_end__print, NULL},
};
#define PARTS (sizeof(parts) / sizeof(*parts))

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
	for (const char *c = t->s; *c; c++)
		t->lines += *c == '\n';
	return true;
}

/* Prints the texts that a screen has room for, and the names of the others. */
static void print_screen(const struct report *r, struct text t[static PARTS], FILE *out)
{
	const char *before = "Not on this page: ";
	unsigned lines = 1;

	for (size_t i = 0; i < PARTS; i++)
		lines += parts[i].name ? 0 : t[i].lines;
	for (size_t i = 0; i < PARTS; i++) {
		if (parts[i].name && lines + t[i].lines > SCREEN)
			continue;
		lines += parts[i].name ? t[i].lines : 0;
		fputs(t[i].s, out);
		t[i].lines = 0;
	}
	for (size_t i = 0; i < PARTS; i++)
		if (t[i].lines) {
			fprintf(out, "%s%s", before, parts[i].name);
			before = ", ";
		}
	if (*before == ',')
		fputs(r->is_run ? " (jobprof report --short --all FILE)\n" : " (--all)\n", out);
}

void report__print(const struct report *r, FILE *out)
{
	struct text texts[PARTS] = {0};
	bool ok = !r->all;

	if (r->is_run)
		putc('\n', out); /* after the output of the command */
	for (size_t i = 0; ok && i < PARTS; i++)
		ok = print_text(r, &parts[i], &texts[i]);
	if (ok)
		print_screen(r, texts, out);
	for (size_t i = 0; i < PARTS; i++) {
		if (!ok)
			parts[i].print(r, out);
		free(texts[i].s);
	}
}
