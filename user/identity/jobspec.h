/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Jobs and steps as users write them: a comma list of JOB[.STEP], A_T (task
 * T of the job array A), H+O (component O of the heterogeneous job H) or a SLUID, each with .STEP
 * if wanted. A step is a number, batch, extern or interactive.
 */
#ifndef JP_IDENTITY_JOBSPEC_H
#define JP_IDENTITY_JOBSPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "identity/sluid.h"

#define JOBSPEC_TEXT 64

enum jobspec_kind {
	JOBSPEC_JOB,   /* job is the id in the names of files */
	JOBSPEC_ARRAY, /* job is the array's id, part the task's index */
	JOBSPEC_HET,   /* job is the leader's id, part the offset */
	JOBSPEC_SLUID, /* job is 0 */
};

struct jobspec {
	enum jobspec_kind kind;
	uint32_t job;
	uint32_t part;
	char sluid[SLUID_LEN + 1]; /* as Slurm writes it; "" for the other kinds */
	bool any_step;
	uint32_t step; /* Slurm's number, see identity/stepname.h */
	char text[JOBSPEC_TEXT];
};

/* Writes out ranges, which Slurm's own tools do not all take: "7-9" becomes "7,8,9", "7_[1-2,5]"
 * becomes "7_1,7_2,7_5"; other words stay as they are, wrong ones, too. The caller frees *out. 0;
 * -E2BIG: these are more than JOBSPEC_RANGE; -ENOMEM. */
#define JOBSPEC_RANGE 10000
int jobspec__expand(char **out, const char *text);
/* *out is an array of *n, freed with free(3), in the order of the text. 0; -EINVAL with the word
 * and what is wrong with it, in Slurm's words, in err: "WORD": REASON; -ENOMEM. */
int jobspec__parse(struct jobspec **out, unsigned *n, const char *text, char *err, size_t errlen);
/* Whether s includes a step, in any spelling of the step. */
bool jobspec__has_step(const struct jobspec *s, const char *step);
/* Whether both name the same job, whatever the steps. */
bool jobspec__same_job(const struct jobspec *a, const struct jobspec *b);

#endif
