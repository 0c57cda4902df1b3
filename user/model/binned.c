/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts rows into bins of time. */
#include "model/binned.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/known.h"
#include "base/room.h"
#include "bpf/abi/family.h"
#include "schema/describe.h"

/* ---- the table of quantities, and which of them units have bins of */

#define COLS(...)   {__VA_ARGS__}, .any = false
#define ANY_OF(...) {__VA_ARGS__}, .any = true
#define KEPT	    true
#define SUMMED	    false

const struct quantity_info quantity_infos[N_QUANTITIES] = {
#define BINNED(i, s, h, of_task, scaled, cols) \
	[Q_##i] = {.id = #i,                   \
		   .series = #s,               \
		   .how = BINNED_##h,          \
		   .is_kept = of_task,         \
		   .scale = scaled,            \
		   .columns = cols},
#include "schemas/binned.def"
#undef BINNED
};

/* What the page in a browser draws of nodes and tasks over time: of GPUs these have nothing; and
 * how long each step of a node covers a bin, for its gauges. */
static bool is_drawn(enum quantity q)
{
	return q == Q_COVERED || (q != Q_GPU_UTILIZATION && extremes__place(q) >= 0);
}

bool quantity__is_kept(enum quantity q, const char *series)
{
	const char *own = quantity_infos[q].series;
	bool of_budget;

	if (!series)
		return true;
	if (!strcmp(series, BINNED_DRAWN_NODES))
		return is_drawn(q);
	if (!strcmp(series, BINNED_DRAWN_TASKS))
		return is_drawn(q) && quantity__is_kept(q, "STEP");
	of_budget = !strcmp(series, BINNED_BUDGET);
	return quantity_infos[q].is_kept &&
	       (!strcmp(own, series) || (of_budget && !strcmp(own, "STEP")) ||
		((of_budget || !strcmp(series, "STEP")) && !strcmp(own, BINNED_SAMPLES)));
}

unsigned quantity__held_before(int q)
{
	unsigned n = 0;

	while (q-- > 0)
		n += quantity_infos[q].how == BINNED_HELD;
	return n;
}

/* ---- the lowest and the highest row of each bin */

/* view/report/report_series.c draws these. */
static const enum quantity drawn[EXTREMES] = {
	Q_CPU,	  Q_WAIT, Q_DISK_WAIT, Q_RSS,	      Q_MEM_OWN,	 Q_IO,
	Q_BLK_MB, Q_NET,  Q_PORT,      Q_STEP_ENERGY, Q_GPU_UTILIZATION,
};

int extremes__place(enum quantity q)
{
	for (int i = 0; i < EXTREMES; i++)
		if (drawn[i] == q)
			return i;
	return -1;
}

float *extremes__of(const struct extremes *e, enum quantity q)
{
	int place = extremes__place(q);

	return place < 0 ? NULL : e->of[place];
}

static void extremes_clear(struct extremes *e, unsigned n)
{
	for (int i = 0; i < EXTREMES; i++)
		for (size_t k = 0; e->of[i] && k < 2 * (size_t)n; k++)
			e->of[i][k] = NAN;
}

/* Room for all quantities. 0 or -ENOMEM; extremes__free() in both cases. */
static int extremes_init(struct extremes *e, unsigned n)
{
	*e = (struct extremes){0};
	for (int i = 0; i < EXTREMES; i++) {
		e->of[i] = malloc((2 * (size_t)n + 1) * sizeof(*e->of[i]));
		if (!e->of[i])
			return -ENOMEM;
	}
	extremes_clear(e, n);
	return 0;
}

void extremes__free(struct extremes *e)
{
	for (int i = 0; i < EXTREMES; i++)
		free(e->of[i]);
	*e = (struct extremes){0};
}

/*
 * Adds the extremes of another unit that is counted together with this one. Which of their rows
 * coincided is not known, so that the sums were reached for sure and the truth may be wider. In a
 * bin that one of the two covers only in part, the sums are not made and each is taken alone.
 */
