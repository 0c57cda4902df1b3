/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of jobprofd: for the files of user/daemon only. */
#ifndef JP_DAEMON_FOLLOW_DAEMON_STATE_H
#define JP_DAEMON_FOLLOW_DAEMON_STATE_H

#include "daemon/config/cgroup_roots.h"
#include "daemon/config/perf_columns.h"
#include "daemon/daemon.h"
#include "daemon/follow/kernel_watch.h"
#include "daemon/step/request.h"
#include "daemon/step/step.h"
#include "identity/layout.h"

/* For the status: journals at the last check, and sums since the start. */
struct journal_stats {
	uint64_t bytes;	     /* in StateDir, of steps that run or whose file is not written yet */
	unsigned journals;   /* so many are these */
	unsigned waiting;    /* of them, with a file that could not be written so far */
	unsigned reduced;    /* running steps that write a row a minute */
	bool over;	     /* by JournalMax or JournalMinFree, and not by JournalUserMax alone */
	uint64_t reduced_ns; /* there are some since then; 0: there are none */
	uint64_t removed;    /* journals, and with them files, since the start */
	uint64_t removed_bytes;
	uint64_t left_out; /* rows of steps that have ended since the start: their Lost */
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
	struct request *requests;    /* of steps that are not there yet */
	struct control *control;     /* NULL: no socket */
	struct automerge *automerge; /* NULL: users merge */
	struct pending_file *pending_files;
	struct journal_stats journals;
	struct users users;
	int epfd, sigfd, clockfd, lockfd;
	size_t files;	  /* that may be open at once */
	bool left_behind; /* see daemon__leave_behind() */
	bool stop, finishing, handover;
	int stop_signal;
	uint64_t slots_seen;	 /* kern__slots_changed() when the steps were in line with them */
	unsigned asked_families; /* whose programs were loaded, where they can be */
	uint64_t started_ns;
	char *refused; /* why the settings of the last SIGHUP are not in force; NULL: they are */
	uint64_t refused_ns;
	uint64_t least_ns; /* shortest interval of the active steps */
	uint64_t next_sample_ns;
	char last_file[PUBLISH_PATH + 400];
};

#endif
