/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of jobprofd: for the files of user/daemon only. */
#ifndef JP_DAEMON_FOLLOW_DAEMON_STATE_H
#define JP_DAEMON_FOLLOW_DAEMON_STATE_H

#include "daemon/budget/overhead.h"
#include "daemon/config/cgroup_roots.h"
#include "daemon/config/perf_columns.h"
#include "daemon/daemon.h"
#include "daemon/follow/kernel_watch.h"
#include "daemon/record/job_use.h"
#include "daemon/step/request.h"
#include "daemon/step/step.h"
#include "identity/layout.h"

/* For the status: journals at the last check, and sums since the start. */
struct journal_stats {
	uint64_t bytes;	     /* in StateDir, of steps that run or whose file is not written yet */
	unsigned journals;   /* number of these */
	unsigned waiting;    /* number of these whose file could not be written so far */
	unsigned reduced;    /* running steps that write a row a minute */
	bool over;	     /* a limit is exceeded, and not only JournalUserMax */
	uint64_t reduced_ns; /* since when there are reduced steps; 0: there are none */
	uint64_t removed;    /* journals removed since the start, whose files are lost with them */
	uint64_t removed_bytes;
	uint64_t left_out; /* rows that steps which have ended since the start had in their
			      attribute Lost */
	uint64_t next_ns;  /* of the next look */
};

/* A journal whose step has ended in an earlier run: only its file is missing. */
struct pending_file {
	struct publication pub;
	struct pending_file *next;
};

struct daemon {
	struct daemon_opts opts;
	struct step_env env;
	struct kernel_watch watch;
	struct cgroup_roots cgroups;
	struct perf_columns perf;
	struct step *steps;
	struct request *requests;    /* of steps that do not exist yet */
	struct control *control;     /* NULL: no socket */
	struct automerge *automerge; /* NULL: users merge */
	struct pending_file *pending_files;
	struct journal_stats journals;
	struct users users;
	struct overhead overhead;
	struct job_uses uses;
	int epfd, sigfd, clockfd, lockfd;
	size_t files;	  /* files that may be open at once */
	bool left_behind; /* see daemon__leave_behind() */
	bool stop, finishing, handover;
	int stop_signal;
	uint64_t slots_seen; /* kern__slots_changed() when the list of steps last agreed with the
				slots */
	unsigned asked_families; /* families whose programs were to be loaded, as far as this kernel
				    can */
	uint64_t started_ns;
	char *refused; /* why the settings of the last SIGHUP are not in force; NULL: they are in
			  force */
	uint64_t refused_ns;
	uint64_t least_ns; /* shortest interval of the active steps */
	uint64_t next_sample_ns;
	char last_file[PUBLISH_PATH + 400];
};

#endif
