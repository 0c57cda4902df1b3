/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a snapshot, for snapshot.c and its tests. */
#ifndef JP_SAMPLE_SNAPSHOT_INTERNAL_H
#define JP_SAMPLE_SNAPSHOT_INTERNAL_H

#include "kern/kern.h"
#include "sample/snapshot.h"
#include "sample/totals.h"

/* Peaks of living processes at the last snapshot: open addressing by mm. */
struct peak {
	uint64_t mm;
	uint64_t hiwater;
};

struct peaks {
	struct peak *p;
	size_t size; /* power of two */
};

struct commands {
	struct kern_commands maps; /* as read */
	struct command_use *use;
	unsigned n;
	size_t room;
	unsigned sorted; /* the first so many are sorted by step and name; the rest are of living
			    processes only */
};

struct snapshot {
	struct kern *k;
	uint64_t boot_ns;
	uint64_t queue_ns; /* the same instant by the run queues' clock */
	uint64_t torn;
	long page;
	unsigned nslots, ncpus;
	uint64_t slots_seen;   /* one more than kern__slots_changed() when all slots were read */
	struct jp_slot *slots; /* as they were when now was read; free ones are zero */
	uint32_t *used;	       /* those that are not free, ascending */
	unsigned nused;
	struct totals *now, *prev;
	bool taken;	       /* now is complete: the next snapshot's prev */
	uint32_t *gen;	       /* of prev */
	uint64_t *last_cpu_ns; /* [cpu][slot] at the last snapshot, for the frequency */
	/* by slot, before a pass: CPU time, threads that ended, and threads that left */
	uint64_t *cpu_ns, *exits, *gone;
	uint64_t *left_seq; /* by slot: the change of jp_acct's left that was read */
	struct kern_tasks tasks;
	struct peaks old, cur;
	struct commands commands;
	const struct gpu_use *gpu; /* NULL: the users of GPUs are not known */
	unsigned ngpu;
};

/* Reads what each slot stands for, and its retired totals. */
void snapshot_read_slots(struct snapshot *s);

/* snapshot_add_wait(): adds a thread's whole time to the slots in which it was and is.
 * snapshot_sum_wait(): makes the sums of a slot. */
void snapshot_add_wait(struct snapshot *s, const struct jp_task_rec *r);
void snapshot_sum_wait(struct totals *t);

/* A sum of signed parts, which may dip below zero for a moment: 0 then. */
static inline uint64_t snapshot_positive(uint64_t v)
{
	return (int64_t)v > 0 ? v : 0;
}

#endif
