/* SPDX-License-Identifier: GPL-2.0-only */
/* The verbs that say something to jobprofd and wait until it has taken it. */
#ifndef JP_CMD_JOBPROF_CLIENT_CONN_H
#define JP_CMD_JOBPROF_CLIENT_CONN_H

#include <stddef.h>
#include <stdint.h>

#include "client/client.h"

#define TALK_TIMEOUT_MS 5000

/* Says why nothing came of it, and what to do: err is a negative errno, text what jobprofd said, or
 * "". Returns the exit status. */
int talk__failed(int err, const char *text);
/* 0, or the exit status. */
int talk__open(struct client *c);
/* Sends a message whose head is filled in, and hears what jobprofd makes of it. 0, or the exit
 * status. */
int talk__say(struct client *c, void *message);

/* --time: seconds since 1970 with fractions, to ns. 0, or the exit status. */
int talk__time(const char *text, int64_t *unix_ns);
int64_t talk__now(void);

#endif