static void extremes_add(float *of, const float *other, unsigned n, unsigned bin, bool is_whole)
{
	float low = of[bin], high = of[n + bin], less = other[bin], more = other[n + bin];
	bool both = is_whole && !isnan(low) && !isnan(less);

	of[bin] = both ? fminf(low + more, high + less) : fminf(low, less);
	of[n + bin] = both ? fmaxf(low + more, high + less) : fmaxf(high, more);
}

void extremes__join(float *of, const float *other, unsigned n)
{
	for (unsigned k = 0; k < n; k++) {
		of[k] = fminf(of[k], other[k]);
		of[n + k] = fmaxf(of[n + k], other[n + k]);
	}
}

bool extremes__are_known(const float *of, unsigned n)
{
	for (unsigned k = 0; of && k < n; k++)
		if (!isnan(of[k]))
			return true;
	return false;
}

/* A row's part of a bin. */
struct bin_span {
	unsigned row, bin;
	double share; /* of the row's interval */
	double s;
};

struct time_grid time_grid__of(double t0_ns, double t1_ns, double dt_s, unsigned n_max)
{
	double end_s = (t1_ns - t0_ns) / 1e9;

	if (!(end_s > 0))
		return (struct time_grid){t0_ns, dt_s, 0, 0, 0, 0};
	while (ceil(end_s / dt_s - 1e-9) > n_max)
		dt_s *= 2;
	return (struct time_grid){t0_ns, dt_s, end_s, (unsigned)fmax(1, ceil(end_s / dt_s - 1e-9)),
				  0,	 0};
}

double time_grid__span_s(const struct time_grid *g, unsigned bin)
{
	return fmin(g->dt_s, g->end_s - bin * g->dt_s);
}

static size_t instants_of(const struct time_grid *g)
{
	return (size_t)g->n * g->instants;
}

static double *held_of(const struct binner *b, enum quantity q)
{
	return b->held + quantity__held_before(q) * instants_of(b->grid);
}

static size_t held_size(const struct time_grid *g)
{
	return quantity__held_before(N_QUANTITIES) * instants_of(g);
}

int binner__init(struct binner *b, const struct time_grid *grid)
{
	size_t cells = (size_t)N_QUANTITIES * (grid->n + 1);

	*b = (struct binner){.grid = grid, .cores = NAN, .gap_s = INFINITY, .row_s = grid->row_s};
	b->bins = calloc(cells, sizeof(*b->bins));
	b->weights = calloc(cells, sizeof(*b->weights));
	b->held = calloc(held_size(grid) + 1, sizeof(*b->held));
	if (!b->bins || !b->weights || !b->held ||
	    (grid->row_s > 0 && extremes_init(&b->extremes, grid->n)))
		return -ENOMEM;
	binner__clear(b);
	return 0;
}

void binner__free(struct binner *b)
{
	free(b->bins);
	free(b->weights);
	free(b->held);
	free(b->spans);
	extremes__free(&b->extremes);
	*b = (struct binner){0};
}

void binner__clear(struct binner *b)
{
	size_t cells = (size_t)N_QUANTITIES * b->grid->n, held = held_size(b->grid);

	for (size_t i = 0; i < cells; i++)
		b->bins[i] = NAN;
	for (size_t i = 0; i < held; i++)
		b->held[i] = NAN;
	extremes_clear(&b->extremes, b->grid->n);
	memset(b->weights, 0, cells * sizeof(*b->weights));
	for (int q = 0; q < N_QUANTITIES; q++) {
		b->total[q] = NAN;
		b->counted_s[q] = b->seen_s[q] = b->unseen_s[q] = 0;
	}
	b->rows = 0;
	b->begin_s = b->end_s = NAN;
	b->lived_s[0] = b->lived_s[1] = b->last_s = NAN;
}

static int add_span(struct binner *b, unsigned row, unsigned bin, double share, double s)
{
	if (room__make(&b->spans, &b->room, b->nspans + 1, sizeof(*b->spans)))
		return -ENOMEM;
	b->spans[b->nspans++] = (struct bin_span){row, bin, share, s};
	return 0;
}

