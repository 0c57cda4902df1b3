/* SPDX-License-Identifier: GPL-2.0-only */
/* How long other programs had a job's cores, by the run time and idle time of the whole node. */
#include <math.h>

#include "base/known.h"
#include "model/job/job_internal.h"

/* The least time for which other programs had the job's cores: the time of these cores, without
 * the job's run time, the hypervisor's time and the node's idle time, for the job's cores may have
 * been the idle ones. On a node where the job has one CPU, other programs had that CPU whenever a
 * thread of the job waited for it. */
static double taken_of(const struct job_node *n, const struct time_grid *g)
{
	const double *covered = job_unit__bins(&n->unit, Q_COVERED, g),
		     *cpu = job_unit__bins(&n->unit, Q_CPU, g),
		     *idle = job_unit__bins(&n->unit, Q_NODE_IDLE, g),
		     *stolen = job_unit__bins(&n->unit, Q_NODE_STOLEN, g),
		     *waited = job_unit__bins(&n->unit, Q_WAIT, g);
	double sum = NAN;

	for (unsigned k = 0; covered && cpu && idle && stolen && waited && k < g->n; k++) {
		double taken = n->cores * covered[k] - cpu[k] - idle[k] - known__sum(0, stolen[k]);

		if (n->cpus == 1)
			taken = fmax(taken, fmin(waited[k], n->cores * covered[k] - cpu[k]));
		sum = known__sum(sum, known__not_negative(taken));
	}
	return sum;
}

/* A wait was avoidable only while the node had an idle CPU: otherwise other programs used the
 * step's cores. Where the job has one CPU no wait was avoidable: other programs used that CPU. */
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
	n->taken_s = n->unit.bins ? taken_of(n, g) : NAN;
	if (n->unit.bins)
		cap_avoidable(&n->unit, n->cpus == 1, g);
}
