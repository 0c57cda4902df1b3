/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table CallTree of a step: each function of a stack is a frame below its caller's. The number
 * of a frame is a hash of the frames above it and itself, so that it is the same after a restart.
 */
#ifndef JP_DAEMON_RECORD_CALL_TREE_H
#define JP_DAEMON_RECORD_CALL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/step/frame.h"
#include "journal/journal.h"

/* ---- A bound on the daemon's memory for what grows with what programs do: functions in stacks,
 * maps of processes. All steps of a user may take as much as they leave free for others; what a
 * step does not get is lost, and counted in its own file. */

#define DETAIL_MAX ((size_t)128 << 20) /* bytes, of all steps */

/* The memory that a step has taken. The struct must not move from detail__begin() to detail__end().
 */
struct detail {
	struct detail *next;
	uid_t uid;   /* -1: not known; the step then has a share of its own */
	size_t used; /* bytes */
};

void detail__begin(struct detail *d, uid_t uid);
/* Gives all of it back. */
void detail__end(struct detail *d);
/* False: the user has no share left. */
bool detail__take(struct detail *d, size_t bytes);
void detail__give(struct detail *d, size_t bytes);

struct call_tree;

/* first: number of its first attribute Names. Memory for frames and names is taken from d. */
struct call_tree *call_tree__new(unsigned first, struct detail *d);
void call_tree__free(struct call_tree *t); /* NULL is fine */

/* A copy of the name that lives as long as the tree; NULL: no memory, or no room in d. */
const char *call_tree__name(struct call_tree *t, const char *name);
/* The number of the frame of a place below another frame (0: none). 0: there are too many, or there
 * is no memory, or no room in d. */
uint64_t call_tree__frame(struct call_tree *t, uint64_t parent, const char *name, uint64_t offset);

/* Journals new frames, each row with these cells of time. Returns the
 * number of rows. */
unsigned call_tree__put(struct call_tree *t, struct journal *j, uint32_t table,
			const union cell time[3]);
void call_tree__end_frame(struct call_tree *t, enum frame_end end);

#endif
