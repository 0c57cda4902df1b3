/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The loop that both jobprofd and jobprof run are: events from the kernel, a timer on aligned
 * instants, signals, writers. One thread.
 */
#ifndef JP_DAEMON_DAEMON_H
#define JP_DAEMON_DAEMON_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/config.h"

struct daemon_opts {
	const struct config *cfg;
	unsigned families; /* of steps nobody asked for by name; 0: none is profiled */
	unsigned may_ask;  /* what else steps may ask for: its programs are loaded */
	const char *writer;
	const char *pin_dir;		   /* NULL: pin nothing */
	const char *config_path;	   /* read again at SIGHUP; NULL: never */
	bool raw_tp, block_issue, net_skb; /* use a fallback: kern_opts */
	/* jobprof run: one cgroup tree of our own, files to out_dir as uid:gid */
	bool embedded;
	const char *out_dir;
	uid_t uid;
	gid_t gid;
	/* called for children the daemon does not know, and for SIGINT and SIGTERM when set */
	void (*child)(void *ctx, pid_t pid, int status);
	void (*interrupt)(void *ctx, int sig, bool from_terminal);
	bool (*done)(void *ctx); /* asked after every turn: true ends the loop */
	void *ctx;
};

struct daemon;

/* Loads the kernel side, finds what runs already, takes up or finishes the journals of earlier
 * runs. Errors are logged. 0 or -errno. */
int daemon__open(struct daemon **out, const struct daemon_opts *opts);
/* Runs until SIGTERM or done(). 0 or -errno. */
int daemon__loop(struct daemon *d);
/* Ends every step's file and waits for the writers, at most that long. */
void daemon__finish(struct daemon *d, const char *reason, unsigned seconds);
void daemon__free(struct daemon *d);

/* The steps being profiled or written. */
const struct step *daemon__steps(const struct daemon *d);
/* A writer is at work on the file of an earlier run. */
bool daemon__finishing(const struct daemon *d);
/* Path of the last file put in place, "" if none. */
const char *daemon__last_file(const struct daemon *d);
/* Where v2 or, without it, the first followed hierarchy is mounted. */
const struct kern_root *daemon__root(const struct daemon *d);

#endif
