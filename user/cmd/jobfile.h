/* SPDX-License-Identifier: GPL-2.0-only */
/* Which file and which of its steps "-j JOB[.STEP],..." and "-i FILE" mean. */
#ifndef JP_CMD_JOBFILE_H
#define JP_CMD_JOBFILE_H

#include "job/jobspec.h"
#include "store/select.h"

struct jobfile {
	char *path;
	const char **steps; /* what selection wants; nsteps 0: all */
	unsigned nsteps;
	uint32_t job; /* its id in the file's name; 0: only a file was named */
	char (*texts)[12];
};

/*
 * One job: specs[n] with the same job. input NULL: job_<id>.h5 in the working directory, for a
 * task of an array or a component the one of those files whose attributes say so. 0; -ENOENT: there
 * is no such file of that task or component; -ENOMEM.
 */
int jobfile__of(struct jobfile *out, const struct jobspec *specs, unsigned n, const char *input);
/* For verbs: parses jobs (NULL: none) and wants one job of it. 0, or the exit status and it has
 * said why. */
int jobfile__choose(struct jobfile *out, const char *jobs, const char *input);
void jobfile__free(struct jobfile *f);

#endif
