/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counters of the perf subsystem: one set of events per CPU, always running, and at every switch
 * between slots the difference since the last reading is given to the slot that leaves. A reading
 * may cost microseconds (a virtual machine traps it), so a switch within a slot, and one to idle
 * and back, reads nothing: idle counts for the slot before it, unless an event counts time or
 * switches.
 */
#ifndef JP_PMU_BPF_H
#define JP_PMU_BPF_H

#include "bpf/maps.bpf.h"

#define TASK_DEAD 0x80
#define barrier() asm volatile("" ::: "memory")

static __always_inline struct jp_pmu_cpu *pmu_cpu(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&jp_pmu_cpu, &cpu);
}

static __always_inline struct jp_pmu *pmu_of(u32 slot)
{
	u32 key = bpf_get_smp_processor_id() * jp_nslots;

	/* the slot is not known yet, or the task is in none */
	key += slot < jp_nslots ? slot : JP_SLOT_OTHER;
	return bpf_map_lookup_elem(&jp_pmu, &key);
}

/* A slice that is given out: to slots p and, what p did not run of it, rest. */
struct pmu_slice {
	struct jp_pmu *p, *rest;
	u64 wanted; /* its length by the counters' clock */
	u64 ran;    /* of it */
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

/* One event, to the slots if add, and to what was last read; false: it could not be read. */
static __always_inline bool pmu_read_event(struct jp_pmu_cpu *c, struct pmu_slice *s, u32 i,
					   bool add)
{
	struct bpf_perf_event_value v;
	u64 waited;

	if (bpf_perf_event_read_value(&jp_pmu_fds, i * jp_ncpus + bpf_get_smp_processor_id(), &v,
				      sizeof(v))) {
		JP_COUNT(pmu_fail);
		c->fails++;
		return false;
	}
	/* each event has a clock of its own: of the first one all take the length of the slice,
	 * and only the time that an event had to wait is taken by its own */
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
	c->ev[i].counter = v.counter;
	c->ev[i].running = v.running;
	c->waited[i] = waited;
	return true;
}

/*
 * Reads this CPU's n counters and adds what they have counted since the last reading to slot from
 * (JP_SLOT_NONE: to no slot); where from ran for less time than that, the rest goes to no slot
 * either. Not to be interrupted by another reading on the same CPU.
 */
static __noinline int pmu_read(struct jp_pmu_cpu *c, u32 n, u32 from, u64 ran)
{
	struct pmu_slice s = {pmu_of(from), pmu_of(JP_SLOT_OTHER), PMU_ALL, ran};
	bool add = from != JP_SLOT_NONE && c->enabled;
	u32 i;

	if (!s.p || !s.rest)
		return 0;
	for (i = 0; i < JP_PMU_EVENTS; i++) {
		if (i >= n)
			break;
		if (!(c->open >> i & 1))
			continue;
		/* without the first one's clock there is no reading */
		if (!pmu_read_event(c, &s, i, add) && s.wanted == PMU_ALL)
			return 0;
	}
	c->reads++;
	c->moved = 0;
	if (add) {
		pmu_add(&s, &s.p->enabled, &s.rest->enabled, s.wanted);
		s.p->reads++;
	}
	return 0;
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

/*
 * From sched_switch: from now on the CPU counts for next's slot. Until now it was prev that ran;
 * where the CPU counted for another one the switch to prev was not reported, and of the slice
 * since then prev's is the time it ran.
 */
static __always_inline void pmu_switch(struct task_struct *prev, u32 prev_slot, u64 ran,
				       struct task_struct *next)
{
	struct jp_pmu_cpu *c = pmu_cpu();
	u32 slot = JP_SLOT_OTHER;

	if (!c || !c->open || c->busy)
		return;
	if (next->pid)
		slot = pmu_slot_of(next);
	else if (!jp_pmu_idle && !(task_state(prev) & TASK_DEAD))
		return;
	if (prev_slot == c->slot || !prev->pid || c->moved) {
		if (slot == c->slot)
			return;
		prev_slot = c->slot;
		ran = PMU_ALL;
	} else if (prev_slot != JP_SLOT_SELF) { /* user space gives that one to a running process */
		JP_COUNT(pmu_missed);
	}
	pmu_read(c, jp_npmu, prev_slot, ran);
	c->slot = slot;
}

/*
 * The raw tracepoint's next cannot be asked for its slot, only compared with prev by its process;
 * so every switch between processes reads, and prev says for which slot.
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
