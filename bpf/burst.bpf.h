/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bursts: what a thread does between two voluntary waits. A thread that loses its CPU although it
 * could run goes on with its burst later. All is known where a thread leaves its CPU: every burst
 * is in a histogram by its run time, and so is the gap before it; long ones are records, too.
 *
 * Libraries that poll wait without leaving their CPU. A call of a function that the user has called
 * a wait ends a burst as well (JP_REGION_WAIT): what it does is neither in a burst nor in the time
 * without a CPU of the gaps. Such a burst ends within a slice, so that it has no counts of events.
 */
#ifndef JP_BURST_BPF_H
#define JP_BURST_BPF_H

#include "bpf/clock.bpf.h"
#include "bpf/log2.bpf.h"
#include "bpf/task.bpf.h"

static __always_inline struct jp_burst_use *burst_use(u32 slot)
{
	u32 key = bpf_get_smp_processor_id() * jp_nslots + slot;

	return bpf_map_lookup_elem(&jp_burst_use, &key);
}

/* 0 where the clock, which is read ahead of the run queue's own, was ahead too far. */
static __always_inline u64 after(u64 end, u64 begin)
{
	return end > begin ? end - begin : 0;
}

/* Sends the burst that ended at t->burst_out, ago ns before now, to user space, which is woken only
 * when the ring fills up. */
static __noinline int burst_emit(struct task_struct *p, const struct jp_task *t,
				 struct jp_burst_use *use, u64 ran, u64 ago)
{
	bool much = bpf_ringbuf_query(&jp_bursts, BPF_RB_AVAIL_DATA) >
		    bpf_ringbuf_query(&jp_bursts, BPF_RB_RING_SIZE) / 4;
	struct jp_slot *info = slot_info(t->slot);
	struct jp_burst *b = bpf_ringbuf_reserve(&jp_bursts, sizeof(*b), 0);

