/* SPDX-License-Identifier: GPL-2.0-only */
/* The text page of "jobprof show". */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/line.h"
#include "model/node.h"
#include "identity/stepname.h"
#include "view/spark.h"

#define N(a)	      (sizeof(a) / sizeof((a)[0]))
#define DETAIL_TASKS  2 /* more tasks than these get a line each */
#define SPARK_COLUMNS 4

/* In a buffer of its own statement. */
#define NUM(v, unit) show__number((v), (unit), (char[NUMBER_SIZE]){0})

static void print_head(const struct view *v, FILE *out)
{
	static const char *const more[] = {"Start Time", "End Reason", "Exit Status", "User",
					   "Job Name"};
	const struct reader_attr *a;
	double tasks;

	fputs(*v->r->job ? "job " : "", out);
	fputs(v->r->job, out);
	fputs(*v->n->step ? " step " : "", out);
	print__escaped(out, stepname__human(v->n->step));
	fputs(*v->r->job || *v->n->step ? " on " : "", out);
	print__escaped(out, v->n->name);
	fprintf(out, ": %s s", NUM(v->wall, U_P3));
	if (!node__number(v->n, "Number of Tasks", &tasks))
		tasks = v->ntasks;
	fprintf(out, ", %.0f task%s", tasks, tasks == 1 ? "" : "s");
	if (v->node_cpus > 0)
		fprintf(out, ", %.0f CPU%s", v->node_cpus, v->node_cpus == 1 ? "" : "s");
	putc('\n', out);
	for (size_t i = 0, n = 0; i < N(more); i++) {
		a = node__attr(v->n, more[i]);
		if (a) {
			fprintf(out, "%s%s: ", n++ ? "; " : "  ", more[i]);
			show__attr(a, out);
		}
		if (i + 1 == N(more) && n)
			putc('\n', out);
	}
}

/* What is drawn over time. */
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
	enum show_how how;
	const char *column, *by;
} cells[] = {
#define CELL(head, width, unit, how, column, by) {head, width, U_##unit, BY_##how, column, by},
#include "schemas/show.def"
};

/* A value per row, to be freed; NULL: one of the columns is not there, or no memory. */
static double *spark_values(const struct table *t, const struct spark *s)
{
	double *sum = calloc(t->nrows + 1, sizeof(*sum));

	for (unsigned c = 0; sum && c < SPARK_COLUMNS && s->columns[c]; c++) {
		const double *v = table__column(t, s->columns[c]);

		if (!v) {
			free(sum);
			return NULL;
		}
		for (uint64_t i = 0; i < t->nrows; i++)
			sum[i] += v[i] * s->scale;
	}
	return sum;
}

static void print_spark(FILE *out, const struct view *v, const struct view_task *t,
			const struct spark *s, unsigned width, bool utf8)
{
	unsigned n = width - VIEW_LABEL - 20;
	double *values = t->end && v->wall > 0 ? spark_values(t->t, s) : NULL;
	double bins[256], max = NAN;

	if (!values)
		return;
	calc__bins(t->end, values, t->t->nrows, v->wall, s->flags & RATE, bins, n);
	free(values);
	for (unsigned i = 0; i < n; i++)
		if (isnan(max) || bins[i] > max)
			max = bins[i];
	if (isnan(max) || ((s->flags & SOME) && !(max > 0)))
		return;
	fprintf(out, "  %-*s", VIEW_LABEL - 2, s->label);
	spark__print(out, bins, n, max, utf8);
	fprintf(out, " max %.4g %s\n", max, s->unit);
}

static void print_sparks(FILE *out, const struct view *v, const struct view_task *t, unsigned width,
			 bool utf8)
{
	for (size_t i = 0; i < N(sparks); i++)
		print_spark(out, v, t, &sparks[i], width, utf8);
}

static void print_task(const struct view *v, const struct view_task *t, FILE *out, unsigned width,
		       bool utf8)
{
	fputs("task ", out);
	print__escaped(out, t->name);
	fprintf(out, ": wall %s s, %llu row%s\n", NUM(t->wall, U_P3),
		(unsigned long long)t->t->nrows, t->t->nrows == 1 ? "" : "s");
	show__lines(v, t, out);
	print_sparks(out, v, t, width, utf8);
}

static void print_table(const struct view *v, FILE *out, unsigned width, bool utf8)
{
	unsigned n = width > 74 ? width - 66 : 8;

	fprintf(out, "%6s", "task");
	for (size_t c = 0; c < N(cells); c++)
		fprintf(out, " %*s", cells[c].width, cells[c].head);
	fputs(" CPU\n", out);
	for (unsigned i = 0; i < v->ntasks; i++) {
		const struct view_task *t = &v->tasks[i];
		const double *util = table__column(t->t, "CPUUtilization");
		double bins[256];

		for (int pad = 6 - (int)strlen(t->name); pad > 0; pad--)
			putc(' ', out);
		print__escaped(out, t->name);
		for (size_t c = 0; c < N(cells); c++) {
			const struct table_cell *cell = &cells[c];
			double x = view__value(v, t, cell->how, cell->column, cell->by);

			fprintf(out, " %*s", cell->width, NUM(x, cell->unit));
		}
		putc(' ', out);
		if (t->end && util && v->wall > 0) {
			calc__bins(t->end, util, t->t->nrows, v->wall, false, bins, n);
			spark__print(out, bins, n, 100 * (v->task_cpus > 1 ? v->task_cpus : 1),
				     utf8);
		}
		putc('\n', out);
	}
}

void show__page(const struct view *v, FILE *out, unsigned width, bool utf8)
{
	print_head(v, out);
	if (v->ntasks > DETAIL_TASKS)
		print_table(v, out, width, utf8);
	else
		for (unsigned i = 0; i < v->ntasks; i++)
			print_task(v, &v->tasks[i], out, width, utf8);
	if (v->step.t) {
		fprintf(out, "step: all processes\n");
		show__lines(v, &v->step, out);
		if (v->ntasks != 1)
			print_sparks(out, v, &v->step, width, utf8);
	}
	show__energy(v, out);
	show__marks(v, out);
	if (v->all)
		show__other_series(v, out);
	show__notes(v, out);
}
