/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints what was executed, as shares of all samples, and how well the ranks worked in parallel. */
#include <math.h>

#include "view/report/report_page.h"
#include "view/report/report_shares.h"

static const struct {
	enum fact fact;
	const char *name;
} modules[] = {
	{FACT_JOB_sampled_own, "own program"},	   {FACT_JOB_sampled_mpi, "MPI"},
	{FACT_JOB_sampled_gpu, "GPU library"},	   {FACT_JOB_sampled_blas, "BLAS"},
	{FACT_JOB_sampled_openmp, "OpenMP"},	   {FACT_JOB_sampled_interpreter, "interpreter"},
	{FACT_JOB_sampled_libc, "C library"},	   {FACT_JOB_sampled_library, "other libraries"},
	{FACT_JOB_sampled_generated, "generated"}, {FACT_JOB_sampled_kernel, "kernel"},
	{FACT_JOB_sampled_unknown, "not known"},
};
#define SAMPLES_LEAST 100 /* with fewer, shares are by chance */
#define N_MODULES     (sizeof(modules) / sizeof(modules[0]))

static void print_modules(const struct report *r, FILE *out)
{
	struct report_share shares[N_MODULES];
	double samples = 0;

	for (size_t i = 0; i < N_MODULES; i++) {
		double n = facts__job(r->facts, modules[i].fact);

		shares[i] = (struct report_share){modules[i].name, n};
		samples += isnan(n) ? 0 : n;
	}
	if (samples >= SAMPLES_LEAST)
		report_shares__print("executed", shares, N_MODULES, out);
}

static void print_pop(const struct report *r, FILE *out)
{
	double lb = facts__job(r->facts, FACT_JOB_load_balance);
	double comm = facts__job(r->facts, FACT_JOB_communication_efficiency);
	double samples = facts__job(r->facts, FACT_JOB_pop_samples);

	if (isnan(lb))
		return;
	fprintf(out, "  %-14s load balance %.2f", "ranks", lb);
	if (!isnan(comm))
		fprintf(out, " x communication %.2f = parallel efficiency %.2f", comm,
			facts__job(r->facts, FACT_JOB_parallel_efficiency));
	fputs(isnan(samples) ? "\n                 (by blocking)\n" : "\n", out);
}

void report_modules__print(const struct report *r, FILE *out)
{
	print_modules(r, out);
	print_pop(r, out);
}
