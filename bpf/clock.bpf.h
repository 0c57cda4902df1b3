/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clock of the run queues, read where no run queue's own is at hand. */
#ifndef JP_CLOCK_BPF_H
#define JP_CLOCK_BPF_H

#include "bpf/maps.bpf.h"

static __always_inline u64 queue_clock(void)
{
	struct jp_control *c = control();

	return bpf_ktime_get_ns() - (c ? c->clock_behind_ns : 0);
}

#define CPU_TIME_TRIES 8 /* other CPUs that wake threads for this queue update its clock, too */

/* The CPU time of the current thread until now. The kernel's account was updated within the last
 * tick; what came since is added. An update of the account or of the clocks meanwhile would be
 * counted twice, so the reading is repeated then. */
static __always_inline u64 cpu_time(struct task_struct *p)
{
	u64 sum = 0;

	for (int i = 0; i < CPU_TIME_TRIES; i++) {
		struct rq *rq = p->se.cfs_rq->rq;
		u64 clock = *(volatile u64 *)&rq->clock;
		s64 since, more;

		sum = *(volatile u64 *)&p->se.sum_exec_runtime;
		since = queue_clock() - clock;
		more = rq->clock_task - p->se.exec_start;
		if (sum != *(volatile u64 *)&p->se.sum_exec_runtime ||
		    clock != *(volatile u64 *)&rq->clock)
			continue;
		sum += (more > 0 ? more : 0) + (since > 0 ? since : 0);
		break;
	}
	return sum;
}

#define CLOCK_EVERY_NS 1000000
#define CLOCK_SLEW     2048 /* NTP changes a clock's rate by 1/2000 at most */

/*
 * Measures how far CLOCK_MONOTONIC is ahead of the run queues' clock. The smallest difference
 * counts, because the queue's clock was read a moment before; it may rise as fast as NTP lets it.
 * Called where the collector leaves its CPU, at least once per row.
 */
static __always_inline void clock_compare(u64 now)
{
	struct jp_control *c = control();
	s64 ahead, risen;

	if (!c || now - c->clock_ns < CLOCK_EVERY_NS)
		return;
	ahead = bpf_ktime_get_ns() - now;
	risen = c->clock_behind_ns + (s64)((now - c->clock_ns) / CLOCK_SLEW);
	c->clock_behind_ns = c->clock_ns && ahead > risen ? risen : ahead;
	c->clock_ns = now;
}

#endif
