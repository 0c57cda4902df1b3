/* SPDX-License-Identifier: GPL-2.0-only */
/* The ring of a process's regions, which libjobprof writes and jobprofd reads: see struct jpc_ring.
 */
#ifndef JP_CLIENT_REGION_H
#define JP_CLIENT_REGION_H

#include <stdbool.h>

/* The ring's memory file has come: takes the descriptor. */
void region__take(int fd);
/* In a child of fork(2): the ring is the parent's. */
void region__forget(void);

/* Asks jobprofd for a ring, or to read the one that is there. libjobprof.c calls it. */
void region__ask(void);
/* Reads answers that have come; whether others are still to come. */
bool region__is_coming(void);

#endif
