// SPDX-License-Identifier: GPL-2.0-only
/* Folding: what a thread had counted when an instance of the region began and ended, from samples
 * that fell anywhere. */
#include "analysis/fold/fold_profile.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"

static double count_at(const struct fold_trace *tr, const struct fold_profile *p, double t)
{
	size_t i = fold_trace__samples_until(tr, t), next;
	const struct fold_sample *a, *b;
	double all;

	while (i && tr->samples[i - 1].off)
		i--;
	next = i ? fold_trace__next_running(tr, i - 1) : tr->nsamples;
	if (next == tr->nsamples)
		return NAN;
	a = &tr->samples[i - 1];
	b = &tr->samples[next];
	if (!fold_profile__fits(p, tr, a->t, b->t))
		return NAN;
	all = fold_profile__between(p, tr, a->t, b->t);
	/* where nothing is expected, evenly */
	return a->c + (b->c - a->c) * (all > 0 ? fold_profile__between(p, tr, a->t, t) / all
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
	any = (counted < all || any_is_off(traces, n)) && fold_profile__find(p, traces, n);
	if (scatter)
		*scatter = any ? p->scatter : NAN;
	for (size_t k = 0; k < n; k++) {
		for (size_t i = 0; i < traces[k].ninstances; i++) {
			struct fold_instance *in = &traces[k].instances[i];
			size_t from = fold_trace__samples_until(&traces[k], in->t0);

			if (!is_counted(in)) {
				in->c0 = any ? count_at(&traces[k], p, in->t0) : NAN;
				in->c1 = any ? count_at(&traces[k], p, in->t1) : NAN;
			}
			in->samples = &traces[k].samples[from];
			in->nsamples = fold_trace__samples_until(&traces[k], in->t1) - from;
			drop_gaps(in);
		}
		for (size_t i = 0; any && i < traces[k].nsamples; i++) {
			struct fold_sample *s = &traces[k].samples[i];

			s->c = s->off ? count_at(&traces[k], p, s->t) : s->c;
		}
	}
	return any || counted ? ANALYSIS_OK : ANALYSIS_INSUFFICIENT;
}
