/* SPDX-License-Identifier: GPL-2.0-only */
/* Computes and prints where the time of the cores went. */
#include <math.h>

#include "view/report/report_page.h"
#include "view/report/report_text.h"

static const char *const names[N_BUDGET] = {
	[BUDGET_USER] = "own code",	    [BUDGET_KERNEL] = "kernel",
	[BUDGET_OTHERS] = "other programs", [BUDGET_QUOTA] = "CPU quota",
	[BUDGET_WAIT] = "wait for CPU",	    [BUDGET_DISK] = "wait for disk",
	[BUDGET_ASLEEP] = "asleep",	    [BUDGET_IDLE] = "idle",
};

/* Says in words what a name means, for readers who meet it the first time. */
static const char *const meanings[N_BUDGET] = {
	[BUDGET_OTHERS] = "used cores no thread wanted",
	[BUDGET_QUOTA] = "a quota held threads",
	[BUDGET_WAIT] = "threads waited for a CPU",
	[BUDGET_DISK] = "threads waited for a disk",
	[BUDGET_ASLEEP] = "threads slept or waited",
};

#define CELLS 24 /* A bar is so long: with the longest meaning behind it, it fits 80 columns. */

const char *report_budget__name(const struct report_budget *b, enum budget i)
{
	if (i == BUDGET_USER && isnan(b->share[BUDGET_KERNEL]))
		return "CPU";
	if (i == BUDGET_IDLE && isnan(b->share[BUDGET_WAIT]) && isnan(b->share[BUDGET_ASLEEP]))
		return "not used";
	return names[i];
}

struct report_budget report_budget__of_times(const struct budget_times *t)
{
	const struct idle_split *idle = &t->idle;
	double all = fmax(t->core_s, t->cpu), kernel;
	struct report_budget b = {.core_s = all};

	if (isnan(t->cpu) || isnan(t->core_s) || !(all > 0) || isinf(all))
		return (struct report_budget){.core_s = NAN};
	/* The kernel's split is by ticks, and may not add up to the last digit. */
	kernel = t->user + t->system > 0 ? t->cpu * t->system / (t->user + t->system) : t->system;
	b.share[BUDGET_USER] = (t->cpu - (isnan(kernel) ? 0 : kernel)) / all;
	b.share[BUDGET_KERNEL] = kernel / all;
	b.share[BUDGET_OTHERS] = idle->taken / all;
	b.share[BUDGET_QUOTA] = idle->quota / all;
	b.share[BUDGET_WAIT] = idle->wait / all;
	b.share[BUDGET_DISK] = idle->disk / all;
	b.share[BUDGET_ASLEEP] = idle->asleep / all;
	b.share[BUDGET_IDLE] = (isnan(idle->none) ? all - t->cpu : idle->none) / all;
	return b;
}

struct report_budget report_budget__of(const struct report *r)
{
	const struct facts *f = r->facts;
	const struct budget_times t = {
		.cpu = facts__job(f, FACT_JOB_cpu_s),
		.user = facts__job(f, FACT_JOB_user_s),
		.system = facts__job(f, FACT_JOB_system_s),
		.core_s = facts__job(f, FACT_JOB_core_s),
		.idle = {facts__job(f, FACT_JOB_idle_quota_s), facts__job(f, FACT_JOB_idle_wait_s),
			 facts__job(f, FACT_JOB_idle_disk_s), facts__job(f, FACT_JOB_idle_asleep_s),
			 facts__job(f, FACT_JOB_idle_taken_s), facts__job(f, FACT_JOB_idle_s)},
	};

	return report_budget__of_times(&t);
}

#define LEAST	  0.0005
#define LEAST_RUN 0.005

/* Whether a part has a line. */
static bool matters(const struct report *r, const struct report_budget *b, int i)
{
	if (i == BUDGET_USER)
		return true;
	return b->share[i] >= (r->is_run ? LEAST_RUN : LEAST) || (i == BUDGET_IDLE && !r->is_run);
}

/* A long product begins further left. */
static void print_heading(const struct report *r, FILE *out)
{
	const struct facts *f = r->facts;
	const bool are_cores = model_job__counts_cores(r->job);
	double cores = facts__job(f, FACT_JOB_cores);
	report_number count, wall, all;
	report_line product;
	int n = snprintf(
		product, sizeof(product), "%.20s %s%s x %.20s%s%.20s",
		report_text__count(cores, count), report_head__core(r), report_text__s(cores),
		report_text__time(facts__job(f, FACT_JOB_wall_s), wall), are_cores ? " = " : "",
		are_cores ? report_text__cores(facts__job(f, FACT_JOB_core_s), all) : "");

	fprintf(out, "\n%-*s %s\n", n < REPORT_WIDTH - 45 ? 44 : REPORT_WIDTH - n - 1,
		"Where the time went", product);
}

void report_budget__print(const struct report *r, FILE *out)
{
	struct report_budget b = report_budget__of(r);

	if (isnan(b.core_s))
		return;
	print_heading(r, out);
	for (int i = 0; i < N_BUDGET; i++) {
		int cells = isnan(b.share[i]) ? 0 : (int)lrint(b.share[i] * CELLS);

		if (!matters(r, &b, i))
			continue;
		fprintf(out, "  %-14s %5.1f %%", report_budget__name(&b, i), 100 * b.share[i]);
		fputs(cells ? "  " : "", out);
		for (int k = 0; k < cells; k++)
			putc('#', out);
		if (i == BUDGET_IDLE && !model_job__counts_cores(r->job))
			fputs("  CPUs, or threads of cores", out);
		else if (meanings[i])
			fprintf(out, "  %s", meanings[i]);
		putc('\n', out);
	}
}
