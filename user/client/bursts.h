/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks jobprofd for the last bursts of a step. */
#ifndef JP_CLIENT_BURSTS_H
#define JP_CLIENT_BURSTS_H

#include <stddef.h>
#include <stdint.h>

#include "client/libjobprof.h"

/* Calls fn with the bursts of a step whose numbers are above `after`, in tables of several rows;
 * see struct jpc_bursts. Returns and waits as jobprof_live() does. */
int bursts__ask(uint32_t job, const char *step, uint64_t after, unsigned timeout_ms,
		void (*fn)(const struct jobprof_table *t, void *arg), void *arg, char *reason,
		size_t len);

#endif
