/* SPDX-License-Identifier: GPL-2.0-only */
/* Facts of cores that are idle because threads are blocked: they sleep, or wait for another
 * process, a lock, the network. */
#include <math.h>

#include "analysis/job/facts_fill.h"
#include "base/known.h"

double facts__asleep_in(const struct model_job *j, const struct job_node *n, unsigned bin)
{
	static const enum quantity used[] = {Q_CPU, Q_WAIT, Q_DISK_WAIT};
	const double *covered = job_unit__bins(&n->unit, Q_COVERED, &j->grid);
	double idle, blocked;

	if (!covered)
		return NAN;
	idle = n->cores * covered[bin];
	blocked = job_unit__bins(&n->unit, Q_THREADS, &j->grid)[bin] * covered[bin];
	for (unsigned i = 0; i < sizeof(used) / sizeof(*used); i++) {
		double s = job_unit__bins(&n->unit, used[i], &j->grid)[bin];

		blocked -= s;
		idle -= used[i] == Q_WAIT ? 0 : s;
	}
	return isnan(idle) || isnan(blocked) ? NAN : fmax(0, fmin(idle, blocked));
}

int facts_asleep__fill(struct facts *f, const struct model_job *j)
{
	double *bins = f->values[FACT_BIN_asleep_s], *all = f->values[FACT_JOB_asleep_s];
	char reason[160];

	for (unsigned k = 0; k < j->grid.n; k++) {
		for (unsigned i = 0; i < j->nnodes; i++)
			bins[k] = known__sum(bins[k], facts__asleep_in(j, &j->nodes[i], k));
		*all = known__sum(*all, bins[k]);
	}
	if (!isnan(facts__sum(j, Q_THREADS)))
		return 0;
	model_job__why_unknown(j, Q_THREADS, reason, sizeof(reason));
	return facts__miss(f, FACT_JOB_asleep_s, reason);
}
