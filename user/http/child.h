/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes that answer, each with a file in memory for what it makes and a time that it may take.
 * One that is killed is not waited for: it may hang in the kernel, at a file system whose server is
 * away, and ends when that lets it.
 */
#ifndef JP_HTTP_CHILD_H
#define JP_HTTP_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct child {
	pid_t pid;	/* 0: none */
	int pidfd, out; /* -1: none */
	uint64_t until_ns;
};

/* Those that were killed and have not ended. */
#define DYING_MAX 64 /* beyond these none is started */
struct dying {
	pid_t pids[3 * DYING_MAX];
	unsigned n;
};

/* As fork(2): 0 in the child, its number in the server; -errno, logged, -EBUSY: too many die. */
pid_t child__start(struct child *c, struct dying *d, unsigned seconds);
/* Of one that has ended, or is late and is killed: whether it ended well. Its file stays. */
bool child__end(struct child *c, struct dying *d, bool is_late);
void child__close_file(struct child *c);
/* Forgets those that have ended since. */
void dying__reap(struct dying *d);

#endif
