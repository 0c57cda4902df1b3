/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counters of the perf subsystem: one set of events per CPU runs all the time, and at every switch
 * between slots the slot that leaves gets the difference since the last reading. A reading may cost
 * microseconds (a virtual machine traps it), so a switch within a slot, and one to idle and back,
 * reads nothing: idle counts for the slot before it, unless an event counts time or switches. With
 * the families burst and fold every switch from and to a profiled thread reads, because its burst
 * and its points get the counts of each slice.
 */
#ifndef JP_PMU_BPF_H
#define JP_PMU_BPF_H

#include "bpf/maps.bpf.h"

#define TASK_DEAD  0x80
#define FAM_SLICES (FAM_BURST | FAM_FOLD)
#define barrier()  asm volatile("" ::: "memory")

static __always_inline struct jp_pmu_cpu *pmu_cpu(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&jp_pmu_cpu, &cpu);
}

static __always_inline struct jp_pmu *pmu_of(u32 slot)
{
	u32 key = bpf_get_smp_processor_id() * jp_nslots;

	/* slot may be unknown so far, or the task in none */
	key += slot < jp_nslots ? slot : JP_SLOT_OTHER;
	return bpf_map_lookup_elem(&jp_pmu, &key);
}

/* A slice whose counts are divided: p's slot gets them for the time that it ran, and rest the
 * others. */
struct pmu_slice {
	struct jp_pmu *p, *rest;
	u64 wanted; /* its length by the counters' clock */
	u64 ran;    /* the part of it in which p's slot ran */
};

#define PMU_ALL (~0ull)

static __always_inline void pmu_add(const struct pmu_slice *s, u64 *to, u64 *rest, u64 n)
{
	/* in microseconds, so that the product of a long slice fits */
	u64 mine = s->ran < s->wanted ? n * (s->ran >> 10) / ((s->wanted >> 10) + 1) : n;

	*to += mine;
	if (mine != n)
		*rest += n - mine;
}

/* Reads event i, which has that place in its set, stores it as the last reading and, if add, adds
 * the difference to the slots. False: it could not be read. */
static __always_inline bool pmu_read_event(struct jp_pmu_cpu *c, struct pmu_slice *s, u32 i,
					   u32 place, bool add)
{
	struct bpf_perf_event_value v;
	u64 waited;

	if (bpf_perf_event_read_value(&jp_pmu_fds, i * jp_ncpus + bpf_get_smp_processor_id(), &v,
				      sizeof(v))) {
		JP_COUNT(pmu_fail);
		c->fails++;
		c->slicing = JP_PMU_SLICE_NONE;
		return false;
	}
	/* each event has a clock of its own: the first one's gives the length of the slice for all,
	 * and only the time that an event waited is read by its own clock */
	if (s->wanted == PMU_ALL) {
		s->wanted = v.enabled - c->enabled;
		c->enabled = v.enabled;
	}
	waited = v.enabled - v.running;
	if (add) {
		pmu_add(s, &s->p->ev[i].counter, &s->rest->ev[i].counter,
			v.counter - c->ev[i].counter);
		pmu_add(s, &s->p->ev[i].running, &s->rest->ev[i].running,
			s->wanted - (waited - c->waited[i]));
	}
	if ((jp_families & FAM_SLICES) && c->slicing == JP_PMU_SLICE_ON) {
		c->slice[place] += v.counter - c->ev[i].counter;
		if (waited != c->waited[i])
			c->slice_shared |= 1u << place;
	}
	c->ev[i].counter = v.counter;
	c->ev[i].running = v.running;
	c->waited[i] = waited;
	return true;
}

/*
 * Reads this CPU's n counters and adds what they have counted since the last reading to slot from
 * (JP_SLOT_NONE: to no slot); where `from` ran for only a part of that time, the rest goes to no
 * slot either. No other reading on this CPU may interrupt this one. Returns whether all were read.
 */
