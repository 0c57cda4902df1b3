/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that may be profiles: their names, the directories they are in, and the jobs that their
 * attributes name. */
#ifndef JP_JOBFILE_PROFILE_SEARCH_H
#define JP_JOBFILE_PROFILE_SEARCH_H

#include "identity/jobspec.h"
#include "jobfile/profiles.h"

/* Attributes of the first node-step of a file; "" and NaN: not known. */
#define PROFILE_TEXT 64
struct profile_says {
	bool is_profile;
	bool is_job_file;
	bool is_meant;	  /* the specs name its job and, of a node-step file, its step */
	bool is_in_array; /* a spec that is a job's id has that of its array */
	uint32_t job;	  /* of one that cannot be read by its name; 0: it does not say */
	char cluster[PROFILE_TEXT], sluid[PROFILE_TEXT], step[PROFILE_TEXT];
	char node[PROFILE_TEXT * 2];
	double uid, restart, job_start, start_ns;
};

struct profile_file {
	char *path;
	bool named; /* by a word, not found in a directory */
	struct profile_says says;
	const struct jobspec *specs; /* that mean it, of one job; nspecs 0: it was found without */
	unsigned nspecs;
};

struct profile_files {
	struct profile_file *v;
	unsigned n;
};

/* Takes path, which may be NULL: no memory. One that is there is not added again. 0 or -ENOMEM. */
int profile_files__add(struct profile_files *f, char *path, bool named);
/* Reads the attributes of the files from `from` on, in limited children: a file that kills its
 * child is no profile. specs[n] are of one job. 0 or -ENOMEM. */
int profile_files__ask(struct profile_files *f, unsigned from, const struct jobspec *specs,
		       unsigned n);
/* Takes the files from `from` on for the profiles that their names say. */
void profile_files__trust(struct profile_files *f, unsigned from);
/* Removes the files from `from` on that are no profile and, if meant is set, those that no spec
 * names. A file with the name of a profile stays: it is damaged, and its reader says so. */
void profile_files__keep(struct profile_files *f, unsigned from, bool meant);
void profile_files__free(struct profile_files *f);

/* Whether both are of different jobs. Runs of a job that Slurm has started again are not. */
bool profile_says__differ(const struct profile_says *a, const struct profile_says *b);

/* Appends the directory and those in it whose names do not begin with a dot. 0 or -ENOMEM. */
int profile_search__dirs(struct string_list *dirs, const char *dir);

/* Kinds of names that files in a directory have. */
enum profile_name_kind {
	PROFILE_NAME_JOB = 1,	  /* says its job: that of specs[n], of any with n 0 */
	PROFILE_NAME_USUAL = 2,	  /* as merge calls job files */
	PROFILE_NAME_UNUSUAL = 4, /* any other .h5 */
	PROFILE_NAME_RESTART = 8, /* as merge calls files of runs before a requeue */
};
/* Adds the files in a directory with such names. 0 or -ENOMEM; what cannot be looked into is empty.
 */
int profile_search__files(struct profile_files *f, const char *dir, unsigned kinds,
			  const struct jobspec *specs, unsigned n);

#endif
