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
	pid_t pid;		/* 0: there is none */
	struct read_note *note; /* what the child is reading: parent and child see it */
};

/* As fork(2), but -errno. The child has the limits and a note of its own, which begins empty, and
 * gets that signal when its parent dies. */
pid_t pool_child__fork(struct pool_child *c, const struct pool_limits *l, int parent_died);
/* Gives back the memory of a child that has been waited for. */
void pool_child__forget(struct pool_child *c);
/* What a status of wait(2) means, as pool__try returns it. */
int pool_child__result(int status);

/* reader.c: a child of root has root's rights until it opens the first file that others wrote. sig:
 * it gets that signal when its parent dies. */
void pool_child__arm(int sig);
/* And a descriptor by whose end the process that waits for this one sees that it and all that it
 * has started have ended; it is removed where that process does not wait any more. */
void pool_alive__add(int fd);
void pool_alive__remove(int fd);
/* Closes all descriptors of numbers from `from` on, but these and fd. */
void pool_alive__keep_and(int fd, unsigned from);
/* confine.c: a limit of setrlimit(2), where there is none as low; and that of address space. */
void pool_child__lower_limit(int resource, uint64_t to);
void pool_child__limit_memory(uint64_t bytes);
/* From now on this process reads files, writes to those that are open, starts such
 * processes if it has workers, and no more. 0 or -errno. */
int pool_child__confine(bool has_workers);

#endif
