/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Work on files that others wrote, in a child process. The HDF5 library believes what a file says:
 * a damaged one can make it crash, loop or ask for all memory. In a child with limits that ends in
 * an error of this program. The child inherits everything; its output is the program's output. It
 * dies with its parent. Memory it changes is its own: results leave it by its exit status, by
 * files, or by memory from pool__share.
 */
#ifndef JP_POOL_POOL_H
#define JP_POOL_POOL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct pool_limits {
	uint64_t memory;  /* bytes of address space, never more than half of the machine's memory */
	unsigned seconds; /* of processor time for one pool__note_file, beside what its size allows
			   */
};

/* Of what reads whole nodes into memory, and of what streams. */
#define POOL_LOAD   ((struct pool_limits){UINT64_C(8) << 30, 20})
#define POOL_STREAM ((struct pool_limits){UINT64_C(1) << 30, 20})

/*
 * Runs fn(arg) in a child and waits for it, saying nothing. What fn returned (0..255, an exit
 * status); -EBADMSG: it crashed; -ETIME: it used up its processor time; -EOWNERDEAD: it was killed;
 * -EINTR: another signal ended it; -errno: there was no child.
 * Signals that end a program (INT, TERM, HUP, QUIT) are passed on to the child. May be called in a
 * child, not in a process with several threads; processes that read side by side each call it for
 * themselves. Whoever has begun an output removes it when this returns an error.
 */
int pool__try(int (*fn)(void *arg), void *arg, const struct pool_limits *l);

/* The same error for who has died of that signal. */
int pool__signal_error(int sig);

/* After -EINTR: the same signal to this process, which ends it if nobody handles it. */
void pool__follow_signal(void);

/* pool__try() for who has nothing to clean up: after -EINTR this process has followed. */
int pool__call(int (*fn)(void *arg), void *arg, const struct pool_limits *l);

/* The same for a verb: an error is one line that names the file and object the child was at; a
 * signal that ended the child otherwise ends this process too. Returns the exit status. */
int pool__call_verb(int (*fn)(void *arg), void *arg, const struct pool_limits *l);

/* The limits for this process itself, as they are for a child, and its own again: a handler of
 * signals may call that. */
void pool__enter(const struct pool_limits *l);
void pool__leave(void);

/*
 * What is read from here on: the reader says it, error lines have it. A file begins without an
 * object, and in a child it starts the clock of processor time anew, with a second more for each
 * 256 KiB of the file. An object is named by its path in the file.
 */
void pool__note_file(const char *path);
/* The same where it is known what pool__file_bytes() says of the file. */
void pool__note_file_of(const char *path, uint64_t bytes);
/* What there is of a file: of a sparse one its size says nothing. 0 for what is no regular file. */
uint64_t pool__file_bytes(const struct stat *st);
void pool__note_object(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The object's name and ": ", or "" where there is none. Until the next of those two calls. */
const char *pool__noted_object(void);

/*
 * A process that reads beside the caller, with the caller's limits, a clock of its own, and its own
 * notes of what is read: as with a child, what it dies of is told with file and object. It dies
 * with the caller.
 */
struct pool_beside {
	pid_t pid; /* not above 0: there is none */
	struct pool_note *note;
};

#define POOL_BESIDE_MAX 64

/* As fork(2), but -errno, with *b for the calls below; on another CPU if there is one. */
pid_t pool__beside(struct pool_beside *b);
/* It did not do what it was to do: ends it, and says why in one line that names file and object. */
void pool__beside_failed(struct pool_beside *b);
/* It has nothing left to do, and ends by itself. In a child of pool__call_verb that is not waited
 * for: the parent does it when the child has ended. */
void pool__beside_done(struct pool_beside *b);
/* Ends it, whatever it does. */
void pool__beside_end(struct pool_beside *b);

/* Zeroed memory that parent and child both see. NULL: none. */
void *pool__share(size_t size);
void pool__unshare(void *p, size_t size);

#endif
