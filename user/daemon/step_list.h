/* SPDX-License-Identifier: GPL-2.0-only */
/* The list of steps, as the kernel's slots say which there are. */
#ifndef JP_DAEMON_STEP_LIST_H
#define JP_DAEMON_STEP_LIST_H

#include "daemon/lookup.h"

struct daemon;

/* Brings steps in line with the slots, and asks for what is not known of them. */
void daemon_sync_steps(struct daemon *d);
/* Nothing has begun since, or was left to be found out. */
bool daemon_in_sync(const struct daemon *d);
/* A lookup_answered_fn. */
void daemon_answered(void *ctx, const struct lookup *q, const struct lookup_answer *a);

#endif
