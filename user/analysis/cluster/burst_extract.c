// SPDX-License-Identifier: GPL-2.0-or-later
/* Extracts bursts from the scheduler's events of a thread. */
#include "analysis/cluster/burst.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/order.h"
#include "base/cleanup.h"

/* The burst that is open. */
struct open_burst {
	bool is_open, is_preempted;
	size_t first; /* the event that opened it */
	double preempted, since;
};

static bool alloc(struct bursts *b, const struct burst_stream *s)
{
	*b = (struct bursts){
		.bursts = calloc(s->n / 2 + 1, sizeof(*b->bursts)),
		.counts = calloc((s->n / 2 + 1) * (s->ncounters + 1), sizeof(*b->counts)),
		.ncounters = s->ncounters,
	};
	if (b->bursts && b->counts)
		return true;
	bursts__free(b);
	return false;
}

static void run_again(struct open_burst *o, double t)
{
	if (o->is_preempted)
		o->preempted += t - o->since;
	o->is_preempted = false;
}

static void preempt(struct open_burst *o, double t)
{
	if (!o->is_preempted)
		o->since = t;
	o->is_preempted = true;
}

static void close_burst(struct open_burst *o, const struct burst_stream *s, size_t last,
			double min_on_cpu, struct bursts *b)
{
	double wall = s->t[last] - s->t[o->first], on_cpu;

	run_again(o, s->t[last]);
	o->is_open = false;
	on_cpu = wall - o->preempted;
	if (on_cpu < min_on_cpu) {
		b->filtered_n++;
		b->filtered_time += on_cpu;
		return;
	}
	for (size_t k = 0; k < s->ncounters; k++)
		b->counts[b->n * s->ncounters + k] =
			s->counts[last * s->ncounters + k] - s->counts[o->first * s->ncounters + k];
	b->bursts[b->n++] = (struct burst){
		.start = s->t[o->first],
		.end = s->t[last],
		.wall = wall,
		.preempted = o->preempted,
		.on_cpu = on_cpu,
		.preempted_share = wall > 0 ? o->preempted / wall : NAN,
	};
}

enum analysis_status burst__extract(const struct burst_stream *s, double min_on_cpu,
				    struct bursts *b)
{
	struct open_burst o = {0};

	if (!alloc(b, s))
		return ANALYSIS_NO_MEMORY;
	for (size_t i = 0; i < s->n; i++) {
		if (!o.is_open && s->event[i] == BURST_IN)
			o = (struct open_burst){.is_open = true, .first = i};
		else if (o.is_open && s->event[i] == BURST_IN)
			run_again(&o, s->t[i]);
		else if (o.is_open && s->event[i] == BURST_PREEMPT)
			preempt(&o, s->t[i]);
		else if (o.is_open)
			close_burst(&o, s, i, min_on_cpu, b);
	}
	b->is_open = o.is_open;
	return b->n ? ANALYSIS_OK : ANALYSIS_INSUFFICIENT;
}

void bursts__free(struct bursts *b)
{
	free(b->bursts);
	free(b->counts);
	*b = (struct bursts){0};
}

enum analysis_status burst__choose_filter(const double *on_cpu, size_t n, double *min_on_cpu)
{
	_cleanup_free_ double *sorted = calloc(n + 1, sizeof(*sorted));
	double all = 0, shorter = 0;
	size_t known = 0;

	*min_on_cpu = NAN;
	if (!sorted)
		return ANALYSIS_NO_MEMORY;
	for (size_t i = 0; i < n; i++) {
		if (on_cpu[i] > 0 && isfinite(on_cpu[i])) {
			sorted[known++] = on_cpu[i];
			all += on_cpu[i];
		}
	}
	if (!known)
		return ANALYSIS_INSUFFICIENT;
	qsort(sorted, known, sizeof(*sorted), order__doubles);
	*min_on_cpu = 0;
	for (size_t i = 0; i < known; i++) {
		double bound = exp2(floor(log2(sorted[i])));

		/* All of a class share its bound: only its first burst decides. */
		if (bound > *min_on_cpu && all - shorter >= 0.9 * all)
			*min_on_cpu = bound;
		shorter += sorted[i];
	}
	return ANALYSIS_OK;
}
