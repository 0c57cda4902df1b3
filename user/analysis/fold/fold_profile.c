// SPDX-License-Identifier: GPL-2.0-only
/* Folding: what an instance of a region counts in each of its parts. */
#include "analysis/fold/fold_profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/smooth_fit.h"
#include "base/cleanup.h"

#define HARDLY	      1e-6  /* not 0: of a part that never runs a little is counted */
#define SPANS_MAX     20000 /* pairs of samples that the profile is made of */
#define FAR	      9	    /* times the median: of chance alone one in 10^9 */
#define DISTURBED_MAX 0.05  /* of the spans */
#define UNUSUAL_MAX   0.1   /* of the time between two samples */

/* The unknowns: the parts of an instance, and what is outside of all. */
enum { OUTSIDE = FOLD_PARTS, UNKNOWNS };

/* Counts until x of an instance. */
static double until(const struct fold_profile *p, double x)
{
	double at = fmin(fmax(x, 0), 1) * FOLD_PARTS;
	int i = at < FOLD_PARTS ? (int)at : FOLD_PARTS - 1;

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

size_t fold_trace__samples_until(const struct fold_trace *tr, double t)
{
	const struct fold_sample *s = tr->samples;

	return tr->nsamples ? count_until(&s->t, tr->nsamples, sizeof(*s), t) : 0;
}

size_t fold_trace__next_running(const struct fold_trace *tr, size_t i)
{
	do
		i++;
	while (i < tr->nsamples && tr->samples[i].off);
	return i;
}

static double part_of(const struct fold_instance *in, double t)
{
	return in->t1 > in->t0 ? fmin(fmax((t - in->t0) / (in->t1 - in->t0), 0), 1) : 0;
}

static bool is_usual(const struct fold_range *usual, const struct fold_instance *in)
{
	double length = in->t1 - in->t0;

	return length >= usual->lo && length <= usual->hi;
}

/* The instances between two instants, [first, end) of a trace. */
struct covered {
	size_t first, end;
	double inside, unusual; /* time in them, and in those of unusual length */
};

/* Time that lies before t of instances, of those before i all; of unusual ones. */
static void add_time(const struct fold_trace *tr, const struct fold_range *usual, size_t i,
		     double t, double sign, struct covered *c)
{
	const struct fold_instance *in = &tr->instances[i];
	double part = fmin(fmax(t - in->t0, 0), in->t1 - in->t0);

	c->inside += sign * (in->before + part);
	c->unusual += sign * (in->unusual + (is_usual(usual, in) ? 0 : part));
}

static struct covered find_covered(const struct fold_trace *tr, const struct fold_range *usual,
				   double from, double to)
{
	struct covered c = {.first = first_after(tr, from)};

	c.end = c.first;
	if (c.first == tr->ninstances || tr->instances[c.first].t0 >= to)
		return c;
	c.end = count_until(&tr->instances->t0, tr->ninstances, sizeof(*tr->instances), to);
	if (c.end <= c.first) {
		c.end = c.first;
		return c;
	}
	add_time(tr, usual, c.end - 1, to, 1, &c);
	add_time(tr, usual, c.first, from, -1, &c);
	return c;
}

double fold_profile__between(const struct fold_profile *p, const struct fold_trace *tr, double from,
			     double to)
{
	struct covered c = find_covered(tr, &p->usual, from, to);
	double counted = fmax(to - from - c.inside, 0) * p->outside;

	if (c.first < c.end)
		counted += (double)(c.end - 1 - c.first) * p->sum[FOLD_PARTS] +
			   until(p, part_of(&tr->instances[c.end - 1], to)) -
			   until(p, part_of(&tr->instances[c.first], from));
	return counted;
}

static bool is_undisturbed(const struct covered *c, double from, double to)
{
	return c->unusual <= UNUSUAL_MAX * (to - from);
}

bool fold_profile__fits(const struct fold_profile *p, const struct fold_trace *tr, double from,
			double to)
{
	struct covered c = find_covered(tr, &p->usual, from, to);

	return is_undisturbed(&c, from, to);
}

/* Two samples of a trace, and what was counted between them. */
struct span {
	const struct fold_trace *tr;
	double from, to, count;
	double rest; /* less what the profile expects */
};

/* Whether a span says something of the profile: of instances whose length is usual, but for a few.
 */
static bool is_useful(const struct span *s, const struct fold_range *usual)
{
	struct covered c = find_covered(s->tr, usual, s->from, s->to);

	return s->count >= 0 && s->to > s->from && c.first < c.end &&
	       is_undisturbed(&c, s->from, s->to);
}

/* Returns how many there are in out, of one in so many samples. */
static size_t find_spans(const struct fold_trace *tr, size_t stride, const struct fold_range *usual,
			 struct span *out)
{
	size_t n = 0;

	for (size_t i = 0; i + 1 < tr->nsamples; i += stride) {
		const struct fold_sample *a = &tr->samples[i];
		size_t next = fold_trace__next_running(tr, i);
		const struct fold_sample *b = &tr->samples[next];

		if (next == tr->nsamples)
			break;
		out[n] = (struct span){tr, a->t, b->t, b->c - a->c, 0};
		n += is_useful(&out[n], usual);
	}
	return n;
}

/* Adds how much of each part lies before x of an instance. */
static void expose(double e[UNKNOWNS], double x, double sign)
{
	double to = x * FOLD_PARTS;

	for (int i = 0; i < FOLD_PARTS && i < to; i++)
		e[i] += sign * fmin(to - i, 1);
}

/* Sets how much of each part lies in a span, and of the outside, in usual lengths. */
static void expose_span(const struct span *s, const struct fold_range *usual, double e[UNKNOWNS])
{
	struct covered c = find_covered(s->tr, usual, s->from, s->to);

	for (int i = 0; i < FOLD_PARTS; i++)
		e[i] = (double)(c.end - 1 - c.first);
	expose(e, part_of(&s->tr->instances[c.end - 1], s->to), 1);
	expose(e, part_of(&s->tr->instances[c.first], s->from), -1);
	e[OUTSIDE] = fmax(s->to - s->from - c.inside, 0) / usual->center;
}

/* The share of the samples of each part at which the thread ran. */
static void find_running(const struct fold_trace *traces, size_t n, double running[UNKNOWNS])
{
	double ticks[FOLD_PARTS] = {0}, ran[FOLD_PARTS] = {0};

	for (size_t k = 0; k < n; k++)
		for (size_t s = 0; s < traces[k].nsamples; s++) {
			const struct fold_sample *at = &traces[k].samples[s];
			size_t i = first_after(&traces[k], at->t);
			double x = i < traces[k].ninstances
					   ? part_of(&traces[k].instances[i], at->t)
					   : 0;

			if (!(x > 0))
				continue;
			ticks[(int)fmin(x * FOLD_PARTS, FOLD_PARTS - 1)]++;
			ran[(int)fmin(x * FOLD_PARTS, FOLD_PARTS - 1)] += !at->off;
		}
	for (int i = 0; i < FOLD_PARTS; i++)
		running[i] = ticks[i] > 0 ? fmax(ran[i] / ticks[i], HARDLY) : 1;
	running[OUTSIDE] = 1;
}

/* Lengths of instances that others have hardly stretched. */
static bool find_usual(const struct fold_trace *traces, size_t n, struct fold_range *usual)
{
	static const struct fold_filter filter = {FOLD_MEDIAN, 4, 0.01};
	_cleanup_free_ double *length = NULL;
	_cleanup_free_ bool *keep = NULL;
	size_t all = 0, at = 0;

	for (size_t k = 0; k < n; k++)
		all += traces[k].ninstances;
	length = calloc(all + 1, sizeof(*length));
	keep = calloc(all + 1, sizeof(*keep));
	if (!length || !keep)
		return false;
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < traces[k].ninstances; i++)
			length[at++] = traces[k].instances[i].t1 - traces[k].instances[i].t0;
	return fold__outliers(length, all, &filter, usual, keep) == ANALYSIS_OK &&
	       usual->center > 0;
}

