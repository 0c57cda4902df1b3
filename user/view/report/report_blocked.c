/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints what threads were blocked by, most first, as shares of all their blocked time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/report/report_page.h"
#include "view/report/report_text.h"

static const struct {
	enum fact fact;
	const char *name;
} causes[] = {
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
#define LEAST	 0.005 /* share of a cause that is named */

struct blocked {
	const char *name;
	double s;
};

static int most_first(const void *a, const void *b)
{
	const struct blocked *x = a, *y = b;

	return (x->s < y->s) - (x->s > y->s);
}

void report_blocked__print(const struct report *r, FILE *out)
{
	struct blocked all[N_CAUSES];
	const char *comma = "";
	double sum = 0;
	int at;

	for (size_t i = 0; i < N_CAUSES; i++) {
		double s = facts__job(r->facts, causes[i].fact);

		all[i] = (struct blocked){causes[i].name, isnan(s) ? 0 : s};
		sum += all[i].s;
	}
	if (!(sum > 0))
		return;
	qsort(all, N_CAUSES, sizeof(*all), most_first);
	at = fprintf(out, "  %-14s", "blocked in");
	for (size_t i = 0; i < N_CAUSES && all[i].s >= LEAST * sum; i++) {
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
