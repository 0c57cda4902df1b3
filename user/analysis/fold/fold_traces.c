/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts the executions of a region and the samples of their threads together. */
#include "analysis/fold/fold_traces.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fold/fold_trace.h"
#include "analysis/fold/folded.h"
#include "analysis/order.h"
#include "analysis/smooth_fit.h"
#include "base/cleanup.h"
#include "bpf/jobprof.h"

#define FOLD_PARTS 200

struct fold_profile {
	double part[FOLD_PARTS];
	double outside;		    /* of all instances, per unit of time */
	double sum[FOLD_PARTS + 1]; /* of the parts before */
	double scatter; /* median distance of a pair's count from what is expected, by the mean
			   count; of pairs with n instances between them that of one, by sqrt(n) */
	struct fold_range usual; /* lengths of the instances that the profile is of */
};

/* ---- what an instance of a region counts in each of its parts */

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

/* How many samples of the trace are at t or before. */
static size_t trace_samples_until(const struct fold_trace *tr, double t)
{
	const struct fold_sample *s = tr->samples;

	return tr->nsamples ? count_until(&s->t, tr->nsamples, sizeof(*s), t) : 0;
}

/* The sample after the i-th at which the thread ran; nsamples: there is none. */
static size_t trace_next_running(const struct fold_trace *tr, size_t i)
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

/* What the profile expects to be counted between two instants of a trace. */
static double profile_between(const struct fold_profile *p, const struct fold_trace *tr,
			      double from, double to)
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

/* Whether nearly all of the time between two instants is in instances of usual length, or outside
 * of instances: the count of an instance that others made longer cannot be told from its
 * neighbours'. */
static bool profile_fits(const struct fold_profile *p, const struct fold_trace *tr, double from,
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
		size_t next = trace_next_running(tr, i);
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
				profile_between(p, spans[i].tr, spans[i].from, spans[i].to);
	qsort(spans, n, sizeof(*spans), by_rest);
	for (size_t i = 0; i < n; i++)
		mean += spans[i].count / (double)n;
	p->scatter = fabs(spans[n / 2].rest) / sqrt(mean * fmin(mean, one));
	while (left && fabs(spans[left - 1].rest) > FAR * fabs(spans[n / 2].rest))
		left--;
	return (double)(n - left) <= DISTURBED_MAX * (double)n ? left : n;
}

/*
 * Each pair of neighbouring samples says how much was counted between them, which is the sum of
 * the profile over the parts that lie there. The profile is the solution of all these equations by
 * smooth_fit(), where a smooth profile is one that counts evenly while the thread runs: by the
 * share of the samples of a part that are not off. Others on the same CPU disturb single pairs:
 * those of which more than a tenth lies in instances of unusual length do not count, nor do those
 * that are far from what the profile expects, if they are few. Sets before and unusual of the
 * instances: the time in those before, and of these in those of unusual length. Returns false where
 * nothing was counted.
 */
static bool profile_find(struct fold_profile *p, const struct fold_trace *traces, size_t n)
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

/* ---- the counts where an instance began and ended, from samples that fell anywhere */

