// SPDX-License-Identifier: GPL-2.0-only
/* Counters of clusters of bursts, projected by run time and by instructions. */
#include "analysis/counters/burst_counters.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"

struct room {
	struct projected_cluster *clusters;
	struct projection *by_run, *by_ins;
	double *run_of; /* of each cluster's bursts that have the event */
};

static void measure_run(const struct counted_bursts *b, const double *counts, double *run_of)
{
	for (unsigned c = 0; c <= b->nclusters; c++)
		run_of[c] = 0;
	for (size_t i = 0; i < b->n; i++)
		if (!isnan(counts[i]))
			run_of[b->cluster[i]] += b->run[i];
}

static void fill_counter(struct burst_counter *out, const struct room *r, unsigned c)
{
	const struct projection *p = &r->by_run[c];
	double run = r->clusters[c].ins; /* what was projected by */

	*out = (struct burst_counter){.n = p->n_measured,
				      .part = run > 0 ? r->run_of[c] / run : NAN,
				      .per_s = p->per_ins,
				      .per_ins = NAN,
				      .total = p->total,
				      .is_low_confidence = p->is_low_confidence};
}

/* Bursts that count instructions too are projected by these: a slow burst does not do more. */
static enum analysis_status use_instructions(const struct counted_bursts *b, struct room *r,
					     struct burst_counter *out)
{
	const double *ins = b->counts[b->instructions];

	for (unsigned k = 0; k < b->ncounters; k++) {
		enum analysis_status s = counters__project(b->cluster, ins, b->counts[k], b->n, 1,
							   b->nclusters, r->clusters, r->by_ins);

		if (s != ANALYSIS_OK)
			return s;
		for (unsigned c = 0; c <= b->nclusters; c++) {
			struct burst_counter *o = &out[c * b->ncounters + k];
			double all = out[c * b->ncounters + (unsigned)b->instructions].total;

			o->per_ins = r->by_ins[c].per_ins;
			if ((int)k != b->instructions && !isnan(o->per_ins * all))
				o->total = o->per_ins * all;
		}
	}
	return ANALYSIS_OK;
}

enum analysis_status burst_counters__of(const struct counted_bursts *b, struct burst_counter *out)
{
	size_t n = (size_t)b->nclusters + 1;
	_cleanup_free_ struct projected_cluster *clusters = calloc(n, sizeof(*clusters));
	_cleanup_free_ struct projection *by_run = calloc(n, sizeof(*by_run));
	_cleanup_free_ struct projection *by_ins = calloc(n, sizeof(*by_ins));
	_cleanup_free_ double *run_of = calloc(n, sizeof(*run_of));
	struct room r = {clusters, by_run, by_ins, run_of};

	if (!clusters || !by_run || !by_ins || !run_of)
		return ANALYSIS_NO_MEMORY;
	for (unsigned k = 0; k < b->ncounters; k++) {
		enum analysis_status s = counters__project(b->cluster, b->run, b->counts[k], b->n,
							   1, b->nclusters, clusters, by_run);

		if (s != ANALYSIS_OK)
			return s;
		measure_run(b, b->counts[k], run_of);
		for (unsigned c = 0; c <= b->nclusters; c++)
			fill_counter(&out[c * b->ncounters + k], &r, c);
	}
	return b->instructions < 0 ? ANALYSIS_OK : use_instructions(b, &r, out);
}
