/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Something rests, or works again, since a task's last switch: what it carries of that is old. */
#ifndef JP_ANEW_BPF_H
#define JP_ANEW_BPF_H

#include "bpf/burst.bpf.h"
#include "bpf/task.bpf.h"

/* Called at the task's next switch. */
static __noinline int see_anew(struct task_struct *p, struct jp_task *t, u32 resting)
{
	u32 changed = t->seen ^ resting;

	if (changed & ~JP_REST_FAMILIES) /* it has switched meanwhile, and nobody has seen it */
		changed = JP_REST_FAMILIES;
	t->seen = resting;
	if (changed & FAM_WAIT)
		t->out = 0;
	if (changed & FAM_STACK)
		t->stack = 0;
	if (changed & FAM_CULPRIT) { /* nobody has seen what had the CPU until now */
		t->lost_delay_ns = p->sched_info.run_delay;
		__builtin_memset(&t->moved_by, 0, sizeof(t->moved_by));
	}
	if ((jp_families & FAM_BURST) && (changed & FAM_BURST))
		burst_forget(p, t);
	return 0;
}

/* Called by the sweep: the task's gap, or its time on its CPU, begins anew now, as it may not
 * switch for long. Where it does so at this very moment, the two differ by some microseconds. */
static __always_inline void see_gap(struct task_struct *p, struct jp_task *t, u32 resting)
{
	if (!works(FAM_WAIT, resting) || t->seen == resting)
		return;
	t->cause = cause_of(p, task_state(p), LOADS_HELPER);
	see_anew(p, t, resting);
	barrier();
	t->out = queue_clock();
}

#endif
