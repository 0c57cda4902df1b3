/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What ran while a thread waited for a CPU. Each CPU keeps a ring of what ran there last, and until
 * when. When a thread is switched out, the newest entry ends at its own arrival: a walk back over
 * its run-queue delay finds the slots that had the CPU meanwhile. Nothing is done at a wakeup or
 * when it arrives, and all is under the lock of that run queue.
 *
 * A thread that is moved to another CPU while it waits takes along what it waited for on the first
 * one (jp_migrate).
 */
#ifndef JP_CULPRIT_BPF_H
#define JP_CULPRIT_BPF_H

#include "bpf/task.bpf.h"

#define RAN_MASK (JP_RAN - 1)

static __always_inline struct jp_ring *ring_of(u32 cpu)
{
	return bpf_map_lookup_elem(&jp_rings, &cpu);
}

static __always_inline void ring_push(struct jp_ring *r, u32 slot, u64 end)
{
	struct jp_ran *e = &r->ran[r->head & RAN_MASK];

	e->end = end;
	e->slot = slot;
	barrier();
	r->head++;
}

/* The slice of prev ends here; slot: where it counts. What ran before the first entry is not known,
 * nor what ran between the newest entry and prev's arrival: some kernels do not report every switch
 * (docs/compatibility.md). */
static __always_inline void ring_note(struct jp_ring *r, struct task_struct *prev, u32 slot,
				      u64 end)
{
	struct jp_ran *newest;

	if (slot == JP_SLOT_NONE && !prev->pid)
		slot = JP_RAN_IDLE;
	newest = &r->ran[(r->head - 1) & RAN_MASK];
	if (!r->head)
		slot = JP_RAN_UNKNOWN;
	else if (prev->sched_info.last_arrival > newest->end)
		ring_push(r, JP_RAN_UNKNOWN, prev->sched_info.last_arrival);
	else if (newest->slot == slot) {
		newest->end = end;
		return;
	}
	ring_push(r, slot, end);
}

/* A wait for a CPU that ended when its thread arrived there. */
struct waited {
	u64 ns, to;
	u32 slot;
	u32 pairs; /* 1: it counts in the matrix of pairs, else 0 */
	u64 head;  /* the ring's head, down to which the walk has come */
};

/* bpf/culprit.bpf.c: divides the wait among the slots that ran meanwhile; what the ring no longer
 * has is unknown, and counts nowhere. */
int divide(struct jp_ring *r, struct waited *w, struct jp_culprits *c);
u32 culprit_of(u32 waits, u32 ran, u64 ns);

/* Returns the part of the new run-queue delay that was before a move to another CPU. */
static __always_inline u64 lost_of(const struct jp_task *t, u64 delay)
{
	u64 lost = t->lost_delay_ns - t->run_delay_ns;

	if ((s64)lost <= 0)
		return 0;
	return lost < delay ? lost : delay;
}

/* Returns the part of it in which a quota throttled the thread. */
static __always_inline u64 held_of(struct task_struct *p, struct cfs_rq *queue,
				   const struct jp_task *t, u64 delay)
{
	u64 held = t->cause == JP_CAUSE_THROTTLED ? held_for(p, queue, t) : 0;

	return held < delay ? held : delay;
}

/* Adds the thread's new run-queue delay to the classes of its slot; arrived: its last arrival. */
static __always_inline void divide_delay(struct jp_ring *r, struct task_struct *p,
					 struct cfs_rq *queue, const struct jp_task *t, u64 delay,
					 u32 slot, u32 pairs, struct jp_culprits *c)
{
	u64 held = held_of(p, queue, t, delay), lost = lost_of(t, delay - held);
	struct waited w = {.ns = delay - held - lost,
			   .to = p->sched_info.last_arrival,
			   .slot = slot,
			   .pairs = pairs};

	c->ns[JP_BY_QUOTA] += held;
	for (int i = 0; lost && i < JP_CULPRITS; i++)
		c->ns[i] += t->moved_by.ns[i];
	if (r && w.ns)
		divide(r, &w, c);
}

/* Whether the wait was for the newest slice alone, as most are. */
static __always_inline bool is_for_newest(const struct jp_ring *r, const struct jp_task *t,
					  u64 arrived, u64 delay)
{
	u64 newest = r->head - 1;

	return t->cause != JP_CAUSE_THROTTLED && !lost_of(t, delay) &&
	       r->ran[newest & RAN_MASK].end >= arrived &&
	       r->ran[(newest - 1) & RAN_MASK].end <= arrived - delay;
}

/* Called when the thread is switched out, before its slice goes into the ring. */
static __always_inline void culprits_leave(struct jp_ring *r, struct task_struct *p,
					   struct cfs_rq *queue, const struct jp_task *t, u64 delay)
{
	u32 key = bpf_get_smp_processor_id() * jp_nslots + t->slot, ran, by = JP_BY_SLOT;
	struct jp_culprits *c = bpf_map_lookup_elem(&jp_culprits, &key);

	if (!c)
		return;
	if (is_for_newest(r, t, p->sched_info.last_arrival, delay)) {
		ran = r->ran[(r->head - 1) & RAN_MASK].slot;
		if (ran != t->slot || jp_count_pairs)
			by = culprit_of(t->slot, ran, delay);
		if (by < JP_CULPRITS)
			c->ns[by] += delay;
	} else {
		divide_delay(r, p, queue, t, delay, t->slot, 1, c);
	}
}

/* Adds the culprits of the last wait of a thread that runs now to c, for a record of the thread:
 * the ring of its CPU has that wait until the thread leaves. The wait of a thread that is not on a
 * CPU goes on: of it only the part before a move is known. */
static __always_inline void culprits_open(struct task_struct *p, struct cfs_rq *queue,
					  const struct jp_task *t, u64 delay, struct jp_culprits *c)
{
	if ((s64)delay > 0)
		divide_delay(p->on_cpu ? ring_of(cpu_of(p)) : NULL, p, queue, t, delay,
			     t->next_slot, 0, c);
}

#endif
