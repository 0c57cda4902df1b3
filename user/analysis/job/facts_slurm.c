/* SPDX-License-Identifier: GPL-2.0-only */
/* Facts that Slurm, or the programs' own end, said: attributes of the parts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/facts_fill.h"

static double number(const struct model_job *j, const char *name)
{
	const struct model_attr *a = model_job__attr(j, name);

	return a ? a->number : NAN;
}

static const char *text(const struct model_job *j, const char *name)
{
	const struct model_attr *a = model_job__attr(j, name);

	return a ? a->text : NULL;
}

static double part_number(const struct job_part *p, const char *name)
{
	for (unsigned i = 0; i < p->nattrs; i++)
		if (!strcmp(p->attrs[i].name, name))
			return p->attrs[i].number;
	return NAN;
}

static double max_of_parts(const struct model_job *j, const char *name)
{
	double max = NAN;

	for (unsigned i = 0; i < j->nparts; i++)
		max = fmax(max, part_number(&j->parts[i], name));
	return max;
}

static double min_of_parts(const struct model_job *j, const char *name)
{
	double min = NAN;

	for (unsigned i = 0; i < j->nparts; i++)
		min = fmin(min, part_number(&j->parts[i], name));
	return min;
}

/* The GPUs of all nodes: of each node the most that one of its parts says. */
static double gpus_of(const struct model_job *j)
{
	double sum = NAN;

	for (unsigned n = 0; n < j->nnodes; n++) {
		double most = NAN;

		for (unsigned i = 0; i < j->nparts; i++)
			if (!j->parts[i].trouble && j->parts[i].node == n)
				most = fmax(most, part_number(&j->parts[i], "Allocated GPUs"));
		if (!isnan(most))
			sum = isnan(sum) ? most : sum + most;
	}
	if (!isnan(sum) || j->ngpus)
		return isnan(sum) ? j->ngpus : sum;
	/* Slurm names the GPUs of a job that has some. */
	return model_job__attr(j, "Node Sharing") ? 0 : NAN;
}

/* 1: no other job may be on the nodes; 0: others may. */
static double is_exclusive(const struct model_job *j)
{
	const char *sharing = text(j, "Node Sharing");

	return sharing ? !strcmp(sharing, "exclusive") : NAN;
}

static double is_completed(const struct model_job *j)
{
	const char *state = text(j, "Job State"), *end = text(j, "End Reason");
	double status = max_of_parts(j, "Exit Status");

	if (state)
		return !strcmp(state, "COMPLETED");
	if (end && strcmp(end, "exited"))
		return 0;
	return isnan(status) ? NAN : status == 0;
}

void facts_slurm__fill(struct facts *f, const struct model_job *j)
{
	const char *state = text(j, "Job State"), *reason = text(j, "End Reason");
	double start = number(j, "Job Start EpochTime");
	double *const *v = f->values;
	const char *step = j->nsteps ? j->steps[j->main_step].name : "";

	f->state = state ? strdup(state) : NULL;
	*v[FACT_JOB_limit_s] = number(j, "Time Limit");
	*v[FACT_JOB_is_completed] = is_completed(j);
	*v[FACT_JOB_is_running] = state ? !strcmp(state, "RUNNING") : reason ? 0 : NAN;
	*v[FACT_JOB_is_exclusive] = is_exclusive(j);
	*v[FACT_JOB_is_interactive] = !strcmp(step, "interactive") || !strcmp(step, "-6");
	*v[FACT_JOB_is_slurm] = j->is_slurms || !isnan(start) || text(j, "Partition");
	*v[FACT_JOB_array_tasks] = number(j, "Array Task Count");
	*v[FACT_JOB_nodes_allocated] = max_of_parts(j, "Nodes in Step");
	*v[FACT_JOB_left_cgroup_s] = min_of_parts(j, "Left Cgroup After");
	*v[FACT_JOB_gpus] = gpus_of(j);
	*v[FACT_JOB_job_elapsed_s] =
		start > 0 ? j->grid.t0_ns / 1e9 + j->grid.end_s - start : j->grid.end_s;
	/* What was asked for per CPU may be the site's default. */
	*v[FACT_JOB_is_request_default] = isnan(number(j, "Requested Memory per Node")) ? NAN : 0;
	*v[FACT_JOB_request_mb] = NAN;
	for (unsigned i = 0; i < j->nnodes; i++)
		*v[FACT_JOB_request_mb] = fmin(*v[FACT_JOB_request_mb], j->nodes[i].request_mb);
}