/* The bins of a row that lasted from `from` to `to`; one without length lies in the bin of its
 * end. */
static int span_row(struct binner *b, unsigned row, double from, double to)
{
	const struct time_grid *g = b->grid;
	double first = floor(fmax(from, 0) / g->dt_s), length = to - from;
	int err = 0;

	if (!(to >= 0) || !(from < g->end_s) || !g->n)
		return 0;
	if (!(length > 0))
		return add_span(b, row, (unsigned)fmin(first, g->n - 1), 1, 0);
	for (unsigned k = (unsigned)fmin(first, g->n - 1); !err && k < g->n && k * g->dt_s < to;
	     k++) {
		double s = fmin(fmin(to, g->end_s), (k + 1) * g->dt_s) - fmax(from, k * g->dt_s);

		if (s > 0)
			err = add_span(b, row, k, s / length, s);
	}
	return err;
}

#define BLOCK_ROWS 32 /* few enough that they stay in the nearest cache for all quantities */

/* Some rows of a table, and their intervals. */
struct block {
	const struct binner_columns *c;
	const union cell *rows;
	unsigned stride, n;
	bool is_first; /* of its table */
	double begin[BLOCK_ROWS];
	const double *end;
};

static void column_values(const struct block *k, enum quantity q, unsigned column, double *v)
{
	int at = k->c->at[q][column];

	for (unsigned i = 0; i < k->n; i++)
		v[i] = at < 0 ? NAN
			      : cell__number(k->rows[(size_t)i * k->stride + at],
					     k->c->type[q][column]);
}

/* Adds up a quantity's columns in each row. */
static void sum_values(const struct block *k, enum quantity q, double *v)
{
	const struct quantity_info *info = &quantity_infos[q];
	double more[BLOCK_ROWS];

	column_values(k, q, 0, v);
	for (unsigned c = 1; c < BINNED_COLUMNS && info->columns[c]; c++) {
		column_values(k, q, c, more);
		for (unsigned i = 0; i < k->n; i++)
			v[i] = info->any ? known__sum(v[i], more[i]) : v[i] + more[i];
	}
}

/* Wait that idle cores of the step could have taken; the columns are RunDelay, CPUTime and, where
 * instants of the row were looked at, Queued and QueuedBesideIdle. */
static void avoidable_values(const struct block *k, double cores, double *v)
{
	double cpu[BLOCK_ROWS], queued[BLOCK_ROWS], beside_idle[BLOCK_ROWS];

	column_values(k, Q_AVOIDABLE, 0, v);
	column_values(k, Q_AVOIDABLE, 1, cpu);
	column_values(k, Q_AVOIDABLE, 2, queued);
	column_values(k, Q_AVOIDABLE, 3, beside_idle);
	for (unsigned i = 0; i < k->n; i++) {
		double idle = cores * (k->end[i] - k->begin[i]) - cpu[i];

		if (queued[i] > 0 && beside_idle[i] >= 0)
			v[i] *= fmin(1, beside_idle[i] / queued[i]);
		v[i] = isnan(v[i]) || isnan(idle) ? NAN : fmin(v[i], fmax(0, idle));
	}
}

static double flag_of(double v, double bits)
{
	return isnan(v) ? NAN : v >= 0 && v < 1e18 && ((uint64_t)v & (uint64_t)bits);
}

static void values_of(const struct block *k, double cores, enum quantity q, double *v)
{
	const struct quantity_info *info = &quantity_infos[q];

	if (info->how == BINNED_COVERED) {
		for (unsigned i = 0; i < k->n; i++)
			v[i] = k->end[i] - k->begin[i];
		return;
	}
	if (info->how == BINNED_AVOIDABLE) {
		avoidable_values(k, cores, v);
		return;
	}
	sum_values(k, q, v);
	for (unsigned i = 0; i < k->n; i++)
		v[i] = info->how == BINNED_FLAGS ? flag_of(v[i], info->scale) : v[i] * info->scale;
}

