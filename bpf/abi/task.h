/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Records of the iterator: what living threads have used.
 */
#ifndef JP_ABI_TASK_H
#define JP_ABI_TASK_H

#include "bpf/abi/account.h"
#include "bpf/abi/sched.h"

/* One record of the per-CPU address iterator: address of a CPU's copy = base + its offset. */
struct jp_pcpu_rec {
	__u64 base;
	__u64 cpu;
	__u64 addr;
};

/* What a thread has done since it last left a CPU, which no account has yet. Times are ns of the
 * run queues' clock. */
struct jp_open {
	__u64 out;	 /* when it left; 0: not known */
	__u64 move;	 /* when it was moved to its next slot; 0: it was not moved */
	__u64 arrived;	 /* when it got its CPU, if it runs */
	__u64 queued;	 /* since when it waits for a CPU; 0: it does not */
	__u64 delay;	 /* waits for a CPU that have ended, ns */
	__u64 throttled; /* JP_CAUSE_THROTTLED: the time that the quota took; it waited for a CPU in
			    the rest */
	__u64 ran;	 /* CPU time */
	__u64 moved;	 /* the part of it before the move */
	__u64 now;
	__u32 running;
	__u32 cause; /* enum jp_cause, if it is blocked or was */
};

/* What a living task has used. Counts are since the task came to its slot. */
#define JP_CPU_NONE 0xffffffffu
struct jp_task_rec {
	__u32 slot;	  /* memory, faults, I/O, tick time */
	__u32 sched_slot; /* open run time and delay */
	__u32 pid;
	__u32 tgid;
	__u32 cpu;   /* where it runs or ran last, which cpu_ns is of; JP_CPU_NONE: not known */
	__u32 ended; /* only its last switch is to come */
	__u64 mm;    /* identity only; 0: no memory, or reported by another thread */
	__u64 start_ns;
	__u64 cpu_ns; /* not yet harvested */
	__u64 run_delay_ns;
	__u64 vol_switches;
	__u64 invol_switches;
	__u64 migrations;
	__u64 disk_wait_ns;
	__u64 user_ns;
	__u64 system_ns;
	__u64 minor_faults;
	__u64 major_faults;
	__u64 read_bytes;
	__u64 write_bytes;
	__u64 read_calls;
	__u64 write_calls;
	__u64 disk_read_bytes;
	__u64 disk_write_bytes;
	__s64 rss_file; /* pages; without mm, what the thread has not added to its mm yet */
	__s64 rss_anon;
	__s64 rss_shmem;
	__s64 swap;
	__u64 total_vm;
	__u64 hiwater_rss;
	__u64 hugetlb; /* pages of the base size */
	/* since the process has that name */
	char comm[JP_COMM_LEN];
	__u64 command_cpu_ns;
	__u64 command_run_delay_ns;
	__u64 command_read_bytes;
	__u64 command_write_bytes;
	__u32 runnable;	    /* it runs, or waits for a CPU */
	__u32 allowed_cpus; /* CPUs that it may run on */
	__u32 wait_slot;    /* the slot of wait, and of open until the move */
	__u32 pad;
	struct jp_open open;
	struct jp_wait wait;
	struct jp_culprits culprits; /* of run_delay_ns */
};

/* A task that user space knows: its number, and when it began, because numbers are used again. */
struct jp_known_task {
	__u32 pid;
	__u32 pad;
	__u64 start_ns;
};

/* One element: tasks that the owner of the maps asks for, and the answer. A task that is being
 * moved has two records, one that has ended has none. */
#define JP_ASK_MAX 128
struct jp_asked {
	__u32 ntasks;
	__u32 nrecs;
	struct jp_known_task task[JP_ASK_MAX];
	struct jp_task_rec rec[2 * JP_ASK_MAX];
};

/* A field of what a task carries: where it is in that of another build (bpf/carry.bpf.c), and in
 * ours. */
#define JP_MOVES 256
struct jp_move {
	__u16 from, to;
	__u16 bytes; /* 1, 2, 4 or 8; 0: there are no more */
};

_Static_assert(sizeof(struct jp_task_rec) == 560, "jp_task_rec");
_Static_assert(sizeof(struct jp_open) == 80, "jp_open");
_Static_assert(sizeof(struct jp_known_task) == 16, "jp_known_task");
_Static_assert(sizeof(struct jp_asked) == 8 + JP_ASK_MAX * (16 + 2 * sizeof(struct jp_task_rec)),
	       "jp_asked");

#endif
