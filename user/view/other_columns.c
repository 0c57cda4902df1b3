/* SPDX-License-Identifier: GPL-2.0-only */
/* What the file has and schemas/show.def does not name: columns of families to come, other series.
 */
#include <math.h>
#include <string.h>

#include "view/line.h"
#include "model/node.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

static const char *const named[] = {
#define ITEM(text, how, column, by, unit, flags) column, by,
#define COUNTERS(label, where, text, column)	 column,
#define SPARK(label, unit, scale, flags, ...)	 __VA_ARGS__,
#define CELL(head, width, unit, how, column, by) column, by,
#include "schemas/show.def"
};

static const char *const aside[] = {
#define ASIDE(column) column,
#include "schemas/show.def"
};

static bool is_in(const char *const *names, size_t n, const char *name)
{
	while (n--)
		if (!strcmp(names[n], name))
			return true;
	return false;
}

/* The lines above have said it, or it is not to be said. */
static bool is_told(const struct view *v, const struct view_task *t, unsigned c)
{
	const char *name = t->t->names[c];

	if (is_in(named, N(named), name) || (!v->all && is_in(aside, N(aside), name)))
		return true;
	if (t->t->cols[c].kind == COL_DELTA && view__family(t->t, c) == FAM_PERF)
		return true;
	/* a task has said what the step would repeat */
	return t == &v->step && v->ntasks == 1 && table__column(v->tasks[0].t, name);
}

/* Per-interval columns by their sum, gauges by mean and maximum, cumulative ones by the last. */
static void add_column(struct line *l, const struct view_task *t, unsigned c, bool zeros)
{
	const char *name = t->t->names[c], *unit = t->t->cols[c].unit;
	enum col_kind kind = t->t->cols[c].kind;
	double n = kind == COL_DELTA   ? calc__sum(t->t, name)
		   : kind == COL_GAUGE ? calc__max(t->t, name)
				       : calc__last(t->t, name);
	double mean = kind == COL_GAUGE ? calc__mean(t->t, name) : n;

	if (kind == COL_TIME || isnan(n) || (!zeros && n == 0 && mean == 0))
		return;
	line__end_part(l);
	line__text(l, name);
	if (fabs(n - mean) > 1e-9 * fabs(n)) {
		line__add(l, " mean %s", mean, U_ANY);
		line__text(l, " max");
	}
	line__add(l, " %s", n, U_ANY);
	if (*unit) {
		line__text(l, " ");
		line__text(l, unit);
	}
}

void show__other_columns(const struct view *v, const struct view_task *t, FILE *out)
{
	struct line l = {.out = out, .label = "other"};

	for (unsigned c = 0; c < t->t->ncols; c++)
		if (!is_told(v, t, c))
			add_column(&l, t, c, v->all);
	line__end(&l);
}

static void print_table(const struct reader_series *s, const struct view_task *t, void *arg)
{
	struct line l = {.out = arg, .label = "columns"};

	print__escaped(l.out, s->name);
	if (s->grouped) {
		putc('/', l.out);
		print__escaped(l.out, t->name);
	}
	if (!t->t) {
		fputs(": not a table of numbers, or damaged\n", l.out);
		return;
	}
	fprintf(l.out, ": %llu row%s\n", (unsigned long long)t->t->nrows,
		t->t->nrows == 1 ? "" : "s");
	for (unsigned c = 0; c < t->t->ncols; c++)
		add_column(&l, t, c, true);
	line__end(&l);
}

void show__other_series(const struct view *v, FILE *out)
{
	view__each_other(v, print_table, out);
}
