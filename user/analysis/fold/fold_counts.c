// SPDX-License-Identifier: GPL-2.0-only
/* Folding: what a thread had counted when an instance of the region began and ended, from samples
 * that fell anywhere. */
#include "analysis/fold/fold_trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define BINS	   200
#define ROUNDS	   200
#define SPANS_MAX  20000 /* pairs of samples that the profile is made of */
#define INSIDE_MAX 20	 /* instances between two samples; more say nothing of the profile */

/* Counts of an instance by its parts, and per unit of time outside of all. */
struct profile {
	double part[BINS], outside;
	double sum[BINS + 1]; /* of the parts before */
};

/* How much of each is between two instants of a thread. */
struct exposure {
	double part[BINS], outside;
};

static void add_up(struct profile *p)
{
	p->sum[0] = 0;
	for (int i = 0; i < BINS; i++)
		p->sum[i + 1] = p->sum[i] + p->part[i];
}

/* Counts until x of an instance. */
static double until(const struct profile *p, double x)
{
	double at = fmin(fmax(x, 0), 1) * BINS;
	int i = at < BINS ? (int)at : BINS - 1;

	return p->sum[i] + (at - i) * p->part[i];
}

/* The first instance that ends after t. */
static size_t first_after(const struct fold_trace *tr, double t)
{
	size_t lo = 0, hi = tr->ninstances;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (tr->instances[mid].t1 <= t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static double part_of(const struct fold_instance *in, double t)
{
	return in->t1 > in->t0 ? fmin(fmax((t - in->t0) / (in->t1 - in->t0), 0), 1) : 0;
}

/* Adds the parts from x to y of an instance. */
static void expose(struct exposure *e, double x, double y)
{
	double from = x * BINS, to = y * BINS;

	for (int i = (int)from; i < BINS && i < to; i++)
		e->part[i] += fmin(to, i + 1) - fmax(from, i);
}

/* Expected counts between two instants, and with e not NULL also what they are of. */
static double between(const struct fold_trace *tr, const struct profile *p, double from, double to,
		      struct exposure *e)
{
	double mass = 0, outside = to - from;

	for (size_t i = first_after(tr, from); i < tr->ninstances; i++) {
		const struct fold_instance *in = &tr->instances[i];
		double x, y;

		if (in->t0 >= to)
			break;
		x = part_of(in, from);
		y = part_of(in, to);
		mass += until(p, y) - until(p, x);
		outside -= fmin(in->t1, to) - fmax(in->t0, from);
		if (e)
			expose(e, x, y);
	}
	outside = fmax(outside, 0);
	if (e)
		e->outside += outside;
	return mass + outside * p->outside;
}

/* One pair of samples: its counts go to the parts as the profile expects them. */
static void share_out(const struct fold_trace *tr, const struct profile *p, size_t i,
		      struct exposure *seen, struct profile *next)
{
	const struct fold_sample *a = &tr->samples[i], *b = &tr->samples[i + 1];
	struct exposure e = {{0}, 0};
	double expected = between(tr, p, a->t, b->t, &e), count = b->c - a->c;

	for (int k = 0; k < BINS; k++) {
		seen->part[k] += e.part[k];
		if (expected > 0)
			next->part[k] += count * e.part[k] * p->part[k] / expected;
	}
	seen->outside += e.outside;
	if (expected > 0)
		next->outside += count * e.outside * p->outside / expected;
}

static bool is_useful(const struct fold_trace *tr, size_t i)
{
	const struct fold_sample *a = &tr->samples[i], *b = &tr->samples[i + 1];
	size_t from = first_after(tr, a->t);

	return b->c >= a->c && b->t > a->t && from < tr->ninstances &&
	       tr->instances[from].t0 < b->t &&
	       (from + INSIDE_MAX >= tr->ninstances || tr->instances[from + INSIDE_MAX].t0 > b->t);
}

/* Returns how far the profile moved, as a part of it. */
static double improve(const struct fold_trace *traces, size_t n, size_t stride, struct profile *p)
{
	struct exposure seen = {{0}, 0};
	struct profile next = {{0}, 0, {0}};
	double moved = 0;

	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i + 1 < traces[k].nsamples; i += stride)
			if (is_useful(&traces[k], i))
				share_out(&traces[k], p, i, &seen, &next);
	for (int i = 0; i < BINS; i++) {
		double v = seen.part[i] > 0 ? next.part[i] / seen.part[i] : p->part[i];

		moved += fabs(v - p->part[i]);
		p->part[i] = v;
	}
	if (seen.outside > 0)
		p->outside = next.outside / seen.outside;
	add_up(p);
	return p->sum[BINS] > 0 ? moved / p->sum[BINS] : 0;
}

static bool find_profile(const struct fold_trace *traces, size_t n, struct profile *p)
{
	size_t all = 0, stride;

	for (size_t k = 0; k < n; k++)
		all += traces[k].nsamples;
	stride = all / SPANS_MAX + 1;
	for (int i = 0; i < BINS; i++)
		p->part[i] = 1.0 / BINS;
	p->outside = 1e-12;
	for (size_t k = 0; k < n; k++) /* as dense as inside */
		if (traces[k].ninstances)
			p->outside = 1 / fmax(traces[k].instances[0].t1 - traces[k].instances[0].t0,
					      1e-12);
	add_up(p);
	for (int round = 0; round < ROUNDS; round++)
		if (improve(traces, n, stride, p) < 1e-4)
			break;
	return p->sum[BINS] > 0;
}

/* The last sample at or before t, from 0; SIZE_MAX: none. */
static size_t sample_before(const struct fold_trace *tr, double t)
{
	size_t lo = 0, hi = tr->nsamples;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (tr->samples[mid].t <= t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo - 1;
}

static double count_at(const struct fold_trace *tr, const struct profile *p, double t)
{
	size_t i = sample_before(tr, t);
	const struct fold_sample *a, *b;
	double all;

	if (i == SIZE_MAX || i + 1 >= tr->nsamples)
		return NAN;
	a = &tr->samples[i];
	b = a + 1;
	all = between(tr, p, a->t, b->t, NULL);
	return all > 0 ? a->c + (b->c - a->c) * between(tr, p, a->t, t, NULL) / all : a->c;
}

enum analysis_status fold_trace__counts(const struct fold_trace *traces, size_t n)
{
	_cleanup_free_ struct profile *p = calloc(1, sizeof(*p));
	bool any;

	if (!p)
		return ANALYSIS_NO_MEMORY;
	any = find_profile(traces, n, p);
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < traces[k].ninstances; i++) {
			struct fold_instance *in = &traces[k].instances[i];
			size_t from = sample_before(&traces[k], in->t0) + 1;

			in->c0 = any ? count_at(&traces[k], p, in->t0) : NAN;
			in->c1 = any ? count_at(&traces[k], p, in->t1) : NAN;
			in->samples = &traces[k].samples[from];
			in->nsamples = sample_before(&traces[k], in->t1) + 1 - from;
		}
	return any ? ANALYSIS_OK : ANALYSIS_INSUFFICIENT;
}
