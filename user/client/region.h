/* SPDX-License-Identifier: GPL-2.0-only */
/* What region.c asks of libjobprof.c, which has the connection: a ring from jobprofd for the
 * regions of the process (struct jpc_ring), or that jobprofd reads the ring that is there. */
#ifndef JP_CLIENT_REGION_H
#define JP_CLIENT_REGION_H

#include <stdbool.h>

void region__ask(void);
/* Asks as region__ask() does, at the program's end and without the pause after a failure: waits for
 * the ring if none is there, or if jobprofd was restarted. */
void region__ask_last(bool none);
/* Reads answers that have come. The memory file of the ring that came last, for the caller to
 * close; -1: none has come since. coming: whether others are still to come. */
int region__ring_fd(bool *coming);

#endif
