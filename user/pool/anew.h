/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Work on files that others wrote in this process itself, where there is so little of it that a
 * child (pool.h) takes as long. A signal that ends it starts the program anew, which finds that
 * signal in its environment: it does the same with more care, or ends as it would have ended. The
 * work may be left at any point, then, and be done again.
 */
#ifndef JP_POOL_ANEW_H
#define JP_POOL_ANEW_H

#include <stdbool.h>
#include <sys/types.h>

struct pool_limits;

/* What main() was called with: what is started anew. */
void anew__init(char **argv);

/* Whether there is something to start. */
bool anew__possible(void);

/* Of the program's start before this one, in which the work was left: the signal that ended it, 0:
 * it turned out to want care. -1: there was none, and it may be tried. */
int anew__left_by(void);

/*
 * Returns what fn(arg) returned, or -ENOMEM. Signals that end a program, its own faults and that of
 * the limit of processor time among them, start it anew instead, but where they are ignored. Not in
 * a process with several threads, and only where anew__possible().
 */
int anew__run(int (*fn)(void *arg), void *arg, const struct pool_limits *l);

/* Returns only where that cannot be. */
void anew__start(int left_by);

/* A child of what is run, which ends with it; and that it has been waited for. */
void anew__child(pid_t pid);
void anew__child_gone(pid_t pid);

#endif
