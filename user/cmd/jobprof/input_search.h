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
/* Whether a file in a directory may be a profile by its name: as merge calls job files, or another.
 * Those of runs before a requeue are neither. */
bool input_search__is_usual(const char *name);
bool input_search__is_unusual(const char *name);
/* Of NULL and where nothing is: no. */
bool input_search__is_dir(const char *path);
/* dir/name, the caller's to free; NULL: no memory. */
char *input_search__path(const char *dir, const char *name);
/*
 * Asks the files in a directory whose names are asked for which job they are of, in limited
 * children, since they may be damaged: a file that kills the child is of none. add() takes the path
 * (NULL: no memory) of each that says it is of specs[n] of one job, with the job's id; n 0: of each
 * that is a profile, with 0. In the order of their names. 0, -ENOMEM or what add() returned.
 */
int input_search__ask(const char *where, bool (*is_asked)(const char *name),
		      const struct jobspec *specs, unsigned n,
		      int (*add)(void *ctx, char *path, uint32_t job), void *ctx);
/* Appends the directory and those in it whose names do not begin with a dot. 0 or -ENOMEM. */
int input_search__dirs(struct string_list *dirs, const char *dir);
/*
 * Appends the profiles in dir and the directories in it: of any job with n 0, whatever they are
 * called, else of the job and steps of specs[n], by its id in their names; then those in dir
 * itself, if it has any. Of a job whose job file is beside its node-step files, or in dir, only the
 * job file. In the order of their names. 0 or -ENOMEM.
 */
int input_search__files(struct string_list *files, const char *dir, const struct jobspec *specs,
			unsigned n);

#endif
