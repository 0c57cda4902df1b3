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

/* The files of one job in one directory, all of one owner. */
struct scan_job {
	char **paths;
	unsigned n;
	uid_t uid;
	double mtime_s; /* of the first file */
};

/* Called with a row of the job, more than once if Slurm gave its id twice; row NULL: it has none,
 * for the reason `why`. Returns 0, or an error that ends the reading. */
typedef int scan_take(void *arg, unsigned job, struct row *row, const char *why);
/* Reads profiles, which anybody may have written, in limited children. 0 or -errno. */
typedef int scan_read(const struct scan_job *jobs, unsigned n, scan_take *take, void *arg);

struct scan_options {
	scan_read *read;
	const char *cluster; /* for files that do not name theirs */
	bool all;	     /* read files that are known, too */
};

struct scan_result {
	unsigned long jobs, files; /* that were read */
	unsigned long refused, unreadable;
	unsigned long gone; /* known files that do not exist any more */
	struct privacy_left left;
};

/* Scans a directory and the directories in it. Adds to *res. 0 or -errno, logged. */
int scan__path(struct index *ix, const char *path, const struct scan_options *o,
	       struct scan_result *res);

#endif