/* Sets of each instance how much time lies in those before it, and in those of unusual length. */
static void add_up(const struct fold_trace *tr, const struct fold_range *usual)
{
	double before = 0, unusual = 0;

	for (size_t i = 0; i < tr->ninstances; i++) {
		struct fold_instance *in = &tr->instances[i];

		in->before = before;
		in->unusual = unusual;
		before += in->t1 - in->t0;
		unusual += is_usual(usual, in) ? 0 : in->t1 - in->t0;
	}
}

static void set_profile(struct fold_profile *p, const double found[UNKNOWNS],
			const double running[UNKNOWNS])
{
	p->sum[0] = 0;
	for (int i = 0; i < FOLD_PARTS; i++) {
		p->part[i] = found[i] * running[i];
		p->sum[i + 1] = p->sum[i] + p->part[i];
	}
	p->outside = found[OUTSIDE] / p->usual.center;
}

/* What a part counts is its share of running times the unknown. */
static bool fit(struct fold_profile *p, const struct span *spans, size_t n,
		const double running[UNKNOWNS])
{
	double e[UNKNOWNS], found[UNKNOWNS];
	struct smooth_fit f;
	bool ok;

	if (!smooth_fit__init(&f, UNKNOWNS, FOLD_PARTS))
		return false;
	for (size_t i = 0; i < n; i++) {
		expose_span(&spans[i], &p->usual, e);
		for (int k = 0; k < UNKNOWNS; k++)
			e[k] *= running[k];
		smooth_fit__add(&f, e, spans[i].count);
	}
	ok = smooth_fit__solve(&f, found) == ANALYSIS_OK;
	smooth_fit__free(&f);
	if (ok)
		set_profile(p, found, running);
	return ok && p->sum[FOLD_PARTS] > 0;
}

