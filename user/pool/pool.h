/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work on files that others wrote, in limited child processes. The HDF5 library trusts files: a
 * damaged one can make it crash, loop, or allocate all memory. In a child with limits this becomes
 * an error of this program. A child inherits everything of its parent, its output is the program's
 * output, and it dies with its parent. A child's changes of memory are its own: results leave it by
 * its exit status, in files, in memory from pool__share(), or as messages.
 *
 * A child of root is root until it opens a file by foreign__open() (base/foreign.h). Then it
 * becomes the file's owner (nobody where that is root), and can only read files, which another
 * process opens if they are of others, and write to files that were open before.
 *
 * pool__call and its kin run one child for one piece of work; pool__start runs several that work on
 * the items of a list. None of them may be called in a process with several threads; all of them
 * may be called in a child. The caller removes an output that its child began and did not finish.
 */
#ifndef JP_POOL_POOL_H
#define JP_POOL_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "pool/message.h"

struct pool_limits {
	uint64_t memory;  /* bytes of address space, never more than half of the machine's memory */
	unsigned seconds; /* CPU time for one file, in addition to what its size allows */
};

/* For a child that reads whole nodes into memory, and for one that streams. */
#define POOL_LOAD   ((struct pool_limits){UINT64_C(8) << 30, 20})
#define POOL_STREAM ((struct pool_limits){UINT64_C(1) << 30, 20})
/* For a child that judges whole jobs; of many users, where one must not hold up the others. */
#define POOL_JUDGE	((struct pool_limits){UINT64_C(8) << 30, 120})
#define POOL_JUDGE_MANY ((struct pool_limits){UINT64_C(8) << 30, 5})

/*
 * Runs fn(arg) in one child, and waits for it. Signals that end a program (INT, TERM,
 * HUP, QUIT) are passed on to the child. When these functions return, the child and all that it
 * started have ended.
 *
 * Returns what fn returned (0..255, an exit status); -EBADMSG: the child crashed; -ETIME: it used
 * up its CPU time; -EOWNERDEAD: it was killed; -errno: no child could be started. Nothing is
 * logged.
 */
int pool__call(int (*fn)(void *arg), void *arg, const struct pool_limits *l);

/* As pool__call(), for a verb of the program; returns its exit status. An error is logged as one
 * line that names the file and the object that the child was reading (base/read_note.h). */
int pool__call_verb(int (*fn)(void *arg), void *arg, const struct pool_limits *l);

/* Where another signal ended the child, the two functions above end this process by the same
 * signal. For a caller that must clean up first, this one returns -EINTR instead. */
int pool__try(int (*fn)(void *arg), void *arg, const struct pool_limits *l);
/* Ends the process by the signal that ended the child, after the signal's handler if there is one;
 * also after another death of a child. */
void pool__follow_signal(void);

/*
 * Several children ("workers") work on the items 0..nitems-1 of a list, and their results come in
 * the order of the list. With n workers, worker k has the items k, k+n, k+2n ...
 */
struct pool;

struct pool_work {
	/* Called in a worker: puts the result of one item into the message, which is empty. arg is
	 * the worker's own copy, the same for all its items. An error ends the worker. */
	int (*work)(void *arg, unsigned item, struct message *result);
	void *arg;
	unsigned nitems;
	/* A worker gets only the standard descriptors of its parent: for a parent that also has
	 * other things open, such as a database, which a file of others must not reach. */
	bool is_alone;
};

/* At most nitems workers, at least one. 0 or -errno. *w is copied. */
int pool__start(struct pool **out, const struct pool_work *w, unsigned nworkers,
		const struct pool_limits *l);

/*
 * Returns the result of the next item: 0, and *result is the message, which is valid until the next
 * call. -EBADMSG, -ETIME, -EOWNERDEAD: there is no result, because the item's worker ended (see
 * pool__call()), or sent something else; another worker gets its next items. -EINTR: a signal ended
 * the worker, and should end this process too (pool__follow_signal()). -errno: no worker could be
 * started.
 */
int pool__next(struct pool *p, struct message **result);

/* Ends the workers. p may be NULL. */
void pool__free(struct pool *p);

/*
 * Confines a process that reads such files by descriptors which others send, and sends its results:
 * for good, it can do nothing else but allocate memory without code, up to `memory` bytes of
 * address space. Any other system call kills it (SIGSYS). The caller sets ids and groups before. 0
 * or -errno.
 */
int pool__confine(uint64_t memory);

/* Called in a child before it opens a file of others: allows it to start workers after that. */
void pool__has_workers(void);

/* Zeroed memory that parent and child both see. NULL: there is none. */
void *pool__share(size_t size);
void pool__unshare(void *p, size_t size);

#endif
