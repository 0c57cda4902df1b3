/* SPDX-License-Identifier: GPL-2.0-only */
/* Begins and ends of regions become executions: an end fits the last begin of the same thread,
 * region and call that is open. */
#ifndef JP_DAEMON_STEP_REGION_PAIRS_H
#define JP_DAEMON_STEP_REGION_PAIRS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

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

#endif
