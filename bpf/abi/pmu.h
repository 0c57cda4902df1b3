/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Hardware counters.
 */
#ifndef JP_ABI_PMU_H
#define JP_ABI_PMU_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define JP_PMU_EVENTS	24 /* events of all sets together; the sets are counted in turn */
#define JP_PMU_AT_ONCE	8  /* events of one set */
#define JP_PMU_NAME_LEN 40
#define JP_PMU_TEXT	512

struct jp_pmu_value {
	__u64 counter;
	__u64 running; /* ns the event was on the hardware */
};

/* Seven cache lines per CPU and slot. Only writer: that CPU with IRQs off, or in sampled mode the
 * overflow handler there. */
struct jp_pmu {
	__u64 enabled; /* ns the events were wanted */
	__u64 reads;   /* readings or samples */
	struct jp_pmu_value ev[JP_PMU_EVENTS];
	__u64 pad[6];
};

/*
 * The last values of a CPU's counters, and the slot that they have counted for since. Writer: that
 * CPU's programs (one in an interrupt changes nothing while busy is set); user space while nothing
 * is open, and where a field says so.
 */
struct jp_pmu_cpu {
	__u32 slot;    /* JP_SLOT_NONE: known when the task leaves (raw tracepoint) */
	__u32 busy;    /* a reading is under way where an interrupt may come between */
	__u32 open;    /* events that are open here, as bits; user space */
	__u32 moved;   /* the task that runs here was moved to another slot; any CPU */
	__u32 tgid;    /* raw tracepoint: process that counts since the last reading */
	__u32 slicing; /* enum jp_pmu_slice */
	__u64 enabled; /* ns the events were wanted; 0: no reading yet, the next is only a base */
	__u64 reads;
	__u64 fails;
	struct jp_pmu_value ev[JP_PMU_EVENTS];
	__u64 waited[JP_PMU_EVENTS];  /* ns wanted but not on the hardware */
	__u64 given[JP_PMU_AT_ONCE];  /* sampled: counts that slots were given; atomic adds */
	__u64 idle[JP_PMU_AT_ONCE];   /* the part of given while idle: to no slot; atomic adds */
	__u64 period[JP_PMU_AT_ONCE]; /* sampled: counts per sample; user space, before it opens */
	__u64 slice[JP_PMU_AT_ONCE];  /* families burst and fold: by place in which */
	__u32 slice_shared; /* events of the slice that were on the hardware only in part, as bits
			     */
	__u32 nopen;
	__u8 which[JP_PMU_AT_ONCE]; /* the events of open; user space */
};

/* SLICE_ON: slice has all counts since the thread that runs here got the CPU. SLICE_ENDED: the same
 * within a switch, when that thread leaves and the counters have been read. */
enum jp_pmu_slice { JP_PMU_SLICE_NONE = 0, JP_PMU_SLICE_ON, JP_PMU_SLICE_ENDED };

enum jp_pmu_mode { JP_PMU_OFF = 0, JP_PMU_EXACT, JP_PMU_SAMPLED };

_Static_assert(sizeof(struct jp_pmu) == 448, "jp_pmu");
_Static_assert(sizeof(struct jp_pmu_cpu) == 896, "jp_pmu_cpu");

#endif
