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
 * One job: specs[n] with the same job. input: a file; or a directory, NULL: the working directory,
 * whose job_<id>.h5 is meant; where there is none of that name, the job file that says so of
 * itself. Of a task of an array or a component the one whose attributes say so. 0; -ENOENT: no file
 * says that it is of that task or component; -ENOMEM.
 */
int input_file__of(struct input_file *out, const struct jobspec *specs, unsigned n,
		   const char *input);
/* As input_file__of(), but the id of an array means all its tasks. */
int input_files__of(struct input_files *out, const struct jobspec *specs, unsigned n,
		    const char *input);
void input_files__free(struct input_files *f);
/* Logs -ENOENT. */
void input_file__log_none(const struct jobspec *spec);
/* For verbs: parses jobs (NULL: none) and wants one file of it. 0, or the exit status and it has
 * said why. */
int input_file__choose(struct input_file *out, const char *jobs, const char *input);
void input_file__free(struct input_file *f);

#endif
