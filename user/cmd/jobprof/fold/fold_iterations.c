// SPDX-License-Identifier: GPL-2.0-only
/* Finds iterations, by samples or by bursts. */
#include "cmd/jobprof/fold/fold_iterations.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static int by_thread(const struct point_burst *b, const struct thread_key *k)
{
	if (b->node != k->node)
		return b->node < k->node ? -1 : 1;
	return b->thread < k->thread ? -1 : b->thread > k->thread;
}

/* The first burst of that thread, or of one after it; with is_end, the first one after all of it.
 */
static size_t bound_of(const struct points *p, const struct thread_key *thread, bool is_end)
{
	size_t from = 0, to = p->nbursts;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (by_thread(&p->bursts[middle], thread) < is_end)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* The bursts of the thread of a trace: a part of the wakes. */
static size_t wakes_of(const struct iterations *it, const struct traces *t,
		       const struct fold_trace *tr, const struct fold_wake **out)
{
	const struct points *p = it->p;
	const struct thread_key *thread = &p->points[tr->samples - t->samples].thread;
	size_t from = bound_of(p, thread, false);

	*out = it->wakes + from;
	return bound_of(p, thread, true) - from;
}

static const struct fold_trace *busiest(const struct traces *t)
{
	size_t most = 0;

	for (size_t i = 1; i < t->n; i++)
		if (t->trace[i].nsamples > t->trace[most].nsamples)
			most = i;
	return &t->trace[most];
}

static int find_train(struct iterations *it, const struct traces *t)
{
	const struct points *p = it->p;
	const struct fold_wake *w;
	enum analysis_status status;
	size_t n;

	it->train = (struct fold_train){NAN, NAN};
	if (!p->nbursts || !t->n)
		return -ENODATA;
	it->wakes = calloc(p->nbursts + 1, sizeof(*it->wakes));
	if (!it->wakes)
		return -ENOMEM;
	for (size_t i = 0; i < p->nbursts; i++)
		it->wakes[i] = (struct fold_wake){p->bursts[i].begin_s, p->bursts[i].gap_s};
	n = wakes_of(it, t, busiest(t), &w);
	status = fold_train__find(w, n, it->period.period_s, &it->train);
	if (status == ANALYSIS_OK)
		return 0;
	free(it->wakes);
	it->wakes = NULL;
	return status == ANALYSIS_NO_MEMORY ? -ENOMEM : -ENODATA;
}

int iterations__find(struct iterations *it, const struct traces *t, const struct points *p)
{
	enum analysis_status status;
	int err;

	*it = (struct iterations){.p = p};
	status = fold_period__find(busiest(t), &it->period);
	if (status == ANALYSIS_NO_MEMORY)
		return -ENOMEM;
	err = find_train(it, t);
	return err == -ENODATA && status == ANALYSIS_OK ? 0 : err;
}

#define OFTEN \
	4 /* that bursts are looked at: a number may be of several threads, one after another */

/* Another thread waits for others in its own way, and has the same iterations. *looked: bursts so
 * far, of which a damaged file could give all to every trace. */
static size_t make_by_train(const struct iterations *it, const struct traces *t,
			    const struct fold_trace *tr, size_t max, size_t *looked)
{
	const struct fold_wake *w;
	size_t n = wakes_of(it, t, tr, &w);
	struct fold_train train;

	*looked += n;
	if (*looked > OFTEN * it->p->nbursts)
		return 0;
	if (fold_train__find(w, n, it->train.period_s, &train) != ANALYSIS_OK)
		return 0;
	return fold_train__instances(w, n, &train, tr->instances, max);
}

void iterations__make(struct traces *t, const struct iterations *it, double shift)
{
	size_t looked = 0;

	t->ninstances = 0;
	for (size_t i = 0; i < t->n; i++) {
		struct fold_trace *tr = &t->trace[i];
		size_t max = ITERATIONS_MAX - t->ninstances;

		tr->instances = &t->instances[t->ninstances];
		tr->ninstances = it->wakes ? make_by_train(it, t, tr, max, &looked)
					   : fold_period__instances(tr, &it->period, shift,
								    tr->instances, max);
		t->ninstances += tr->ninstances;
	}
}

void iterations__free(struct iterations *it)
{
	free(it->wakes);
	it->wakes = NULL;
}
