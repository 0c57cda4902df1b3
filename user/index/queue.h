/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks squeue which jobs run and wait, for the table `running`. */
#ifndef JP_INDEX_QUEUE_H
#define JP_INDEX_QUEUE_H

#include "index/index.h"

struct queue_options {
	const char *squeue;  /* path, whose directory counts; NULL: PATH is searched */
	const char *cluster; /* whose queue it is; NULL: not known */
	const char *user;    /* only that user's jobs; NULL: all */
	double wait_s;	     /* for the answer; 0: half a minute */
};

/* Asks, if the last answer is a minute old or more and nobody else asks; a question that fails
 * leaves the jobs as they are. 0; -errno, logged unless the command is not there. */
int queue__read(struct index *ix, const struct queue_options *o);

#endif
