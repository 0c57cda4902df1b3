/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The counts of one thread alone: those of each of its slices on a CPU, for its burst, and their
 * sum, for the points of its samples.
 */
#ifndef JP_SLICE_BPF_H
#define JP_SLICE_BPF_H

#include "bpf/pmu.bpf.h"

#define UNCOUNTED_ALL (~0u)

/*
 * Called before the switch is counted: adds the counts of the slice that ends to prev. It leaves
 * its result in slicing, because a return value would double the states that the verifier follows
 * from here. An interrupt that cannot be kept off, as a counter's, sees busy.
 */
static __noinline __attribute__((unused)) int slice_end(struct task_struct *prev, struct jp_task *t,
							u32 prev_slot, u64 ran)
{
	struct jp_pmu_cpu *c = pmu_cpu();
	bool on, read;
	u32 i;

	if (!c || !t)
		return 0;
	if (!c->open || c->busy) {
		t->burst_shared = JP_BURST_UNCOUNTED;
		t->uncounted = UNCOUNTED_ALL;
		return 0;
	}
	c->busy = 1;
	barrier();
	on = c->slicing == JP_PMU_SLICE_ON;
	read = pmu_leave(c, prev, prev_slot, ran);
	c->slot = prev_slot;
	if (!read || !on || (t->burst_events && t->burst_events != c->open))
		t->burst_shared = JP_BURST_UNCOUNTED;
	if (!read || !on || (t->counted_events && t->counted_events != c->open))
		t->uncounted = UNCOUNTED_ALL;
	t->burst_events = t->counted_events = c->open;
	t->burst_shared |= c->slice_shared;
	t->uncounted |= c->slice_shared;
	for (i = 0; i < JP_PMU_AT_ONCE; i++) {
		t->burst_count[i] += c->slice[i];
		t->counted[i] += c->slice[i];
	}
	c->slicing = read ? JP_PMU_SLICE_ENDED : JP_PMU_SLICE_NONE;
	barrier();
	c->busy = 0;
	return 0;
}

/* The running thread's count of the event in that place; JP_UNCOUNTED: not known. */
static __always_inline u64 slice_count(const struct jp_pmu_cpu *c, const struct jp_task *t,
				       u32 place)
{
	struct bpf_perf_event_value v;
	u32 i = c->which[place];

	if (i >= jp_npmu || i >= JP_PMU_EVENTS || ((t->uncounted | c->slice_shared) >> place & 1))
		return JP_UNCOUNTED;
	if (bpf_perf_event_read_value(&jp_pmu_fds, i * jp_ncpus + bpf_get_smp_processor_id(), &v,
				      sizeof(v)) ||
	    v.enabled - v.running != c->waited[i])
		return JP_UNCOUNTED;
	return t->counted[place] + c->slice[place] + v.counter - c->ev[i].counter;
}

/* Called in an interrupt: the counts of the running thread until now. Returns its events, as bits.
 */
static __always_inline u32 slice_counts(const struct jp_task *t, u64 *count)
{
	struct jp_pmu_cpu *c = pmu_cpu();
	bool known;
	u32 place;

	if (!c || !c->open)
		return 0;
	known = !c->busy && c->slicing == JP_PMU_SLICE_ON &&
		(!t->counted_events || t->counted_events == c->open);
	for (place = 0; place < JP_PMU_AT_ONCE; place++)
		count[place] = known && place < c->nopen ? slice_count(c, t, place) : JP_UNCOUNTED;
	return c->open;
}

#endif
