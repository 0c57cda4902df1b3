/* SPDX-License-Identifier: GPL-2.0-only */
/* One turn of the event loop. */
#ifndef JP_DAEMON_LOOP_H
#define JP_DAEMON_LOOP_H

struct daemon;

/* Waits for what comes, at most that long (-1: as long as nothing is due), and does what is due.
 * 0 or -errno. */
int daemon_turn(struct daemon *d, int timeout_ms);

#endif
