/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A snapshot: all slots, what they stand for, and their totals, read at one instant. */
#ifndef JP_SAMPLE_SNAPSHOT_H
#define JP_SAMPLE_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/jobprof.h"
#include "sample/totals.h"
#include "kern/kern.h"

struct gpu_use;
struct snapshot;

/* One per reader of k; k must outlive it. NULL: out of memory. */
struct snapshot *snapshot__new(struct kern *k);
void snapshot__free(struct snapshot *s);

/*
 * Reads every slot in use: retired totals from the maps, plus what living tasks have not retired
 * yet, kern__tasks(). When a long-running task switches, or a task exits, between the two, both are
 * read again. If this happens every time, that slice is counted in the next snapshot instead, and
 * nothing is lost: counters never fall below their last value. 0 or -errno.
 */
int snapshot__take(struct snapshot *s);

/* Sets the uses of GPUs for the next snapshots; use[n] must live until the next call. NULL: they
 * are not known. */
void snapshot__set_gpus(struct snapshot *s, const struct gpu_use *use, unsigned n);
bool snapshot__has_gpus(const struct snapshot *s);
/* The slot of the process of use[i]; JP_SLOT_NONE: the process belongs to no step. */
uint32_t snapshot__gpu_slot(const struct snapshot *s, unsigned i);

uint64_t snapshot__boot_ns(const struct snapshot *s);
/* The slots as they were when their totals were read, until the next snapshot: a slot that was
 * taken since is free here, and one that was given back is not. Before the first snapshot all are
 * free. */
struct slots snapshot__slots(const struct snapshot *s);
/* One of them; NULL: there is no such slot. */
const struct jp_slot *snapshot__slot(const struct snapshot *s, uint32_t slot);
const struct totals *snapshot__totals(const struct snapshot *s, uint32_t slot);
/* The caller has written the values of ended processes (T_LEFT_THREADS ..., T_EXIT_PEAK) of the
 * slot to all rows: the next snapshot begins them at zero. */
void snapshot__ack_left(struct snapshot *s, uint32_t slot);

/* What a step used under a program's name. Bytes, and boot times. */
struct command_use {
	uint32_t step; /* its slot */
	char name[JP_COMM_LEN];
	uint64_t processes; /* that have ended */
	uint64_t living;
	uint64_t cpu_ns, run_delay_ns, read_bytes,
		write_bytes; /* of processes that have ended and of living ones */
	uint64_t peak;	     /* 0: not known */
	uint64_t first_seen_ns, last_seen_ns;
};
/* Returns the commands of all steps. Their names are of printable ASCII, without '/'. */
const struct command_use *snapshot__commands(const struct snapshot *s, unsigned *n);

/* snapshot__torn(): how many snapshots stayed torn. snapshot__tasks(): the *n records of living
 * tasks in the last pass. */
uint64_t snapshot__torn(const struct snapshot *s);
const struct jp_task_rec *snapshot__tasks(const struct snapshot *s, unsigned *n);

#endif
