/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks jobprofd what runs on this node: its steps, with the last rows of their main tables. */
#ifndef JP_CLIENT_STEPS_H
#define JP_CLIENT_STEPS_H

#include <stddef.h>
#include <stdint.h>

#include "client/libjobprof.h"
#include "client/protocol.h"

struct steps_taker {
	/* A step, before its tables; its texts end, and are what users have written. */
	void (*step)(const struct jpc_step *s, void *arg);
	/* One of Step, Tasks, Ranks and Energy, with its last row and the column Interval. */
	void (*table)(const struct jobprof_table *t, void *arg);
	void *arg;
};

/* The steps of one job, or with JPC_ALL all that the caller may see. Returns and waits as
 * jobprof_live() does; there being no steps is no error with JPC_ALL. */
int steps__ask(uint32_t job, const struct steps_taker *to, unsigned timeout_ms, char *reason,
	       size_t len);

#endif
