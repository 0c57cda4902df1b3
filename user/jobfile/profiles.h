/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the profiles that words (FILE, DIR and -j JOB[.STEP],...) name. A profile is one job's job
 * file, or its node-step files. Two jobs of one id, of two clusters or because Slurm gave the id
 * again, are two profiles. The attributes of files are read in limited children.
 */
#ifndef JP_JOBFILE_PROFILES_H
#define JP_JOBFILE_PROFILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/string_list.h"
#include "identity/jobspec.h"

/* A file of a profile, and which of its node-steps are selected. */
struct job_input {
	const char *path;
	const char *const *steps; /* in any spelling; nsteps 0: all */
	unsigned nsteps;
	const struct string_list *nodes; /* NULL: all */
};

struct profile {
	uint32_t job; /* 0: not known */
	struct job_input *files;
	unsigned n;
};

struct profiles {
	struct profile *v; /* in the order of the words; of a directory by job and path */
	unsigned n;
	struct job_input *files; /* all of them, profile by profile */
	unsigned nfiles;
	bool lacks_job; /* a job of -j was not found, which was logged */
	/* the inputs point into these */
	struct string_list paths;
	struct profile_step *steps;
};

/* As options and arguments have them; NULL and 0: not given. */
struct profile_words {
	const char *jobs;   /* -j */
	const char *where;  /* -i FILE, -i DIR or -p DIR */
	char *const *words; /* FILE and DIR */
	unsigned nwords;
	const struct string_list *nodes; /* of each input */
	/* Without -j no file is read: jobs are told apart by names alone. For a verb to which jobs
	 * do not matter, or that many processes run with the same words. */
	bool by_name;
};

/*
 * Finds the profiles:
 *  - a file: that profile; several of one job are one profile;
 *  - a directory: every profile in it and in the directories in it;
 *  - -j: the profiles of these jobs and steps, in `where` or the one word; without these in the
 * working directory, then in ProfileHDF5Dir. There a job is found by names, such as job_7.h5 and
 * 7_0_n1.h5; the task of an array, a component, a SLUID, and files with other names are found by
 * their attributes;
 *  - nothing: the newest file in the working directory, else in the viewer's part of
 * ProfileHDF5Dir. Where a job has a job file, its node-step files in the same directory are left
 * out. 0, or the exit status, logged: nothing was found, or it is of another job. Where some of
 * several jobs are missing, the verb goes on with the others, and ends with 1. profiles__free() in
 * all cases.
 */
int profiles__find(struct profiles *out, const struct profile_words *w);
void profiles__free(struct profiles *p);

/* Selects only this step in the job files. 0 or -ENOMEM. */
int profiles__choose_step(struct profiles *p, const char *step);

/* Logs that the words name several files where one is wanted; to_dir: several would be allowed if
 * -o were a directory.
 */
void profiles__refuse(const struct profiles *p, const struct profile_words *w, bool to_dir);
/* The file, for a verb that reads one. NULL: there are several, or one is missing, which is logged.
 */
const struct job_input *profiles__one(const struct profiles *p, const struct profile_words *w);

/* Parses the text of -j; the caller frees *out. 0, or the exit status, logged. */
int profile_words__jobs(struct jobspec **out, unsigned *n, const char *text);

/* Both find ProfileHDF5Dir: of jobprof.conf, else of acct_gather.conf in the directory of
 * $SLURM_CONF or in /etc/slurm. The caller frees *out. 0; -ENOENT: no configuration has the key,
 * which only profile_dir__find() logs; -EINVAL: a configuration is wrong, which is logged; -ENOMEM.
 */
int profile_dir__find(char **out);
int profile_dir__ask(char **out);

/* ---- names */

/* The job in the name of a file, as in job_7.h5 or the name of a node-step file; 0: there is none.
 */
uint32_t profile_name__job(const char *path);
/* Whether the name is job_<id>.h5. */
bool profile_name__is_job_file(const char *path);
/* False also for NULL, and where nothing is at the path. */
bool path__is_dir(const char *path);

#endif
