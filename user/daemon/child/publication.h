/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One journal on its way to one HDF5 file. A child process with the user's ids (jobprof-writer)
 * does the work, so that a hung or hostile file system costs its own file only. The functions here
 * decide when the writer starts, how long it may take, and when it is tried again.
 */
#ifndef JP_DAEMON_CHILD_PUBLICATION_H
#define JP_DAEMON_CHILD_PUBLICATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "daemon/child/child.h"

#define PUBLISH_PATH  512
#define PUBLISH_ERROR 512

/* A writer that takes longer hangs, or its user delays it. */
#define WRITER_SLOW_NS (10 * NSEC_PER_SEC)

/* Exit status of a writer that could not make anything of the journal. */
#define WRITER_NO_JOURNAL 3

struct publication {
	char journal[PUBLISH_PATH];
	int journal_fd; /* 0, or the complete journal of a run: its lock keeps others from writing
			 * the file */
	bool unnamed;	/* the journal is not at its path any more, and is read by journal_fd */
	char dir[PUBLISH_PATH]; /* where the file goes */
	char user[64];		/* not "": dir gets a directory of that name */
	char name[256];		/* <job>_<step>_<node>.h5 */
	uid_t uid;
	gid_t gid;
	pid_t pid;     /* the writer, 0: none runs */
	bool final;    /* the running writer makes the final file */
	bool done;     /* the final file is in place, or an unwanted one is removed */
	bool unwanted; /* the step's user wants no file: the writer removes what there is of it */
	uint64_t started_ns;
	uint64_t deadline_ns; /* when it is killed */
	uint64_t next_ns;     /* not before */
	uint64_t took_ns;     /* of the last one that succeeded */
	uint64_t cost_ns; /* of the quicker one of the last two: a file system that hung once is not
			     slow */
	unsigned failures;	   /* in a row */
	uint64_t failing_ns;	   /* of the first of them */
	char error[PUBLISH_ERROR]; /* of the last one */
	bool unreadable;	   /* the last one could not make anything of the journal */
	bool unlogged;		   /* the file is of another run: failures are not logged */
	int stderr_fd;		   /* the running writer's stderr */
	unsigned kills;
	uint64_t published; /* files put in place */
};

/* Locks the journal, which must be at its path, until publication__end(). 0; -ENOENT: it is not
 * there any more; -EWOULDBLOCK: another process is writing it or its file; -errno. */
int publication__lock(struct publication *p);

/* Starts a writer. 0, -EAGAIN (one runs, it is too early, or another process makes the file: then
 * p is done), -errno. */
int publication__start(struct publication *p, const char *writer, bool final, uint64_t now_ns);
/* The writer has ended with that wait status. True if it was p's. */
bool publication__reaped(struct publication *p, pid_t pid, int status, uint64_t now_ns);
/* Kills a writer that is past its deadline. */
void publication__check(struct publication *p, uint64_t now_ns);

/* Unlocks the journal. */
void publication__end(struct publication *p);

/* Finds the writer's path: the configured one, else in the directory of this program or in its
 * libexec. */
void publication__find_writer(const char *configured, char *buf, size_t len);

/* ---- A copy of a journal for the job's user. The file itself, which a descriptor would keep on
 * the disk, and its lock stay with jobprofd. */

/* Starts a child that writes the journal to a pipe and ends within 10 s, read or not. Returns the
 * end to read from, or -errno. */
int journal_copy__start(const char *journal);

#endif
