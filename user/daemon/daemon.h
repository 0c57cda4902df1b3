/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobprofd, and jobprof run, which is a jobprofd for one command. One thread, one event loop.
 *
 * daemon__open() (core/open.c) loads the kernel side, opens the sensors and the socket, and takes
 * up the journals of earlier runs (follow/resume.c). daemon__loop() (core/loop.c) then takes one
 * turn after another. A turn does, in this order:
 *   - helpers answer (lookup/lookup.c): what may take long is read by child processes;
 *   - the socket is served (socket/control.c): Slurm's plugins, the job's programs, administrators;
 *   - events of the kernel say that cgroups have come or gone (follow/kernel_watch.c), and the
 *     list of steps is brought in line with the kernel's slots (follow/step_list.c);
 *   - on the wall clock's grid a snapshot of all slots is taken, the sensors are read (node/node.c)
 *     and every active step gets its rows (follow/sampling.c, record/step_rows.c) in its journal
 *     (record/step_journal.c);
 *   - each step goes forward as far as it can (core/advance.c): its job and owner are found
 *     (follow/step_identity.c), its end is seen, a writer makes its file (files/step_files.c,
 *     child/publication.c), and jobs that have ended are merged (files/automerge.c).
 * daemon__finish() (core/loop.c) completes every journal and waits for the files.
 *
 * struct step (step/step.h) is one step, struct step_env what all steps share; struct node
 * (node/node.h) is the machine and its sensors. Whatever the daemon may lose by a crash is in the
 * journals.
 */
#ifndef JP_DAEMON_DAEMON_H
#define JP_DAEMON_DAEMON_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/config/config.h"

struct kern_region;

struct daemon_opts {
	struct config *cfg; /* SIGHUP changes it */
	unsigned families; /* families of steps that ask for nothing; 0: such steps are not profiled
			    */
	unsigned may_ask;  /* families that steps may ask for: their programs are loaded */
	const char *writer;
	const char *pin_dir;	 /* NULL: pin nothing */
	const char *config_path; /* the file, which is read again at SIGHUP; NULL: there is none */
	bool config_needed;	 /* the file must exist */
	bool raw_tp, block_issue, net_skb; /* use a fallback: kern_opts */
	/* jobprof run: one cgroup tree of its own, files to out_dir as uid:gid */
	bool embedded;
	const char *out_dir;
	const char *file;		  /* its name there; NULL: by job, step and node */
	const char *command, *cwd, *user; /* what is run, where and as whom, for the file */
	const int *command_status;	  /* its wait status; below 0: it runs */
	uid_t uid;
	gid_t gid;
	const struct kern_region *regions; /* functions that are regions; they stay the caller's */
	unsigned nregions;
	double region_budget; /* percent of a CPU that their probes may cost */
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

/* The steps that are profiled, or whose files are written. */
const struct step *daemon__steps(const struct daemon *d);
/* Lets processes that were moved out of a step's cgroup go on: the step's end does not wait for
 * them. */
void daemon__leave_behind(struct daemon *d);
/* Whether a writer is at work on the file of an earlier run. */
bool daemon__finishing(const struct daemon *d);
/* Path of the last file put in place, "" if none. */
const char *daemon__last_file(const struct daemon *d);
/* How many regions (daemon_opts.regions) paused or were never executed, and a text about
 * all of them. */
unsigned daemon__region_troubles(const struct daemon *d, char *text, size_t len);
/* The root of v2 or, without it, of the first hierarchy that is followed. */
const struct kern_root *daemon__root(const struct daemon *d);

#endif
