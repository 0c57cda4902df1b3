/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folds a region over nodes: each node adds its part, process 0 chooses a sample and folds it. */
#include "analysis/job/reduce_fold.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fold/fold_traces.h"
#include "analysis/fold/folded.h"
#include "base/cleanup.h"
#include "base/id_table.h"
#include "base/log.h"
#include "base/str.h"

/* ---- the columns of the points of a fold, for its own files */

/* Rows with the first ones are points, which the sample is of; the others are summed up. */
enum reduce_fold_column {
	FOLD_X,	    /* part of the execution's length, */
	FOLD_KIND,  /* what the sample executed: JP_MODULE_..., */
	FOLD_BLOCK, /* and where, see FOLD_CODE(); of a function that is known its block, */
	FOLD_Y,	    /* part of its count, for each counter */
	FOLD_OF_POINT = FOLD_Y + POINT_FIXED,
	FOLD_LENGTH = FOLD_OF_POINT,		    /* of an execution that is folded */
	FOLD_COUNTED,				    /* by each counter, of those that count */
	FOLD_COUNTING = FOLD_COUNTED + POINT_FIXED, /* and their lengths */
	FOLD_LOST = FOLD_COUNTING + POINT_FIXED,    /* samples, and bounds, per node */
	FOLD_COLUMNS = FOLD_LOST + 2,
};

#define FOLD_KIND_SHIFT 56
#define FOLD_BLOCKS	((UINT64_C(1) << FOLD_KIND_SHIFT) - 1)

/* ---- process 0 folds the points of all nodes */

