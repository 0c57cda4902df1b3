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

#define CLOCK_EVERY_NS 1000000
#define CLOCK_SLEW     2048 /* NTP changes a clock's rate by 1/2000 at most */

/*
 * How far CLOCK_MONOTONIC is ahead of them: the least that was seen, as the queue's clock was read
 * a moment ago. It may rise as fast as NTP lets it. Taken where the collector leaves its CPU, which
 * it does at least once per row.
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
