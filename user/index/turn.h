/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Users' files are read in turn, for who has many, or files that take long, must not hold up the
 * others: in each round so many jobs of a user's directory, or so many seconds. In a service a
 * user's files wait after such that failed and took long, much longer than these took.
 */
#ifndef JP_INDEX_TURN_H
#define JP_INDEX_TURN_H

#include <stdbool.h>
#include <sys/types.h>

/* Users whose files wait; of a service. Begins zeroed. */
struct turn_waits {
	struct turn_wait {
		uid_t uid;
		double until_s; /* of clock__boot_ns() */
	} * v;
	unsigned n;
};
void turn_waits__free(struct turn_waits *w);

/* The turn of a directory: of each user in it, where there are several. Begins zeroed but for the
 * first two. */
struct read_turn {
	struct turn_waits *waits; /* NULL: nobody waits */
	unsigned round;		  /* rounds before this one: more jobs in each */
	bool has_begun;
	uid_t uid;
	unsigned jobs;
	double until_s, last_s, failing_s;
};

enum turn_answer { TURN_READ, TURN_LATER, TURN_WAITS };

/* Whether a further job of this user is to be read now; if so, it counts. Jobs come by user. */
enum turn_answer turn__ask(struct read_turn *t, uid_t uid);
/* A job has been read, or has failed. Whether the time is over. */
bool turn__count(struct read_turn *t, bool failed);

#endif
