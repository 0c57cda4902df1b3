/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts of the last part of a job: what holds now, of a job that runs. */
#include <math.h>
#include <string.h>

#include "analysis/job/facts_fill.h"

/* Whether a fact of bins adds up to one of the job. */
static bool is_amount(const struct fact_info *i)
{
	if (i->of != N_QUANTITIES)
		return !quantity__is_gauge(i->of);
	return !strcmp(i->unit, "s") && !strncmp(i->name, "idle_", 5);
}

static double sum_of(const struct facts *f, enum fact fact)
{
	double sum = NAN;

	for (size_t k = 0; k < f->count[SCOPE_BIN]; k++)
		if (!isnan(f->values[fact][k]))
			sum = (isnan(sum) ? 0 : sum) + f->values[fact][k];
	return sum;
}

/* The job's fact of that name; N_FACTS: there is none. */
static enum fact of_job(const char *name)
{
	for (int i = 0; i < N_FACTS; i++)
		if (fact_infos[i].scope == SCOPE_JOB && !strcmp(fact_infos[i].name, name))
			return (enum fact)i;
	return N_FACTS;
}

static void add_up(struct facts *f)
{
	for (int i = 0; i < N_FACTS; i++) {
		enum fact job;

		if (fact_infos[i].scope != SCOPE_BIN || !is_amount(&fact_infos[i]))
			continue;
		job = of_job(fact_infos[i].name);
		if (job != N_FACTS)
			*f->values[job] = sum_of(f, (enum fact)i);
	}
}

static void derive(struct facts *f)
{
	double *const *v = f->values;
	const double cpu = *v[FACT_JOB_cpu_s], wait = *v[FACT_JOB_wait_s];

	*v[FACT_JOB_wall_s] = sum_of(f, FACT_BIN_span_s);
	*v[FACT_JOB_core_s] = sum_of(f, FACT_BIN_cores_s);
	*v[FACT_JOB_cpu_share] = cpu / *v[FACT_JOB_core_s];
	*v[FACT_JOB_wait_share] = cpu + wait > 0 ? wait / (cpu + wait) : NAN;
	*v[FACT_JOB_demand] = (cpu + wait) / *v[FACT_JOB_wall_s];
}

int facts__narrow(struct facts *f, const struct model_job *j, unsigned bins)
{
	const size_t n = bins < f->count[SCOPE_BIN] ? bins : f->count[SCOPE_BIN];
	const size_t gone = f->count[SCOPE_BIN] - n;
	const unsigned first = j->grid.n - (unsigned)n;
	static const enum fact leaks[] = {FACT_JOB_leak_m,	  FACT_JOB_leak_mb_s,
					  FACT_JOB_leak_low_mb_s, FACT_JOB_leak_high_mb_s,
					  FACT_JOB_leak_now_mb,	  FACT_JOB_leak_limit_mb};

	for (int i = 0; i < N_FACTS; i++)
		if (fact_infos[i].scope == SCOPE_BIN)
			memmove(f->values[i], f->values[i] + gone, n * sizeof(**f->values));
	f->count[SCOPE_BIN] = n;
	add_up(f);
	derive(f);
	for (size_t i = 0; i < sizeof(leaks) / sizeof(*leaks); i++)
		*f->values[leaks[i]] = NAN;
	facts_gpus__use(f, j, first);
	return facts_memory__leak(f, j, first);
}
