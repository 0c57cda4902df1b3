// SPDX-License-Identifier: GPL-2.0-only
/* Values that facts of several subjects use: sums over nodes, a node's limit, the tasks of a step.
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/job/facts_fill.h"
#include "base/known.h"

double facts__sum(const struct model_job *j, enum quantity q)
{
	double sum = NAN;

	for (unsigned i = 0; i < j->nnodes; i++)
		sum = known__sum(sum, j->nodes[i].unit.total[q]);
	return sum;
}

double facts__max(const struct model_job *j, enum quantity q)
{
	double max = NAN;

	for (unsigned i = 0; i < j->nnodes; i++)
		max = fmax(max, j->nodes[i].unit.total[q]);
	return max;
}

double facts__bin_sum(const struct model_job *j, enum quantity q, unsigned bin)
{
	double sum = NAN;

	for (unsigned i = 0; i < j->nnodes; i++) {
		const double *bins = job_unit__bins(&j->nodes[i].unit, q, &j->grid);

		if (bins)
			sum = known__sum(sum, bins[bin]);
	}
	return sum;
}

static int cmp(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

double facts__median(double *v, size_t n)
{
	if (!n)
		return NAN;
	qsort(v, n, sizeof(*v), cmp);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

double facts__limit_mb(const struct job_node *n)
{
	double charged = n->unit.total[Q_LIMIT];

	return isnan(n->limit_mb) ? charged
	       : isnan(charged)	  ? n->limit_mb
				  : fmin(n->limit_mb, charged);
}

/* The tasks of a step lie together, and so do its ranks, unless other steps have more of them. */
static const struct job_unit *units_of(const struct model_job *j, unsigned step, bool ranks,
				       unsigned *n)
{
	const struct job_unit *first = NULL;

	*n = 0;
	for (unsigned i = 0; i < j->ntasks; i++)
		if (j->tasks[i].step == step && j->tasks[i].is_rank == ranks) {
			first = first ? first : &j->tasks[i];
			++*n;
		}
	return first;
}

const struct job_unit *facts__tasks_of(const struct model_job *j, unsigned step, unsigned *n)
{
	unsigned ntasks, nranks;
	const struct job_unit *tasks = units_of(j, step, false, &ntasks),
			      *ranks = units_of(j, step, true, &nranks);

	if (nranks && j->world > nranks) {
		nranks = step == j->main_step ? j->world : 0;
		ranks = &j->tasks[j->ntasks - j->world];
	}
	*n = nranks > ntasks ? nranks : ntasks;
	return nranks > ntasks ? ranks : tasks;
}

const struct job_unit *facts__main_tasks(const struct model_job *j, unsigned *n)
{
	return facts__tasks_of(j, j->main_step, n);
}
