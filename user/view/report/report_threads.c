/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the time of threads went: they ran, waited for a CPU, or were blocked, by causes. */
#include <math.h>
#include <string.h>

#include "analysis/job/facts_fill.h"
#include "base/json.h"
#include "view/report/report_page.h"
#include "view/report/report_shares.h"
#include "view/report/report_threads.h"

#define BLOCKED_LEAST 0.01 /* of all time of all threads; with less there is no line of causes */

static const struct state {
	enum quantity q;
	const char *kind, *name;
} states[THREAD_STATES] = {
	{Q_USER, "run", "own code"}, /* these two: of Q_RUNNING, as CPU time is */
	{Q_SYSTEM, "run", "kernel"},
	{Q_INTERRUPTED, "stolen", "stolen"},
	{Q_CPU_WAIT, "wait", "wait for CPU"},
	{Q_HELD, "quota", "CPU quota"},
	{Q_BLOCKED_DISK, "blocked", "disk"},
	{Q_BLOCKED_FAULT, "blocked", "page faults"},
	{Q_BLOCKED_NET_FS, "blocked", "network files"},
	{Q_BLOCKED_KERNEL, "blocked", "kernel wait"},
	{Q_BLOCKED_FUTEX, "blocked", "futex"},
	{Q_BLOCKED_PIPE, "blocked", "pipe"},
	{Q_BLOCKED_SOCKET, "blocked", "socket"},
	{Q_BLOCKED_POLL, "blocked", "poll"},
	{Q_BLOCKED_SLEEP, "blocked", "sleep"},
	{Q_BLOCKED_CHILD, "blocked", "child"},
	{Q_BLOCKED_SIGNAL, "blocked", "signal"},
	{Q_BLOCKED_OTHER, "blocked", "other"},
};

void report_threads__shares(const double total[static N_QUANTITIES],
			    double share[static THREAD_STATES])
{
	double all = total[Q_THREAD_TIME], cpu = total[Q_USER] + total[Q_SYSTEM];

	for (int i = 0; i < THREAD_STATES; i++)
		share[i] = all > 0 ? total[states[i].q] / all : NAN;
	share[1] = cpu > 0 ? total[Q_RUNNING] / all * total[Q_SYSTEM] / cpu : NAN;
	share[0] = all > 0 ? total[Q_RUNNING] / all : NAN;
	if (!isnan(share[1]))
		share[0] -= share[1];
}

/* The sum over all nodes. */
static void add_up(const struct model_job *j, double total[static N_QUANTITIES])
{
	for (int q = 0; q < N_QUANTITIES; q++)
		total[q] = facts__sum(j, q);
}

json_t *report_threads__json(const struct model_job *j)
{
	json_t *o = json_object(), *shares = json_array(), *one;
	double total[N_QUANTITIES], share[THREAD_STATES];

	add_up(j, total);
	report_threads__shares(total, share);
	for (int i = 0; i < THREAD_STATES && total[Q_THREAD_TIME] > 0; i++) {
		one = json_object();
		json__set(one, "kind", json__text(states[i].kind));
		json__set(one, "name", json__text(!i && isnan(share[1]) ? "CPU" : states[i].name));
		json__set(one, "share", json__number(share[i]));
		json_array_append_new(shares, one);
	}
	json__set(o, "thread_s", json__number(total[Q_THREAD_TIME]));
	json__set(o, "shares", shares);
	return o;
}

/* As text: the causes alone, where they matter. */
void report_threads__print(const struct report *r, FILE *out)
{
	struct report_share shares[THREAD_STATES];
	double blocked_s = 0;
	size_t n = 0;

	for (size_t i = 0; i < THREAD_STATES; i++)
		if (!strcmp(states[i].kind, "blocked")) {
			double s = facts__sum(r->job, states[i].q);

			shares[n++] = (struct report_share){states[i].name, s};
			blocked_s += isnan(s) ? 0 : s;
		}
	if (blocked_s >= BLOCKED_LEAST * facts__sum(r->job, Q_THREAD_TIME))
		report_shares__print("blocked in", shares, n, out);
}