static int by_rest(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return fabs(x->rest) > fabs(y->rest) ? 1 : -(fabs(x->rest) < fabs(y->rest));
}

/* Returns how many of the spans remain without those that others have disturbed, far from what the
 * profile expects: all where these are too many to be that. Changes the order of the spans. */
static size_t drop_disturbed(struct fold_profile *p, struct span *spans, size_t n)
{
	size_t left = n;
	double mean = 0, one = p->sum[FOLD_PARTS];

	for (size_t i = 0; i < n; i++)
		spans[i].rest = spans[i].count -
				fold_profile__between(p, spans[i].tr, spans[i].from, spans[i].to);
	qsort(spans, n, sizeof(*spans), by_rest);
	for (size_t i = 0; i < n; i++)
		mean += spans[i].count / (double)n;
	p->scatter = fabs(spans[n / 2].rest) / sqrt(mean * fmin(mean, one));
	while (left && fabs(spans[left - 1].rest) > FAR * fabs(spans[n / 2].rest))
		left--;
	return (double)(n - left) <= DISTURBED_MAX * (double)n ? left : n;
}

bool fold_profile__find(struct fold_profile *p, const struct fold_trace *traces, size_t n)
{
	_cleanup_free_ struct span *spans = NULL;
	struct fold_profile again;
	double running[UNKNOWNS];
	size_t samples = 0, nspans = 0, left;

	*p = (struct fold_profile){0};
	for (size_t k = 0; k < n; k++)
		samples += traces[k].nsamples;
	spans = calloc(samples + 1, sizeof(*spans));
	if (!spans || !find_usual(traces, n, &p->usual))
		return false;
	find_running(traces, n, running);
	for (size_t k = 0; k < n; k++)
		add_up(&traces[k], &p->usual);
	for (size_t k = 0; k < n; k++)
		nspans +=
			find_spans(&traces[k], samples / SPANS_MAX + 1, &p->usual, &spans[nspans]);
	if (!fit(p, spans, nspans, running))
		return false;
	left = drop_disturbed(p, spans, nspans);
	again = *p;
	if (left < nspans && fit(&again, spans, left, running))
		*p = again; /* else the few are all there is */
	return true;
}
