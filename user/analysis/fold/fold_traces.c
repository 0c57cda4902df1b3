// SPDX-License-Identifier: GPL-2.0-only
/* Puts the executions of a region and the samples of their threads together. */
#include "analysis/fold/fold_traces.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fold/fold_profile.h"
#include "analysis/fold/folded.h"
#include "analysis/order.h"
#include "bpf/jobprof.h"

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
	size_t from = fold_trace__samples_until(tr, in->t0), n = 0;

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
