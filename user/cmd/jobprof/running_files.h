/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An index of nothing but the running jobs in some files, which ends with the process. */
#ifndef JP_CMD_JOBPROF_RUNNING_FILES_H
#define JP_CMD_JOBPROF_RUNNING_FILES_H

#include "index/running.h"

/* Reads the files of running steps; *dir: where that index is. 0, or the exit status, logged;
 * running_files__close() in any case. */
int running_files__open(struct index *ix, char **dir, char **paths, int n);
void running_files__close(struct index *ix, char *dir);

#endif
