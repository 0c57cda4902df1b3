/* SPDX-License-Identifier: GPL-2.0-only */
/* Columns and series of a file that schemas/show.def does not name. */
#include <math.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/escape.h"
#include "view/line.h"
#include "view/page.h"

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

/* Whether the lines before have the column, or it is not printed at all. */
static bool is_printed(const struct page *p, const struct model_task *t, unsigned c)
{
	const struct model_node *n = p->node;
	const char *name = t->rows.cols[c].name;

	if (is_in(named, N(named), name) || (!p->all && is_in(aside, N(aside), name)))
		return true;
	if (t->rows.cols[c].kind == COL_DELTA && model_table__family(&t->rows, c) == FAM_PERF)
		return true;
	/* a task has said what the step would repeat */
	return t == &n->all && n->ntasks == 1 && model_table__column(&n->tasks[0].rows, name);
}

/* Per-interval columns by their sum, gauges by mean and maximum, cumulative ones by the last. */
static void add_column(struct line *l, const struct model_table *t, unsigned c, bool zeros)
{
	const char *name = t->cols[c].name, *unit = t->cols[c].unit;
	enum col_kind kind = t->cols[c].kind;
	double n = kind == COL_DELTA   ? column_stats__sum(t, name)
		   : kind == COL_GAUGE ? column_stats__max(t, name)
				       : column_stats__last(t, name);
	double mean = kind == COL_GAUGE ? column_stats__mean(t, name) : n;

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

void page__print_other_columns(const struct page *p, const struct model_task *t)
{
	struct line l = {.out = p->out, .label = "other"};

	for (unsigned c = 0; c < t->rows.ncols; c++)
		if (!is_printed(p, t, c))
			add_column(&l, &t->rows, c, p->all);
	line__end(&l);
}

static void print_table(const struct model_series *s, const struct model_table *t, FILE *out)
{
	struct line l = {.out = out, .label = "columns"};

	print__escaped(out, s->name);
	if (s->grouped) {
		putc('/', out);
		print__escaped(out, t->name);
	}
	if (!t->cols) {
		fputs(": not a table of numbers, or damaged\n", out);
		return;
	}
	fprintf(out, ": %llu row%s\n", (unsigned long long)t->nrows, t->nrows == 1 ? "" : "s");
	for (unsigned c = 0; c < t->ncols; c++)
		add_column(&l, t, c, true);
	line__end(&l);
}

void page__print_other_series(const struct page *p)
{
	const struct model_node *n = p->node;

	for (unsigned i = 0; i < n->nothers; i++) {
		for (unsigned k = 0; k < n->others[i].ntables; k++) {
			struct model_table t;

			model_node__read_other(n, &n->others[i], k, &t);
			print_table(&n->others[i], &t, p->out);
			model_table__free(&t);
		}
	}
}
