/* SPDX-License-Identifier: GPL-2.0-only */
/* Which file and which of its steps "-j JOB[.STEP],..." and FILE or DIR mean. */
#ifndef JP_CMD_JOBPROF_JOBFILE_H
#define JP_CMD_JOBPROF_JOBFILE_H

#include "identity/jobspec.h"
#include "jobfile/select.h"

struct jobfile {
	char *path;
	const char **steps; /* what selection wants; nsteps 0: all */
	unsigned nsteps;
	uint32_t job; /* its id in the file's name; 0: only a file was named */
	char (*texts)[12];
};

struct jobfiles {
	struct jobfile *v;
	unsigned n;
};

/*
 * One job: specs[n] with the same job. input: a file; or a directory, NULL: the working directory,
 * whose job_<id>.h5 is meant; where there is none of that name, the job file that says so of
 * itself. Of a task of an array or a component the one whose attributes say so. 0; -ENOENT: no file
 * says that it is of that task or component; -ENOMEM.
 */
int jobfile__of(struct jobfile *out, const struct jobspec *specs, unsigned n, const char *input);
/* The same, but the id of an array means all its tasks. */
int jobfiles__of(struct jobfiles *out, const struct jobspec *specs, unsigned n, const char *input);
void jobfiles__free(struct jobfiles *f);
/* Logs -ENOENT. */
void jobfile__say_none(const struct jobspec *spec);
/* For verbs: parses jobs (NULL: none) and wants one file of it. 0, or the exit status and it has
 * said why. */
int jobfile__choose(struct jobfile *out, const char *jobs, const char *input);
void jobfile__free(struct jobfile *f);

#endif
