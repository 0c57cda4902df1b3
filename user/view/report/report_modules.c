/* SPDX-License-Identifier: GPL-2.0-only */
/* What was executed, as shares of all samples. */
#include "analysis/job/facts_fill.h"
#include "base/json.h"
#include "view/report/report_page.h"
#include "view/report/report_parts.h"

static const struct report_part parts[] = {
	{Q_SAMPLED_OWN, NULL, "own program"},	 {Q_SAMPLED_MPI, NULL, "MPI"},
	{Q_SAMPLED_LIBGPU, NULL, "GPU library"}, {Q_SAMPLED_BLAS, NULL, "BLAS"},
	{Q_SAMPLED_OPENMP, NULL, "OpenMP"},	 {Q_SAMPLED_INTERPRETER, NULL, "interpreter"},
	{Q_SAMPLED_LIBC, NULL, "C library"},	 {Q_SAMPLED_LIBRARY, NULL, "other libraries"},
	{Q_SAMPLED_MADE, NULL, "generated"},	 {Q_SAMPLED_KERNEL, NULL, "kernel"},
	{Q_SAMPLED_UNKNOWN, NULL, "not known"},
};

const struct report_parts report_modules = {
	.rows_key = "module_shares",
	.all_key = "samples",
	.parts = parts,
	.n = sizeof(parts) / sizeof(parts[0]),
	.whole = Q_SAMPLES,
};

json_t *report_modules__json(const struct report *r)
{
	json_t *o = report_parts__json(&report_modules, r->job);

	json__set(o, "for_mpi", json__number(facts__job(r->facts, FACT_JOB_sampled_for_mpi)));
	return o;
}

void report_modules__print(const struct report *r, FILE *out)
{
	if (facts__sum(r->job, Q_SAMPLES) >= REPORT_SAMPLES_LEAST)
		report_parts__print("executed", &report_modules, 0, r->job, out);
}
