// SPDX-License-Identifier: GPL-2.0-or-later
/* Divides a folded region into phases, by the code that samples executed. */
#include "analysis/fold/fold_trace.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/order.h"
#include "base/cleanup.h"

#define BINS	 200  /* where phases may begin at first; a bound is then moved among samples */
#define CODES	 64   /* the most frequent; all others are one */
#define ENOUGH	 30   /* samples */
#define UNLIKELY 40.0 /* a bound with so much less likelihood than the best one */

/* The samples in the order of x, with codes numbered from 0. */
struct ordered {
	size_t n;
	double *x;
	unsigned *code;
	uint64_t name[CODES];
	unsigned ncodes;
	size_t first[BINS + 1];	   /* sample of each bin */
	unsigned (*before)[CODES]; /* of each code, before each bin */
};

struct tally {
	uint64_t code;
	size_t n;
};

static int by_code(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;

	return x->code < y->code ? -1 : x->code > y->code;
}

static int by_number(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;

	return x->n > y->n ? -1 : x->n < y->n ? 1 : by_code(a, b);
}

/* The last code stands for all that are rarer. */
static unsigned number_of(const struct ordered *o, uint64_t code)
{
	unsigned i = 0;

	while (i + 1 < o->ncodes && o->name[i] != code)
		i++;
	return i;
}

static bool name_codes(struct ordered *o, const uint64_t *code, size_t n)
{
	_cleanup_free_ struct tally *t = calloc(n + 1, sizeof(*t));
	size_t kinds = 0;

	if (!t)
		return false;
	for (size_t i = 0; i < n; i++)
		t[i] = (struct tally){code[i], 1};
	qsort(t, n, sizeof(*t), by_code);
	for (size_t i = 0; i < n; i++) {
		if (kinds && t[kinds - 1].code == t[i].code)
			t[kinds - 1].n++;
		else
			t[kinds++] = t[i];
	}
	qsort(t, kinds, sizeof(*t), by_number);
	o->ncodes = kinds < CODES ? (unsigned)kinds : CODES;
	for (unsigned i = 0; i < o->ncodes; i++)
		o->name[i] = t[i].code;
	return true;
}

static void ordered__free(struct ordered *o)
{
	free(o->x);
	free(o->code);
	free(o->before);
}

static bool order_samples(struct ordered *o, const double *x, const uint64_t *code, size_t n)
{
	_cleanup_free_ struct ranked *r = calloc(n + 1, sizeof(*r));
	size_t at = 0;

	*o = (struct ordered){.n = n,
			      .x = calloc(n + 1, sizeof(*o->x)),
			      .code = calloc(n + 1, sizeof(*o->code)),
			      .before = calloc(BINS + 1, sizeof(*o->before))};
	if (!r || !o->x || !o->code || !o->before || !name_codes(o, code, n))
		return false;
	for (size_t i = 0; i < n; i++)
		r[i] = (struct ranked){x[i], i};
	qsort(r, n, sizeof(*r), order__ranked);
	for (size_t i = 0; i < n; i++) {
		o->x[i] = r[i].v;
		o->code[i] = number_of(o, code[r[i].at]);
	}
	for (int b = 0; b < BINS; b++) {
		o->first[b] = at;
		for (unsigned c = 0; c < o->ncodes; c++)
			o->before[b + 1][c] = o->before[b][c];
		for (; at < n && (o->x[at] < (b + 1.0) / BINS || b == BINS - 1); at++)
			o->before[b + 1][o->code[at]]++;
	}
	o->first[BINS] = n;
	return true;
}

/* Nats that it takes to say the codes of a phase, their mixture and where the phase ends. */
static double length_of(const unsigned *from, const unsigned *to, unsigned ncodes, double all)
{
	double n = 0, nats = 0;
	unsigned kinds = 0;

	for (unsigned c = 0; c < ncodes; c++) {
		double k = (double)to[c] - from[c];

		n += k;
		kinds += k > 0;
		nats -= k > 0 ? k * log(k) : 0;
	}
	return n > 0 ? nats + n * log(n) + (0.5 * kinds + 1) * log(all) : 0;
}

/* The first sample behind the bound between two phases, which is moved to where it fits best, at
 * most a bin away. */
static size_t refine(const struct ordered *o, size_t from, size_t to, int bin)
{
	unsigned none[CODES] = {0}, left[CODES] = {0}, all[CODES] = {0};
	size_t lo = o->first[bin - 1], hi = o->first[bin + 1 > BINS ? BINS : bin + 1];
	size_t best_at = o->first[bin];
	double best = INFINITY;

	for (size_t i = from; i < to; i++)
		all[o->code[i]]++;
	for (size_t i = from; i < hi && i < to; i++) {
		if (i >= lo && i > from) {
			double l = length_of(none, left, o->ncodes, (double)o->n) +
				   length_of(left, all, o->ncodes, (double)o->n);

			if (l < best) {
				best = l;
				best_at = i;
			}
		}
		left[o->code[i]]++;
	}
	return best_at;
}

