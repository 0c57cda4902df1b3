/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the pool share: one child process. */
#ifndef JP_POOL_POOL_INTERNAL_H
#define JP_POOL_POOL_INTERNAL_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/read_note.h"
#include "pool/pool.h"

/* child.c: one child process. */
struct pool_child {
	pid_t pid; /* 0: there is none */
	struct read_note
		*note; /* what the child is reading, in memory that parent and child share */
};

/* As fork(2), but returns -errno. The child has the limits, and an empty note of its own, and gets
 * the signal parent_died when its parent dies. */
pid_t pool_child__fork(struct pool_child *c, const struct pool_limits *l, int parent_died);
/* Gives back the memory of a child that has been waited for. */
void pool_child__forget(struct pool_child *c);
/* What a status of wait(2) means, as pool__try returns it. */
int pool_child__result(int status);

/* reader.c: from now on a child of root loses root's rights when it opens the first file of others.
 * sig: the signal that it gets when its parent dies. */
void pool_child__arm(int sig);
/* Adds a descriptor: when it is closed everywhere, the process that waits for this one knows that
 * this process and all that it has started have ended. The descriptor is removed when that process
 * does not wait any more. */
void pool_alive__add(int fd);
void pool_alive__remove(int fd);
/* Closes all descriptors from number `from` on, except these and fd. */
void pool_alive__keep_and(int fd, unsigned from);
/* confine.c: lowers a limit of setrlimit(2), where it is not as low already; and that of address
 * space. */
void pool_child__lower_limit(int resource, uint64_t to);
void pool_child__limit_memory(uint64_t bytes);

#endif
