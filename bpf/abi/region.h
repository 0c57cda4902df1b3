/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Regions that are functions, or lie between two probes, of programs that do not name them.
 */
#ifndef JP_ABI_REGION_H
#define JP_ABI_REGION_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define JP_REGIONS 16 /* of this kind */

/* The cookie of a probe: the number of its region, and what it says. The number JP_REGIONS is of
 * the probes whose cost is measured. */
#define JP_REGION_NUMBER 0xffffu
#define JP_REGION_END	 0x10000u
#define JP_REGION_CALL	 0x20000u /* on a function: the begin and the end are of one call */
#define JP_REGION_WAIT	 0x40000u /* a call is a wait, which ends a burst: no execution */

/* A thread of a step begins or ends a region. */
struct jp_crossing {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 frame;   /* the stack's top before the call; 0: not of a function */
	__u64 lost;    /* crossings that found the ring full until then, of all CPUs */
	__u64 cpu_ns;  /* the thread's until then, */
	__u64 faults;  /* and its page faults */
	__u32 cookie;
	__u32 slot;
	__u32 gen;
	__u32 tgid;
	__u32 tid; /* as the thread itself knows it */
	__u32 pad;
};

_Static_assert(sizeof(struct jp_crossing) == 64, "jp_crossing");

#endif