static bool is_known(const struct binner_columns *c, enum quantity q)
{
	const struct quantity_info *info = &quantity_infos[q];
	bool all = true, some = false;

	if (strcmp(info->series, c->series))
		return false;
	for (unsigned i = 0; i < BINNED_COLUMNS && info->columns[i]; i++) {
		if (info->how == BINNED_AVOIDABLE && i == 2)
			break; /* the others make it exact */
		all &= c->at[q][i] >= 0;
		some |= c->at[q][i] >= 0;
	}
	return info->any ? some : all;
}

static void add_gauge(struct binner *b, enum quantity q, const double *v)
{
	double *bins = b->bins + (size_t)q * b->grid->n,
	       *weights = b->weights + (size_t)q * b->grid->n;

	for (size_t i = 0; i < b->nspans; i++) {
		const struct bin_span *s = &b->spans[i];
		double w = s->s > 0 ? s->s : 1e-9;

		if (isnan(v[s->row]))
			continue;
		bins[s->bin] = known__sum(bins[s->bin], v[s->row] * w);
		weights[s->bin] += w;
	}
}

/*
 * A row holds from after its begin to its end; one without length, where that is an instant. A
 * table's first row without length is of a step that only begins.
 */
static void add_held(struct binner *b, const struct block *k, enum quantity q, const double *v)
{
	double part_s = b->grid->dt_s / b->grid->instants, *held = held_of(b, q);

	for (unsigned i = 0; i < k->n; i++) {
		bool has_length = k->end[i] > k->begin[i];
		double from = has_length ? floor(k->begin[i] / part_s + 1e-6) + 1
					 : ceil(k->end[i] / part_s - 1e-6);
		double to = fmin(floor(k->end[i] / part_s + 1e-6), instants_of(b->grid));

		if (!(from <= to) || to < 1 || (!has_length && !i && k->is_first))
			continue;
		for (size_t at = (size_t)fmax(from, 1) - 1; at < (size_t)to; at++)
			held[at] = fmax(held[at], v[i]);
	}
}

static void add_amount(struct binner *b, enum quantity q, const double *v)
{
	double *bins = b->bins + (size_t)q * b->grid->n;

	for (size_t i = 0; i < b->nspans; i++) {
		const struct bin_span *s = &b->spans[i];

		bins[s->bin] = known__sum(bins[s->bin], v[s->row] * s->share);
	}
}

/* An event of a set that is not always open: what it counted, and the CPU time of these rows. */
static void add_counted(struct binner *b, const struct block *k, enum quantity q, const double *v)
{
	double *bins = b->bins + (size_t)q * b->grid->n,
	       *weights = b->weights + (size_t)q * b->grid->n, cpu[BLOCK_ROWS];

	column_values(k, Q_CPU, 0, cpu);
	for (unsigned i = 0; i < k->n; i++)
		b->counted_s[q] += isnan(v[i]) || isnan(cpu[i]) ? 0 : cpu[i];
	for (size_t i = 0; i < b->nspans; i++) {
		const struct bin_span *s = &b->spans[i];

		if (isnan(v[s->row]))
			continue;
		bins[s->bin] = known__sum(bins[s->bin], v[s->row] * s->share);
		weights[s->bin] += isnan(cpu[s->row]) ? 0 : cpu[s->row] * s->share;
	}
}

/* A sum over part of the CPU time stands for all of it. */
static double scale_counted(double sum, double counted_s, double all_s)
{
	return counted_s > 0 && counted_s < all_s * (1 - 1e-9) ? sum * all_s / counted_s : sum;
}

static void end_counted(struct binner *b, enum quantity q)
{
	for (unsigned k = 0; k < b->grid->n; k++) {
		size_t at = (size_t)q * b->grid->n + k;

		b->bins[at] = scale_counted(b->bins[at], b->weights[at],
					    b->bins[(size_t)Q_CPU * b->grid->n + k]);
		b->weights[at] = 0;
	}
	b->total[q] = scale_counted(b->total[q], b->counted_s[q], b->total[Q_CPU]);
	b->counted_s[q] = 0;
}

#define SHORT_ROW 0.5 /* of the usual length: it says no rate, as the last one of a step */

