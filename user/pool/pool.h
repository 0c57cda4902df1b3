/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work on files that others wrote, in limited child processes. The HDF5 library believes what a
 * file says: a damaged one can make it crash, loop or ask for all memory. In a child with limits
 * that ends in an error of this program. A child inherits everything of its parent, its output is
 * the program's output, and it dies with its parent. Memory that a child changes is its own:
 * results leave it by its exit status, by files, by memory from pool__share, or as messages.
 *
 * A child of root is root until it opens a file by foreign__open() (base/foreign.h). Then it
 * becomes the file's owner, nobody where that is root, and can do no more than read files, those of
 * others by a process that opens them, and write to what was open before.
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
	unsigned seconds; /* of processor time for one file, in addition to what its size allows */
};

/* For a child that reads whole nodes into memory, and for one that streams. */
#define POOL_LOAD   ((struct pool_limits){UINT64_C(8) << 30, 20})
#define POOL_STREAM ((struct pool_limits){UINT64_C(1) << 30, 20})
/* And for one that judges whole jobs. */
#define POOL_JUDGE ((struct pool_limits){UINT64_C(8) << 30, 120})

/*
 * One child runs fn(arg), and this process waits for it. Signals that end a program (INT, TERM,
 * HUP, QUIT) are passed on to the child. When these functions return, the child and all that it
 * started have ended.
 *
 * What fn returned (0..255, an exit status); -EBADMSG: the child crashed; -ETIME: it used up its
 * processor time; -EOWNERDEAD: it was killed; -errno: there was no child. Nothing is logged.
 */
int pool__call(int (*fn)(void *arg), void *arg, const struct pool_limits *l);

/* As pool__call(), for a verb of the program; returns its exit status. An error is logged as one
 * line that names the file and the object that the child was reading (base/read_note.h). */
int pool__call_verb(int (*fn)(void *arg), void *arg, const struct pool_limits *l);

/* Where another signal ended the child, the two above end this process by the same signal. For a
 * caller that has something to clean up first, this one returns -EINTR instead, ... */
int pool__try(int (*fn)(void *arg), void *arg, const struct pool_limits *l);
/* ... and this ends the process by that signal, after its handler if it has one; also after another
 * death of a child. */
void pool__follow_signal(void);

/*
 * Several children ("workers") work on the items 0..nitems-1 of a list, and their results come in
 * the order of the list. With n workers, worker k has the items k, k+n, k+2n ...
 */
struct pool;

struct pool_work {
	/* In a worker: puts what it found of one item into the message, which is empty. arg is the
	 * worker's own copy, the same one for all its items. An error ends the worker. */
	int (*work)(void *arg, unsigned item, struct message *result);
	void *arg;
	unsigned nitems;
	/* A worker has no descriptors of its parent's but standard ones: for a parent with more
	 * open than files to read, as a database, to which a file of others must find no way. */
	bool is_alone;
};

/* At most nitems workers, at least one. 0 or -errno. *w is copied. */
int pool__start(struct pool **out, const struct pool_work *w, unsigned nworkers,
		const struct pool_limits *l);

/*
 * The result of the next item. 0, and *result is the message, good until the next call. -EBADMSG,
 * -ETIME, -EOWNERDEAD: there is none, since the item's worker ended as pool__call says, or sent
 * something else than a result; another worker has the items that follow. -EINTR: a signal ended
 * the worker, and is meant for this process too (pool__follow_signal). -errno: no worker can be
 * had.
 */
int pool__next(struct pool *p, struct message **result);

/* Ends the workers. p may be NULL. */
void pool__free(struct pool *p);

/*
 * For a process that reads such files by descriptors which others send, and sends what it found:
 * for good, it can do nothing more than that and take memory without code, as much address space as
 * given. Another call of the system kills it (SIGSYS). Ids and groups are the caller's matter,
 * before this. 0 or -errno.
 */
int pool__confine(uint64_t memory);

/* In a child, before it opens a file that others wrote: it starts workers, and may do so after. */
void pool__has_workers(void);

/* Zeroed memory that parent and child both see. NULL: there is none. */
void *pool__share(size_t size);
void pool__unshare(void *p, size_t size);

#endif
