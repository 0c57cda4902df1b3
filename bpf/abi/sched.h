/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * What the scheduler knows of threads: CPU time, waits and their causes, and what had the CPU
 * meanwhile.
 */
#ifndef JP_ABI_SCHED_H
#define JP_ABI_SCHED_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define JP_LAT_BUCKETS 40 /* [2^k, 2^(k+1)) ns; 2^40 ns is 18 minutes */

/* One cache line per CPU and slot. Only writer: sched_switch (and exit) on that CPU, IRQs or
 * preemption off. */
struct jp_sched {
	__u64 cpu_ns;
	__u64 run_delay_ns;
	__u64 vol_switches;
	__u64 invol_switches;
	__u64 migrations;
	__u64 disk_wait_ns; /* 0 with the family wait, where jp_wait has this time */
	__u64 tasks_out;    /* tasks that will never write this slot again */
	__u64 harvests;	    /* program runs that did work here */
};

/* Why a thread was off its CPU without waiting for one (bpf/wait.bpf.h). */
enum jp_cause {
	JP_CAUSE_THROTTLED,
	JP_CAUSE_DISK,
	JP_CAUSE_FAULT,	 /* a page fault that reads a disk */
	JP_CAUSE_NET_FS, /* a file of a network file system */
	JP_CAUSE_KERNEL, /* a lock of the kernel, or the process's memory map */
	JP_CAUSE_FUTEX,	 /* a futex, a semaphore, a lock of a file */
	JP_CAUSE_PIPE,	 /* or a message queue */
	JP_CAUSE_SOCKET,
	JP_CAUSE_POLL,
	JP_CAUSE_SLEEP,
	JP_CAUSE_CHILD,
	JP_CAUSE_SIGNAL, /* or stopped */
	JP_CAUSE_OTHER,
	JP_CAUSES,
	JP_CAUSE_NONE = JP_CAUSES /* runnable: it only waits for a CPU */
};

/*
 * The whole time of threads, ns; two cache lines. Each living thread has its own, so that a record
 * of the thread is true for one instant; a slot has the sum over threads that have ended or left
 * (any CPU: atomic adds).
 */
struct jp_wait {
	__u64 on_cpu_ns;   /* on a CPU, by the clock of its run queue */
	__u64 stolen_ns;   /* the part of on_cpu_ns that is not its CPU time: interrupts, and what a
			      hypervisor took */
	__u64 cpu_wait_ns; /* runnable, waiting for a CPU */
	__u64 blocked_ns[JP_CAUSES];
};

/* What had a CPU while a thread of a slot waited for it (bpf/culprit.bpf.h). */
enum jp_culprit {
	JP_BY_SLOT,		    /* the slot itself */
	JP_BY_TASK,		    /* another slot of its task: a rank, or the launcher of ranks */
	JP_BY_OWN_STEP,		    /* another task of its step */
	JP_BY_OWN_JOB,		    /* another step of its job */
	JP_BY_OTHER_JOBS,	    /* another job */
	JP_BY_SYSTEM,		    /* what no slot counts, and the collector */
	JP_BY_IDLE,		    /* nothing: the CPU had to wake up */
	JP_BY_QUOTA,		    /* nothing: a quota throttled the thread */
	JP_CULPRITS,		    /* a power of two */
	JP_BY_UNKNOWN = JP_CULPRITS /* the ring no longer has it; it has no account */
};

/* One cache line per CPU and slot; ns. The part of run_delay_ns of jp_sched that is in none of
 * these has an unknown cause. Only writer: that CPU's sched_switch. */
struct jp_culprits {
	__u64 ns[JP_CULPRITS];
};

/* What ran on a CPU, the newest at head - 1: it left at `end`, and came when the entry before left.
 * Tasks of one slot that ran one after the other share an entry. */
#define JP_RAN	       512
#define JP_RAN_IDLE    0xfffffffeu /* JP_SLOT_NONE: what no slot counts */
#define JP_RAN_UNKNOWN 0xfffffffdu
struct jp_ran {
	__u64 end; /* by the run queue's clock */
	__u32 slot;
	__u32 pad;
};
struct jp_ring {
	__u64 head;
	__u64 pad[7];
	struct jp_ran ran[JP_RAN];
};

/* Which slot waited for which other one. When the map is full, the oldest pairs are removed. */
#define JP_PAIRS 16384
struct jp_pair_key {
	__u32 waits, waits_gen;
	__u32 ran, ran_gen; /* or JP_SLOT_NONE, JP_RAN_* */
};

struct jp_lat {
	__u64 bucket[JP_LAT_BUCKETS];
};

_Static_assert(sizeof(struct jp_sched) == 64, "jp_sched");
_Static_assert(sizeof(struct jp_wait) == 128, "jp_wait");
_Static_assert(sizeof(struct jp_culprits) == 64, "jp_culprits");
_Static_assert(sizeof(struct jp_ring) == 64 + 16 * JP_RAN, "jp_ring");
_Static_assert(sizeof(struct jp_pair_key) == 16, "jp_pair_key");
_Static_assert(sizeof(struct jp_lat) == 320, "jp_lat");

#endif
