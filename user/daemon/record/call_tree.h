/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table CallTree of a step: each function of a stack is a frame below its caller's. Numbers of
 * frames are hashes of what is on the way to them, so that they are the same after a restart.
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
 * maps of processes. All steps of a user may have as much as they leave to others; what a step does
 * not get is lost, and counted in its own file. */

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

struct call_tree;

/* first: number of its first attribute Names. The memory of frames and names is of d. */
struct call_tree *call_tree__new(unsigned first, struct detail *d);
void call_tree__free(struct call_tree *t); /* NULL is fine */

/* A copy of the name that lives as long as the tree; NULL: no memory, or no room in d. */
const char *call_tree__name(struct call_tree *t, const char *name);
/* The number of the frame of a place below another frame (0: none). 0: there are too many, or there
 * is no memory, or no room in d. */
uint64_t call_tree__frame(struct call_tree *t, uint64_t parent, const char *name, uint64_t offset);

/* Journals what is new, with the cells of time that each row begins and ends with. Returns the
 * number of rows. */
unsigned call_tree__put(struct call_tree *t, struct journal *j, uint32_t table,
			const union cell time[3]);
void call_tree__end_frame(struct call_tree *t, enum frame_end end);

#endif
