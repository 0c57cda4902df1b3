/* SPDX-License-Identifier: GPL-2.0-only */
/* The runs that "jobprof compare" is about, as a user names them, and the earlier ones. */
#ifndef JP_CMD_JOBPROF_COMPARE_RUNS_H
#define JP_CMD_JOBPROF_COMPARE_RUNS_H

#include "cmd/jobprof/report/report_inputs.h"

/* A file, a directory, or JOB[.STEP] in a directory. */
struct compare_word {
	char *text;
	char *dir; /* of jobs; NULL: the working directory */
};

/* The file or files of a run. 0, or the exit status and it has said why; report_inputs__free() in
 * all cases. */
int compare_runs__inputs(struct report_inputs *in, const struct compare_word *word);

/* The runs of a baseline. */
struct compare_runs {
	struct compare_word *v;
	unsigned n;
};

/* Adds those that a word means: each run in a directory, or the items of a comma list, whose jobs
 * are in dir. step: of the jobs in a directory, as ".0"; "": all. 0 or -errno. */
int compare_runs__add(struct compare_runs *r, const char *word, const char *dir, const char *step);
void compare_runs__free(struct compare_runs *r);

#endif
