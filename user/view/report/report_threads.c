/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the time of threads went: they ran, waited for a CPU, or were blocked, by causes. */
#include <math.h>
#include <string.h>

#include "analysis/job/facts_fill.h"
#include "view/report/report_page.h"
#include "view/report/report_parts.h"
#include "view/report/report_shares.h"

#define BLOCKED_LEAST 0.01 /* of all time of all threads; with less there is no line of causes */

static const struct report_part names[] = {
	{"run", "own code"}, /* these two: of Q_RUNNING, as CPU time is */
	{"run", "kernel"},
	{"stolen", "stolen"},
	{"wait", "wait for CPU"},
	{"quota", "CPU quota"},
	{"blocked", "disk"},
	{"blocked", "page faults"},
	{"blocked", "network files"},
	{"blocked", "kernel wait"},
	{"blocked", "futex"},
	{"blocked", "pipe"},
	{"blocked", "socket"},
	{"blocked", "poll"},
	{"blocked", "sleep"},
	{"blocked", "child"},
	{"blocked", "signal"},
	{"blocked", "other"},
};
#define STATES (sizeof(names) / sizeof(names[0]))

static const enum quantity quantities[STATES] = {
	Q_USER,		  Q_SYSTEM,	    Q_INTERRUPTED,    Q_CPU_WAIT,	Q_HELD,
	Q_BLOCKED_DISK,	  Q_BLOCKED_FAULT,  Q_BLOCKED_NET_FS, Q_BLOCKED_KERNEL, Q_BLOCKED_FUTEX,
	Q_BLOCKED_PIPE,	  Q_BLOCKED_SOCKET, Q_BLOCKED_POLL,   Q_BLOCKED_SLEEP,	Q_BLOCKED_CHILD,
	Q_BLOCKED_SIGNAL, Q_BLOCKED_OTHER,
};

static double divide(const double total[static N_QUANTITIES], double share[static REPORT_PARTS_MAX])
{
	double all = total[Q_THREAD_TIME], cpu = total[Q_USER] + total[Q_SYSTEM];

	for (size_t i = 0; i < STATES; i++)
		share[i] = all > 0 ? total[quantities[i]] / all : NAN;
	share[1] = cpu > 0 ? total[Q_RUNNING] / all * total[Q_SYSTEM] / cpu : NAN;
	share[0] = all > 0 ? total[Q_RUNNING] / all : NAN;
	if (!isnan(share[1]))
		share[0] -= share[1];
	return all > 0 ? all : NAN;
}

const struct report_parts report_threads = {
	.rows_key = "thread_shares",
	.all_key = "thread_s",
	.parts = names,
	.n = STATES,
	.first_alone = "CPU",
	.divide = divide,
};

/* As text: the causes alone, where they matter. */
void report_threads__print(const struct report *r, FILE *out)
{
	struct report_share shares[STATES];
	double blocked_s = 0;
	size_t n = 0;

	for (size_t i = 0; i < STATES; i++)
		if (!strcmp(names[i].kind, "blocked")) {
			double s = facts__sum(r->job, quantities[i]);

			shares[n++] = (struct report_share){names[i].name, s};
			blocked_s += isnan(s) ? 0 : s;
		}
	if (blocked_s >= BLOCKED_LEAST * facts__sum(r->job, Q_THREAD_TIME))
		report_shares__print("blocked in", shares, n, out);
}
