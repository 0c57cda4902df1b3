// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sampled mode: each sample gives its period to the slot of the task it met. The kernel drops
 * samples without a word when there are too many, and a late timer stands for several; the counter
 * that samples goes on counting, so what is missing shows, and is shared out as the samples of the
 * same CPU and interval were. An idle CPU drops more of them than a busy one: what an event has
 * counted in idle is taken out first, by the time that the CPU was idle.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "kern/internal.h"

#define STUCK 8 /* periods without a sample; a late timer may stand for some */

struct seen_cpu {
	uint64_t enabled;
	uint64_t waited[JP_PMU_EVENTS];
	uint64_t counter[JP_PMU_EVENTS];
	uint64_t idle[JP_PMU_EVENTS];
	uint64_t given[JP_PMU_EVENTS];
	uint64_t owed[JP_PMU_EVENTS]; /* counted before any sample names their slot: the next
					 samples' slots get them */
	uint64_t idle_ns;	      /* UINT64_MAX: not known */
	bool active;		      /* a step has been met there, and there are steps still */
};

struct seen_slot {
	uint64_t reads;
	uint64_t counter[JP_PMU_EVENTS];
};

/* The counts that have been given to slots by the last time. */
struct pmu_seen {
	struct seen_cpu *cpus;
	struct seen_slot *slots; /* CPU x slots */
	uint64_t *idle_ns;	 /* by CPU, now */
};

static void free_seen(struct pmu_seen *s)
{
	if (s) {
		free(s->cpus);
		free(s->slots);
		free(s->idle_ns);
	}
	free(s);
}

static struct pmu_seen *new_seen(const struct kern *k)
{
	struct pmu_seen *s = calloc(1, sizeof(*s));
	unsigned cpu;

	if (!s)
		return NULL;
	s->cpus = calloc(k->ncpus, sizeof(*s->cpus));
	s->slots = calloc((size_t)k->ncpus * k->nslots, sizeof(*s->slots));
	s->idle_ns = calloc(k->ncpus, sizeof(*s->idle_ns));
	if (!s->cpus || !s->slots || !s->idle_ns) {
		free_seen(s);
		return NULL;
	}
	for (cpu = 0; cpu < k->ncpus; cpu++)
		s->cpus[cpu].idle_ns = UINT64_MAX;
	return s;
}

void kern_pmu_free_seen(struct kern *k)
{
	free_seen(k->pmu.seen);
	k->pmu.seen = NULL;
}

void kern_pmu_forget(struct kern *k, uint32_t slot)
{
	unsigned cpu;

	for (cpu = 0; k->pmu.seen && cpu < k->ncpus; cpu++)
		memset(&k->pmu.seen->slots[(size_t)cpu * k->nslots + slot], 0,
		       sizeof(struct seen_slot));
}

static struct jp_pmu *counts(const struct kern *k, unsigned cpu, uint32_t slot)
{
	return (struct jp_pmu *)kern__pmu(k, cpu, slot);
}

static struct seen_slot *seen(const struct kern *k, unsigned cpu, uint32_t slot)
{
	return &k->pmu.seen->slots[(size_t)cpu * k->nslots + slot];
}

