/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A bound on the daemon's memory for what grows with what programs do: functions in stacks, maps of
 * processes. A step may have as much as it leaves to others; what it does not get is lost, and
 * counted in its own file.
 */
#ifndef JP_DAEMON_RECORD_DETAIL_H
#define JP_DAEMON_RECORD_DETAIL_H

#include <stdbool.h>
#include <stddef.h>

#define DETAIL_MAX ((size_t)128 << 20) /* bytes, of all steps */

struct detail {
	size_t used; /* bytes */
};

/* False: the step has its share. */
bool detail__take(struct detail *d, size_t bytes);
void detail__give(struct detail *d, size_t bytes);
void detail__give_all(struct detail *d);

#endif
