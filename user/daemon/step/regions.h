/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regions that a step's programs name themselves: a process writes begins and ends to a ring
 * (region_ring), these become executions (region_pairs), and how many of them are in rows or lost
 * is known across a restart (region_accounts).
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

/* ---- For each process of a step: how many of its begins and ends of regions are in rows or
 * counted as lost. The journal has these numbers in the frames of the rows; a later jobprofd counts
 * what the process reported beyond them as lost. */

struct region_account {
	uint64_t id, settled;
	pid_t pid;
	bool is_new; /* the journal does not have it yet */
};

struct region_accounts {
	struct region_account *of;
	unsigned n, max;
	unsigned next;		/* probably asked for next */
	uint64_t lost_in_frame; /* the step's lost begins and ends as the frame in the journal has
				   them */
};

/* NULL: nothing is known of the process. */
const struct region_account *region_accounts__find(struct region_accounts *a, pid_t pid,
						   uint64_t id);
/* Sets the account of a process, and replaces the one of an earlier process with the same pid.
 * Accounts of processes that have ended may be removed. */
void region_accounts__set(struct region_accounts *a, pid_t pid, uint64_t id, uint64_t settled);
void region_accounts__free(struct region_accounts *a);

bool region_accounts__has_new(const struct region_accounts *a, uint64_t lost);
struct journal;
/* Puts new accounts into the frame, with the number of the step's lost begins and ends. */
void region_accounts__put(struct region_accounts *a, struct journal *j, uint64_t lost);
/* Ends a frame into which accounts were put. */
void region_accounts__end_frame(struct region_accounts *a, enum frame_end end);
/* After a restart: takes a J_META of the journal, if it is an account. */
void region_accounts__remember(struct region_accounts *a, const char *key, const char *text,
			       uint64_t *lost);

/* ---- Begins and ends of regions become executions: an end belongs to the last open begin of the
 * same thread, region and call. */

#define REGION_OPEN_MAX 1024 /* open regions of all threads together */

/* What a thread has used until an instant; NaN: nobody counted. */
struct thread_used {
	double cpu_ns, faults;
};

#define THREAD_USED_UNKNOWN ((struct thread_used){NAN, NAN})

/* A thread begins or ends a region. */
struct region_mark {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t thread;
	uint64_t frame; /* the call's frame; 0: begin and end need not be of one call */
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
/* Counts n unknown begins and ends as lost, and the open regions too, because they may have ended
 * among these n. */
void region_pairs__lose(struct region_pairs *p, uint64_t n);

/* ---- The ring in which a process of a job writes when its threads enter and leave regions: see
 * struct jpc_ring. The file belongs to jobprofd and has a fixed size; the job may write anything
 * into it at any time. The file is read, and never mapped or written: a process that writes to the
 * file from a page that is never delivered keeps the file locked, and another writer that waits for
 * this lock cannot be killed. */

/* One execution of a region by one thread. */
struct region_instance {
	uint32_t thread, region;
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
};

struct region_ring {
	int fd;		/* -1: there is none */
	int read_fd;	/* descriptor of *read, for the process */
	uint64_t *read; /* how many records were read */
	uint64_t next;	/* records that were read or lost */
	uint64_t stuck; /* the record at which the last pass ended because it was incomplete; 0:
			   none */
	uint64_t id;	/* as in struct jpc_ring; 0: not known */
	uint64_t known; /* earlier records of the process that are in other accounts */
	uint64_t lost_early; /* its other earlier records: a part of pairs.lost */
	struct region_pairs pairs;
};

/* 0 or -errno. */
int region_ring__make(struct region_ring **out);
void region_ring__free(struct region_ring *r);
/* Called when the process has both files: closes the one of the word, whose mapping stays. */
void region_ring__given(struct region_ring *r);

/* Whether the process has just set its id for the first time: then r->known is the number of
 * records that jobprofd has read of its earlier rings, as far as the process knows. */
bool region_ring__meet(struct region_ring *r);
/* How many records of the process are in instances or lost. */
uint64_t region_ring__settled(const struct region_ring *r);

typedef void (*region_fn)(void *ctx, const struct region_instance *i);

/* Records are lost whose instants are before from_ns or in the future. At most `most` records are
 * read. fn gets each instance that has ended, in the order of their ends. */
struct region_pass {
	uint64_t from_ns, most; /* from_ns: of CLOCK_MONOTONIC */
	region_fn fn;
	void *ctx;
};

/* Reads what was written since the last time. Returns how many records were read, by which the work
 * is charged. */
uint64_t region_ring__read(struct region_ring *r, const struct region_pass *p);
/* Ends reading: counts unread records and open regions as lost. */
void region_ring__end(struct region_ring *r);

/* The name of a region: 1 to 63 bytes of printable text. False: it has none. */
bool region_ring__name(const struct region_ring *r, uint32_t region, char name[64]);

#endif
