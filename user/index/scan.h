/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes rows of profiles. A directory is listed when it has changed, and a file is read when it is
 * new or has changed since the index read it: looking at a million known files takes seconds. The
 * owner of the file is the user of the job; a file that names another user, or holds impossible
 * values, is refused.
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
	double mtime_s; /* of the first one */
};

/* Called with a row of the job, more than once where an id was given twice; row NULL: it has no
 * row, and `why` is the reason. Returns 0, or an error that ends the reading. */
typedef int scan_take(void *arg, unsigned job, struct row *row, const char *why);
/* Reads profiles, which anybody may have written, in limited children. 0 or -errno. */
typedef int scan_read(const struct scan_job *jobs, unsigned n, scan_take *take, void *arg);

struct scan_options {
	scan_read *read;
	const char *cluster; /* of files that do not name theirs */
	bool all;	     /* also files that are known and have not changed */
};

struct scan_result {
	unsigned long jobs, files; /* that were read */
	unsigned long refused, unreadable;
	unsigned long gone; /* known files that have been deleted */
	struct privacy_left left;
};

/* Scans a directory and those in it, or takes a file. Adds to *res. 0 or -errno,
 * logged. */
int scan__path(struct index *ix, const char *path, const struct scan_options *o,
	       struct scan_result *res);

#endif
