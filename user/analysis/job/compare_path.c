/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the critical path through the tasks of a job, bin by bin. */
#include "analysis/job/compare_path.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/job/facts_fill.h"

#define LEAST 1e-9 /* of a bin: rounding does not choose between units that were always busy */

/* Where a step has more ranks than tasks, MPI's launcher runs in a task and the ranks do the work.
 */
static bool uses_ranks(const struct model_job *j, unsigned step)
{
	unsigned tasks = 0, ranks = 0;

	for (unsigned i = 0; i < j->ntasks; i++)
		if (j->tasks[i].step == step && j->tasks[i].is_rank)
			ranks++;
		else if (j->tasks[i].step == step)
			tasks++;
	return ranks > tasks;
}

static void add_unit(struct compare_units *u, const struct model_job *j,
		     const struct job_unit *unit)
{
	const struct job_node *n = &j->nodes[unit->node];

	u->v[u->n++] = (struct compare_unit){unit, n->cpus >= 1	   ? n->cpus
						   : n->cores >= 1 ? n->cores
								   : INFINITY};
}

int compare_units__of(struct compare_units *u, const struct model_job *j)
{
	size_t most = (size_t)j->ntasks + j->nnodes + 1;
	bool *ranks = calloc(j->nsteps + 1, sizeof(*ranks));

	*u = (struct compare_units){calloc(most, sizeof(*u->v)), 0};
	if (!ranks || !u->v) {
		free(ranks);
		return -ENOMEM;
	}
	for (unsigned s = 0; s < j->nsteps; s++)
		ranks[s] = uses_ranks(j, s);
	for (unsigned i = 0; i < j->ntasks; i++)
		if (j->tasks[i].is_rank == ranks[j->tasks[i].step])
			add_unit(u, j, &j->tasks[i]);
	free(ranks);
	for (unsigned i = 0; !j->ntasks && i < j->nnodes; i++)
		add_unit(u, j, &j->nodes[i].unit);
	return 0;
}

void compare_units__free(struct compare_units *u)
{
	free(u->v);
	*u = (struct compare_units){0};
}

static double amount(const struct job_unit *u, enum quantity q, const struct time_grid *g,
		     unsigned bin, bool use)
{
	const double *bins = use ? job_unit__bins(u, q, g) : NULL;

	return bins && bins[bin] > 0 ? bins[bin] : 0;
}

/* A unit with one CPU busy at a time has its seconds as they are; what several CPUs did at the same
 * time counts once. Waiting counts as far as CPUs were left. false: nothing is known. */
static bool seconds_of(const struct job_unit *u, double cpus, const struct time_grid *g,
		       const struct compare_how *how, unsigned bin, struct compare_seconds *s)
{
	const double *known = job_unit__bins(u, Q_CPU, g);
	double span = time_grid__span_s(g, bin), cpu, wait, disk, lanes;

	if (!known || isnan(known[bin]) || !(span > 0))
		return false;
	cpu = fmax(0, known[bin]);
	wait = amount(u, Q_WAIT, g, bin, how->wait);
	disk = amount(u, Q_DISK_WAIT, g, bin, how->disk);
	s->busy_cpus = fmin((cpu + wait + disk) / span, cpus);
	lanes = fmax(1, s->busy_cpus);
	s->cpu = fmin(cpu / lanes, span);
	s->wait = fmin(wait / lanes, span - s->cpu);
	s->disk = fmin(disk / lanes, span - s->cpu - s->wait);
	return true;
}

const struct job_unit *compare_units__path(const struct compare_units *u, const struct time_grid *g,
					   const struct compare_how *how, unsigned bin,
					   struct compare_seconds *s)
{
	const struct job_unit *path = NULL;
	double most = -1, busy = 0;

	for (unsigned i = 0; i < u->n; i++) {
		struct compare_seconds one;

		if (!seconds_of(u->v[i].unit, u->v[i].cpus, g, how, bin, &one))
			continue;
		busy += one.busy_cpus;
		if (one.cpu + one.wait + one.disk > most + LEAST * g->dt_s) {
			most = one.cpu + one.wait + one.disk;
			path = u->v[i].unit;
			*s = one;
		}
	}
	s->busy_cpus = busy;
	return path;
}

static const enum quantity of_cause[COMPARE_CAUSES] = {
	[0] = Q_HELD,
	[TERM_NET_FS - TERM_QUOTA] = Q_BLOCKED_NET_FS,
	[TERM_KERNEL - TERM_QUOTA] = Q_BLOCKED_KERNEL,
	[TERM_FUTEX - TERM_QUOTA] = Q_BLOCKED_FUTEX,
	[TERM_PIPE - TERM_QUOTA] = Q_BLOCKED_PIPE,
	[TERM_SOCKET - TERM_QUOTA] = Q_BLOCKED_SOCKET,
	[TERM_POLL - TERM_QUOTA] = Q_BLOCKED_POLL,
	[TERM_SLEEP - TERM_QUOTA] = Q_BLOCKED_SLEEP,
	[TERM_CHILD - TERM_QUOTA] = Q_BLOCKED_CHILD,
	[TERM_SIGNAL - TERM_QUOTA] = Q_BLOCKED_SIGNAL,
};

void compare_path__causes(const struct job_unit *path, const struct time_grid *g,
			  const struct compare_how *how, unsigned bin, double rest_s,
			  double cause_s[static COMPARE_CAUSES])
{
	static const int child = TERM_CHILD - TERM_QUOTA;
	double s[COMPARE_CAUSES], sum = amount(path, Q_BLOCKED_OTHER, g, bin, true);

	sum += amount(path, Q_BLOCKED_DISK, g, bin, !how->disk);
	sum += amount(path, Q_BLOCKED_FAULT, g, bin, !how->disk);
	for (int i = 0; i < COMPARE_CAUSES; i++) {
		s[i] = amount(path, of_cause[i], g, bin, true);
		sum += i == child ? 0 : s[i];
	}
	s[child] = fmin(s[child], fmax(0, rest_s - sum));
	sum += s[child];
	for (int i = 0; i < COMPARE_CAUSES && sum > 0 && isfinite(sum); i++)
		cause_s[i] += s[i] * fmin(1, fmax(0, rest_s) / sum);
}
