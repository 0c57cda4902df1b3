/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the pool share: the note of what is read, and one child process. */
#ifndef JP_POOL_POOL_INTERNAL_H
#define JP_POOL_POOL_INTERNAL_H

#include <stdbool.h>
#include <sys/types.h>

#include "pool/pool.h"

/* What a process is reading. That of a child is in memory that its parent sees too. */
struct pool_note {
	char file[1024], object[512]; /* the object with ": " behind it, or empty */
	unsigned seconds;	      /* of processor time for a file; 0: there is no limit */
	unsigned seconds_more;	      /* for the size of this one */
};

/* note.c: from now on this process keeps its note in n, and its clock of processor time begins. */
void pool_note__keep_in(struct pool_note *n);

/* child.c: one child process. */
struct pool_child {
	pid_t pid; /* 0: there is none */
	struct pool_note *note;
};

/* As fork(2), but -errno. The child has the limits and a note of its own, which begins empty, and
 * gets that signal when its parent dies. */
pid_t pool_child__fork(struct pool_child *c, const struct pool_limits *l, int parent_died);
/* A limit of setrlimit(2), where there is none as low; and that of address space. */
void pool_child__lower_limit(int resource, uint64_t to);
void pool_child__limit_memory(uint64_t bytes);
/* Gives back the memory of a child that has been waited for. */
void pool_child__forget(struct pool_child *c);
/* What a status of wait(2) means, as pool__try returns it. */
int pool_child__result(int status);

#endif
