/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Accounts for all of a thread's time. When a thread leaves its CPU, two times are enough: the run
 * queue's clock T and the thread's last arrival A on the CPU. From A to T the thread was on the
 * CPU. From its switch-out before that until A it was off the CPU: the end of this gap was
 * run-queue delay, and the rest had the cause that the thread showed at that switch-out. No program
 * runs at a wakeup or at an arrival.
 *
 * The account is in the thread's task storage, so that user space finds it whole in a record of the
 * thread (bpf/iter.bpf.c). When the thread ends or moves, its account is added to its slot's.
 */
#ifndef JP_WAIT_BPF_H
#define JP_WAIT_BPF_H

#include "bpf/cause.bpf.h"
#include "bpf/clock.bpf.h"
#include "bpf/stack.bpf.h"
#include "bpf/task.bpf.h"

static __always_inline u64 least(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* Returns the wait for a CPU at the end of a gap; delay: the task's run-queue delay since it left.
 */
static __always_inline u64 queued_for(struct task_struct *p, struct cfs_rq *queue,
				      const struct jp_task *t, u64 gap, u64 delay)
{
	if (t->cause == JP_CAUSE_NONE)
		return gap;
	if (t->cause == JP_CAUSE_THROTTLED)
		return gap - least(held_for(p, queue, t), gap);
	return least(delay, gap);
}

static __always_inline void wait_add(struct jp_task *t, u64 gap, u64 queued, u64 on, u64 ran)
{
	struct jp_wait *w = &t->wait;

	w->on_cpu_ns += on;
	if (on > ran)
		w->stolen_ns += on - ran;
	w->cpu_wait_ns += queued;
	if (t->cause < JP_CAUSES)
		w->blocked_ns[t->cause] += gap - queued;
}

/* Adds the thread's account to its slot's, and empties it. */
static __noinline int wait_retire(struct jp_task *t)
{
	u32 slot = t->slot, i;
	struct jp_wait *to = bpf_map_lookup_elem(&jp_wait, &slot);

	if (to) {
		__sync_fetch_and_add(&to->on_cpu_ns, t->wait.on_cpu_ns);
		__sync_fetch_and_add(&to->stolen_ns, t->wait.stolen_ns);
		__sync_fetch_and_add(&to->cpu_wait_ns, t->wait.cpu_wait_ns);
		for (i = 0; i < JP_CAUSES; i++)
			if (t->wait.blocked_ns[i])
				__sync_fetch_and_add(&to->blocked_ns[i], t->wait.blocked_ns[i]);
	}
	__builtin_memset(&t->wait, 0, sizeof(t->wait));
	return 0;
}

/* How much of [from, to] lies before at. */
static __always_inline u64 before(u64 from, u64 to, u64 at)
{
	return least(to, at) - least(from, at);
}

/* Gives the time before the task's move to the old slot; the account begins again at the move. */
static __noinline int wait_move(struct task_struct *p, struct cfs_rq *queue, struct jp_task *t)
{
	u64 out = t->out, end = queue->rq->clock, on = p->sched_info.last_arrival;
	u64 at = t->move_clock, ran = 0, gap, queued;

	if (!out || at < out)
		at = out;
	at = least(at, end);
	if (on < out)
		on = out;
	queued = on - queued_for(p, queue, t, on - out, p->sched_info.run_delay - t->run_delay_ns);
	if (t->move_cpu_ns > t->cpu_ns)
		ran = t->move_cpu_ns - t->cpu_ns;
	gap = before(out, on, at);
	t->out = 0;
	barrier();
	wait_add(t, gap, before(queued, on, at), before(on, end, at), ran);
	wait_retire(t);
	if (t->cause == JP_CAUSE_THROTTLED)
		t->held_ns += least(queued - out, gap);
	t->out = at;
	return 0;
}

/* Accounts for the time since the task last left its CPU until now, and notes why it leaves again.
 * out is 0 while the account changes, so that a reader sees this. */
static __always_inline void wait_leave(void *ctx, struct task_struct *p, struct cfs_rq *queue,
				       struct jp_task *t, u64 end, u64 delay, u32 state,
				       u32 resting, enum loads how)
{
	u64 on = p->sched_info.last_arrival;
	u64 out = t->out ? t->out : end, gap, queued;

	t->out = 0;
	barrier();
	if (on < out) /* it ran when it was first seen */
		on = out;
	gap = on - out;
	queued = queued_for(p, queue, t, gap, delay);
	if (slot_valid(t->slot))
		wait_add(t, gap, queued, end - on, p->se.sum_exec_runtime - t->cpu_ns);
	if (works(FAM_STACK, resting))
		stack_gap_ends(p, t, gap - queued);
	t->cause = cause_of(p, state, how);
	if (t->cause == JP_CAUSE_THROTTLED) {
		t->held_queue = (u64)queue;
		t->held_ns = throttled_for(queue);
	}
	if (works(FAM_STACK, resting))
		stack_gap_begins(ctx, p, t);
	barrier();
	t->out = end;
}

#endif
