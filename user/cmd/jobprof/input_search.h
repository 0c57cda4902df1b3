/* SPDX-License-Identifier: GPL-2.0-only */
/* Profiles by their names, in a directory and in those of users below it. */
#ifndef JP_CMD_JOBPROF_INPUT_SEARCH_H
#define JP_CMD_JOBPROF_INPUT_SEARCH_H

#include <stdbool.h>

#include "base/string_list.h"
#include "identity/jobspec.h"

/* The job that a file is of by its name, that of a node-step file or job_<id>.h5; 0: the name does
 * not say. */
uint32_t input_search__job(const char *path);
/* Whether the name is job_<id>.h5. */
bool input_search__is_job_file(const char *path);
/* Appends the directory and those in it whose names do not begin with a dot. 0 or -ENOMEM. */
int input_search__dirs(struct string_list *dirs, const char *dir);
/*
 * Appends the profiles in dir and the directories in it: of any job with n 0, else of the job and
 * steps of specs[n], by its id; then those in dir itself, if it has any. Of a job whose job file is
 * beside its node-step files, or in dir, only the job file. In the order of their names. 0 or
 * -ENOMEM.
 */
int input_search__files(struct string_list *files, const char *dir, const struct jobspec *specs,
			unsigned n);

#endif
