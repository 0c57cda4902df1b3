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
#define HARDLY	   1e-6	 /* not 0, which would stay */
#define SPANS_MAX  20000 /* pairs of samples that the profile is made of */
#define INSIDE_MAX 20	 /* instances between two samples; more say nothing of the profile */

/* The parts of an instance, and what is outside of all. */
enum { OUTSIDE = BINS, PARTS };

/* Counts of an instance by its parts; those outside are per unit of time. */
struct profile {
	double part[PARTS];
	double sum[BINS + 1]; /* of the parts before */
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

/* How many of n ascending doubles, which lie so many bytes apart, are at most t. */
static size_t count_until(const void *first, size_t n, size_t apart, double t)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		double v;

		memcpy(&v, (const char *)first + mid * apart, sizeof(v));
		if (v <= t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The first instance that ends after t. */
static size_t first_after(const struct fold_trace *tr, double t)
{
	const struct fold_instance *in = tr->instances;

	return tr->ninstances ? count_until(&in->t1, tr->ninstances, sizeof(*in), t) : 0;
}

static size_t samples_until(const struct fold_trace *tr, double t)
{
	const struct fold_sample *s = tr->samples;

	return tr->nsamples ? count_until(&s->t, tr->nsamples, sizeof(*s), t) : 0;
}

static double part_of(const struct fold_instance *in, double t)
{
	return in->t1 > in->t0 ? fmin(fmax((t - in->t0) / (in->t1 - in->t0), 0), 1) : 0;
}

/* Adds how much of each part lies from x to y of an instance. */
static void expose(double e[PARTS], double x, double y)
{
	double from = x * BINS, to = y * BINS;

	for (int i = (int)from; i < BINS && i < to; i++)
		e[i] += fmin(to, i + 1) - fmax(from, i);
}

/* Expected counts between two instants; e, if not NULL, gets how much of each part they are of. */
static double between(const struct fold_trace *tr, const struct profile *p, double from, double to,
		      double e[PARTS])
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
		e[OUTSIDE] += outside;
	return mass + outside * p->part[OUTSIDE];
}

/* The sample after the i-th that the thread ran at; nsamples: there is none. */
static size_t next_running(const struct fold_trace *tr, size_t i)
{
	do
		i++;
	while (i < tr->nsamples && tr->samples[i].off);
	return i;
}

/* One pair of samples: its counts go to the parts as the profile expects them. */
static void share_out(const struct fold_trace *tr, const struct profile *p,
		      const struct fold_sample *a, const struct fold_sample *b, double seen[PARTS],
		      double next[PARTS])
{
	double e[PARTS] = {0}, expected = between(tr, p, a->t, b->t, e), count = b->c - a->c;

	for (int k = 0; k < PARTS; k++) {
		seen[k] += e[k];
		if (expected > 0)
			next[k] += count * e[k] * p->part[k] / expected;
	}
}

static bool is_useful(const struct fold_trace *tr, const struct fold_sample *a,
		      const struct fold_sample *b)
{
	size_t from = first_after(tr, a->t);

	return b->c >= a->c && b->t > a->t && from < tr->ninstances &&
	       tr->instances[from].t0 < b->t &&
	       (from + INSIDE_MAX >= tr->ninstances || tr->instances[from + INSIDE_MAX].t0 > b->t);
}

/* Returns how far the instance's part of the profile moved, as a part of it. */
static double improve(const struct fold_trace *traces, size_t n, size_t stride, struct profile *p)
{
	double seen[PARTS] = {0}, next[PARTS] = {0}, moved = 0;

	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i + 1 < traces[k].nsamples; i += stride) {
			const struct fold_trace *tr = &traces[k];
			const struct fold_sample *a = &tr->samples[i];
			const struct fold_sample *b = &tr->samples[next_running(tr, i)];

			if (b < tr->samples + tr->nsamples && is_useful(tr, a, b))
				share_out(tr, p, a, b, seen, next);
		}
	for (int i = 0; i < PARTS; i++) {
		double v = seen[i] > 0 ? next[i] / seen[i] : p->part[i];

		moved += i == OUTSIDE ? 0 : fabs(v - p->part[i]);
		p->part[i] = v;
	}
	add_up(p);
	return p->sum[BINS] > 0 ? moved / p->sum[BINS] : 0;
}

