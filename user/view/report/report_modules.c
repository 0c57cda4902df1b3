/* SPDX-License-Identifier: GPL-2.0-only */
/* What was executed, as shares of all samples. */
#include <math.h>

#include "analysis/job/facts_fill.h"
#include "base/json.h"
#include "view/report/report_page.h"
#include "view/report/report_parts.h"
#include "view/report/report_shares.h"

#define SAMPLES_LEAST 100 /* with fewer, shares are by chance */

static const struct report_part names[] = {
	{NULL, "own program"}, {NULL, "MPI"},
	{NULL, "GPU library"}, {NULL, "BLAS"},
	{NULL, "OpenMP"},      {NULL, "interpreter"},
	{NULL, "C library"},   {NULL, "other libraries"},
	{NULL, "generated"},   {NULL, "kernel"},
	{NULL, "not known"},
};
#define MODULES (sizeof(names) / sizeof(names[0]))

static const enum quantity quantities[MODULES] = {
	Q_SAMPLED_OWN,	  Q_SAMPLED_MPI,	 Q_SAMPLED_LIBGPU,  Q_SAMPLED_BLAS,
	Q_SAMPLED_OPENMP, Q_SAMPLED_INTERPRETER, Q_SAMPLED_LIBC,    Q_SAMPLED_LIBRARY,
	Q_SAMPLED_MADE,	  Q_SAMPLED_KERNEL,	 Q_SAMPLED_UNKNOWN,
};

static double divide(const double total[static N_QUANTITIES], double share[static REPORT_PARTS_MAX])
{
	double all = total[Q_SAMPLES];

	for (size_t i = 0; i < MODULES; i++)
		share[i] = all > 0 ? total[quantities[i]] / all : NAN;
	return all > 0 ? all : NAN;
}

const struct report_parts report_modules = {
	.rows_key = "module_shares",
	.all_key = "samples",
	.parts = names,
	.n = MODULES,
	.divide = divide,
};

json_t *report_modules__json(const struct report *r)
{
	json_t *o = report_parts__json(&report_modules, r->job);

	json__set(o, "for_mpi", json__number(facts__job(r->facts, FACT_JOB_sampled_for_mpi)));
	return o;
}

void report_modules__print(const struct report *r, FILE *out)
{
	struct report_share shares[MODULES];

	if (!(facts__sum(r->job, Q_SAMPLES) >= SAMPLES_LEAST))
		return;
	for (size_t i = 0; i < MODULES; i++)
		shares[i] = (struct report_share){names[i].name, facts__sum(r->job, quantities[i])};
	report_shares__print("executed", shares, MODULES, out);
}