static __noinline int pmu_read(struct jp_pmu_cpu *c, u32 n, u32 from, u64 ran)
{
	struct pmu_slice s = {pmu_of(from), pmu_of(JP_SLOT_OTHER), PMU_ALL, ran};
	bool add = from != JP_SLOT_NONE && c->enabled;
	u64 fails = c->fails;
	u32 place, i;

	if (!s.p || !s.rest)
		return 0;
	for (place = 0; place < JP_PMU_AT_ONCE; place++) {
		i = c->which[place];
		if (place >= c->nopen || i >= n || i >= JP_PMU_EVENTS)
			break;
		/* without the first one's clock there is no reading */
		if (!pmu_read_event(c, &s, i, place, add) && s.wanted == PMU_ALL)
			return 0;
	}
	c->reads++;
	c->moved = 0;
	if (add) {
		pmu_add(&s, &s.p->enabled, &s.rest->enabled, s.wanted);
		s.p->reads++;
	}
	return c->fails == fails;
}

static __always_inline u32 pmu_slot_of(struct task_struct *p)
{
	struct jp_task *t = carried(p);

	return t && t->next_slot < jp_nslots ? t->next_slot : JP_SLOT_OTHER;
}

static __always_inline u64 task_state(struct task_struct *p)
{
	if (bpf_core_field_exists(p->__state))
		return p->__state;
	return BPF_CORE_READ((struct task_struct___old *)p, state);
}

/* Whether the CPU has counted for prev since the last reading. */
static __always_inline bool pmu_is_counted(const struct jp_pmu_cpu *c, struct task_struct *prev,
					   u32 prev_slot)
{
	return prev_slot == c->slot || !prev->pid || c->moved;
}

/*
 * Reads for prev, which ran until now and leaves. Where the CPU counted for another slot, the
 * switch to prev was not reported: prev then gets the part of the slice in which it ran.
 */
static __noinline int pmu_leave(struct jp_pmu_cpu *c, struct task_struct *prev, u32 prev_slot,
				u64 ran)
{
	if (pmu_is_counted(c, prev, prev_slot)) {
		prev_slot = c->slot;
		ran = PMU_ALL;
	} else if (prev_slot != JP_SLOT_SELF) { /* user space gives that one to a running process */
		JP_COUNT(pmu_missed);
	}
	return pmu_read(c, jp_npmu, prev_slot, ran);
}

static __always_inline void pmu_slice_begin(struct jp_pmu_cpu *c, bool read)
{
	u32 i;

	for (i = 0; i < JP_PMU_AT_ONCE; i++)
		c->slice[i] = 0;
	c->slice_shared = 0;
	c->slicing = read && c->enabled ? JP_PMU_SLICE_ON : JP_PMU_SLICE_NONE;
}

/* From sched_switch, before the switch is counted: from now on the CPU counts for next's slot. */
static __noinline __attribute__((unused)) int pmu_switch(struct task_struct *prev, u32 prev_slot,
							 u64 ran, struct task_struct *next)
{
	struct jp_pmu_cpu *c = pmu_cpu();
	bool slices, read = false;
	u32 slot = JP_SLOT_OTHER;

	if (!c || !c->open || c->busy)
		return 0;
	if (jp_families & FAM_SLICES) {
		read = c->slicing == JP_PMU_SLICE_ENDED;
		c->slicing = JP_PMU_SLICE_NONE;
	}
	if (next->pid)
		slot = pmu_slot_of(next);
	else if (!jp_pmu_idle && !(task_state(prev) & TASK_DEAD))
		return 0;
	slices = (jp_families & FAM_SLICES) && slot >= JP_SLOT_FIRST;
	if (!read && (slices || slot != c->slot || !pmu_is_counted(c, prev, prev_slot)))
		read = pmu_leave(c, prev, prev_slot, ran);
	c->slot = slot;
	if (slices)
		pmu_slice_begin(c, read);
	return 0;
}

/*
 * At the raw tracepoint the slot of next is not known, only whether its process is that of prev; so
 * every switch between processes reads, for the slot of prev.
 */
static __always_inline void pmu_switch_raw(u32 prev_slot, struct task_struct *prev,
					   struct task_struct *next)
{
	u32 tgid = BPF_CORE_READ(next, tgid);
	struct jp_pmu_cpu *c = pmu_cpu();

	if (!c || !c->open || c->busy)
		return;
	if (prev->pid || jp_pmu_idle)
		c->slot = prev_slot;
	if (tgid == c->tgid || (!tgid && !jp_pmu_idle && !(task_state(prev) & TASK_DEAD)))
		return;
	pmu_read(c, jp_npmu, c->slot < jp_nslots ? c->slot : JP_SLOT_OTHER, PMU_ALL);
	c->slot = JP_SLOT_NONE;
	c->tgid = tgid;
}

#endif
