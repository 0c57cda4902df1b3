/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A bound on the daemon's memory for what grows with what programs do: functions in stacks, maps of
 * processes. All steps of a user may have as much as they leave to others; what a step does not get
 * is lost, and counted in its own file.
 */
#ifndef JP_DAEMON_RECORD_DETAIL_H
#define JP_DAEMON_RECORD_DETAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define DETAIL_MAX ((size_t)128 << 20) /* bytes, of all steps */

/* What a step has. It must stay where it is from detail__begin() to detail__end(). */
struct detail {
	struct detail *next;
	uid_t uid;   /* -1: not known: its share is its own */
	size_t used; /* bytes */
};

void detail__begin(struct detail *d, uid_t uid);
/* Gives back all. */
void detail__end(struct detail *d);
/* False: the user has their share. */
bool detail__take(struct detail *d, size_t bytes);
void detail__give(struct detail *d, size_t bytes);

#endif