/* The first guess: as flat as the thread ran there, for what does not run counts nothing. */
static void guess(const struct fold_trace *traces, size_t n, struct profile *p)
{
	double ticks[BINS] = {0}, ran[BINS] = {0};

	for (size_t k = 0; k < n; k++)
		for (size_t s = 0; s < traces[k].nsamples; s++) {
			const struct fold_sample *at = &traces[k].samples[s];
			size_t i = first_after(&traces[k], at->t);
			double x = i < traces[k].ninstances
					   ? part_of(&traces[k].instances[i], at->t)
					   : 0;

			if (!(x > 0))
				continue;
			ticks[(int)fmin(x * BINS, BINS - 1)]++;
			ran[(int)fmin(x * BINS, BINS - 1)] += !at->off;
		}
	for (int i = 0; i < BINS; i++)
		p->part[i] = (ticks[i] > 0 ? fmax(ran[i] / ticks[i], HARDLY) : 1) / BINS;
}

static bool find_profile(const struct fold_trace *traces, size_t n, struct profile *p)
{
	size_t all = 0, stride;

	for (size_t k = 0; k < n; k++)
		all += traces[k].nsamples;
	stride = all / SPANS_MAX + 1;
	guess(traces, n, p);
	p->part[OUTSIDE] = 1e-12;
	for (size_t k = 0; k < n; k++) {
		const struct fold_instance *in = traces[k].instances;

		if (traces[k].ninstances) /* as dense as inside */
			p->part[OUTSIDE] = 1 / fmax(in->t1 - in->t0, 1e-12);
	}
	add_up(p);
	for (int round = 0; round < ROUNDS; round++)
		if (improve(traces, n, stride, p) < 1e-4)
			break;
	return p->sum[BINS] > 0;
}

static double count_at(const struct fold_trace *tr, const struct profile *p, double t)
{
	size_t i = samples_until(tr, t), next;
	const struct fold_sample *a, *b;
	double all;

	while (i && tr->samples[i - 1].off)
		i--;
	next = i ? next_running(tr, i - 1) : tr->nsamples;
	if (next == tr->nsamples)
		return NAN;
	a = &tr->samples[i - 1];
	b = &tr->samples[next];
	all = between(tr, p, a->t, b->t, NULL);
	return all > 0 || isnan(b->c) ? a->c + (b->c - a->c) * between(tr, p, a->t, t, NULL) / all
				      : a->c;
}

/* What an instance has counted is not known where a sample of it is not. */
static void drop_gaps(struct fold_instance *in)
{
	for (size_t i = 0; i < in->nsamples; i++)
		if (isnan(in->samples[i].c) && !in->samples[i].off)
			in->c0 = in->c1 = NAN;
}

static bool is_counted(const struct fold_instance *in)
{
	return !isnan(in->c0) && !isnan(in->c1);
}

static size_t count_counted(const struct fold_trace *traces, size_t n, size_t *all)
{
	size_t counted = 0;

	*all = 0;
	for (size_t k = 0; k < n; k++) {
		for (size_t i = 0; i < traces[k].ninstances; i++)
			counted += is_counted(&traces[k].instances[i]);
		*all += traces[k].ninstances;
	}
	return counted;
}

static bool any_is_off(const struct fold_trace *traces, size_t n)
{
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < traces[k].nsamples; i++)
			if (traces[k].samples[i].off)
				return true;
	return false;
}

enum analysis_status fold_trace__counts(const struct fold_trace *traces, size_t n)
{
	_cleanup_free_ struct profile *p = calloc(1, sizeof(*p));
	size_t all, counted = count_counted(traces, n, &all);
	bool any;

	if (!p)
		return ANALYSIS_NO_MEMORY;
	any = (counted < all || any_is_off(traces, n)) && find_profile(traces, n, p);
	for (size_t k = 0; k < n; k++) {
		for (size_t i = 0; i < traces[k].ninstances; i++) {
			struct fold_instance *in = &traces[k].instances[i];
			size_t from = samples_until(&traces[k], in->t0);

			if (!is_counted(in)) {
				in->c0 = any ? count_at(&traces[k], p, in->t0) : NAN;
				in->c1 = any ? count_at(&traces[k], p, in->t1) : NAN;
			}
			in->samples = &traces[k].samples[from];
			in->nsamples = samples_until(&traces[k], in->t1) - from;
			drop_gaps(in);
		}
		for (size_t i = 0; any && i < traces[k].nsamples; i++) {
			struct fold_sample *s = &traces[k].samples[i];

			s->c = s->off ? count_at(&traces[k], p, s->t) : s->c;
		}
	}
	return any || counted ? ANALYSIS_OK : ANALYSIS_INSUFFICIENT;
}
