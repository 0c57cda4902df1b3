/* SPDX-License-Identifier: GPL-2.0-only */
/* Computes and prints where the time of the cores went. */
#include <math.h>

#include "base/known.h"
#include "view/report/report_page.h"
#include "view/report/report_text.h"

static const char *const names[N_BUDGET] = {
	[BUDGET_USER] = "own code",
	[BUDGET_KERNEL] = "kernel",
	[BUDGET_OTHERS] = "other programs",
	[BUDGET_WAIT] = "wait for CPU",
	[BUDGET_DISK] = "wait for disk",
	[BUDGET_ASLEEP] = "asleep",
	[BUDGET_IDLE] = "idle",
};

/* Says in words what a name means, for readers who meet it the first time. */
static const char *const meanings[N_BUDGET] = {
	[BUDGET_OTHERS] = "used cores no thread wanted",
	[BUDGET_WAIT] = "threads waited for a CPU",
	[BUDGET_DISK] = "threads waited for a disk",
	[BUDGET_ASLEEP] = "threads slept or waited",
};

#define CELLS 24 /* A bar is so long: with the longest meaning behind it, it fits 80 columns. */

static double known(double v)
{
	return isnan(v) ? 0 : v;
}

const char *report_budget__name(const struct report_budget *b, enum budget i)
{
	if (i == BUDGET_USER && isnan(b->share[BUDGET_KERNEL]))
		return "CPU";
	if (i == BUDGET_IDLE && isnan(b->share[BUDGET_WAIT]) && isnan(b->share[BUDGET_ASLEEP]))
		return "not used";
	return names[i];
}

/* A part as a share of all; NaN where the time of its kind is not known. */
static double share_of(double part, double time, double all)
{
	return isnan(time) ? NAN : part / all;
}

/* Takes a part from what is left, as far as there is some; returns the part. */
static double take(double *left, double part)
{
	part = fmin(*left, known(part));
	*left -= part;
	return part;
}

/* What the job did not compute is put down to what its threads waited for meanwhile: to CPUs first,
 * then to disks, then to all else; other programs and idleness have what no thread waited with. */
struct report_budget report_budget__split(const struct budget_times *t)
{
	double system = known(t->system), all = fmax(t->core_s, t->cpu);
	double idle = all - t->cpu, others, wait, disk, asleep;
	struct report_budget b = {.core_s = all};

	if (isnan(t->cpu) || isnan(t->core_s) || !(all > 0) || isinf(all))
		return (struct report_budget){.core_s = NAN};
	/* The kernel's split is by ticks, and may not add up to the last digit. */
	system = isnan(t->user)		? system
		 : t->user + system > 0 ? t->cpu * system / (t->user + system)
					: 0;
	wait = take(&idle, t->wait);
	disk = take(&idle, t->disk);
	asleep = take(&idle, t->asleep);
	others = take(&idle, t->others);
	b.share[BUDGET_USER] = (t->cpu - system) / all;
	b.share[BUDGET_KERNEL] = share_of(system, t->system, all);
	b.share[BUDGET_OTHERS] = share_of(others, t->others, all);
	b.share[BUDGET_WAIT] = share_of(wait, t->wait, all);
	b.share[BUDGET_DISK] = share_of(disk, t->disk, all);
	b.share[BUDGET_ASLEEP] = share_of(asleep, t->asleep, all);
	b.share[BUDGET_IDLE] = idle / all;
	return b;
}

/* Other programs and the hypervisor; NaN: of other programs nothing is known, and the hypervisor
 * took nothing. On a node that others have a part of, it is the least that others had. */
static double others_of(const struct facts *f)
{
	double others = facts__job(f, FACT_JOB_others_s), stolen = facts__job(f, FACT_JOB_stolen_s);

	if (isnan(others))
		others = facts__job(f, FACT_JOB_taken_s);
	return isnan(others) && !(stolen > 0) ? NAN : known(others) + known(stolen);
}

double report_budget__wait_on(const struct model_job *j, const struct job_node *n)
{
	const double *covered = job_unit__bins(&n->unit, Q_COVERED, &j->grid),
		     *cpu = job_unit__bins(&n->unit, Q_CPU, &j->grid),
		     *wait = job_unit__bins(&n->unit, Q_WAIT, &j->grid);
	double sum = NAN;

	for (unsigned k = 0; covered && cpu && wait && k < j->grid.n; k++)
		if (!isnan(wait[k]))
			sum = known__sum(sum,
					 fmax(0, fmin(wait[k], n->cores * covered[k] - cpu[k])));
	return sum;
}

static double wait_of(const struct model_job *j)
{
	double sum = NAN;

	for (unsigned i = 0; i < j->nnodes; i++)
		sum = known__sum(sum, report_budget__wait_on(j, &j->nodes[i]));
	return sum;
}

struct report_budget report_budget__of(const struct report *r)
{
	const struct facts *f = r->facts;
	const struct budget_times t = {
		.cpu = facts__job(f, FACT_JOB_cpu_s),
		.user = facts__job(f, FACT_JOB_user_s),
		.system = facts__job(f, FACT_JOB_system_s),
		.others = others_of(f),
		.wait = wait_of(r->job),
		.disk = facts__job(f, FACT_JOB_disk_wait_s),
		.asleep = facts__job(f, FACT_JOB_asleep_s),
		.core_s = facts__job(f, FACT_JOB_core_s),
	};

	return report_budget__split(&t);
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
static void print_heading(const struct facts *f, FILE *out)
{
	double cores = facts__job(f, FACT_JOB_cores);
	report_number count, wall, all;
	report_line product;
	int n = snprintf(product, sizeof(product), "%.20s core%s x %.20s = %.20s",
			 report_text__count(cores, count), report_text__s(cores),
			 report_text__time(facts__job(f, FACT_JOB_wall_s), wall),
			 report_text__cores(facts__job(f, FACT_JOB_core_s), all));

	fprintf(out, "\n%-*s %s\n", n < REPORT_WIDTH - 45 ? 44 : REPORT_WIDTH - n - 1,
		"Where the time went", product);
}

void report_budget__print(const struct report *r, FILE *out)
{
	struct report_budget b = report_budget__of(r);

	if (isnan(b.core_s))
		return;
	print_heading(r->facts, out);
	for (int i = 0; i < N_BUDGET; i++) {
		int cells = isnan(b.share[i]) ? 0 : (int)lrint(b.share[i] * CELLS);

		if (!matters(r, &b, i))
			continue;
		fprintf(out, "  %-14s %5.1f %%", report_budget__name(&b, i), 100 * b.share[i]);
		fputs(cells ? "  " : "", out);
		for (int k = 0; k < cells; k++)
			putc('#', out);
		if (meanings[i])
			fprintf(out, "  %s", meanings[i]);
		putc('\n', out);
	}
}
