/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ring in which a process of a job says when its threads enter and leave regions: see struct
 * jpc_ring. The file is ours and keeps its size; what is in it is the job's, which may write
 * anything there at any time. The file is read, and never mapped or written: a process that writes
 * to it from a page that is never delivered holds its lock, and another writer that waits for the
 * lock cannot be killed.
 */
#ifndef JP_DAEMON_STEP_REGION_RING_H
#define JP_DAEMON_STEP_REGION_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/protocol.h"
#include "daemon/step/region_pairs.h"

/* One execution of a region by one thread. */
struct region_instance {
	uint32_t thread, region;
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
};

struct region_ring {
	int fd;		/* -1: there is none */
	int read_fd;	/* of *read, for the process to read */
	uint64_t *read; /* how many records were read */
	uint64_t next;	/* records that were read or lost */
	uint64_t stuck; /* the record at which the last pass ended as it was not whole; 0: none */
	uint64_t id;	/* as in struct jpc_ring; 0: not known */
	uint64_t known; /* of the process's earlier records, those that are settled elsewhere */
	uint64_t lost_early; /* the others of them: part of pairs.lost */
	struct region_pairs pairs;
};

/* 0 or -errno. */
int region_ring__make(struct region_ring **out);
void region_ring__free(struct region_ring *r);
/* The process has both files: closes that of the word, whose mapping stays. */
void region_ring__given(struct region_ring *r);

/* Whether the process has just said for the first time who it is: then r->known is what a jobprofd
 * has read of earlier rings, as the process knows it. */
bool region_ring__meet(struct region_ring *r);
/* How many records of the process are in instances or lost. */
uint64_t region_ring__settled(const struct region_ring *r);

typedef void (*region_fn)(void *ctx, const struct region_instance *i);

/* Instants of records must be from_ns or later, and not to come; others are lost. At most that many
 * records are read. fn gets each instance that has ended, in the order of their ends. */
struct region_pass {
	uint64_t from_ns, most; /* from_ns: of CLOCK_MONOTONIC */
	region_fn fn;
	void *ctx;
};

/* Reads what was written since the last time. Returns how many records were read, for the work that
 * it was. */
uint64_t region_ring__read(struct region_ring *r, const struct region_pass *p);
/* Nothing more will be read: counts what is there, and what is open, as lost. */
void region_ring__end(struct region_ring *r);

/* The name of a region: 1 to 63 bytes of printable text. False: it has none. */
bool region_ring__name(const struct region_ring *r, uint32_t region, char name[64]);

#endif