static const char *const reduce_fold_columns[FOLD_COLUMNS] = {
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

#define TABLE_NAME 300 /* bytes: they go with each point */
#define FEW	   30  /* executions, from which a usual length cannot be said */

static int add_lengths(struct reduction *to, const struct traces *t, const char *place,
		       const char *region)
{
	int column = reduction__column(to, region, "s"), err = column < 0 ? column : 0;

	for (size_t i = 0; !err && i < t->n; i++) {
		char table[300];
		struct reduction_table of = {place, table, &column, 1, 0};

		snprintf(table, sizeof(table), "%zu %s", i, region);
		of.unit = reduction__unit(place, table);
		for (size_t k = 0; !err && k < t->trace[i].ninstances; k++) {
			double length = t->trace[i].instances[k].t1 - t->trace[i].instances[k].t0;

			err = reduction__row(to, &of, k, &length);
		}
	}
	to->tables += t->n;
	return err;
}

int reduce_fold__lengths(struct reduction *to, const struct points *p, const char *place,
			 const char *only)
{
	int err = 0;

	for (unsigned i = 0; !err && i < p->nnames; i++) {
		struct traces t;

		if (only && strcmp(p->names[i], only))
			continue;
		err = traces__of(&t, p, i);
		if (!err && t.n)
			err = add_lengths(to, &t, place, p->names[i]);
		traces__free(&t);
	}
	return err;
}

/* ---- points */

/* A node in the second pass. */
struct folding {
	const struct reduce_fold *of;
	const struct traces *t;
	char *const *functions;	  /* by number, from 1 */
	char table[TABLE_NAME];	  /* of the last point */
	unsigned function;	  /* likewise; 0: not known */
	double (*y)[POINT_FIXED]; /* of each sample; NaN: it is no point */
	int columns[FOLD_COLUMNS];
	struct reduction *to;
};

static bool is_usual(const struct reduce_fold *f, const struct fold_instance *in)
{
	return in->t1 - in->t0 >= f->range.lo && in->t1 - in->t0 <= f->range.hi;
}

static bool counts(const struct fold_instance *in)
{
	return in->c1 > in->c0;
}

/* The part of its execution's count that each sample had reached. */
static void make_y(struct folding *f, enum point_counter c)
{
	for (size_t i = 0; i < f->t->ninstances; i++) {
		const struct fold_instance *in = &f->t->instances[i];

		for (size_t k = 0; counts(in) && k < in->nsamples; k++)
			f->y[&in->samples[k] - f->t->samples][c] =
				(in->samples[k].c - in->c0) / (in->c1 - in->c0);
	}
}

static void add_sums(struct folding *f, enum point_counter c)
{
	const struct reduction_table of = {"", "", &f->columns[FOLD_COUNTED + c], 1, 0},
				     time = {"", "", &f->columns[FOLD_COUNTING + c], 1, 0};

	for (size_t i = 0; i < f->t->ninstances; i++) {
		const struct fold_instance *in = &f->t->instances[i];
		const double count = in->c1 - in->c0, length = in->t1 - in->t0;

		if (!is_usual(f->of, in) || !counts(in))
			continue;
		reduction__sums(f->to, &of, &count);
		reduction__sums(f->to, &time, &length);
	}
}

static unsigned function_of(uint64_t code)
{
	return code & FOLD_NAMED ? (unsigned)((code & ~FOLD_NAMED) >> FOLD_FUNCTION_SHIFT) : 0;
}

/* A point's table is a thread and a function: "3 main", or "3" where that is not known. */
static void set_table(struct folding *f, struct reduction_table *table, size_t thread,
		      uint64_t code)
{
	const unsigned function = function_of(code);

	if (table->name && function == f->function)
		return;
	snprintf(f->table, sizeof(f->table), "%zu%s%s", thread, function ? " " : "",
		 function ? f->functions[function - 1] : "");
	f->function = function;
	table->name = f->table;
	table->unit = reduction__unit(table->place, table->name);
}

/* The samples inside of an execution of a thread; the first is sample `row` of it. */
static int add_points(struct folding *f, const struct fold_instance *in,
		      struct reduction_table *table, size_t thread, uint64_t row)
{
	int err = 0;

	for (size_t k = 0; !err && k < in->nsamples; k++) {
		const struct fold_sample *s = &in->samples[k];
		const size_t at = (size_t)(s - f->t->samples);
		const uint64_t code = f->t->code[at];
		const uint64_t blocks = code & FOLD_NAMED ? FOLD_BLOCK_MASK : FOLD_BLOCKS;
		double v[FOLD_OF_POINT] = {[FOLD_X] = (s->t - in->t0) / (in->t1 - in->t0),
					   [FOLD_KIND] = (double)(code >> FOLD_KIND_SHIFT),
					   [FOLD_BLOCK] = (double)(code & blocks)};
		bool any = false;

		for (int c = 0; c < POINT_FIXED; c++) {
			v[FOLD_Y + c] = f->y[at][c];
			any |= !isnan(f->y[at][c]);
		}
		if (!any || s->t <= in->t0 || s->t >= in->t1)
			continue;
		set_table(f, table, thread, code);
		err = reduction__row(f->to, table, row + k, v);
	}
	return err;
}

static int add_thread(struct folding *f, size_t thread, const char *place)
{
	const struct fold_trace *tr = &f->t->trace[thread];
	struct reduction_table table = {place, NULL, f->columns, FOLD_OF_POINT, 0};
	const struct reduction_table lengths = {place, "", &f->columns[FOLD_LENGTH], 1, 0};
	int err = 0;

	for (size_t i = 0; !err && i < tr->ninstances; i++) {
		const struct fold_instance *in = &tr->instances[i];
		const double length = in->t1 - in->t0;

		if (!is_usual(f->of, in))
			continue;
		reduction__sums(f->to, &lengths, &length);
		err = add_points(f, in, &table, thread, (uint64_t)(in->samples - tr->samples));
	}
	f->to->tables++;
	return err;
}

static void add_losses(struct folding *f, const struct points *p)
{
	const double lost[] = {p->lost_points, p->lost_regions};
	const struct reduction_table of = {"", "", &f->columns[FOLD_LOST], 2, 0};

	reduction__sums(f->to, &of, lost);
}

static int fold_traces(struct folding *f, struct traces *t, const struct points *p,
		       const char *place)
{
	int err = 0;

	add_losses(f, p);
	for (int c = 0; !err && c < POINT_FIXED; c++) {
		enum analysis_status s = traces__count(t, p, c, NULL);

		err = s == ANALYSIS_NO_MEMORY ? -ENOMEM : 0;
		if (s != ANALYSIS_OK)
			continue;
		make_y(f, c);
		add_sums(f, c);
	}
	for (size_t i = 0; !err && i < t->n; i++)
		err = add_thread(f, i, place);
	return err;
}

int reduce_fold__points(struct reduction *to, const struct points *p, const char *place,
			const struct reduce_fold *of)
{
	_cleanup_free_ double(*y)[POINT_FIXED] = malloc((p->npoints + 1) * sizeof(*y));
	struct traces t = {0};
	struct folding f = {.of = of, .t = &t, .functions = p->functions, .y = y, .to = to};
	unsigned region = 0;
	int err = y ? 0 : -ENOMEM;

	while (region < p->nnames && strcmp(p->names[region], of->region))
		region++;
	if (region == p->nnames)
		return err;
	for (int i = 0; !err && i < FOLD_COLUMNS; i++) {
		f.columns[i] = reduction__column(to, reduce_fold_columns[i], "");
		err = f.columns[i] < 0 ? f.columns[i] : 0;
	}
	for (size_t i = 0; !err && i < p->npoints; i++)
		for (int c = 0; c < POINT_FIXED; c++)
			y[i][c] = NAN;
	if (!err)
		err = traces__of(&t, p, region);
	if (!err)
		err = fold_traces(&f, &t, p, place);
	traces__free(&t);
	return err;
}

/* ---- the choice */

static unsigned column_with_most_time(const struct reduction *r)
{
	unsigned most = 0;

	for (unsigned i = 1; i < r->ncolumns; i++)
		if (r->columns[i]->moments.sum.hi > r->columns[most]->moments.sum.hi)
			most = i;
	return most;
}

/* The usual lengths in the sample, and how many of a column it has. */
static enum analysis_status find_usual(const struct reduction *r, unsigned column,
				       struct fold_range *range, size_t *n)
{
	_cleanup_free_ double *v = malloc((r->nitems + 1) * sizeof(*v));
	_cleanup_free_ bool *keep = malloc((r->nitems + 1) * sizeof(*keep));

	*n = 0;
	for (unsigned i = 0; v && keep && i < r->nitems; i++)
		if (!isnan(r->items[i].values[column]))
			v[(*n)++] = r->items[i].values[column];
	return v && keep ? fold__outliers(v, *n, &FOLD_FILTER_MEDIAN, range, keep)
			 : ANALYSIS_NO_MEMORY;
}

int reduce_fold__choose(struct reduce_fold *f, const struct reduction *lengths)
{
	unsigned most = column_with_most_time(lengths);
	const struct reduction_column *c = lengths->ncolumns ? lengths->columns[most] : NULL;
	enum analysis_status s;
	size_t n;

	*f = (struct reduce_fold){.region = ""};
	if (!c) {
		if (reduction__coverage(lengths).read)
			log_error("there is no execution of such a region: programs name them, see "
				  "libjobprof(3)");
		return -ENOENT;
	}
	s = find_usual(lengths, most, &f->range, &n);
	if (s == ANALYSIS_NO_MEMORY)
		log_error("%s", strerror(ENOMEM));
	else if (strlen(c->name) >= sizeof(f->region))
		log_error("%.40s...: a region with a name so long is not folded", c->name);
	else if (s != ANALYSIS_OK || (n < FEW && n < c->moments.n))
		log_error("%s took most time, but only %zu of its executions are in the sample: "
			  "ask for it with --region",
			  c->name, n);
	else
		str__copy(f->region, sizeof(f->region), c->name);
	f->executions = c->moments.n;
	return *f->region ? 0 : -ENOENT;
}

void reduce_fold__put(struct message *to, const struct reduce_fold *f)
{
	message__put(to, f, sizeof(*f));
}

int reduce_fold__take(struct message *from, struct reduce_fold *f)
{
	const struct reduce_fold *sent = message__take(from, sizeof(*sent));

	*f = (struct reduce_fold){.region = ""};
	if (!sent || !memchr(sent->region, '\0', sizeof(sent->region)))
		return -EBADMSG;
	*f = *sent;
	return 0;
}
