/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Regions of programs that do not name them: functions, or what lies between two probes.
 */
#ifndef JP_ABI_REGION_H
#define JP_ABI_REGION_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define JP_REGIONS 16 /* of this kind */

/* The cookie of a probe: the number of its region, and what it says. Probes whose cost is measured
 * have the number JP_REGIONS. */
#define JP_REGION_NUMBER 0xffffu
#define JP_REGION_END	 0x10000u
#define JP_REGION_CALL	 0x20000u /* the region is a function: its begin and end are of one call */
#define JP_REGION_WAIT	 0x40000u /* the call is a wait, which ends a burst; it is no execution */

/* A thread of a step begins or ends a region. */
struct jp_crossing {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 frame;   /* the stack's top before the call; 0: the region is no function */
	__u64 lost;    /* crossings of all CPUs that had found the ring full until then */
	__u64 cpu_ns;  /* CPU time of the thread until then */
	__u64 faults;  /* page faults of the thread until then */
	__u32 cookie;
	__u32 slot;
	__u32 gen;
	__u32 tgid;
	__u32 tid; /* as the thread itself knows it */
	__u32 pad;
};

_Static_assert(sizeof(struct jp_crossing) == 64, "jp_crossing");

#endif
