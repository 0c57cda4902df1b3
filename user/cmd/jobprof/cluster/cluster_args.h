/* SPDX-License-Identifier: GPL-2.0-only */
/* What the verbs cluster and track have in common: how bursts are compared. */
#ifndef JP_CMD_JOBPROF_CLUSTER_ARGS_H
#define JP_CMD_JOBPROF_CLUSTER_ARGS_H

#include "analysis/cluster/cluster_pieces.h"
#include "base/options.h"
#include "model/bursts.h"

struct cluster_args {
	struct cluster_request request;
	double window; /* s; 0: none */
	bool given;    /* one of OPTS_CLUSTER */
};

/* Rows of options for a struct `type` with a member `args`. */
#define OPTS_CLUSTER(type)                                                                         \
	{0,                                                                                        \
	 "by",                                                                                     \
	 "LIST",                                                                                   \
	 "compares bursts by run, gap, duration, share: up to three of them (default run,gap)",    \
	 OPT_CALL_AT(cluster_args__by, type, args),                                                \
	 .values = cluster_args__print_by},                                                        \
		{0, "eps", "X",                                                                    \
		 "bursts are neighbours within this distance, the range of each of LIST being 1 "  \
		 "(default: by the distances that there are)",                                     \
		 OPT_CALL_AT(cluster_args__eps, type, args)},                                      \
	{                                                                                          \
		0, "min-pts", "N",                                                                 \
			"bursts that make a cluster's core (default 10; of fewer than 200 bursts " \
			"4)",                                                                      \
			OPT_CALL_AT(cluster_args__min_pts, type, args)                             \
	}

void cluster_args__init(struct cluster_args *a);
/* What options do with a struct cluster_args. 0, or 2 having said what is wrong. */
int cluster_args__by(void *to, const struct opt *o, const char *list);
int cluster_args__eps(void *to, const struct opt *o, const char *arg);
int cluster_args__min_pts(void *to, const struct opt *o, const char *arg);
int cluster_args__window(void *to, const struct opt *o, const char *arg);
void cluster_args__print_by(FILE *out);

/* Logs what a file cannot be read for. Returns 1. */
int cluster_args__cannot(const char *path, int err);

#endif