static double count_at(const struct fold_trace *tr, const struct fold_profile *p, double t)
{
	size_t i = trace_samples_until(tr, t), next;
	const struct fold_sample *a, *b;
	double all;

	while (i && tr->samples[i - 1].off)
		i--;
	next = i ? trace_next_running(tr, i - 1) : tr->nsamples;
	if (next == tr->nsamples)
		return NAN;
	a = &tr->samples[i - 1];
	b = &tr->samples[next];
	if (!profile_fits(p, tr, a->t, b->t))
		return NAN;
	all = profile_between(p, tr, a->t, b->t);
	/* where nothing is expected, evenly */
	return a->c + (b->c - a->c) * (all > 0 ? profile_between(p, tr, a->t, t) / all
					       : (t - a->t) / (b->t - a->t));
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

enum analysis_status fold_trace__counts(const struct fold_trace *traces, size_t n, double *scatter)
{
	_cleanup_free_ struct fold_profile *p = calloc(1, sizeof(*p));
	size_t all, counted = count_counted(traces, n, &all);
	bool any;

	if (!p)
		return ANALYSIS_NO_MEMORY;
	any = (counted < all || any_is_off(traces, n)) && profile_find(p, traces, n);
	if (scatter)
		*scatter = any ? p->scatter : NAN;
	for (size_t k = 0; k < n; k++) {
		for (size_t i = 0; i < traces[k].ninstances; i++) {
			struct fold_instance *in = &traces[k].instances[i];
			size_t from = trace_samples_until(&traces[k], in->t0);

			if (!is_counted(in)) {
				in->c0 = any ? count_at(&traces[k], p, in->t0) : NAN;
				in->c1 = any ? count_at(&traces[k], p, in->t1) : NAN;
			}
			in->samples = &traces[k].samples[from];
			in->nsamples = trace_samples_until(&traces[k], in->t1) - from;
			drop_gaps(in);
		}
		for (size_t i = 0; any && i < traces[k].nsamples; i++) {
			struct fold_sample *s = &traces[k].samples[i];

			s->c = s->off ? count_at(&traces[k], p, s->t) : s->c;
		}
	}
	return any || counted ? ANALYSIS_OK : ANALYSIS_INSUFFICIENT;
}

#define INTERRUPTED_MIN 30    /* executions with a sample, and without */
#define STRETCH_MIN	0.01  /* of an execution: less is nothing beside what they differ */
#define DIFFERENCE	0.25  /* of what samples take, from one to the next */
#define SAMPLE_COST_MAX 50e-6 /* seconds; no interrupt takes more */

void traces__free(struct traces *t)
{
	free(t->trace);
	free(t->instances);
	free(t->bounds);
	free(t->samples);
	free(t->code);
}

static bool make_room(struct traces *t, const struct points *p, size_t traces, size_t instances)
{
	*t = (struct traces){.trace = calloc(traces + 1, sizeof(*t->trace)),
			     .instances = calloc(instances + 1, sizeof(*t->instances)),
			     .samples = calloc(p->npoints + 1, sizeof(*t->samples)),
			     .code = calloc(p->npoints + 1, sizeof(*t->code))};
	return t->trace && t->instances && t->samples && t->code;
}

/* A region within itself counts as one, by its outermost execution. */
static void add_instance(struct traces *t, struct fold_trace *tr, const struct region_row *r)
{
	struct fold_instance *last = tr->ninstances ? &tr->instances[tr->ninstances - 1] : NULL;
	struct bounds *b = &t->bounds[t->ninstances];

	if (r->end_s <= r->begin_s)
		return;
	if (last && r->begin_s < last->t1) {
		if (r->end_s > last->t1)
			memcpy(b[-1].end, r->at_end, sizeof(b->end));
		last->t1 = fmax(last->t1, r->end_s);
		return;
	}
	memcpy(b->begin, r->at_begin, sizeof(b->begin));
	memcpy(b->end, r->at_end, sizeof(b->end));
	tr->instances[tr->ninstances++] = (struct fold_instance){.t0 = r->begin_s, .t1 = r->end_s};
	t->ninstances++;
}

/* The samples of a thread: a part of the array. */
static void find_samples(const struct points *p, struct traces *t, struct fold_trace *tr,
			 const struct thread_key *of, size_t *at)
{
	size_t from;

	while (*at < p->npoints && thread_key__cmp(&p->points[*at].thread, of) < 0)
		(*at)++;
	from = *at;
	while (*at < p->npoints && !thread_key__cmp(&p->points[*at].thread, of))
		(*at)++;
	tr->samples = &t->samples[from];
	tr->code = &t->code[from];
	tr->nsamples = *at - from;
}

/* What the kernel does is of the code that has it done. */
static uint64_t code_of(const struct point *p)
{
	unsigned kind = p->kind;

	if (kind == JP_MODULE_KERNEL && p->place)
		kind = p->place & JP_PLACE_LIBRARY ? JP_MODULE_LIBRARY : JP_MODULE_OWN;
	return p->function ? FOLD_FUNCTION(p->function, p->place) /* of the program's own */
			   : FOLD_CODE(kind, p->place);
}

static void make_traces(struct traces *t, const struct points *p, unsigned region)
{
	const struct thread_key *now = NULL;
	struct fold_trace *tr = NULL;
	size_t at = 0;

	for (size_t i = 0; i < p->npoints; i++)
		t->code[i] = code_of(&p->points[i]);
	for (size_t i = 0; i < p->nregions; i++) {
		const struct region_row *r = &p->regions[i];

		if (r->region != region)
			continue;
		if (!now || thread_key__cmp(now, &r->thread)) {
			now = &r->thread;
			tr = &t->trace[t->n++];
			tr->instances = &t->instances[t->ninstances];
			find_samples(p, t, tr, now, &at);
		}
		add_instance(t, tr, r);
	}
}

/* The value that half of the sum of n values lies before; sorts them. 0: there are none. */
static double weighted_median(double *v, size_t n)
{
	double all = 0, before = 0;
	size_t i = 0;

	qsort(v, n, sizeof(*v), order__doubles);
	for (size_t k = 0; k < n; k++)
		all += v[k];
	while (i < n && before + v[i] < all / 2)
		before += v[i++];
	return i < n ? v[i] : 0;
}

/* How many samples interrupted the thread in an instance. */
static size_t count_interrupts(const struct fold_trace *tr, const struct fold_instance *in)
{
	size_t from = trace_samples_until(tr, in->t0), n = 0;

	for (size_t i = from; i < tr->nsamples && tr->samples[i].t <= in->t1; i++)
		n += !tr->samples[i].off;
	return n;
}

/*
 * What a sample takes of the thread: an execution with one lasts so much longer than one without.
 * Samples fall on long executions more often, by their length: so the median of those without is
 * weighted by it. It stays 0 where there are too few of one of the two, or they differ too little
 * or too much.
 */
static void find_sample_cost(struct traces *t, double *with, double *without)
{
	size_t nwith = 0, nwithout = 0;
	double usual, cost;

	for (size_t k = 0; k < t->n; k++)
		for (size_t i = 0; i < t->trace[k].ninstances; i++) {
			const struct fold_instance *in = &t->trace[k].instances[i];
			size_t n = count_interrupts(&t->trace[k], in);

			if (n == 1)
				with[nwith++] = in->t1 - in->t0;
			else if (!n)
				without[nwithout++] = in->t1 - in->t0;
		}
	if (nwith < INTERRUPTED_MIN || nwithout < INTERRUPTED_MIN)
		return;
	qsort(with, nwith, sizeof(*with), order__doubles);
	usual = weighted_median(without, nwithout);
	cost = with[nwith / 2] - usual;
	if (cost < STRETCH_MIN * usual || cost > SAMPLE_COST_MAX)
		return;
	t->sample_s = cost;
	t->blur = DIFFERENCE * cost / usual;
}

/* Takes from short executions what samples in them took, which is long beside them. */
static int unstretch(struct traces *t)
{
	double *lengths = calloc(2 * t->ninstances + 1, sizeof(*lengths));

	if (!lengths)
		return -ENOMEM;
	find_sample_cost(t, lengths, lengths + t->ninstances);
	free(lengths);
	for (size_t k = 0; t->sample_s > 0 && k < t->n; k++)
		for (size_t i = 0; i < t->trace[k].ninstances; i++) {
			struct fold_instance *in = &t->trace[k].instances[i];
			double took = (double)count_interrupts(&t->trace[k], in) * t->sample_s;

			in->t1 = fmax(in->t1 - took, in->t0);
			t->bounds[in - t->instances].end[POINT_CPU_TIME] -= took;
		}
	return 0;
}

int traces__of(struct traces *t, const struct points *p, unsigned region)
{
	bool ok = make_room(t, p, p->nregions, p->nregions);

	t->bounds = calloc(p->nregions + 1, sizeof(*t->bounds));
	if (!ok || !t->bounds)
		return -ENOMEM;
	make_traces(t, p, region);
	traces__set_counter(t, p, POINT_CPU_TIME);
	return unstretch(t);
}

int traces__of_threads(struct traces *t, const struct points *p, size_t instances)
{
	if (!make_room(t, p, p->npoints, instances))
		return -ENOMEM;
	for (size_t i = 0, from = 0; i < p->npoints; i++) {
		t->code[i] = code_of(&p->points[i]);
		if (i + 1 < p->npoints &&
		    !thread_key__cmp(&p->points[i].thread, &p->points[i + 1].thread))
			continue;
		t->trace[t->n++] = (struct fold_trace){.samples = &t->samples[from],
						       .code = &t->code[from],
						       .nsamples = i + 1 - from};
		from = i + 1;
	}
	return 0;
}

/* A sample has its time and count when the interrupt is all but over. */
void traces__set_counter(struct traces *t, const struct points *p, enum point_counter c)
{
	for (size_t i = 0; i < p->npoints; i++) {
		const struct point *at = &p->points[i];
		bool off = at->kind == POINT_NOT_RUNNING;
		double late = off ? 0 : t->sample_s;

		t->samples[i] =
			(struct fold_sample){.t = at->time_s - late,
					     .c = at->count[c] - (c == POINT_CPU_TIME ? late : 0),
					     .off = off};
	}
	for (size_t i = 0; i < t->ninstances; i++) {
		t->instances[i].c0 = t->bounds ? t->bounds[i].begin[c] : NAN;
		t->instances[i].c1 = t->bounds ? t->bounds[i].end[c] : NAN;
	}
}

enum analysis_status traces__count(struct traces *t, const struct points *p, enum point_counter c,
				   double *scatter)
{
	traces__set_counter(t, p, c);
	return fold_trace__counts(t->trace, t->n, scatter);
}