	if (!b) {
		if (use)
			__sync_fetch_and_add(&use->lost, 1);
		return 0;
	}
	b->slot = t->slot;
	b->gen = info ? info->gen : 0;
	b->tid = p->pid;
	b->end_ns = bpf_ktime_get_boot_ns() - ago;
	b->duration_ns = after(t->burst_out, t->burst_from);
	b->on_cpu_ns = t->burst_on;
	b->run_time_ns = ran;
	b->gap_ns = t->burst_gap;
	b->events = jp_npmu && t->burst_shared != JP_BURST_UNCOUNTED ? t->burst_events : 0;
	b->shared = t->burst_shared;
	b->pad = 0;
	__builtin_memcpy(b->count, t->burst_count, sizeof(b->count));
	bpf_ringbuf_submit(b, much ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	return 0;
}

/* Called when a thread leaves its CPU for the first time in a burst: the burst began when the
 * thread got that CPU. */
static __always_inline void burst_open(struct jp_task *t, struct jp_burst_use *use, u64 on,
				       u64 delay)
{
	u64 gap = on - t->burst_out;

	t->burst_from = on;
	t->burst_on = 0;
	t->burst_gap = JP_GAP_UNKNOWN;
	if (!t->burst_out || on < t->burst_out || !use)
		return;
	gap = delay < gap ? gap - delay : 0;
	t->burst_gap = gap;
	use->gap[log2_bucket(gap)]++;
	use->gap_ns += gap;
}

static __always_inline void burst_uncount(struct jp_task *t)
{
	if (!jp_npmu)
		return;
	__builtin_memset(t->burst_count, 0, sizeof(t->burst_count));
	t->burst_events = t->burst_shared = 0;
}

/* Whether every call since then that ends a burst was seen. */
static __always_inline bool burst_calls_seen(u64 since)
{
	struct jp_control *c = control();

	return c && since >= c->calls_from;
}

/* Whether every call in this burst that ends a burst was seen. */
static __always_inline bool burst_is_whole(const struct jp_task *t)
{
	return !t->call_frame || burst_calls_seen(t->burst_from);
}

/* Ends the burst, at t->burst_out, which was ago ns before now. */
static __always_inline void burst_close(struct task_struct *p, struct jp_task *t,
					struct jp_burst_use *use, u64 ran, u64 ago)
{
	if (ran >= jp_burst_min_ns && t->slot >= JP_SLOT_FIRST && burst_is_whole(t))
		burst_emit(p, t, use, ran, ago);
	t->burst_from = 0;
	burst_uncount(t);
}

/* Adds the time on this CPU, from the thread's arrival or the burst's begin, whichever is later. */
static __always_inline void burst_stay(const struct task_struct *p, struct jp_task *t, u64 until)
{
	u64 on = p->sched_info.last_arrival, from = on > t->burst_from ? on : t->burst_from;

	if (until > from)
		t->burst_on += until - from;
}

/* Run time of the burst up to the thread's run time `until`, where the next burst begins. 0 where
 * that is not above the burst's begin: some run times are read ahead of the kernel's account, and
 * the account may say less later. */
static __always_inline u64 burst_runtime(struct jp_task *t, u64 until)
{
	s64 ran = until - t->burst_ran;

	if (ran <= 0)
		return 0;
	t->burst_ran = until;
	return ran;
}

/* Whether the thread is in a call that is a wait, whose return will be seen. */
static __always_inline bool burst_in_call(const struct jp_task *t)
{
	return t->call_at && burst_calls_seen(t->call_at);
}

/* The thread left the call without a return (longjmp): nothing is known of the burst. */
static __always_inline void burst_forget(struct task_struct *p, struct jp_task *t)
{
	t->burst_ran = p->se.sum_exec_runtime;
	t->burst_out = t->burst_from = t->call_at = 0;
	burst_uncount(t);
}

/* The thread, which counts in t->slot, leaves its CPU at `end`. delay: its run-queue delay since
 * the last time; left: it waits now. */
static __always_inline void burst_leave(struct task_struct *p, struct jp_task *t, u64 end,
					u64 delay, bool left)
{
	u64 ran;
	struct jp_burst_use *use = burst_use(t->slot);

	if (burst_in_call(t)) {
		burst_stay(p, t, t->call_at);
		return; /* the call ends the burst */
	}
	if (t->call_at)
		burst_forget(p, t);
	if (!t->burst_from)
		burst_open(t, use, p->sched_info.last_arrival, delay);
	burst_stay(p, t, end);
	if (!left || !use)
		return;
	ran = burst_runtime(t, p->se.sum_exec_runtime);
	if (burst_is_whole(t)) {
		use->burst[log2_bucket(ran)]++;
		use->burst_ns += ran;
	}
	t->burst_out = end;
	burst_close(p, t, use, ran, 0);
}

/* Called in process context, at the entry of a call that is a wait. Where calls are nested, the
 * outermost one counts; a call that was left without a return goes on until the next one returns.
 */
static __always_inline void burst_enter_call(struct task_struct *p, struct jp_task *t, u64 frame)
{
	if (burst_in_call(t)) {
		t->call_frame = frame > t->call_frame ? frame : t->call_frame;
		return;
	}
	if (t->call_at)
		burst_forget(p, t);
	t->call_frame = frame;
	if (!t->burst_from)
		burst_open(t, burst_use(t->slot), p->sched_info.last_arrival,
			   p->sched_info.run_delay - t->run_delay_ns);
	t->call_ran = cpu_time(p);
	t->call_at = queue_clock(); /* last: from here on switches leave the burst alone */
}

/* Ends a burst by a call that took gap ns, and begins the next one. Switches may interrupt this. */
static __always_inline void burst_part(struct task_struct *p, struct jp_task *t,
				       struct jp_burst_use *use, u64 gap)
{
	u64 ran = burst_runtime(t, t->call_ran);

	if (burst_is_whole(t)) {
		__sync_fetch_and_add(&use->burst[log2_bucket(ran)], 1);
		__sync_fetch_and_add(&use->burst_ns, ran);
	}
	__sync_fetch_and_add(&use->gap[log2_bucket(gap)], 1);
	__sync_fetch_and_add(&use->gap_ns, gap);
	burst_stay(p, t, t->call_at);
	t->burst_out = t->call_at;
	t->burst_shared = JP_BURST_UNCOUNTED;
	burst_close(p, t, use, ran, gap);
	t->burst_from = t->burst_out + gap;
	t->burst_on = 0;
	burst_runtime(t, cpu_time(p)); /* in the call: of no burst */
	t->burst_gap = gap;
	t->burst_shared = JP_BURST_UNCOUNTED; /* its slice began before */
}

/* Called at the return of such a call. */
static __always_inline void burst_leave_call(struct task_struct *p, struct jp_task *t, u64 frame)
{
	u64 now = queue_clock();
	struct jp_burst_use *use = burst_use(t->slot);

	if (!burst_in_call(t) || frame != t->call_frame || !use)
		return;
	burst_part(p, t, use, after(now, t->call_at));
	t->call_at = 0;
}

/* A thread that counts elsewhere from now on begins a burst there. */
static __always_inline void burst_move(struct task_struct *p, struct jp_task *t)
{
	t->burst_ran = t->move_cpu_ns;
	t->burst_out = t->burst_from = t->call_at = 0;
	t->burst_shared = JP_BURST_UNCOUNTED; /* its slice has the counts before the move, too */
}

#endif
