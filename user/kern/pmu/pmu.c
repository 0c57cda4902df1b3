/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The perf family's events, which are opened set by set and read before a snapshot. The counts of a
 * task that does not switch are only in the counters of its CPU until these are read. */
#include <bpf/bpf.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "kern/internal.h"

/* ---- sampled mode: each sample gives its period to the slot of the task it met. The kernel drops
 * samples without a word when there are too many, and a late timer stands for several; the counter
 * that samples goes on counting, so what is missing shows, and is shared out as the samples of the
 * same CPU and interval were. An idle CPU drops more of them than a busy one: what an event has
 * counted in idle is taken out first, by the time that the CPU was idle */

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

static void kern_pmu_free_seen(struct kern *k)
{
	free_seen(k->pmu.seen);
	k->pmu.seen = NULL;
}

static void kern_pmu_forget(struct kern *k, uint32_t slot)
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

/* Adds the counts that samples have missed, by the counters, to the slots of the CPU. */
static void kern_pmu_correct(struct kern *k, uint64_t age_ns)
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

#define MIN_AGE_NS	1000000ull
#define CALIBRATE_READS 64

int kern_pmu_store(struct kern *k)
{
	struct jp_control *c = k->control;
	const struct pmu *p = &k->pmu;

	memcpy(c->pmu_text, p->text, sizeof(c->pmu_text));
	c->pmu_mode = p->mode;
	if (p->mode == JP_PMU_OFF)
		return 0;
	c->npmu = p->n;
	c->pmu_set = p->set;
	c->pmu_sets = p->nsets;
	c->pmu_missing = ((1u << p->n) - 1) & ~p->usable;
	c->pmu_read_ns = p->cost_ns;
	memcpy(c->pmu_period, p->period, sizeof(c->pmu_period));
	return kern_pmu_new_clocks(k);
}

int kern_pmu_restore(struct kern *k)
{
	const struct jp_control *c = k->control;
	struct pmu *p = &k->pmu;
	int err;

	p->mode = c->pmu_mode;
	if (p->mode == JP_PMU_OFF)
		return 0;
	p->loses_events = !kern_pmu_keeps_events();
	p->n = c->npmu;
	kern_pmu_find_sets(p);
	p->set = c->pmu_set < p->nsets ? c->pmu_set : 0;
	p->usable = ((1u << p->n) - 1) & ~c->pmu_missing;
	memcpy(p->period, c->pmu_period, sizeof(p->period));
	err = kern_pmu_new_clocks(k);
	if (!err && !k->readonly && p->loses_events && kern__attached(k)) {
		kern_pmu_close_all(k);
		kern_pmu_open_all(k);
	}
	return err;
}

uint32_t kern_pmu_crc(const struct kern *k, uint32_t crc)
{
	unsigned i;

	crc = crc32(crc, (const Bytef *)&k->opts.perf_mode, sizeof(k->opts.perf_mode));
	crc = crc32(crc, (const Bytef *)&k->opts.perf_budget, sizeof(k->opts.perf_budget));
	for (i = 0; i < k->opts.nevents; i++) {
		const struct perf_event *e = &k->opts.events[i];

		crc = crc32(crc, (const Bytef *)e->text, strlen(e->text) + 1);
		crc = crc32(crc, (const Bytef *)&e->sets, sizeof(e->sets));
	}
	return crc;
}

bool kern__counts_points(const struct kern *k)
{
	return (k->families & FAM_FOLD) && k->pmu.mode == JP_PMU_EXACT && !k->opts.raw_tp;
}

int kern__place_of(uint32_t events, unsigned event)
{
	int place = __builtin_popcount(events & ((1u << event) - 1));

	return (events >> event & 1) && place < JP_PMU_AT_ONCE ? place : -1;
}

void kern_pmu_free(struct kern *k)
{
	free(k->pmu.clocks);
	k->pmu.clocks = NULL;
	kern_pmu_free_seen(k);
}

#define TURN_MIN_NS 100000000ull
#define TURN_SHARE  100 /* a turn takes at most one part in so many of the time */

/* What a set has counted is read before it goes; until the next one counts, nothing does. */
void kern__next_set(struct kern *k)
{
	struct pmu *p = &k->pmu;
	uint64_t from = clock__mono_ns(), took;
	unsigned cpu;

	if (p->mode != JP_PMU_EXACT || p->nsets < 2 || (kern__resting(k) & FAM_PERF) ||
	    k->readonly || !kern__attached(k) || from < p->turn_ns)
		return;
	p->set = (p->set + 1) % p->nsets;
	k->control->pmu_set = p->set;
	for (cpu = 0; cpu < k->ncpus; cpu++) {
		if (kern_pmu_cpu(k, cpu)->open) {
			kern_pmu_read_cpu(k, cpu);
			kern_pmu_close_cpu(k, cpu);
		}
		kern_pmu_open_cpu(k, cpu);
	}
	took = clock__mono_ns() - from;
	p->turn_ns = from + (took * TURN_SHARE > TURN_MIN_NS ? took * TURN_SHARE : TURN_MIN_NS);
}

void kern__flush(struct kern *k, uint64_t age_ns)
{
	unsigned cpu;

	if (age_ns < MIN_AGE_NS)
		age_ns = MIN_AGE_NS;
	if (k->pmu.mode == JP_PMU_SAMPLED)
		kern_pmu_correct(k, age_ns);
	for (cpu = 0; k->pmu.mode == JP_PMU_EXACT && cpu < k->ncpus; cpu++) {
		const struct jp_pmu_cpu *c = kern_pmu_cpu(k, cpu);

		if (c->open && (c->slot >= JP_SLOT_FIRST || c->moved) &&
		    kern_pmu_is_old(k, cpu, age_ns))
			kern_pmu_flush_cpu(k, cpu);
	}
}

bool kern_pmu_release(struct kern *k, uint32_t slot)
{
	bool left = true;
	unsigned cpu;

	kern_pmu_forget(k, slot);
	for (cpu = 0; k->pmu.mode == JP_PMU_EXACT && cpu < k->ncpus; cpu++) {
		const struct jp_pmu_cpu *c = kern_pmu_cpu(k, cpu);

		if (!c->open || c->slot != slot)
			continue;
		kern_pmu_flush_cpu(k, cpu);
		left = left && (!c->open || c->slot != slot);
	}
	return left;
}

void kern_pmu_calibrate(struct kern *k)
{
	struct bpf_prog_info before = {}, after = {};
	uint32_t len = sizeof(before);
	int i, stats, cpu = sched_getcpu();

	if (k->pmu.mode != JP_PMU_EXACT || k->pmu.calibrated || cpu < 0 ||
	    (stats = kern__stats_on()) < 0)
		return;
	k->pmu.calibrated = true;
	bpf_obj_get_info_by_fd(k->prog[P_FLUSH], &before, &len);
	for (i = 0; i < CALIBRATE_READS; i++)
		kern_pmu_read_cpu(k, cpu);
	len = sizeof(after);
	bpf_obj_get_info_by_fd(k->prog[P_FLUSH], &after, &len);
	close(stats);
	if (after.run_cnt > before.run_cnt)
		k->control->pmu_read_ns =
			(after.run_time_ns - before.run_time_ns) / (after.run_cnt - before.run_cnt);
}
