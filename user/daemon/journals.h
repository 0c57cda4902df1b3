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

/* Looks now and then, and removes and thins what is too much. */
void daemon_limit_journals(struct daemon *d, uint64_t now_ns);

#endif
