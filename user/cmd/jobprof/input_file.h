/* SPDX-License-Identifier: GPL-2.0-only */
/* Which file and which of its steps "-j JOB[.STEP],..." and FILE or DIR mean. */
#ifndef JP_CMD_JOBPROF_INPUT_FILE_H
#define JP_CMD_JOBPROF_INPUT_FILE_H

#include "identity/jobspec.h"

struct input_file {
	char *path;
	const char **steps; /* what selection wants; nsteps 0: all */
	unsigned nsteps;
	uint32_t job; /* its id in the file's name; 0: only a file was named */
	char (*texts)[12];
};

struct input_files {
	struct input_file *v;
	unsigned n;
};

/*
 * The profiles of one job: specs[n] with the same job. input: a file; or a directory, NULL: the
 * working directory, and then ProfileHDF5Dir of the site. Of a directory its job_<id>.h5 is meant;
 * else the job file or the node-step files of that id in it and in the directories of users below;
 * else the files in it that say so of themselves. Of a task of an array or a component the files
 * that say so; the id of an array means all its tasks. 0 or -errno, which has been said: -ENOENT:
 * there is none; -EXDEV: the file is of another job.
 */
int input_files__of(struct input_files *out, const struct jobspec *specs, unsigned n,
		    const char *input);
/* The same of the option -j. 0, or the exit status and it has said why. */
int input_files__parse(struct input_files *out, const char *jobs, const char *input);
/* Whether all are node-step files, as parts of one job are. */
bool input_files__are_parts(const struct input_files *f);
/* Says that -j means several files where one is wanted, unless with to_dir -o is a directory, and
 * returns the exit status. */
int input_files__refuse(const struct input_files *f, const char *jobs, bool to_dir);
void input_files__free(struct input_files *f);
/* As Slurm's sh5util: the file, whatever job it is of, or job_<id>.h5 in the directory, whether it
 * is there or not. Nothing is said of -ENOENT, which is of other kinds of specs. */
int input_file__of(struct input_file *out, const struct jobspec *specs, unsigned n,
		   const char *input);
/* For verbs: jobs of -j (NULL: none), input as above, of which one file is wanted. 0, or the exit
 * status and it has said why. */
int input_file__choose(struct input_file *out, const char *jobs, const char *input);
void input_file__free(struct input_file *f);

#endif
