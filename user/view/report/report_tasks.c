/* SPDX-License-Identifier: GPL-2.0-only */
/* Who differs from whom: the tasks with the least, the median and the most of each quantity. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/facts_fill.h"
#include "view/report/report_page.h"
#include "view/report/report_text.h"

static const struct {
	enum fact fact;
	const char *name;
	const char *(*text)(double v, report_number buf);
} lines[] = {
	{FACT_TASK_cpu_s, "CPU", report_text__time},
	{FACT_TASK_useful_s, "not in MPI", report_text__time},
	{FACT_TASK_wait_s, "wait CPU", report_text__time},
	{FACT_TASK_disk_wait_s, "wait disk", report_text__time},
	{FACT_TASK_peak_mb, "peak", report_text__mb},
	{FACT_TASK_read_mb, "read", report_text__mb},
	{FACT_TASK_write_mb, "written", report_text__mb},
};

struct ranked {
	double v;
	size_t task;
};

static int cmp(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->v != y->v ? (x->v > y->v) - (x->v < y->v)
			    : (x->task > y->task) - (x->task < y->task);
}

#define EXTREME 21   /* columns */
#define ALIKE	1.05 /* the highest by the lowest: without --all such tasks do not differ */

/* "1,204 s (17 n2)"; of a name that is too long the end is left, by which nodes differ. */
static void print_extreme(const struct facts *f, const struct ranked *t, size_t line, int width,
			  FILE *out)
{
	size_t node = (size_t)f->values[FACT_TASK_node][t->task] - 1;
	const char *name = f->names[SCOPE_NODE][node];
	report_number v;
	char text[80];
	int n = snprintf(text, sizeof(text), "%s (%.10s ", lines[line].text(t->v, v),
			 f->names[SCOPE_TASK][t->task]);
	size_t room = n < EXTREME - 3 ? (size_t)(EXTREME - 1 - n) : 2, length = strlen(name);

	snprintf(text + n, sizeof(text) - (size_t)n, "%s%s)", length > room ? "~" : "",
		 length > room ? name + length - (room - 1) : name);
	for (char *c = text; *c; c++)
		*c = *c < 32 || *c > 126 ? '?' : *c;
	fprintf(out, "%-*s", width, text);
}

/* CPU time of ranks that may wait by spinning says nothing of how equal their work is. */
static bool is_work(const struct facts *f, enum fact fact)
{
	if (!isnan(facts__job(f, FACT_JOB_pop_samples)))
		return fact == FACT_TASK_useful_s;
	return fact == FACT_TASK_cpu_s && (facts__job(f, FACT_JOB_has_mpi) != 1 ||
					   !isnan(facts__job(f, FACT_JOB_load_balance)));
}

/* The heading comes before the first line. */
static void print_line(const struct report *r, size_t line, struct ranked *t, const char **heading,
		       FILE *out)
{
	const struct facts *f = r->facts;
	bool has_balance = is_work(f, lines[line].fact);
	size_t n = 0;
	double median, sum = 0;
	report_number v;

	if (lines[line].fact == FACT_TASK_useful_s && !has_balance)
		return;
	for (size_t i = 0; i < f->count[SCOPE_TASK]; i++)
		if (!isnan(f->values[lines[line].fact][i])) {
			t[n++] = (struct ranked){f->values[lines[line].fact][i], i};
			sum += t[n - 1].v;
		}
	if (!n)
		return;
	qsort(t, n, sizeof(*t), cmp);
	if (!(t[n - 1].v > 0) || (line && !r->all && t[n - 1].v < ALIKE * t[0].v))
		return;
	if (*heading)
		fprintf(out, "\n%-12s lowest                median     highest\n", *heading);
	*heading = NULL;
	median = n % 2 ? t[n / 2].v : (t[n / 2 - 1].v + t[n / 2].v) / 2;
	fprintf(out, "  %-10s ", lines[line].name);
	print_extreme(f, &t[0], line, 22, out);
	fprintf(out, "%-11s", lines[line].text(median, v));
	print_extreme(f, &t[n - 1], line, has_balance ? 22 : 0, out);
	if (has_balance)
		fprintf(out, "balance %.2f", sum / n / t[n - 1].v);
	putc('\n', out);
}

void report_tasks__print(const struct report *r, FILE *out)
{
	const struct facts *f = r->facts;
	struct ranked *room;
	const char *heading;

	if (f->count[SCOPE_TASK] < 2)
		return;
	room = calloc(f->count[SCOPE_TASK], sizeof(*room));
	if (!room)
		return;
	heading = facts__job(f, FACT_JOB_has_mpi) == 1 ? "Ranks" : "Tasks";
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		print_line(r, i, room, &heading, out);
	free(room);
}
