/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel side has reported since the last turn: steps that begin, tasks that end. */
#ifndef JP_DAEMON_KERNEL_EVENTS_H
#define JP_DAEMON_KERNEL_EVENTS_H

#include <stdint.h>

struct daemon;

void daemon_take_events(struct daemon *d, uint64_t now);

#endif
