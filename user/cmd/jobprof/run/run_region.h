/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof run --region: regions that are functions of programs, or lie between two of their probes.
 */
#ifndef JP_CMD_JOBPROF_RUN_REGION_H
#define JP_CMD_JOBPROF_RUN_REGION_H

#include "kern/kern.h"

#define RUN_REGION_PLACES 512 /* places where one region begins or ends */

/* A region that the user asked for: "[NAME=]FILE:FUNCTION", "[NAME=]wait:FILE:FUNCTION" or
 * "[NAME=]usdt:FILE:PROVIDER:BEGIN,END". */
struct region_spec {
	bool wait, pattern; /* begin is a pattern of fnmatch(3) */
	char name[64];
	char file[4096];
	char provider[64]; /* "": begin is a function */
	char begin[512], end[512];
};

/* 0; -EINVAL, logged. */
int region_spec__parse(struct region_spec *s, const char *text);

struct run_regions {
	struct kern_region list[JP_REGIONS];
	unsigned n;
};

/* Adds a region, opens its file and finds its places. 0, or the exit status, logged. */
int run_regions__add(struct run_regions *l, const char *text);
void run_regions__free(struct run_regions *l);

#endif
