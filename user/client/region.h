/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests of region.c to libjobprof.c, which has the connection: that jobprofd gives a ring for
 * the regions of the process (struct jpc_ring), or reads the ring that is there. */
#ifndef JP_CLIENT_REGION_H
#define JP_CLIENT_REGION_H

#include <stdbool.h>

#include "client/client.h"

void region__ask(void);
/* Asks as region__ask() does, at the program's end and without the pause after a failure: waits for
 * the ring if none is there, or if jobprofd was restarted. */
void region__ask_last(bool none);
/* Reads answers that have come. fd: the memory files of the ring that came last, for the caller to
 * close; -1: none has come since. Returns whether others are still to come. */
bool region__take_ring(int fd[CLIENT_FDS]);

#endif
