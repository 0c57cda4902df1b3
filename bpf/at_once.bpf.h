/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How many CPUs run a step at once. The clock of samples ticks once on each CPU in each period: the
 * ticks of one period that meet the step are the CPUs that ran it then, within a period of each
 * other.
 */
#ifndef JP_AT_ONCE_BPF_H
#define JP_AT_ONCE_BPF_H

#include "bpf/log2.bpf.h"
#include "bpf/queue.bpf.h"
#include "bpf/task.bpf.h"

#define SAMPLE_NS   (1000000000ull / JP_SAMPLE_HZ)
#define PERIOD_MASK (JP_PERIODS - 1)

/* The number of the period in which this CPU's tick was due: a tick may be late, never early. */
static __always_inline u64 period_now(void)
{
	u64 now = bpf_ktime_get_ns(), since;
	u32 zero = 0;
	struct jp_tick *t = bpf_map_lookup_elem(&jp_ticks, &zero);

	if (!t)
		return now / SAMPLE_NS;
	since = now - t->due_ns + SAMPLE_NS / 4;
	t->due_ns += since / SAMPLE_NS * SAMPLE_NS;
	if (now < t->due_ns || (s64)since < 0)
		t->due_ns = now;
	return t->due_ns / SAMPLE_NS;
}

/* 0, 1, 2 and 3, 4 to 7, and so on. */
static __always_inline u32 at_once_bucket(u32 cpus)
{
	u32 b = cpus ? 1 + log2_bucket(cpus) : 0;

	return b < JP_AT_ONCE ? b : JP_AT_ONCE - 1;
}

/* A period is over when the one after the next begins: two CPUs that see that at the same time are
 * rare, and count it twice. */
static __always_inline void end_periods(struct jp_at_once *a, u64 period)
{
	u64 last = a->period;

	a->period = period;
	if (!last)
		return;
	for (u64 i = 0; i < 2; i++) {
		u64 p = last - 1 + i;
		u32 *cpus = &a->cpus[p & PERIOD_MASK];

		if (p + 2 > period)
			return;
		a->periods[at_once_bucket(*cpus) & (JP_AT_ONCE_ROOM - 1)]++;
		*cpus = 0;
	}
	a->periods[0] += period - 2 - last;
}

static __always_inline void count_at_once(struct task_struct *p, u32 slot)
{
	struct jp_slot *info = slot_info(slot);
	u32 step = info ? info->step : JP_SLOT_OTHER;
	struct jp_at_once *a = bpf_map_lookup_elem(&jp_at_once, &step);
	u64 period = period_now();

	if (!a || step < JP_SLOT_FIRST || period + 2 <= a->period)
		return;
	if (period > a->period)
		end_periods(a, period);
	__sync_fetch_and_add(&a->cpus[period & PERIOD_MASK], 1);
	count_queued(p, a, period);
}

#endif
