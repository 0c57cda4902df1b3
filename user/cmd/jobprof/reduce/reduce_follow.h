/* SPDX-License-Identifier: GPL-2.0-only */
/* What jobprof reduce --follow knows of the job that it follows. */
#ifndef JP_CMD_JOBPROF_REDUCE_REDUCE_FOLLOW_H
#define JP_CMD_JOBPROF_REDUCE_REDUCE_FOLLOW_H

#include "cmd/jobprof/reduce/reduce.h"
#include "cmd/jobprof/reduce/reduce_feed.h"
#include "cmd/jobprof/reduce/reduce_track.h"

/* A table of a step, and the time of its row that was taken last. */
struct followed {
	char *place, *name;
	int64_t last_ns;
	bool is_in_window; /* it has a row there */
};

struct follow {
	const struct reduce_work *w;
	const struct reduce_world *world;
	uint32_t job;	  /* 0: that of this process */
	const char *step; /* NULL: all, but for the one of this process */
	char own[64];	  /* "42.7": that one; "": none */
	char host[64];
	struct followed *tables;
	unsigned ntables;
	uint64_t window;	     /* number of the window since 1970 */
	struct reduce_result result; /* of the window */
	bool is_whole;		     /* no process was lost */
	int64_t end_ns;		     /* of the window; 0: there is none yet */
	int err;
	/* These are there with --clusters: */
	struct feed feed;
	double *features; /* of the window's bursts of this node, MODEL_DIMS each */
	size_t nfeatures;
	struct reduce_track track; /* of process 0 */
};

/* The window's bursts of this node become rows of f->result. 0 or -errno. */
int follow_clusters__rows(struct follow *f);
/* The rows have gone up: the model goes down, and what it says of all bursts comes up. 0 or
 * -errno. */
int follow_clusters__reduce(struct reduce_work *w, struct follow *f);

#endif
