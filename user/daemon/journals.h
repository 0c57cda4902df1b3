/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much of StateDir's disk journals may take: JournalUserMax, JournalMax, JournalMinFree. Beyond
 * that the oldest journals whose files have been refused again and again are removed, those of the
 * user with the most first; where that is not enough, steps write a row a minute.
 */
#ifndef JP_DAEMON_JOURNALS_H
#define JP_DAEMON_JOURNALS_H

#include <stdint.h>

struct daemon;

/* For the status: as it was at the last look, and since the start. */
struct journal_stats {
	uint64_t bytes;	   /* in StateDir, of steps that run or whose file is not written yet */
	unsigned journals; /* so many are these */
	unsigned waiting;  /* of them, with a file that could not be written so far */
	unsigned thinned;  /* running steps that write a row a minute */
	uint64_t removed;  /* journals, and with them files, since the start */
	uint64_t removed_bytes;
	uint64_t left_out; /* rows of steps that have ended since the start: their Lost */
	uint64_t next_ns;  /* of the next look */
};

/* Looks now and then, and removes and thins what is too much. */
void daemon_limit_journals(struct daemon *d, uint64_t now_ns);

#endif