static void add_extremes(struct binner *b, const struct block *k, enum quantity q, const double *v)
{
	bool gauge = quantity__is_gauge(q);
	float *of = extremes__of(&b->extremes, q);

	for (size_t i = 0; i < b->nspans; i++) {
		const struct bin_span *s = &b->spans[i];
		double length = k->end[s->row] - k->begin[s->row];

		if (length >= SHORT_ROW * b->row_s)
			extremes__note(of, b->grid->n, s->bin,
				       gauge ? v[s->row] : v[s->row] / length);
	}
}

/* Families that rest for a part of a job, to keep OverheadBudget. */
#define MAY_REST                                                                                   \
	(FAM_WAIT | FAM_CULPRIT | FAM_SAMPLE | FAM_LATENCY | FAM_BURST | FAM_BLOCK | FAM_NETWORK | \
	 FAM_FILES)

static bool may_rest(enum quantity q)
{
	static signed char known[N_QUANTITIES]; /* -1: no */
	const struct quantity_info *info = &quantity_infos[q];
	const char *series = strcmp(info->series, "STEP") ? info->series : "Step";

	if (!known[q])
		known[q] =
			q == Q_DISK_WAIT ||
					(column__describe(series, info->columns[0], NULL).family &
					 MAY_REST)
				? 1
				: -1;
	return known[q] > 0;
}

/* Notes how long it was counted, and how long not. */
static void note_rest(struct binner *b, const struct block *k, enum quantity q, const double *v)
{
	for (unsigned i = 0; i < k->n; i++)
		*(isnan(v[i]) ? &b->unseen_s[q] : &b->seen_s[q]) += k->end[i] - k->begin[i];
}

#define UNSEEN_PART 0.05

/* A sum over part of the time is no total. */
static void end_rest(struct binner *b, enum quantity q)
{
	if (b->unseen_s[q] > UNSEEN_PART * (b->seen_s[q] + b->unseen_s[q]))
		b->total[q] = NAN;
	b->seen_s[q] = b->unseen_s[q] = 0;
}

/* No process has no memory: 0 is of instants at which none lived, and no peak. */
static double highest(enum quantity q, double a, double b)
{
	return fmax(a, quantity_infos[q].how == BINNED_HELD && !(b > 0) ? NAN : b);
}

static void add_quantity(struct binner *b, const struct block *k, enum quantity q)
{
	bool gauge = quantity__is_gauge(q);
	double v[BLOCK_ROWS];

	values_of(k, b->cores, q, v);
	for (unsigned i = 0; i < k->n; i++)
		b->total[q] = gauge ? highest(q, b->total[q], v[i]) : known__sum(b->total[q], v[i]);
	if (gauge)
		add_gauge(b, q, v);
	else if (quantity_infos[q].how == BINNED_COUNTED)
		add_counted(b, k, q, v);
	else
		add_amount(b, q, v);
	if (quantity_infos[q].how == BINNED_AMOUNT && may_rest(q))
		note_rest(b, k, q, v);
	if (quantity_infos[q].how == BINNED_HELD && b->grid->instants)
		add_held(b, k, q, v);
	if (b->grid->row_s > 0 && extremes__of(&b->extremes, q))
		add_extremes(b, k, q, v);
}

/* What has ended goes on to have rows, without threads. */
static void add_lived(struct binner *b, const struct block *k)
{
	double threads[BLOCK_ROWS];

	column_values(k, Q_THREADS, 0, threads);
	for (unsigned i = 0; i < k->n; i++) {
		if (!(threads[i] > 0))
			continue;
		b->lived_s[0] = fmin(b->lived_s[0], k->begin[i]);
		b->lived_s[1] = fmax(b->lived_s[1], k->end[i]);
		b->last_s = fmax(b->last_s, k->begin[i]);
	}
}

