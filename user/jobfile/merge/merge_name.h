/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names in a profile directory. */
#ifndef JP_JOBFILE_MERGE_NAME_H
#define JP_JOBFILE_MERGE_NAME_H

#include <stdint.h>

enum merge_name_kind {
	NAME_OTHER,   /* none of ours */
	NAME_FOREIGN, /* begins as the name of a job's file, but is none */
	NAME_FILE,    /* <job>_<step>_<node>.h5 */
	NAME_RUNNING, /* the same after a dot: a running step's */
};

struct merge_name {
	uint32_t job;
	char step[16]; /* "batch" or a number */
	char node[129];
};

enum merge_name_kind merge_name__parse(const char *name, struct merge_name *m);

#endif
