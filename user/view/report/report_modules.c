/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints what was executed, as shares of all samples, and how well the ranks worked in parallel. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/report/report_page.h"
#include "view/report/report_text.h"

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
#define N_MODULES (sizeof(modules) / sizeof(modules[0]))
#define LEAST	  0.005 /* share of a kind that is named */

struct share {
	const char *name;
	double samples;
};

static int most_first(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return (x->samples < y->samples) - (x->samples > y->samples);
}

static void print_modules(const struct report *r, double all, FILE *out)
{
	struct share shares[N_MODULES];
	const char *comma = "";
	int at = fprintf(out, "  %-14s", "executed");

	for (size_t i = 0; i < N_MODULES; i++) {
		double n = facts__job(r->facts, modules[i].fact);

		shares[i] = (struct share){modules[i].name, isnan(n) ? 0 : n};
	}
	qsort(shares, N_MODULES, sizeof(*shares), most_first);
	for (size_t i = 0; i < N_MODULES && shares[i].samples >= LEAST * all; i++) {
		char text[48];

		snprintf(text, sizeof(text), "%s %s %.0f %%", comma, shares[i].name,
			 100 * shares[i].samples / all);
		if (at + strlen(text) > REPORT_WIDTH)
			break;
		at += fprintf(out, "%s", text);
		comma = ",";
	}
	putc('\n', out);
}

static void print_pop(const struct report *r, FILE *out)
{
	double lb = facts__job(r->facts, FACT_JOB_load_balance);
	double comm = facts__job(r->facts, FACT_JOB_communication_efficiency);
	double samples = facts__job(r->facts, FACT_JOB_pop_samples);

	if (isnan(lb))
		return;
	fprintf(out, "  %-14s  load balance %.2f", "ranks", lb);
	if (!isnan(comm))
		fprintf(out, " x communication %.2f = parallel efficiency %.2f", comm,
			facts__job(r->facts, FACT_JOB_parallel_efficiency));
	fputs(isnan(samples) ? "\n                  (by blocking)\n" : "\n", out);
}

void report_modules__print(const struct report *r, FILE *out)
{
	double all = facts__job(r->facts, FACT_JOB_samples);

	if (all > 0)
		print_modules(r, all, out);
	print_pop(r, out);
}
