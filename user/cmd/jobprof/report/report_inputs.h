/* SPDX-License-Identifier: GPL-2.0-only */
/* Which files a report is about: a job file, the node-step files of a job, or files of several. */
#ifndef JP_CMD_JOBPROF_REPORT_INPUTS_H
#define JP_CMD_JOBPROF_REPORT_INPUTS_H

#include "base/string_list.h"
#include "cmd/jobprof/input_file.h"
#include "model/job/job.h"

struct report_inputs {
	struct job_input *v;
	unsigned n;
	struct string_list paths; /* of v, where they were named or found in a directory */
	struct input_files files; /* likewise, where a job or one file was named */
};

/*
 * -j jobs (NULL: none), and a file or a directory, as input_files__of() has them. Without -j, of a
 * directory files of all jobs are meant: the job file of each, or its node-step files. 0, or the
 * exit status and it has said why.
 */
int report_inputs__of(struct report_inputs *in, const char *jobs, const char *input,
		      const struct string_list *nodes);
/* The files that words name: files, and directories, of which those are meant that are above
 * without -j. 0, or the exit status and it has said why. */
int report_inputs__words(struct report_inputs *in, char *const *words, unsigned n,
			 const struct string_list *nodes);
void report_inputs__free(struct report_inputs *in);

#endif
