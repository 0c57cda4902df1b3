/* SPDX-License-Identifier: GPL-2.0-only */
/* What had the CPU that threads waited for, of the job and of the units that waited most. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/facts_fill.h"
#include "base/escape.h"
#include "base/json.h"
#include "view/report/report_page.h"
#include "view/report/report_parts.h"
#include "view/report/report_text.h"

#define MATTERS 0.02 /* share of the runnable time that was waiting */
#define MOST	5    /* units that waited most, of JSON */
#define NAMED	3    /* of the page, as far as there is room */

static const struct report_part parts[] = {
	{Q_CPU, NULL, "ran"},
	{Q_BY_OWN_TASK, NULL, "own task"},
	{Q_BY_OWN_STEP, NULL, "own step"},
	{Q_BY_OWN_JOB, NULL, "own job"},
	{Q_BY_OTHER_JOBS, NULL, "other jobs"},
	{Q_BY_SYSTEM, NULL, "not profiled"},
	{Q_BY_IDLE, NULL, "wake-up"},
	{Q_BY_QUOTA, NULL, "CPU quota"},
	{Q_BY_UNKNOWN, NULL, "unknown"},
};
#define CULPRITS (sizeof(parts) / sizeof(parts[0]))

const struct report_parts report_culprits = {
	.rows_key = "culprit_shares",
	.all_key = "runnable_s",
	.parts = parts,
	.n = CULPRITS,
	.whole = N_QUANTITIES,
};

/* A unit that waited, and what had the CPU for most of that. */
struct waiter {
	const struct job_unit *unit;
	double wait_s, most_s;
	const char *most;
};

static struct waiter waiter_of(const struct job_unit *u)
{
	struct waiter w = {.unit = u, .wait_s = 0, .most_s = -1};

	for (size_t i = 1; i < CULPRITS; i++) {
		double s = u->total[parts[i].of];

		w.wait_s += s;
		if (s > w.most_s) {
			w.most_s = s;
			w.most = parts[i].name;
		}
	}
	return w;
}

static int by_wait(const void *a, const void *b)
{
	const struct waiter *x = a, *y = b;

	if (x->wait_s != y->wait_s)
		return (x->wait_s < y->wait_s) - (x->wait_s > y->wait_s);
	return (x->unit > y->unit) - (x->unit < y->unit);
}

/* The tasks of the main step that waited, those that waited longest first: at most `most` of them.
 */
static unsigned waiters_of(const struct model_job *j, struct waiter *out, unsigned most)
{
	unsigned n, kept = 0;
	const struct job_unit *units = facts__main_tasks(j, &n);
	struct waiter *all = calloc(n + 1, sizeof(*all));

	for (unsigned i = 0; all && i < n; i++) {
		struct waiter w = waiter_of(&units[i]);

		if (w.wait_s > 0)
			all[kept++] = w;
	}
	if (kept)
		qsort(all, kept, sizeof(*all), by_wait);
	kept = kept < most ? kept : most;
	if (kept)
		memcpy(out, all, kept * sizeof(*all));
	free(all);
	return kept;
}

json_t *report_culprits__json(const struct model_job *j)
{
	json_t *o = report_parts__json(&report_culprits, j), *list = json_array(), *one;
	struct waiter most[MOST];
	unsigned n = waiters_of(j, most, MOST);

	for (unsigned i = 0; i < n; i++) {
		one = json_object();
		json__set(one, "name", json__text(most[i].unit->name));
		json__set(one, "node", json__text(j->nodes[most[i].unit->node].unit.name));
		json__set(one, "wait_s", json__number(most[i].wait_s));
		json__set(one, "most_for", json__text(most[i].most));
		json__set(one, "most_share", json__number(most[i].most_s / most[i].wait_s));
		json_array_append_new(list, one);
	}
	json__set(o, "waited_most", list);
	return o;
}

/* "  longest        rank 3 20.1 s (other jobs), rank 5 19.8 s (own step)" */
static void print_waiters(const struct model_job *j, FILE *out)
{
	struct waiter most[NAMED];
	unsigned n = waiters_of(j, most, NAMED), all;
	int at;

	facts__main_tasks(j, &all);
	if (all < 2 || !n)
		return;
	at = fprintf(out, "  %-14s", "longest");
	for (unsigned i = 0; i < n; i++) {
		report_number wait;
		char text[100];

		snprintf(text, sizeof(text), "%s %s %.10s %s (%s)", i ? "," : "",
			 most[i].unit->is_rank ? "rank" : "task", most[i].unit->name,
			 report_text__time(most[i].wait_s, wait), most[i].most);
		if (at + strlen(text) > REPORT_WIDTH)
			break;
		at += (int)strlen(text);
		print__escaped(out, text);
	}
	putc('\n', out);
}

void report_culprits__print(const struct report *r, FILE *out)
{
	if (!(facts__job(r->facts, FACT_JOB_wait_share) >= MATTERS))
		return;
	report_parts__print("waited for", &report_culprits, 1, r->job, out);
	if (!r->is_run)
		print_waiters(r->job, out);
}
