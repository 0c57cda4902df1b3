/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Bursts: from where a thread stops being blocked until it blocks again.
 */
#ifndef JP_ABI_BURST_H
#define JP_ABI_BURST_H

#include "bpf/abi/pmu.h"
#include "bpf/abi/sched.h"

/* Histograms of bursts and of gaps, with the buckets of jp_lat. Each CPU and slot has one writer,
 * as in jp_sched. */
struct jp_burst_use {
	__u64 burst[JP_LAT_BUCKETS]; /* by run time */
	__u64 gap[JP_LAT_BUCKETS];   /* by the time off the CPU, without the wait for it */
	__u64 burst_ns, gap_ns;	     /* their sums */
	__u64 lost;		     /* long bursts that found the ring full */
	__u64 pad[5];
};

/* A long burst, in a ring of its own. */
struct jp_burst {
	__u32 slot, gen;
	__u32 tid;
	__u32 events;	   /* the events that were counted, as bits; 0: the counts are not known */
	__u64 end_ns;	   /* CLOCK_BOOTTIME */
	__u64 duration_ns; /* since it began */
	__u64 on_cpu_ns;   /* the part of duration_ns on a CPU */
	__u64 run_time_ns; /* the part of on_cpu_ns that is run time */
	__u64 gap_ns;	   /* time blocked before the burst, or JP_GAP_UNKNOWN */
	__u64 count[JP_PMU_AT_ONCE]; /* of these events while it ran, the lowest bit first */
	__u32 shared; /* bits by place in count: events that were on the hardware only in part */
	__u32 pad;
};
#define JP_GAP_UNKNOWN	   (~0ull)
#define JP_BURST_UNCOUNTED (~0u)
#define JP_BURST_MIN_NS	   1000000

_Static_assert(sizeof(struct jp_burst_use) == 704, "jp_burst_use");
_Static_assert(sizeof(struct jp_burst) == 128, "jp_burst");

#endif
