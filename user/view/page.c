/* SPDX-License-Identifier: GPL-2.0-only */
/* The page about a node as text: its head, tasks or a table of them, the step, and the rest. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/escape.h"
#include "identity/stepname.h"
#include "view/line.h"
#include "view/page.h"
#include "view/report/spark.h"

#define N(a)	      (sizeof(a) / sizeof((a)[0]))
#define DETAIL_TASKS  2 /* more tasks than these get a line each */
#define SPARK_COLUMNS 4

/* A number as text, in a buffer that lives as long as the statement. */
#define NUM(v, unit) number__text((v), (unit), (char[NUMBER_SIZE]){0})

static void print_head(const struct page *p)
{
	static const char *const more[] = {"Start Time", "End Reason",	 "Exit Status",	     "User",
					   "Job Name",	 "Command Line", "Working Directory"};
	const struct model_node *n = p->node;
	double tasks = model_node__number(n, "Number of Tasks");
	FILE *out = p->out;
	unsigned printed = 0;

	fputs(*n->job ? "job " : "", out);
	fputs(n->job, out);
	fputs(*n->step ? " step " : "", out);
	print__escaped(out, stepname__human(n->step));
	fputs(*n->job || *n->step ? " on " : "", out);
	print__escaped(out, n->name);
	fprintf(out, ": %s s", NUM(n->wall_s, U_P3));
	if (isnan(tasks))
		tasks = n->ntasks;
	fprintf(out, ", %.0f task%s", tasks, tasks == 1 ? "" : "s");
	if (n->node_cpus > 0)
		fprintf(out, ", %.0f CPU%s", n->node_cpus, n->node_cpus == 1 ? "" : "s");
	putc('\n', out);
	for (size_t i = 0; i < N(more); i++) {
		const struct model_attr *a = model_node__attr(n, more[i]);

		if (!a)
			continue;
		fprintf(out, "%s%s: ", printed++ ? "; " : "  ", more[i]);
		page__print_attr(p, a);
	}
	if (printed)
		putc('\n', out);
}

/* Columns that are drawn over time. */
static const struct spark {
	const char *label, *unit;
	double scale;
	unsigned flags;
	const char *columns[SPARK_COLUMNS];
} sparks[] = {
#define SPARK(label, unit, scale, flags, ...) {label, unit, scale, flags, {__VA_ARGS__}},
#include "schemas/show.def"
};

/* The table that many tasks have. */
static const struct table_cell {
	const char *head;
	int width;
	enum unit unit;
	enum task_measure how;
	const char *column, *by;
} cells[] = {
#define CELL(head, width, unit, how, column, by) {head, width, U_##unit, MEASURE_##how, column, by},
#include "schemas/show.def"
};

/* A value per row, to be freed; NULL: one of the columns is not there, or no memory. */
static double *spark_values(const struct model_table *t, const struct spark *s)
{
	double *sum = calloc(t->nrows + 1, sizeof(*sum));

	for (unsigned c = 0; sum && c < SPARK_COLUMNS && s->columns[c]; c++) {
		const double *v = model_table__column(t, s->columns[c]);

		if (!v) {
			free(sum);
			return NULL;
		}
		for (uint64_t i = 0; i < t->nrows; i++)
			sum[i] += v[i] * s->scale;
	}
	return sum;
}

static void print_spark(const struct page *p, const struct model_table *t, const struct spark *s)
{
	double wall_s = p->node->wall_s, bins[256], max = NAN;
	double *values = t->end_s && wall_s > 0 ? spark_values(t, s) : NULL;
	unsigned n = p->width - PAGE_LABEL - 20;

	if (!values)
		return;
	time_bins__fill(t->end_s, values, t->nrows, wall_s, s->flags & RATE, bins, n);
	free(values);
	for (unsigned i = 0; i < n; i++)
		if (isnan(max) || bins[i] > max)
			max = bins[i];
	if (isnan(max) || ((s->flags & SOME) && !(max > 0)))
		return;
	fprintf(p->out, "  %-*s", PAGE_LABEL - 2, s->label);
	spark__print(p->out, bins, n, max, p->utf8);
	fprintf(p->out, " max %.4g %s\n", max, s->unit);
}

static void print_sparks(const struct page *p, const struct model_task *t)
{
	for (size_t i = 0; i < N(sparks); i++)
		print_spark(p, &t->rows, &sparks[i]);
}

static void print_task(const struct page *p, const struct model_task *t)
{
	fputs("task ", p->out);
	print__escaped(p->out, t->rows.name);
	fprintf(p->out, ": wall %s s, %llu row%s\n", NUM(task_measure__wall_s(t), U_P3),
		(unsigned long long)t->rows.nrows, t->rows.nrows == 1 ? "" : "s");
	page__print_task_lines(p, t);
	print_sparks(p, t);
}

/* CPU utilization over time, of the task's CPUs. */
static void print_cell_spark(const struct page *p, const struct model_table *t, unsigned n)
{
	const double *percent = model_table__column(t, "CPUUtilization");
	double cpus = p->node->task_cpus, bins[256];

	if (!t->end_s || !percent || !(p->node->wall_s > 0))
		return;
	time_bins__fill(t->end_s, percent, t->nrows, p->node->wall_s, false, bins, n);
	spark__print(p->out, bins, n, 100 * (cpus > 1 ? cpus : 1), p->utf8);
}

static void print_cells(const struct page *p, const struct model_task *t)
{
	for (int pad = 6 - (int)strlen(t->rows.name); pad > 0; pad--)
		putc(' ', p->out);
	print__escaped(p->out, t->rows.name);
	for (size_t c = 0; c < N(cells); c++) {
		const struct table_cell *cell = &cells[c];
		double v = task_measure__value(p->node, t, cell->how, cell->column, cell->by);

		fprintf(p->out, " %*s", cell->width, NUM(v, cell->unit));
	}
	putc(' ', p->out);
}

static void print_task_table(const struct page *p)
{
	unsigned n = p->width > 74 ? p->width - 66 : 8;

	fprintf(p->out, "%6s", "task");
	for (size_t c = 0; c < N(cells); c++)
		fprintf(p->out, " %*s", cells[c].width, cells[c].head);
	fputs(" CPU\n", p->out);
	for (unsigned i = 0; i < p->node->ntasks; i++) {
		print_cells(p, &p->node->tasks[i]);
		print_cell_spark(p, &p->node->tasks[i].rows, n);
		putc('\n', p->out);
	}
}

static void print_step(const struct page *p)
{
	const struct model_node *n = p->node;

	if (!n->all.rows.cols)
		return;
	fputs("step: all processes\n", p->out);
	page__print_task_lines(p, &n->all);
	page__print_ranks(p);
	page__print_commands(p);
	if (n->ntasks != 1)
		print_sparks(p, &n->all);
}

void page__print(const struct page *p)
{
	const struct model_node *n = p->node;

	print_head(p);
	if (n->ntasks > DETAIL_TASKS)
		print_task_table(p);
	else
		for (unsigned i = 0; i < n->ntasks; i++)
			print_task(p, &n->tasks[i]);
	print_step(p);
	page__print_energy(p);
	page__print_marks(p);
	if (p->all)
		page__print_other_series(p);
	page__print_notes(p);
}
