/* SPDX-License-Identifier: GPL-2.0-only */
/* How well the ranks of the main step work in parallel, of all and of each bin. */
#include <math.h>

#include "analysis/job/facts_fill.h"
#include "analysis/job/pop.h"

static int miss(struct facts *f, const char *why)
{
	static const enum fact of_job[] = {FACT_JOB_load_balance, FACT_JOB_communication_efficiency,
					   FACT_JOB_with_cpu, FACT_JOB_parallel_efficiency};
	int err = 0;

	for (unsigned i = 0; !err && i < sizeof(of_job) / sizeof(*of_job); i++)
		if (isnan(*f->values[of_job[i]]))
			err = facts__miss(f, of_job[i], why);
	return err;
}

int facts_pop__fill(struct facts *f, const struct model_job *j)
{
	unsigned n;
	const struct job_unit *ranks = facts__main_tasks(j, &n);
	struct pop pop = pop__of(ranks, n);

	for (unsigned i = 0; i < n; i++)
		f->values[FACT_TASK_useful_s][i] = pop__useful_s(&ranks[i]);
	*f->values[FACT_JOB_load_balance] = pop.load_balance;
	*f->values[FACT_JOB_communication_efficiency] = pop.communication;
	*f->values[FACT_JOB_with_cpu] = pop.with_cpu;
	*f->values[FACT_JOB_parallel_efficiency] = pop.parallel;
	*f->values[FACT_JOB_pop_samples] = pop.samples;
	for (unsigned k = 0; !isnan(pop.load_balance) && k < j->grid.n; k++) {
		struct pop bin = pop__of_bin(ranks, n, &j->grid, k);

		f->values[FACT_BIN_load_balance][k] = bin.load_balance;
		f->values[FACT_BIN_communication_efficiency][k] = bin.communication;
		f->values[FACT_BIN_with_cpu][k] = bin.with_cpu;
		f->values[FACT_BIN_parallel_efficiency][k] = bin.parallel;
	}
	return pop.why ? miss(f, pop.why) : 0;
}