/* What it tells for the first of two phases that a sample there has a code, by their mixtures; the
 * estimate of Krichevsky and Trofimov: a code that one of them has not had yet may come. */
static void weigh_codes(const struct ordered *o, size_t from, size_t bound, size_t to,
			double weight[CODES])
{
	unsigned n[2][CODES] = {0}, all[2] = {0}, kinds = 0;

	for (size_t i = from; i < to; i++) {
		n[i >= bound][o->code[i]]++;
		all[i >= bound]++;
	}
	for (unsigned c = 0; c < o->ncodes; c++)
		kinds += n[0][c] || n[1][c];
	for (unsigned c = 0; c < o->ncodes; c++)
		weight[c] = log((n[0][c] + 0.5) / (all[0] + 0.5 * kinds)) -
			    log((n[1][c] + 0.5) / (all[1] + 0.5 * kinds));
}

/* Between which samples the bound of two phases can be, which is before the sample `bound` of from
 * to to. */
static void be_sure(const struct ordered *o, size_t from, size_t bound, size_t to,
		    struct fold_phase *p)
{
	double weight[CODES], best = 0, sum = 0;
	size_t least = to, most = from;

	weigh_codes(o, from, bound, to, weight);
	for (size_t i = from; i < to; i++) {
		sum += weight[o->code[i]];
		best = fmax(best, sum);
	}
	sum = 0;
	for (size_t i = from; i <= to; i++) {
		if (sum >= best - log(UNLIKELY)) {
			least = i < least ? i : least;
			most = i;
		}
		sum += i < to ? weight[o->code[i]] : 0;
	}
	p->low = fmin(p->to, least ? o->x[least - 1] : 0);
	p->high = fmax(p->to, most < o->n ? o->x[most] : 1);
}

static struct fold_phase phase_of(const struct ordered *o, int from, int to)
{
	struct fold_phase p = {
		.from = (double)from / BINS, .to = (double)to / BINS, .low = 1, .high = 1};
	unsigned most = 0;

	p.samples = o->first[to] - o->first[from];
	for (unsigned c = 0; c < o->ncodes; c++) {
		unsigned k = o->before[to][c] - o->before[from][c];

		if (k > most) {
			most = k;
			p.code = o->name[c];
		}
	}
	p.share = p.samples ? (double)most / (double)p.samples : NAN;
	return p;
}

/* Two phases, from a sample to the bin bound[1], get the bound that fits best, near bound[0];
 * behind a sample of the first, so that bounds keep their order. Returns the first sample behind
 * it. */
static size_t settle(const struct ordered *o, size_t from, const int bound[2],
		     struct fold_phase phase[2])
{
	size_t to = o->first[bound[1]], at = refine(o, from, to, bound[0]);

	if (at > from && at < to)
		phase[1].from = phase[0].to = (o->x[at - 1] + o->x[at]) / 2;
	be_sure(o, from, at, to, &phase[0]);
	return at;
}

/* The best cuts of the first bins: where the last phase of each begins. */
static void cut(const struct ordered *o, int *begin)
{
	double best[BINS + 1] = {0};

	for (int to = 1; to <= BINS; to++) {
		best[to] = INFINITY;
		for (int from = 0; from < to; from++) {
			double l = best[from] + length_of(o->before[from], o->before[to], o->ncodes,
							  (double)o->n);

			if (l < best[to]) {
				best[to] = l;
				begin[to] = from;
			}
		}
	}
}

size_t fold_trace__phases(const double *x, const uint64_t *code, size_t n, struct fold_phase *out)
{
	int begin[BINS + 1] = {0}, bound[FOLD_PHASES + 1], to = BINS;
	struct ordered o;
	size_t found = 0;

	if (n < ENOUGH)
		return 0;
	if (order_samples(&o, x, code, n)) {
		cut(&o, begin);
		for (int at = BINS; at > 0; at = begin[at])
			found++;
		found = found > FOLD_PHASES ? FOLD_PHASES : found;
		for (size_t i = found; i-- > 0; to = begin[to])
			bound[i + 1] = to;
		bound[0] = 0;
		for (size_t i = 0; i < found; i++)
			out[i] = phase_of(&o, bound[i], bound[i + 1]);
		for (size_t i = 1, from = 0; i < found; i++)
			from = settle(&o, from, &bound[i], &out[i - 1]);
	}
	ordered__free(&o);
	return found;
}
