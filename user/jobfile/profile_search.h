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
	bool is_meant;	  /* the specs select its job and, for a node-step file, its step */
	bool is_in_array; /* a spec is a job's id, which is that of its array */
	uint32_t job;	  /* job id; where the file cannot be read, by its name; 0: not known */
	char cluster[PROFILE_TEXT], sluid[PROFILE_TEXT], step[PROFILE_TEXT];
	char node[PROFILE_TEXT * 2];
	double uid, restart, job_start, start_ns;
};

struct profile_file {
	char *path;
	bool named; /* named by a word, not found in a directory */
	struct profile_says says;
	const struct jobspec
		*specs; /* specs that select it, of one job; nspecs 0: it was found without specs */
	unsigned nspecs;
};

struct profile_files {
	struct profile_file *v;
	unsigned n;
};

/* Takes path, which may be NULL (no memory). A path that is in the list is not added again. 0 or
 * -ENOMEM. */
int profile_files__add(struct profile_files *f, char *path, bool named);
/* Reads the attributes of the files from `from` on, in limited children: a file that kills its
 * child is no profile. specs[n] are of one job. 0 or -ENOMEM. */
int profile_files__ask(struct profile_files *f, unsigned from, const struct jobspec *specs,
		       unsigned n);
/* Fills in the files from `from` on by their names, without reading them. */
void profile_files__trust(struct profile_files *f, unsigned from);
/* Removes the files from `from` on that are no profile and, if `meant` is set, those that no spec
 * selects. A file with the name of a profile stays: it is damaged, and its reader logs this. */
void profile_files__keep(struct profile_files *f, unsigned from, bool meant);
void profile_files__free(struct profile_files *f);

/* Whether both are of different jobs, or of different runs of a job that Slurm has started again.
 */
bool profile_says__differ(const struct profile_says *a, const struct profile_says *b);

/* Appends a directory, and the directories in it whose names do not begin with a dot. 0 or -ENOMEM.
 */
int profile_search__dirs(struct string_list *dirs, const char *dir);

/* Kinds of names that files in a directory have. */
enum profile_name_kind {
	PROFILE_NAME_JOB = 1,	  /* has the job's id: that of specs[n], or with n 0 of any job */
	PROFILE_NAME_USUAL = 2,	  /* the names that merge gives job files */
	PROFILE_NAME_UNUSUAL = 4, /* any other .h5 */
	PROFILE_NAME_RESTART = 8, /* the names that merge gives files of runs before a requeue */
};
/* Adds the files in a directory with such names. 0 or -ENOMEM; a directory that cannot be read
 * counts as empty.
 */
int profile_search__files(struct profile_files *f, const char *dir, unsigned kinds,
			  const struct jobspec *specs, unsigned n);

#endif
