/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regions of a step's programs, as the programs say them: a process writes begins and ends to a
 * ring (region_ring), which become executions (region_pairs); what of each process is in rows or
 * lost is known over a restart (region_accounts).
 */
#ifndef JP_DAEMON_STEP_REGIONS_H
#define JP_DAEMON_STEP_REGIONS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "client/protocol.h"
#include "daemon/step/frame.h"

/* ---- How many of the begins and ends of regions that each process of a step reported are in rows
 * or counted as lost. The journal has these numbers in the frames of the rows: a later jobprofd
 * counts what the process reported beyond them as lost. */

struct region_account {
	uint64_t id, settled;
	pid_t pid;
	bool is_new; /* the journal has not got it */
};

struct region_accounts {
	struct region_account *of;
	unsigned n, max;
	unsigned next;		/* probably asked for next */
	uint64_t lost_in_frame; /* what the journal has of the step's lost begins and ends */
};

/* NULL: nothing is known of the process. */
const struct region_account *region_accounts__find(struct region_accounts *a, pid_t pid,
						   uint64_t id);
/* Sets the account of a process, and replaces that of an earlier process of the same number.
 * Processes that have ended may be forgotten. */
void region_accounts__set(struct region_accounts *a, pid_t pid, uint64_t id, uint64_t settled);
void region_accounts__free(struct region_accounts *a);

bool region_accounts__has_new(const struct region_accounts *a, uint64_t lost);
struct journal;
/* Puts what is new into the frame, with the step's lost begins and ends. */
void region_accounts__put(struct region_accounts *a, struct journal *j, uint64_t lost);
/* Of a frame to which it was put. */
void region_accounts__end_frame(struct region_accounts *a, enum frame_end end);
/* After a restart: takes a J_META of the journal, which may be of here. */
void region_accounts__remember(struct region_accounts *a, const char *key, const char *text,
			       uint64_t *lost);

/* ---- Begins and ends of regions become executions: an end fits the last begin of the same thread,
 * region and call that is open. */

#define REGION_OPEN_MAX 1024 /* regions of all threads that were entered and not left */

/* What a thread has used until an instant; NaN: nobody counted. */
struct thread_used {
	double cpu_ns, faults;
};

#define THREAD_USED_UNKNOWN ((struct thread_used){NAN, NAN})

/* A thread begins or ends a region. */
struct region_mark {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t thread;
	uint64_t frame; /* of the call; 0: a begin and an end need no call in common */
	uint32_t region;
	struct thread_used used;
};

struct region_pairs {
	struct region_mark open[REGION_OPEN_MAX];
	unsigned nopen;
	uint64_t lost; /* begins and ends that are in no execution */
};

void region_pairs__begin(struct region_pairs *p, const struct region_mark *m);
/* Sets *begin to the begin of the region that ends here. Regions of the thread inside of it that
 * are still open have ended unseen, as after an exception, and are lost. False: the end fits no
 * begin, and is lost. */
bool region_pairs__end(struct region_pairs *p, const struct region_mark *m,
		       struct region_mark *begin);
/* Counts the open ones of that region as lost: nobody will see their ends. */
void region_pairs__forget(struct region_pairs *p, uint32_t region);
/* Counts n begins and ends that are not known as lost, and also the open regions: they may have
 * ended among these n. */
void region_pairs__lose(struct region_pairs *p, uint64_t n);

/* ---- * The ring in which a process of a job says when its threads enter and leave regions: see
 * struct jpc_ring. The file is ours and keeps its size; what is in it is the job's, which may write
 * anything there at any time. The file is read, and never mapped or written: a process that writes
 * to it from a page that is never delivered holds its lock, and another writer that waits for the
 * lock cannot be killed. */

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
