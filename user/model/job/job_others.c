/* SPDX-License-Identifier: GPL-2.0-only */
/* What other programs had of a job's cores, by what their node did meanwhile. */
#include <math.h>

#include "base/known.h"
#include "model/job/job_internal.h"

/* What the job's cores did neither for the job nor as idle CPUs of the node, all of whose idle time
 * may be theirs: at least so long others had them, and while its one CPU was waited for. */
static double taken_of(const struct job_node *n, const struct time_grid *g)
{
	const double *covered = job_unit__bins(&n->unit, Q_COVERED, g),
		     *cpu = job_unit__bins(&n->unit, Q_CPU, g),
		     *idle = job_unit__bins(&n->unit, Q_NODE_IDLE, g),
		     *stolen = job_unit__bins(&n->unit, Q_NODE_STOLEN, g),
		     *waited = job_unit__bins(&n->unit, Q_AVOIDABLE, g);
	double sum = NAN;

	for (unsigned k = 0; covered && cpu && idle && stolen && waited && k < g->n; k++) {
		double taken = n->cores * covered[k] - cpu[k] - idle[k] - known__sum(0, stolen[k]);

		if (n->cpus == 1)
			taken = fmax(taken, waited[k]);
		sum = known__sum(sum, known__not_negative(taken));
	}
	return sum;
}

/* Where the node had no idle CPU, no thread waited in vain: others used the step's cores; so they
 * did where its one CPU was waited for. */
static void cap_avoidable(struct job_unit *u, bool has_one_cpu, const struct time_grid *g)
{
	double *avoidable = (double *)job_unit__bins(u, Q_AVOIDABLE, g);
	const double *idle = job_unit__bins(u, Q_NODE_IDLE, g);
	double sum = NAN;

	for (unsigned k = 0; avoidable && idle && k < g->n; k++) {
		if (!isnan(avoidable[k]) && !isnan(idle[k]))
			avoidable[k] = has_one_cpu ? 0 : fmin(avoidable[k], idle[k]);
		sum = known__sum(sum, avoidable[k]);
	}
	if (!isnan(u->total[Q_NODE_IDLE]))
		u->total[Q_AVOIDABLE] = sum;
}

void job_others__find(struct job_node *n, const struct time_grid *g)
{
	/* of all waiting, which the cap takes away */
	n->taken_s = n->unit.bins ? taken_of(n, g) : NAN;
	if (n->unit.bins)
		cap_avoidable(&n->unit, n->cpus == 1, g);
}
