/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The nodes of a running job, from the files of its steps. */
#ifndef JP_CMD_JOBPROF_TOP_FILES_H
#define JP_CMD_JOBPROF_TOP_FILES_H

#include "cmd/jobprof/top/top_rows.h"

struct top_file;

/* Begins zeroed: what has been read. */
struct top_files {
	struct top_file *v;
	unsigned n;
};

struct top_source {
	const char *where;    /* a directory; NULL: as other verbs find profiles */
	const uint32_t *jobs; /* as in names of files: an array's running tasks are several */
	unsigned njobs;
};

/* A row per node, of the files of the job's steps that run. 0; -ENOTUNIQ: logged; -errno. */
int top_files__look(struct top_files *files, struct top_rows *r, const struct top_source *from);
void top_files__free(struct top_files *files);

#endif
