/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints what had the CPU that threads waited for, where waiting mattered. */
#include "view/report/report_page.h"
#include "view/report/report_shares.h"

#define MATTERS 0.02 /* share of the runnable time that was waiting */

static const struct {
	enum fact fact;
	const char *name;
} culprits[] = {
	{FACT_JOB_waited_own_task_s, "own task"},   {FACT_JOB_waited_own_step_s, "own step"},
	{FACT_JOB_waited_own_job_s, "own job"},	    {FACT_JOB_waited_other_jobs_s, "other jobs"},
	{FACT_JOB_waited_system_s, "not profiled"}, {FACT_JOB_waited_idle_s, "wake-up"},
	{FACT_JOB_waited_unknown_s, "unknown"},
};
#define N_CULPRITS (sizeof(culprits) / sizeof(culprits[0]))

void report_culprits__print(const struct report *r, FILE *out)
{
	struct report_share shares[N_CULPRITS];

	if (!(facts__job(r->facts, FACT_JOB_wait_share) >= MATTERS))
		return;
	for (size_t i = 0; i < N_CULPRITS; i++)
		shares[i] = (struct report_share){culprits[i].name,
						  facts__job(r->facts, culprits[i].fact)};
	report_shares__print("waited for", shares, N_CULPRITS, out);
}