static int add_block(struct binner *b, struct block *k, double begin_s)
{
	int err = 0;

	b->nspans = 0;
	for (unsigned i = 0; !err && i < k->n; i++) {
		k->begin[i] = fmin(i ? k->end[i - 1] : begin_s, k->end[i]);
		if (k->end[i] - k->begin[i] > b->gap_s)
			k->begin[i] = k->end[i];
		else
			err = span_row(b, i, k->begin[i], k->end[i]);
	}
	for (int q = 0; !err && q < N_QUANTITIES; q++)
		if (is_known(k->c, q))
			add_quantity(b, k, q);
	add_lived(b, k);
	return err;
}

int binner__add(struct binner *b, const struct binner_columns *c, const union cell *rows,
		unsigned stride, unsigned n, double begin_s, const double *end_s)
{
	int err = 0;

	if (n)
		b->begin_s = fmin(fmin(begin_s, end_s[0]), b->begin_s);
	for (unsigned i = 0; !err && i < n; i += BLOCK_ROWS) {
		struct block k = {.c = c,
				  .rows = rows + (size_t)i * stride,
				  .stride = stride,
				  .n = n - i < BLOCK_ROWS ? n - i : BLOCK_ROWS,
				  .is_first = !i && !b->rows,
				  .end = end_s + i};

		err = add_block(b, &k, i ? end_s[i - 1] : begin_s);
	}
	if (n)
		b->end_s = fmax(end_s[n - 1], b->end_s);
	b->rows += n;
	return err;
}

void binner__end_table(struct binner *b)
{
	for (int q = 0; q < N_QUANTITIES; q++)
		if (quantity_infos[q].how == BINNED_COUNTED)
			end_counted(b, (enum quantity)q);
		else
			end_rest(b, (enum quantity)q);
	for (int q = 0; q < N_QUANTITIES; q++)
		for (unsigned k = 0; quantity__is_gauge(q) && k < b->grid->n; k++) {
			size_t at = (size_t)q * b->grid->n + k;

			if (b->weights[at] > 0)
				b->bins[at] /= b->weights[at];
			b->weights[at] = 0;
		}
}

/* Gauges of two steps in a bin, of which each step covers a part: the mean over the bin of their
 * sum, or of what there was where one followed the other: of one alone, where the other only had a
 * row without length. */
static double join_gauge(const struct binner *b, const struct binner *other, size_t at,
			 unsigned bin)
{
	double wa = b->bins[(size_t)Q_COVERED * b->grid->n + bin];
	double wb = other->bins[(size_t)Q_COVERED * b->grid->n + bin];
	double va = b->bins[at], vb = other->bins[at];

	if (isnan(va) || isnan(vb) || !(wa + wb > 0))
		return known__sum(va, vb);
	return (va * wa + vb * wb) /
	       fmax(fmax(wa, wb), fmin(time_grid__span_s(b->grid, bin), wa + wb));
}

/* The highest sum at an instant; NaN: none is known. */
static double add_up_held(struct binner *b, const struct binner *other, enum quantity q)
{
	double *held = held_of(b, q), peak = NAN;
	const double *more = held_of(other, q);

	for (size_t i = 0; i < instants_of(b->grid); i++) {
		held[i] = known__sum(held[i], more[i]);
		peak = fmax(peak, held[i]);
	}
	return peak;
}

enum merge_how { MERGE_SUM, MERGE_MAX, MERGE_JOIN };

static void merge_bins(struct binner *b, const struct binner *other, enum quantity q,
		       enum merge_how how)
{
	bool gauge = quantity__is_gauge(q), max = how == MERGE_MAX;
	double peak = NAN, held = NAN;

	for (unsigned k = 0; k < b->grid->n; k++) {
		size_t at = (size_t)q * b->grid->n + k;

		b->bins[at] = max ? fmax(b->bins[at], other->bins[at])
			      : how == MERGE_JOIN && gauge
				      ? join_gauge(b, other, at, k)
				      : known__sum(b->bins[at], other->bins[at]);
		peak = fmax(peak, b->bins[at]);
	}
	if (quantity_infos[q].how == BINNED_HELD)
		held = add_up_held(b, other, q);
	if (q == Q_PORT_RATE) /* the slowest matters */
		b->total[q] = fmin(b->total[q], other->total[q]);
	else if (max)
		b->total[q] = fmax(b->total[q], other->total[q]);
	else if (gauge) /* the highest row may be higher than the mean of its bin */
		b->total[q] =
			highest(q, fmax(b->total[q], other->total[q]), isnan(held) ? peak : held);
	else
		b->total[q] = known__sum(b->total[q], other->total[q]);
}

