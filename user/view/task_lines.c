/* SPDX-License-Identifier: GPL-2.0-only */
/* The lines of the page about one task or the step: schemas/show.def says which. */
#include <math.h>
#include <string.h>

#include "view/line.h"
#include "model/node.h"

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
	enum show_how how;
	enum unit unit;
	const char *label, *text, *column, *by, *series;
} elements[] = {
#define LINE(label_, where_, flags_) \
	{.kind = E_LINE, .label = label_, .where = IN_##where_, .flags = flags_},
#define ITEM(text_, how_, column_, by_, unit_, flags_) \
	{.kind = E_ITEM,                               \
	 .text = text_,                                \
	 .how = BY_##how_,                             \
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

static double value(const struct view *v, const struct view_task *t, const struct element *e)
{
	return view__value(v, t, e->how, e->column, e->by);
}

static bool is_item(const struct element *e)
{
	return e < elements + N(elements) && e->kind == E_ITEM;
}

static bool is_nothing(const struct view *v, const struct view_task *t, const struct element *line)
{
	for (const struct element *e = line + 1; is_item(e); e++)
		if (value(v, t, e) > 0)
			return false;
	return true;
}

static void print_items(const struct view *v, const struct view_task *t, const struct element *line,
			FILE *out)
{
	struct line l = {.out = out, .label = line->label};
	bool said = false, known = false;

	if ((line->flags & SOME) && is_nothing(v, t, line))
		return;
	for (const struct element *e = line + 1; is_item(e); e++) {
		double n = value(v, t, e);

		if ((e->flags & ELSE) && known)
			continue;
		known = !isnan(n);
		if (!(e->flags & WITH)) {
			line__end_part(&l);
			said = known && !((e->flags & SOME) && n == 0);
		}
		if (said && known)
			line__add(&l, e->text, n, e->unit);
	}
	line__end(&l);
}

static void print_histogram(const struct view_task *t, const struct element *e, FILE *out)
{
	static const struct {
		const char *text;
		double q;
	} points[] = {{"p50 < %s", 0.5}, {"p90 < %s", 0.9}, {"p99 < %s", 0.99}, {"all < %s", 1}};
	struct line l = {.out = out, .label = e->label};
	double counts[JP_LAT_BUCKETS];

	if (!*e->label || !(view__histogram(t, e->series, e->prefix, e->less, counts) > 0))
		return;
	for (size_t i = 0; i < N(points); i++) {
		line__end_part(&l);
		line__add(&l, points[i].text, calc__quantile(counts, points[i].q) / 1e9, U_TIME);
	}
	line__end(&l);
}

static void add_counter(struct line *l, const struct table *t, const char *column, double n)
{
	const struct counter *c = counters;
	double share;

	while (c < counters + N(counters) && strcmp(c->column, column))
		c++;
	if (c == counters + N(counters))
		c = NULL;
	line__text(l, c ? c->words : column);
	line__add(l, " %s", n, U_SI);
	share = c ? n / calc__sum(t, c->by) * c->scale : NAN;
	if (isfinite(share))
		line__add(l, c->text, share, U_P2);
}

/* Whatever was counted: the events are the file's to name. */
static void print_counters(const struct view_task *t, const struct element *e, FILE *out)
{
	double running = calc__mean(t->t, e->column);
	struct line l = {.out = out, .label = e->label};

	for (unsigned c = 0; c < t->t->ncols; c++) {
		const char *name = t->t->names[c];
		double n = calc__sum(t->t, name);

		if (view__family(t->t, c) != FAM_PERF || t->t->cols[c].kind != COL_DELTA ||
		    isnan(n))
			continue;
		line__end_part(&l);
		add_counter(&l, t->t, name, n);
	}
	line__end_part(&l);
	if (l.printed && running < 0.9995)
		line__add(&l, e->text, 100 * running, U_P1);
	line__end(&l);
}

void show__lines(const struct view *v, const struct view_task *t, FILE *out)
{
	unsigned here = t != &v->step ? IN_TASK : v->ntasks == 1 ? IN_STEP : IN_STEP | IN_SUM;

	for (size_t i = 0; i < N(elements); i++) {
		const struct element *e = &elements[i];

		if (!(e->where & here))
			continue;
		if (e->kind == E_HISTOGRAM)
			print_histogram(t, e, out);
		else if (e->kind == E_COUNTERS)
			print_counters(t, e, out);
		else
			print_items(v, t, e, out);
	}
	show__other_columns(v, t, out);
}
