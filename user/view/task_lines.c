/* SPDX-License-Identifier: GPL-2.0-only */
/* The lines of a page about one task or the whole step, as schemas/show.def has them. */
#include <math.h>
#include <string.h>

#include "analysis/analysis.h"
#include "view/line.h"
#include "view/page.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

/* Where a line stands. */
#define IN_TASK	 1
#define IN_STEP	 2 /* always */
#define IN_SUM	 4 /* of the step, unless there is one task, which has said it */
#define IN_BOTH	 (IN_TASK | IN_STEP)
#define IN_PARTS (IN_TASK | IN_SUM)

/* Items follow their line. */
static const struct element {
	enum { E_LINE, E_ITEM, E_HISTOGRAM, E_COUNTERS } kind;
	char prefix, less;
	unsigned where, flags;
	enum task_measure how;
	enum unit unit;
	const char *label, *text, *column, *by, *series;
} elements[] = {
#define LINE(label_, where_, flags_) \
	{.kind = E_LINE, .label = label_, .where = IN_##where_, .flags = flags_},
#define LINE_OF(label_, series_, flags_) \
	{.kind = E_LINE, .label = label_, .where = IN_TASK, .flags = flags_, .series = series_},
#define ITEM(text_, how_, column_, by_, unit_, flags_) \
	{.kind = E_ITEM,                               \
	 .text = text_,                                \
	 .how = MEASURE_##how_,                        \
	 .column = column_,                            \
	 .by = by_,                                    \
	 .unit = U_##unit_,                            \
	 .flags = flags_},
#define HISTOGRAM(label_, key, series_, prefix_, less_) \
	{.kind = E_HISTOGRAM,                           \
	 .where = IN_TASK,                              \
	 .label = label_,                               \
	 .series = series_,                             \
	 .prefix = prefix_,                             \
	 .less = less_},
#define COUNTERS(label_, where_, text_, column_) \
	{.kind = E_COUNTERS,                     \
	 .label = label_,                        \
	 .where = IN_##where_,                   \
	 .text = text_,                          \
	 .column = column_},
#include "schemas/show.def"
};

static const struct counter {
	const char *column, *words, *text, *by;
	double scale;
} counters[] = {
#define COUNTER(column, words, text, by, scale) {column, words, text, by, scale},
#include "schemas/show.def"
};

/* The task with the rows of another series. */
static struct model_task task_of(const struct model_task *t, const struct element *line)
{
	struct model_task of = {0};

	for (unsigned i = 0; t->histograms && i < n_builtin_series; i++)
		if (!strcmp(builtin_series[i].name, line->series))
			of.rows = t->histograms[i];
	return of;
}

static double item_value(const struct page *p, const struct model_task *t, const struct element *e)
{
	return task_measure__value(p->node, t, e->how, e->column, e->by);
}

static bool is_item(const struct element *e)
{
	return e < elements + N(elements) && e->kind == E_ITEM;
}

static bool all_items_are_0(const struct page *p, const struct model_task *t,
			    const struct element *line)
{
	for (const struct element *e = line + 1; is_item(e); e++)
		if (item_value(p, t, e) > 0)
			return false;
	return true;
}

static void print_items(const struct page *p, const struct model_task *task,
			const struct element *line)
{
	const struct model_task of = line->series ? task_of(task, line) : (struct model_task){0};
	const struct model_task *t = line->series ? &of : task;
	struct line l = {.out = p->out, .label = line->label};
	bool shown = false, known = false;

	if ((line->flags & SOME) && all_items_are_0(p, t, line))
		return;
	for (const struct element *e = line + 1; is_item(e); e++) {
		double n = item_value(p, t, e);

		if ((e->flags & ELSE) && known)
			continue;
		known = !isnan(n);
		if (!(e->flags & WITH)) {
			line__end_part(&l);
			shown = known && !((e->flags & SOME) && n == 0);
		}
		if (shown && known)
			line__add(&l, e->text, n, e->unit);
	}
	line__end(&l);
}

/* The first bucket: no time passed. */
#define NONE_NS 2

static void print_histogram(const struct page *p, const struct model_task *t,
			    const struct element *e)
{
	static const struct {
		const char *text;
		double q;
	} points[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"all", 1}};
	struct line l = {.out = p->out, .label = e->label};
	double counts[JP_LAT_BUCKETS];

	if (!*e->label || !(histogram__sum(t, e->series, e->prefix, e->less, counts) > 0))
		return;
	for (size_t i = 0; i < N(points); i++) {
		const double ns = histogram__quantile_ns(counts, points[i].q);

		line__end_part(&l);
		line__text(&l, points[i].text);
		if (ns > NONE_NS)
			line__add(&l, " < %s", ns / 1e9, U_TIME);
		else
			line__text(&l, " none");
	}
	line__end(&l);
}

static void add_counter(struct line *l, const struct model_table *t, const char *column, double n)
{
	const struct counter *c = counters;
	double share;

	while (c < counters + N(counters) && strcmp(c->column, column))
		c++;
	if (c == counters + N(counters))
		c = NULL;
	line__text(l, c ? c->words : column);
	line__add(l, " %s", n, U_SI);
	share = c ? n / column_stats__sum(t, c->by) * c->scale : NAN;
	if (isfinite(share))
		line__add(l, c->text, share, U_P2);
}

/* All hardware counters of the file, which names them. */
static void print_counters(const struct page *p, const struct model_task *t,
			   const struct element *e)
{
	const struct model_table *rows = &t->rows;
	double running = column_stats__mean(rows, e->column);
	struct line l = {.out = p->out, .label = e->label};

	for (unsigned c = 0; c < rows->ncols; c++) {
		const char *name = rows->cols[c].name;
		double n = column_stats__sum(rows, name);

		if (model_table__family(rows, c) != FAM_PERF || rows->cols[c].kind != COL_DELTA ||
		    isnan(n))
			continue;
		line__end_part(&l);
		add_counter(&l, rows, name, n);
	}
	line__end_part(&l);
	if (l.printed && running < 0.9995)
		line__add(&l, e->text, 100 * running, U_P1);
	line__end(&l);
}

void page__print_task_lines(const struct page *p, const struct model_task *t)
{
	const struct model_node *n = p->node;
	unsigned here = t != &n->all ? IN_TASK : n->ntasks == 1 ? IN_STEP : IN_STEP | IN_SUM;

	for (size_t i = 0; i < N(elements); i++) {
		const struct element *e = &elements[i];

		if (!(e->where & here))
			continue;
		if (e->kind == E_HISTOGRAM)
			print_histogram(p, t, e);
		else if (e->kind == E_COUNTERS)
			print_counters(p, t, e);
		else
			print_items(p, t, e);
	}
	page__print_other_columns(p, t);
}
