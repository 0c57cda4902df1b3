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

/* The program ends: jobprofd is told how many records it has not read. */
void region__leave(void);

/* What region.c asks of libjobprof.c: a ring from jobprofd, or that it reads the one that is there.
 */
void region__ask(void);
/* Asks as region__ask() does, at the program's end and without the pause after a failure: waits for
 * the ring if none is there, or if jobprofd was restarted. */
void region__ask_last(bool none);
/* Reads answers that have come; whether others are still to come. */
bool region__is_coming(void);

#endif
