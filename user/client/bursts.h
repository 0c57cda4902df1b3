/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last bursts of a step, asked of jobprofd. */
#ifndef JP_CLIENT_BURSTS_H
#define JP_CLIENT_BURSTS_H

#include <stddef.h>
#include <stdint.h>

#include "client/libjobprof.h"

/* Gives fn the bursts of a step with numbers above after, see struct jpc_bursts: tables of several
 * rows. Returns and waits as jobprof_live() does. */
int bursts__ask(uint32_t job, const char *step, uint64_t after, unsigned timeout_ms,
		void (*fn)(const struct jobprof_table *t, void *arg), void *arg, char *reason,
		size_t len);

#endif
