/* SPDX-License-Identifier: GPL-2.0-only */
/* Which tasks of a node share the CPUs that they are bound to, and how many CPUs they need there.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/facts_fill.h"
#include "identity/cpulist.h"

#define CPUS_MAX 4096
#define WORDS	 (CPUS_MAX / 64)

/* The tasks of a node with the same list of CPUs. */
struct binding {
	int cpus; /* below 1: the list is not usable */
	uint64_t bits[WORDS];
	double work_s; /* CPU time and waiting for it */
	double begin_s, end_s;
};

struct bound_task {
	const struct job_unit *unit;
	unsigned number; /* among the facts */
};

static int cmp(const void *a, const void *b)
{
	const struct bound_task *x = a, *y = b;

	if (x->unit->node != y->unit->node)
		return x->unit->node < y->unit->node ? -1 : 1;
	return strcmp(x->unit->about.texts[ABOUT_CPUS], y->unit->about.texts[ABOUT_CPUS]);
}

static double work_of(const struct job_unit *t)
{
	return t->total[Q_CPU] + t->total[Q_WAIT];
}

static bool is_within(const struct binding *part, const struct binding *whole)
{
	for (unsigned i = 0; i < WORDS; i++)
		if (part->bits[i] & ~whole->bits[i])
			return false;
	return part->cpus > 0;
}

/* Tasks that run one after the other need no more CPUs than one of them. */
static double demand_on(const struct binding *b, const struct binding *all, unsigned n)
{
	double work = 0, begin = NAN, end = NAN;

	for (unsigned i = 0; i < n; i++) {
		if (!is_within(&all[i], b))
			continue;
		work += all[i].work_s;
		begin = fmin(begin, all[i].begin_s);
		end = fmax(end, all[i].end_s);
	}
	return b->cpus > 0 && end > begin ? work / (end - begin) / b->cpus : NAN;
}

/* The bindings of one node; returns how many there are. */
static unsigned find_bindings(const struct bound_task *tasks, unsigned n, struct binding *out)
{
	unsigned found = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct job_unit *t = tasks[i].unit;
		struct binding *b;

		if (!i || cmp(&tasks[i - 1], &tasks[i])) {
			b = &out[found++];
			*b = (struct binding){.begin_s = NAN, .end_s = NAN};
			b->cpus = cpulist__read(t->about.texts[ABOUT_CPUS], b->bits, CPUS_MAX);
		}
		b = &out[found - 1];
		b->work_s += work_of(t);
		b->begin_s = fmin(b->begin_s, t->begin_s);
		b->end_s = fmax(b->end_s, t->end_s);
	}
	return found;
}

static void fill_node(struct facts *f, const struct bound_task *tasks, unsigned n,
		      struct binding *room)
{
	unsigned bindings = find_bindings(tasks, n, room), at = 0;
	double demand = NAN;

	for (unsigned i = 0; i < n; i++) {
		if (i && cmp(&tasks[i - 1], &tasks[i]))
			at++;
		if (!i || cmp(&tasks[i - 1], &tasks[i]))
			demand = demand_on(&room[at], room, bindings);
		f->values[FACT_TASK_cpus_demand][tasks[i].number] = demand;
	}
}

/* The most tasks that one node has. */
static unsigned most_of_a_node(const struct bound_task *tasks, unsigned n)
{
	unsigned most = 0;

	for (unsigned i = 0, first = 0; i < n; i++) {
		if (tasks[i].unit->node != tasks[first].unit->node)
			first = i;
		most = i - first + 1 > most ? i - first + 1 : most;
	}
	return most;
}

int facts_cpus__fill(struct facts *f, const struct job_unit *tasks, unsigned n)
{
	struct bound_task *bound = calloc(n + 1, sizeof(*bound));
	struct binding *room = NULL;
	unsigned known = 0;

	for (unsigned i = 0; bound && i < n; i++) {
		f->values[FACT_TASK_cpus_demand][i] = work_of(&tasks[i]) /
						      (tasks[i].end_s - tasks[i].begin_s) /
						      tasks[i].about.cpus_allowed;
		if (tasks[i].about.texts[ABOUT_CPUS])
			bound[known++] = (struct bound_task){&tasks[i], i};
	}
	if (known)
		qsort(bound, known, sizeof(*bound), cmp);
	if (bound)
		room = calloc(most_of_a_node(bound, known) + 1, sizeof(*room));
	for (unsigned i = 0, first = 0; room && i < known; i++)
		if (i + 1 == known || bound[i + 1].unit->node != bound[first].unit->node) {
			fill_node(f, bound + first, i + 1 - first, room);
			first = i + 1;
		}
	n = !room;
	free(room);
	free(bound);
	return n ? -ENOMEM : 0;
}
