/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks jobprofd what the step of this process has used up to now. */
#ifndef JP_CLIENT_TOTALS_H
#define JP_CLIENT_TOTALS_H

#include <stddef.h>
#include <stdint.h>

#include "client/libjobprof.h"

/* Calls fn with the tables Step and Tasks/<task> (JPC_UNKNOWN: no task), which have one row each;
 * see struct jpc_totals. flags: JPC_F_ROWS, JPC_F_JOURNAL; *journal is the pipe, -1: there is none.
 * Returns and waits as jobprof_live() does; -EAGAIN: the step has just begun, or jobprofd is too
 * busy. */
int totals__ask(uint32_t task, unsigned flags, unsigned timeout_ms,
		void (*fn)(const struct jobprof_table *t, void *arg), void *arg, int *journal,
		char *reason, size_t len);

#endif
