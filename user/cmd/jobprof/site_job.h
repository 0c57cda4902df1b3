/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One job for verbs that print it: its row in the index, else what its files have. */
#ifndef JP_CMD_JOBPROF_SITE_JOB_H
#define JP_CMD_JOBPROF_SITE_JOB_H

#include "cmd/jobprof/site_args.h"
#include "index/get.h"
#include "jobfile/profiles.h"

struct site_job {
	struct row row;
	bool is_running;
	bool is_live; /* the job runs, and the row has what the files of its steps have so far */
};

/* The job as users write it: 7, 7_2, 7+1 or a SLUID. The user's own index is not made for this. 0;
 * -ENOENT: neither the index nor a directory of profiles has it; -EINVAL: that is no job, logged;
 * -ENOTUNIQ: profiles of several users say that they are of it, logged; -errno, logged.
 * site_job__free() in all cases. */
int site_job__find(struct site_job *j, const struct site_args *a, const char *job);
void site_job__free(struct site_job *j);

/* Of rows of the job or array that a user named so: 0; -ENOTUNIQ: files alone know it, of several
 * users, logged. */
int site_job__check_user(const struct row_list *l, bool is_array, const char *job);

/* Finds the job's profile; *profile points into *out. 0 or -ENOENT; profiles__free(out) in both
 * cases. */
int site_job__profile(const struct site_job *j, const struct site_args *a, struct profiles *out,
		      const struct profile **profile);

/* The files of a live job's steps. 0 or -errno, logged. */
int site_job__live(const struct site_job *j, const struct site_args *a, struct string_list *files);

/* The name of a user's primary group; "": unknown. */
const char *site_job__group(const char *user);

#endif
