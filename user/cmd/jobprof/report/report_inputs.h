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
	struct input_file file;	  /* a job file */
};

/*
 * -j jobs (NULL: none), and a file or a directory (NULL: the working directory). Of a directory the
 * job file is meant; without one, the node-step files in it and in the directories of users below
 * it. Without -j, where these are of several jobs, files of all are meant: the job file of each, or
 * its node-step files. 0, or the exit status and it has said why.
 */
int report_inputs__of(struct report_inputs *in, const char *jobs, const char *input,
		      const struct string_list *nodes);
/* The files that words name: files, and directories, of which those are meant that are above
 * without -j. 0, or the exit status and it has said why. */
int report_inputs__words(struct report_inputs *in, char *const *words, unsigned n,
			 const struct string_list *nodes);
/* The job that a file is of by its name, that of a node-step file or job_<id>.h5; 0: the name does
 * not say. */
uint32_t report_inputs__job(const char *path);
void report_inputs__free(struct report_inputs *in);

#endif
