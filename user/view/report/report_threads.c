/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the time of threads went: they ran, waited for a CPU, or were blocked, by causes. */
#include <math.h>
#include <string.h>

#include "analysis/job/facts_fill.h"
#include "view/report/report_page.h"
#include "view/report/report_parts.h"

#define BLOCKED_LEAST 0.01 /* of all time of all threads; with less there is no line of causes */

static const struct report_part parts[] = {
	{Q_USER, "run", "own code"},
	{Q_SYSTEM, "run", "kernel"},
	{Q_INTERRUPTED, "stolen", "stolen"},
	{Q_CPU_WAIT, "wait", "wait for CPU"},
	{Q_HELD, "quota", "CPU quota"},
	{Q_BLOCKED_DISK, "blocked", "disk"},
	{Q_BLOCKED_FAULT, "blocked", "page faults"},
	{Q_BLOCKED_NET_FS, "blocked", "network files"},
	{Q_BLOCKED_KERNEL, "blocked", "kernel wait"},
	{Q_BLOCKED_FUTEX, "blocked", "locks"},
	{Q_BLOCKED_PIPE, "blocked", "pipe"},
	{Q_BLOCKED_SOCKET, "blocked", "socket"},
	{Q_BLOCKED_POLL, "blocked", "poll"},
	{Q_BLOCKED_SLEEP, "blocked", "sleep"},
	{Q_BLOCKED_CHILD, "blocked", "child"},
	{Q_BLOCKED_SIGNAL, "blocked", "signal"},
	{Q_BLOCKED_OTHER, "blocked", "other"},
};

/* Code of the program and of the kernel are parts of Q_RUNNING, as they are of CPU time. */
static void correct(const double total[static N_QUANTITIES], double share[static REPORT_PARTS_MAX])
{
	double running = total[Q_RUNNING] / total[Q_THREAD_TIME];
	double cpu = total[Q_USER] + total[Q_SYSTEM];

	share[1] = cpu > 0 ? running * total[Q_SYSTEM] / cpu : NAN;
	share[0] = isnan(share[1]) ? running : running - share[1];
}

const struct report_parts report_threads = {
	.rows_key = "thread_shares",
	.all_key = "thread_s",
	.parts = parts,
	.n = sizeof(parts) / sizeof(parts[0]),
	.whole = Q_THREAD_TIME,
	.correct = correct,
	.first_alone = "CPU",
};

/* Prints the causes of waits alone, where they matter. */
void report_threads__print(const struct report *r, FILE *out)
{
	unsigned first = 0;
	double blocked_s = 0;

	while (strcmp(parts[first].kind, "blocked"))
		first++;
	for (unsigned i = first; i < report_threads.n; i++) {
		double s = facts__sum(r->job, parts[i].of);

		blocked_s += isnan(s) ? 0 : s;
	}
	if (blocked_s >= BLOCKED_LEAST * facts__sum(r->job, Q_THREAD_TIME))
		report_parts__print("blocked in", &report_threads, first, r->job, out);
}
