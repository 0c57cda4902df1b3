/* SPDX-License-Identifier: GPL-2.0-only */
/* The bursts of a job that runs, as this node's jobprofd has them. */
#ifndef JP_CMD_JOBPROF_REDUCE_REDUCE_FEED_H
#define JP_CMD_JOBPROF_REDUCE_REDUCE_FEED_H

#include <stdint.h>

#include "client/libjobprof.h"
#include "cmd/jobprof/reduce/reduce.h"

#define FEED_COLUMNS 32u /* of bursts, at most; a further one is not taken */
#define FEED_PENDING \
	(1u << 17) /* bursts that are not of a window yet; more are lost, and counted */

struct feed_burst {
	int64_t at_ns; /* its end */
	uint64_t number;
	unsigned step, task;
	double v[FEED_COLUMNS];
};

struct feed {
	int64_t start_ns; /* earlier bursts are not taken */
	struct feed_step {
		char name[64];	/* "42.0" */
		uint64_t after; /* number of the last burst that came */
		bool has_come;	/* any */
		bool has_none;	/* its series of bursts is not there: said */
	} * steps;
	unsigned nsteps, now; /* now: whose answer is read */
	struct {
		char name[48], unit[16];
	} columns[FEED_COLUMNS];
	unsigned ncolumns;
	struct feed_burst *pending;
	size_t n, room;
	uint64_t lost;
	int err;
};

/* The step is one to be asked for. 0 or -ENOMEM. */
int feed__step(struct feed *f, const char *name);
/* Asks for the new bursts of all steps. 0 or -errno, said. */
int feed__ask(struct feed *f);
/* The bursts that ended before end_ns, as rows of r. Their features, MODEL_DIMS of each, go to *v,
 * to be freed. 0 or -errno. */
int feed__window(struct feed *f, int64_t end_ns, const char *host, struct reduction *r, double **v,
		 size_t *n);
void feed__free(struct feed *f);

#endif
