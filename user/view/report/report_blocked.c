/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints what threads were blocked by, and what had the CPU that they waited for: most first, as
 * shares of all that time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/report/report_page.h"
#include "view/report/report_text.h"

struct part {
	enum fact fact;
	const char *name;
};

static const struct part causes[] = {
	{FACT_JOB_blocked_disk_s, "disk"},
	{FACT_JOB_blocked_fault_s, "page faults"},
	{FACT_JOB_blocked_net_fs_s, "network files"},
	{FACT_JOB_blocked_kernel_s, "kernel"},
	{FACT_JOB_blocked_futex_s, "futex"},
	{FACT_JOB_blocked_pipe_s, "pipe"},
	{FACT_JOB_blocked_socket_s, "socket"},
	{FACT_JOB_blocked_poll_s, "poll"},
	{FACT_JOB_blocked_sleep_s, "sleep"},
	{FACT_JOB_blocked_child_s, "child"},
	{FACT_JOB_blocked_signal_s, "signal"},
	{FACT_JOB_blocked_other_s, "other"},
};
#define N_CAUSES (sizeof(causes) / sizeof(causes[0]))

static const struct part culprits[] = {
	{FACT_JOB_waited_own_task_s, "own task"},   {FACT_JOB_waited_own_step_s, "own step"},
	{FACT_JOB_waited_own_job_s, "own job"},	    {FACT_JOB_waited_other_jobs_s, "other jobs"},
	{FACT_JOB_waited_system_s, "not profiled"}, {FACT_JOB_waited_idle_s, "wake-up"},
	{FACT_JOB_waited_unknown_s, "unknown"},
};
#define N_CULPRITS (sizeof(culprits) / sizeof(culprits[0]))

#define MOST_PARTS N_CAUSES
#define LEAST	   0.005 /* share of a part that is named */
#define MATTERS	   0.02	 /* share of the runnable time that was waiting */

struct share {
	const char *name;
	double s;
};

static int most_first(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return (x->s < y->s) - (x->s > y->s);
}

static void print_shares(const struct report *r, const char *name, const struct part *parts,
			 size_t n, FILE *out)
{
	struct share all[MOST_PARTS];
	const char *comma = "";
	double sum = 0;
	int at;

	for (size_t i = 0; i < n; i++) {
		double s = facts__job(r->facts, parts[i].fact);

		all[i] = (struct share){parts[i].name, isnan(s) ? 0 : s};
		sum += all[i].s;
	}
	if (!(sum > 0))
		return;
	qsort(all, n, sizeof(*all), most_first);
	at = fprintf(out, "  %-14s", name);
	for (size_t i = 0; i < n && all[i].s >= LEAST * sum; i++) {
		char text[48];

		snprintf(text, sizeof(text), "%s %s %.0f %%", comma, all[i].name,
			 100 * all[i].s / sum);
		if (at + strlen(text) > REPORT_WIDTH)
			break;
		at += fprintf(out, "%s", text);
		comma = ",";
	}
	putc('\n', out);
}

void report_blocked__print(const struct report *r, FILE *out)
{
	print_shares(r, "blocked in", causes, N_CAUSES, out);
}

void report_culprits__print(const struct report *r, FILE *out)
{
	if (facts__job(r->facts, FACT_JOB_wait_share) >= MATTERS)
		print_shares(r, "waited for", culprits, N_CULPRITS, out);
}
