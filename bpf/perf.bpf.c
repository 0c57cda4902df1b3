// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The perf family outside the switch path: reading the counters of a CPU when user space asks for
 * it, and the overflow handlers of the sampled mode. These read no counter, since that would cost
 * more than the sample.
 */
#include "bpf/pmu.bpf.h"

/*
 * Run by BPF_PROG_TEST_RUN on one CPU: in the interrupt that asks it, or with preemption off when
 * it is the caller's own. Gives what is in flight to the CPU's slot, and finds out again for which
 * slot it counts. In sampled mode user space compares the reading with what the samples say.
 */
SEC("?raw_tp/sched_switch")
int jp_pmu_flush(void *ctx)
{
	struct task_struct *p = bpf_get_current_task_btf();
	u32 slot = p->pid ? pmu_slot_of(p) : JP_SLOT_OTHER;
	struct jp_pmu_cpu *c = pmu_cpu();

	if (!c || !c->open || c->busy)
		return 0;
	c->busy = 1;
	barrier();
	if (jp_npmu) {
		pmu_read(c, jp_npmu, c->slot == JP_SLOT_NONE ? slot : c->slot, PMU_ALL);
		c->slot = slot;
		c->tgid = p->tgid;
	} else {
		pmu_read(c, jp_nsampled, JP_SLOT_NONE, PMU_ALL);
	}
	barrier();
	c->busy = 0;
	return 0;
}

/* Non-maskable or soft interrupts, or the task itself; user space adds what samples missed. */
static __always_inline int sample(u32 i)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct jp_pmu *p = pmu_of(pmu_slot_of(task));
	struct jp_pmu_cpu *c = pmu_cpu();

	if (!p || !c)
		return 0;
	__sync_fetch_and_add(&p->ev[i].counter, c->period[i]);
	__sync_fetch_and_add(&p->reads, 1);
	__sync_fetch_and_add(&c->given[i], c->period[i]);
	if (!task->pid)
		__sync_fetch_and_add(&c->idle[i], c->period[i]);
	return 0;
}

#define SAMPLE(i)                   \
	SEC("?perf_event")          \
	int jp_sample##i(void *ctx) \
	{                           \
		return sample(i);   \
	}

SAMPLE(0)
SAMPLE(1)
SAMPLE(2)
SAMPLE(3)
SAMPLE(4)
SAMPLE(5)
SAMPLE(6)
SAMPLE(7)
