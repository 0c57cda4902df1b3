/* SPDX-License-Identifier: GPL-2.0-only */
/* Process 0 folds the points of all nodes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fold/folded.h"
#include "analysis/job/reduce_fold.h"
#include "analysis/job/reduce_fold_columns.h"
#include "base/id_table.h"
#include "base/log.h"

const char *const reduce_fold_columns[FOLD_COLUMNS] = {
	[FOLD_X] = "X",
	[FOLD_KIND] = "Kind",
	[FOLD_BLOCK] = "Block",
	[FOLD_Y + POINT_CPU_TIME] = "Y CPUTime",
	[FOLD_Y + POINT_PAGE_FAULTS] = "Y PageFaults",
	[FOLD_LENGTH] = "Length",
	[FOLD_COUNTED + POINT_CPU_TIME] = "CPUTime",
	[FOLD_COUNTED + POINT_PAGE_FAULTS] = "PageFaults",
	[FOLD_COUNTING + POINT_CPU_TIME] = "Length of CPUTime",
	[FOLD_COUNTING + POINT_PAGE_FAULTS] = "Length of PageFaults",
	[FOLD_LOST] = "Lost Points",
	[FOLD_LOST + 1] = "Lost Regions",
};

static const struct moments *moments_of(const struct reduction *r, unsigned column)
{
	static const struct moments none = {0, {0, 0}, {0, 0}, NAN, NAN};
	int at = reduction__find(r, reduce_fold_columns[column]);

	return at < 0 ? &none : &r->columns[at]->moments;
}

/* NaN where it is not known of any. */
static double sum_of(const struct reduction *r, unsigned column)
{
	const struct moments *m = moments_of(r, column);

	return m->n ? m->sum.hi : NAN;
}

static double value_of(const struct reduction *r, unsigned item, unsigned column)
{
	int at = reduction__find(r, reduce_fold_columns[column]);

	return at < 0 ? NAN : r->items[item].values[at];
}

static bool take_points(struct fold_points *p, const struct reduction *r, enum point_counter c)
{
	p->x = calloc(r->nitems + 1, sizeof(*p->x));
	p->y = calloc(r->nitems + 1, sizeof(*p->y));
	for (unsigned i = 0; p->x && p->y && i < r->nitems; i++) {
		double y = value_of(r, i, FOLD_Y + c);

		if (isnan(y))
			continue;
		p->x[p->n] = value_of(r, i, FOLD_X);
		p->y[p->n++] = y;
	}
	return p->x && p->y;
}

static bool fold_counter(struct folded *f, enum point_counter c, const struct reduce_fold *of,
			 const struct reduction *r)
{
	struct fold_result *to = &f->of[c];
	enum analysis_status s;

	to->range = of->range;
	to->range.kept = moments_of(r, FOLD_LENGTH)->n;
	to->factor = sum_of(r, FOLD_COUNTED + c) / sum_of(r, FOLD_COUNTING + c);
	if (!take_points(&to->points, r, c))
		return false;
	s = fold__curve(to, of->executions, FOLD_NUGGET, FOLD_CURVE);
	f->known[c] = s == ANALYSIS_OK;
	return s != ANALYSIS_NO_MEMORY;
}

/* The number of a point's function, from 1: of those at names, *n so far. 0: no memory. */
static uint32_t function_number(const char *name, struct id_table *known, const char **names,
				size_t *n)
{
	const uint64_t id = id__of_text(name);
	const uint32_t *have = id_table__find(known, id);

	if (have)
		return *have;
	names[(*n)++] = name;
	return id_table__add(known, id, (uint32_t)*n) ? (uint32_t)*n : 0;
}

/* The codes of points as jobprof fold has them. */
static bool take_codes(struct folded *f, const struct reduction *r, uint64_t *code)
{
	const char **names = calloc(r->nitems + 1, sizeof(*names));
	struct id_table known = {0};
	size_t n = 0;
	bool ok = names != NULL;

	f->functions = (char *const *)names;
	for (unsigned i = 0; ok && i < r->nitems; i++) {
		const uint64_t block = (uint64_t)value_of(r, i, FOLD_BLOCK);
		const char *space = strchr(r->items[i].table, ' ');
		uint32_t function = 0;

		if (space) {
			function = function_number(space + 1, &known, names, &n);
			ok = function > 0;
		}
		code[i] = function ? FOLD_FUNCTION(function, block << FOLD_CODE_SHIFT)
				   : (uint64_t)value_of(r, i, FOLD_KIND) << FOLD_KIND_SHIFT | block;
	}
	id_table__free(&known);
	return ok;
}

static bool find_phases(struct folded *f, const struct reduction *r)
{
	double *x = calloc(r->nitems + 1, sizeof(*x));
	uint64_t *code = calloc(r->nitems + 1, sizeof(*code));
	size_t n = 0;
	bool ok = x && code && take_codes(f, r, code);

	for (unsigned i = 0; ok && i < r->nitems; i++) {
		if (isnan(value_of(r, i, FOLD_Y + f->shown)))
			continue;
		x[n] = value_of(r, i, FOLD_X);
		code[n++] = code[i];
	}
	if (ok) {
		f->nphases = fold_trace__phases(x, code, n, f->phases);
		ok = fold_names__phases(f, x, code, n);
	}
	free(x);
	free(code);
	return ok;
}

static int failed(const char *why)
{
	log_error("the region is not folded: %s", why);
	return 1;
}

int reduce_fold__result(struct folded *f, const struct reduce_fold *of,
			const struct reduction *points)
{
	bool ok = true;

	*f = (struct folded){.region = of->region,
			     .instances = of->executions,
			     .threads = points->tables,
			     .samples = moments_of(points, FOLD_X)->n,
			     .shown = POINT_CPU_TIME,
			     .lost_points = sum_of(points, FOLD_LOST),
			     .lost_regions = sum_of(points, FOLD_LOST + 1)};
	for (int c = 0; ok && c < POINT_FIXED; c++)
		ok = fold_counter(f, c, of, points);
	if (!ok)
		return failed("there is no memory");
	if (!f->known[f->shown])
		return failed("no execution of it has a sample of CPUTime: profile with --series "
			      "all,fold, or srun --jobprof=all,fold");
	f->period_s = moments__mean(moments_of(points, FOLD_LENGTH));
	if (fold__is_locked(&f->of[f->shown].points, &f->of[f->shown].spline))
		return failed("samples fall on the same parts of it again and again");
	return find_phases(f, points) ? 0 : failed("there is no memory");
}

void reduce_fold__free(struct folded *f)
{
	free((void *)f->functions);
	folded__free(f);
}
