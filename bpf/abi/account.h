/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Accounts of threads and processes that have ended.
 */
#ifndef JP_ABI_ACCOUNT_H
#define JP_ABI_ACCOUNT_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define JP_COMM_LEN 16 /* bytes of a program's name in the kernel, with its NUL */
#define JP_COMMANDS                                                                   \
	64 /* program names of a step that have an account each; all others share one \
	    */
#define JP_COMMANDS_ALL 4096 /* accounts of all steps together */

/* What a step lost because a table was full. */
enum jp_loss {
	JP_LOST_TASKS,	 /* they count in their step only */
	JP_LOST_RANKS,	 /* they count in their task only */
	JP_LOST_NAMES,	 /* not 0: further names count together, in jp_acct.other */
	JP_LOST_STACKS,	 /* samples and gaps without a row */
	JP_LOST_COPIES,	 /* stacks that were followed by frame pointers instead */
	JP_LOST_SAMPLES, /* samples whose module is unknown */
	JP_LOST_POINTS,
	JP_LOSSES
};

/* Memory of processes when they gave it back, pages. */
struct jp_left {
	__u64 peak; /* the largest peak among them, and of programs that exec replaced */
	__u64 anon; /* from here to hugetlb: of the process with the largest resident set */
	__u64 file;
	__u64 shmem;
	__u64 swap;
	__u64 vm;
	__u64 hugetlb;
	__u64 threads; /* most threads that lived in one process when one of its threads ended */
};

/* What was used under a program's name, by threads that have ended or whose process has become
 * another program. Any CPU: atomic adds, but for the peak and the times. */
struct jp_command {
	__u64 processes; /* processes that ended under this name, or left the step */
	__u64 cpu_ns;
	__u64 run_delay_ns;
	__u64 read_bytes;
	__u64 write_bytes;
	__u64 peak;	     /* pages: of one process */
	__u64 first_seen_ns; /* CLOCK_BOOTTIME */
	__u64 last_seen_ns;
};

/* Totals of tasks that ended or left; process context on any CPU, so all adds are atomic. */
struct jp_acct {
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
	__u64 forks;	   /* processes */
	__u64 exits;	   /* tasks whose totals were retired */
	__u64 tasks_in;	   /* tasks ever given this slot */
	__u64 life_events; /* fork, exec, exit, attach programs run for this slot */
	__u64 commands;	   /* STEP: names of programs that have an account */
	__u64 exit_peak;   /* pages: largest peak of a process that has ended */
	__u64 left_seq;	   /* counts the changes of left */
	__u64 left_acked;  /* user space: the left_seq up to which it has taken left */
	struct jp_left left;
	/* STEP: all names that have no account of their own, so that each name has one */
	struct jp_command other;
	__u64 lost[JP_LOSSES]; /* STEP */
};

/* A program's name in a step. */
struct jp_command_key {
	__u32 step; /* its slot */
	char comm[JP_COMM_LEN];
};

_Static_assert(sizeof(struct jp_left) == 64, "jp_left");
_Static_assert(sizeof(struct jp_acct) == 272 + 8 * JP_LOSSES, "jp_acct");
_Static_assert(sizeof(struct jp_command_key) == 20, "jp_command_key");
_Static_assert(sizeof(struct jp_command) == 64, "jp_command");

#endif