static void add_relaxed(__u64 *to, uint64_t n)
{
	__atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

static uint64_t part(uint64_t whole, uint64_t n, uint64_t of)
{
	return of ? (uint64_t)((unsigned __int128)whole * n / of) : 0;
}

/* A slot's samples on the CPU since the last time; a free slot has none. */
static uint64_t new_samples(const struct kern *k, unsigned cpu, uint32_t slot)
{
	return k->slots[slot].state == JP_SLOT_FREE
		       ? 0
		       : counts(k, cpu, slot)->reads - seen(k, cpu, slot)->reads;
}

static uint64_t new_counts(const struct kern *k, unsigned cpu, uint32_t slot, unsigned i)
{
	return k->slots[slot].state == JP_SLOT_FREE
		       ? 0
		       : counts(k, cpu, slot)->ev[i].counter - seen(k, cpu, slot)->counter[i];
}

/* Time of the counters, by the samples: so a slot has the part of the time that the events were on
 * the hardware while it ran. */
static void share_time(struct kern *k, unsigned cpu)
{
	const struct jp_pmu_cpu *c = kern_pmu_cpu(k, cpu);
	struct seen_cpu *was = &k->pmu.seen->cpus[cpu];
	uint64_t wanted = was->enabled && c->enabled > was->enabled ? c->enabled - was->enabled : 0;
	uint64_t all = 0, n, mine;
	uint32_t slot;
	unsigned i;

	for (slot = 0; slot < k->nslots; slot++)
		all += new_samples(k, cpu, slot);
	for (slot = 0; wanted && all && slot < k->nslots; slot++) {
		n = new_samples(k, cpu, slot);
		if (!n)
			continue;
		mine = part(wanted, n, all);
		add_relaxed(&counts(k, cpu, slot)->enabled, mine);
		for (i = 0; i < k->pmu.n; i++)
			if (c->open >> i & 1)
				add_relaxed(&counts(k, cpu, slot)->ev[i].running,
					    mine - part(c->waited[i] - was->waited[i], n, all));
	}
	was->enabled = c->enabled;
	memcpy(was->waited, c->waited, sizeof(was->waited));
}

/* Returns how much of what samples have missed event i has counted in idle. */
static uint64_t missing_in_idle(const struct kern *k, unsigned cpu, unsigned i, uint64_t missing)
{
	const struct jp_pmu_cpu *c = kern_pmu_cpu(k, cpu);
	const struct seen_cpu *was = &k->pmu.seen->cpus[cpu];
	uint64_t now = k->pmu.seen->idle_ns[cpu], idle_ns, wall, counted, met;

	if (!(k->pmu.counts_idle >> i & 1))
		return 0;
	/* Just opened, or idle time is not known: too little is better than time of another step.
	 */
	if (was->idle_ns == UINT64_MAX || now == UINT64_MAX || c->enabled <= was->enabled ||
	    c->ev[i].counter < was->counter[i])
		return missing;
	wall = c->enabled - was->enabled;
	idle_ns = now > was->idle_ns ? now - was->idle_ns : 0;
	counted = c->ev[i].counter - was->counter[i];
	counted = part(counted, idle_ns < wall ? idle_ns : wall, wall);
	met = c->idle[i] - was->idle[i];
	if (counted <= met)
		return 0;
	return counted - met < missing ? counted - met : missing;
}

/* Samples of an event on the CPU since the last time, but those met in idle. */
static uint64_t busy_counts(const struct kern *k, unsigned cpu, unsigned i)
{
	uint64_t met = kern_pmu_cpu(k, cpu)->idle[i] - k->pmu.seen->cpus[cpu].idle[i], all = 0;
	uint32_t slot;

	for (slot = 0; slot < k->nslots; slot++)
		all += new_counts(k, cpu, slot, i);
	return met < all ? all - met : 0;
}

static void share(struct kern *k, unsigned cpu, unsigned i, uint64_t missing, uint64_t busy)
{
	uint64_t all = busy_counts(k, cpu, i), given = 0, mine;
	uint32_t slot;

	for (slot = k->nslots; all && slot-- > 1;) {
		mine = part(busy, new_counts(k, cpu, slot, i), all);
		mine = mine < missing - given ? mine : missing - given;
		if (mine)
			add_relaxed(&counts(k, cpu, slot)->ev[i].counter, mine);
		given += mine;
	}
	add_relaxed(&counts(k, cpu, JP_SLOT_OTHER)->ev[i].counter, missing - given);
}

static void share_missing(struct kern *k, unsigned cpu, unsigned i)
{
	struct jp_pmu_cpu *c = kern_pmu_cpu(k, cpu);
	struct seen_cpu *was = &k->pmu.seen->cpus[cpu];
	uint64_t period = k->pmu.period[i], missing = 0, busy = 0;
	int64_t behind = c->ev[i].counter - c->given[i];

	/* one period is always under way */
	if (behind > (int64_t)(2 * period)) {
		missing = (uint64_t)behind / period * period;
		busy = missing - missing_in_idle(k, cpu, i, missing);
		add_relaxed(&c->given[i], missing);
		add_relaxed(&k->control->stats.pmu_lost, missing / period);
	}
	missing += was->owed[i];
	busy += was->owed[i];
	was->owed[i] = 0;
	if (busy && was->active && !busy_counts(k, cpu, i)) {
		was->owed[i] = busy;
		missing -= busy;
		busy = 0;
	}
	if (missing)
		share(k, cpu, i, missing, busy);
}

static void remember(struct kern *k, unsigned cpu)
{
	const struct jp_pmu_cpu *c = kern_pmu_cpu(k, cpu);
	struct seen_cpu *was = &k->pmu.seen->cpus[cpu];
	uint32_t slot;
	unsigned i;

	was->idle_ns = k->pmu.seen->idle_ns[cpu];
	for (i = 0; i < k->pmu.n; i++) {
		was->counter[i] = c->ev[i].counter;
		was->idle[i] = c->idle[i];
		was->given[i] = c->given[i];
	}
	for (slot = 0; slot < k->nslots; slot++) {
		if (k->slots[slot].state == JP_SLOT_FREE)
			continue;
		seen(k, cpu, slot)->reads = counts(k, cpu, slot)->reads;
		for (i = 0; i < k->pmu.n; i++)
			seen(k, cpu, slot)->counter[i] = counts(k, cpu, slot)->ev[i].counter;
	}
}

/* While a step is on the CPU, counts that samples miss are the step's too, until all steps have
 * gone. */
static bool is_active(const struct kern *k, unsigned cpu)
{
	bool steps = false;
	uint32_t slot;

	for (slot = JP_SLOT_FIRST; slot < k->nslots; slot++) {
		if (new_samples(k, cpu, slot))
			return true;
		steps = steps || k->slots[slot].state != JP_SLOT_FREE;
	}
	return steps && k->pmu.seen->cpus[cpu].active;
}

/*
 * An event that counts and sends no samples. A lost interrupt does that: the counter then goes on
 * to its own end, which may be hours away.
 */
static bool is_stuck(const struct kern *k, unsigned cpu, unsigned i)
{
	const struct jp_pmu_cpu *c = kern_pmu_cpu(k, cpu);

	return (c->open >> i & 1) && c->given[i] == k->pmu.seen->cpus[cpu].given[i] &&
	       (int64_t)(c->ev[i].counter - c->given[i]) > (int64_t)(STUCK * k->pmu.period[i]);
}

static void reopen_cpu(struct kern *k, unsigned cpu)
{
	static bool logged;

	if (!logged)
		log_warn("perf: CPU %u counts but sends no samples: its events are opened anew, at "
			 "each row if need be; the shares of tasks are less exact",
			 cpu);
	logged = true;
	kern_pmu_close_cpu(k, cpu);
	kern_pmu_open_cpu(k, cpu);
}

static void settle_cpu(struct kern *k, unsigned cpu)
{
	struct seen_cpu *was = &k->pmu.seen->cpus[cpu];
	bool stuck = false;
	unsigned i;

	was->active = is_active(k, cpu);
	/* Idle time of a clock can be separated from a step's only if its beginning is known. */
	if (!was->active && !k->pmu.counts_idle)
		return;
	kern_pmu_flush_cpu(k, cpu);
	for (i = 0; i < k->pmu.n; i++) {
		stuck = stuck || is_stuck(k, cpu, i);
		share_missing(k, cpu, i);
	}
	share_time(k, cpu);
	if (stuck && was->active)
		reopen_cpu(k, cpu);
	remember(k, cpu);
}

void kern_pmu_correct(struct kern *k, uint64_t age_ns)
{
	unsigned cpu;

	if (k->readonly || (!k->pmu.seen && !(k->pmu.seen = new_seen(k))))
		return;
	if (k->pmu.counts_idle)
		kern_cpu_idle(k->pmu.seen->idle_ns, k->ncpus);
	for (cpu = 0; cpu < k->ncpus; cpu++)
		if (kern_pmu_cpu(k, cpu)->open && kern_pmu_is_old(k, cpu, age_ns))
			settle_cpu(k, cpu);
	if (kern_pmu_lengthen_periods(k)) {
		kern_pmu_close_all(k);
		kern_pmu_open_all(k);
	}
}
