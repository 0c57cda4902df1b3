/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes rows of profiles. A directory is read when it has changed, and a file when it differs from
 * what the index knows: a scan of a million known files takes seconds. The user of a job is the
 * owner of the file; a file that names another one, or has impossible values of its job, is
 * refused.
 */
#ifndef JP_INDEX_SCAN_H
#define JP_INDEX_SCAN_H

#include <sys/types.h>

#include "index/index.h"
#include "index/privacy.h"
#include "index/turn.h"

/* The files of one job in one directory, all of one owner. */
struct scan_job {
	char **paths;
	unsigned n;
	uid_t uid;
	double mtime_s;	 /* of the first file */
	bool is_of_many; /* others wait: it is read within limits, and what fails is not logged */
	double bytes;	 /* then: of all, on the disk */
	bool is_running; /* its rows have what they do now (struct row_now) */
};

/* Called with a row of the job, more than once if Slurm gave its id twice; row NULL: it has none,
 * for the reason `why`; that, too, is NULL if another program has killed who read it. Returns 0; 1:
 * enough, the rest of this job's rows still come; or an error that ends the reading. */
typedef int scan_take(void *arg, unsigned job, struct row *row, const char *why);
/* Reads profiles, which anybody may have written, in limited children. 0, 1 where that was enough,
 * or -errno. */
typedef int scan_read(const struct scan_job *jobs, unsigned n, scan_take *take, void *arg);

struct scan_options {
	scan_read *read;
	const char *cluster; /* for files that do not name theirs */
	bool all;	     /* read files that are known, too */
	bool own;	     /* only files and directories of this process's user */
	/* Of a service: each call is one round, and these users' files wait. */
	struct turn_waits *waits;
	unsigned round; /* rounds before this one that have left something */
};

struct scan_result {
	unsigned long jobs, files; /* that were read */
	unsigned long refused, unreadable;
	unsigned long gone; /* known files that do not exist any more */
	bool more;	    /* of a service: the next round need not wait */
	struct privacy_left left;
};

/* Scans a directory and those in it, each in its turn, in rounds until all is read; what changes
 * after the first round is left to the next call. Adds to *res. 0 or -errno, logged. */
int scan__path(struct index *ix, const char *path, const struct scan_options *o,
	       struct scan_result *res);

#endif
