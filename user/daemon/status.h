/* SPDX-License-Identifier: GPL-2.0-only */
/* How the daemon is, for people. */
#ifndef JP_DAEMON_STATUS_H
#define JP_DAEMON_STATUS_H

#include <stdint.h>
#include <stdio.h>

struct daemon;

/* now: boot time. Returns the number of problems. */
unsigned daemon_status(const struct daemon *d, uint64_t now, FILE *out);

#endif
