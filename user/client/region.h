/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What region.c requests from libjobprof.c, which has the connection: that jobprofd gives the
 * process a ring for its regions (struct jpc_ring), or reads the ring that the process has. */
#ifndef JP_CLIENT_REGION_H
#define JP_CLIENT_REGION_H

#include <stdbool.h>

#include "client/client.h"

void region__ask(void);
/* As region__ask(), at the program's end: does not pause after a failure, and waits for the ring if
 * there is none, or if jobprofd was restarted. */
void region__ask_last(bool none);
/* Reads answers that have come. fd[]: the memory files of the ring that came last, which the caller
 * closes; -1: none has come. Returns whether further answers are expected. */
bool region__take_ring(int fd[CLIENT_FDS]);

#endif
