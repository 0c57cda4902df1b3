/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Removes the profiles of one user that a site does not keep any longer: those of jobs that last
 * changed too long ago, and then the oldest until what is left fits a quota.
 *
 * A job's files in one directory go together or not at all. Only names of node-step files and of
 * job files are looked at, in the directory and in its restart<n>. A name goes only if it is a
 * regular file of the directory's owner with no second link, and is that file still at the moment
 * of its removal. Everything happens by descriptors of directories, and no link is followed.
 */
#ifndef JP_JOBFILE_EXPIRE_H
#define JP_JOBFILE_EXPIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define EXPIRE_LEAST_S 86400 /* a job that changed less long ago stays, whatever is asked for */

struct expire_rules {
	double now_s;	    /* Unix time */
	double before_s;    /* jobs that last changed before then go; NaN: none */
	double quota_bytes; /* on the disk; NaN: none */
	bool unmerged;	    /* also jobs with node-step files */
	/* Whether the index has the file as it is now, by its path below the directory; NULL: that
	 * does not matter. */
	bool (*is_indexed)(const void *arg, const char *path, const struct stat *st);
	const void *arg;
	bool dry_run;
	bool prints; /* each file that goes */
};

/* Why a job stays that is to go. */
enum expire_kept {
	EXPIRE_UNMERGED,  /* it has node-step files */
	EXPIRE_UNINDEXED, /* the index does not have all of its files, or not as they are */
	EXPIRE_RUNNING,	  /* it has a file with a dot: it runs, or is being merged */
	EXPIRE_FOREIGN,	  /* a link, a file with a second link, a FIFO, a file of another user */
	EXPIRE_YOUNG,	  /* EXPIRE_LEAST_S */
	N_EXPIRE_KEPT
};

struct expire_sum {
	uint64_t jobs, files, bytes;
};

struct expire_result {
	struct expire_sum by_age, by_quota; /* what went, or would go */
	struct expire_sum left;
	uint64_t kept[N_EXPIRE_KEPT]; /* jobs */
	uint64_t failed;	      /* files that could not be removed, which is logged */
};

/*
 * dir: the user's directory, which the caller has opened; where: its path. A caller with more
 * rights than the directory's owner becomes that owner before. SIGALRM comes where the file system
 * does not answer for two minutes: to be called in a child. 0 or -errno, logged; *r is added to.
 */
int expire__dir(struct expire_result *r, int dir, const char *where,
		const struct expire_rules *rules);

#endif