static bool covers(const struct binner *b, unsigned bin)
{
	return b->bins[(size_t)Q_COVERED * b->grid->n + bin] >=
	       0.99 * time_grid__span_s(b->grid, bin);
}

static void merge_extremes(struct binner *b, const struct binner *other, enum quantity q,
			   enum merge_how how)
{
	float *of = extremes__of(&b->extremes, q);
	const float *more = of ? extremes__of(&other->extremes, q) : NULL;

	if (more && how == MERGE_MAX)
		extremes__join(of, more, b->grid->n);
	for (unsigned k = 0; more && how != MERGE_MAX && k < b->grid->n; k++)
		extremes_add(of, more, b->grid->n, k,
			     how == MERGE_SUM || (covers(b, k) && covers(other, k)));
}

void binner__merge(struct binner *b, const struct binner *other)
{
	for (int q = 0; q < N_QUANTITIES; q++)
		merge_extremes(b, other, q, MERGE_SUM);
	for (int q = 0; q < N_QUANTITIES; q++)
		merge_bins(b, other, q,
			   quantity_infos[q].how == BINNED_COVERED ? MERGE_MAX : MERGE_SUM);
	b->rows += other->rows;
	b->begin_s = fmin(b->begin_s, other->begin_s);
	b->end_s = fmax(b->end_s, other->end_s);
}

void binner__merge_series(struct binner *b, const struct binner *other, const char *series)
{
	for (int q = 0; q < N_QUANTITIES; q++)
		if (!strcmp(quantity_infos[q].series, series))
			merge_bins(b, other, q, MERGE_SUM);
}

void binner__forget(struct binner *b, const char *series)
{
	for (int q = 0; q < N_QUANTITIES; q++) {
		if (strcmp(quantity_infos[q].series, series))
			continue;
		b->total[q] = NAN;
		for (unsigned k = 0; k < b->grid->n; k++)
			b->bins[(size_t)q * b->grid->n + k] = NAN;
	}
}

/* Sensors of a node are in the file of each step; so are its limit, its clock and its power. */
static bool is_of_node(enum quantity q)
{
	const char *series = quantity_infos[q].series;

	if (q == Q_CPU_FREQUENCY || q == Q_MEM_LIMIT || q == Q_NODE_POWER || q == Q_SYSTEM_ENERGY ||
	    q == Q_UNALLOCATED_ENERGY || q == Q_MEASURED_ENERGY)
		return true;
	return strcmp(series, "STEP") && strcmp(series, "Energy") &&
	       strcmp(series, BINNED_BUDGET) && strcmp(series, BINNED_SAMPLES) &&
	       strcmp(series, BINNED_CULPRITS);
}

void binner__join_step(struct binner *b, const struct binner *other)
{
	double *covered = b->bins + (size_t)Q_COVERED * b->grid->n;

	for (int q = 0; q < N_QUANTITIES; q++)
		if (q != Q_COVERED) {
			enum merge_how how = is_of_node(q) ? MERGE_MAX : MERGE_JOIN;

			merge_bins(b, other, q, how);
			merge_extremes(b, other, q, how);
		}
	merge_bins(b, other, Q_COVERED, MERGE_SUM);
	b->total[Q_COVERED] = NAN;
	for (unsigned k = 0; k < b->grid->n; k++) {
		if (!isnan(covered[k]))
			covered[k] = fmin(covered[k], time_grid__span_s(b->grid, k));
		b->total[Q_COVERED] = known__sum(b->total[Q_COVERED], covered[k]);
	}
	b->rows += other->rows;
	b->begin_s = fmin(b->begin_s, other->begin_s);
	b->end_s = fmax(b->end_s, other->end_s);
}
