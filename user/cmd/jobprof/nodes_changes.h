/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is different from the time before, and which accounts, rules or users that comes from. */
#ifndef JP_CMD_JOBPROF_NODES_CHANGES_H
#define JP_CMD_JOBPROF_NODES_CHANGES_H

#include "cmd/jobprof/site_args.h"

struct nodes_change {
	const char *what, *words, *unit; /* "lost_core_s", "Lost", "core-s" */
	double now, before;		 /* NaN: not known */
	double change;	     /* a difference of shares and times, of amounts a part of before */
	const char *verdict; /* "better", "worse", "same"; NULL: it cannot be judged */
	char *why;	     /* NULL: nothing stands out */
};

#define NODES_CHANGES 7
struct nodes_changes {
	struct nodes_change v[NODES_CHANGES];
	unsigned n;
};

/* How long jobs of a partition waited that began in the last day. */
struct nodes_partition {
	char *name;
	unsigned started;
	double queue_s; /* median; NaN: not known */
	/* Now, where Slurm's queue is known; losing: jobs that lose a core or more. */
	double running, cores, waiting, losing, losing_cores;
};
struct nodes_partitions {
	struct nodes_partition *v;
	unsigned n;
};

/* Compares the jobs that began in the filter's time with those of as long before. 0 or -errno. */
int nodes_changes__read(struct nodes_changes *c, const struct site_args *a, struct index *ix,
			const struct viewer *v);
json_t *nodes_changes__json(const struct nodes_changes *c);
void nodes_changes__print(const struct nodes_changes *c);
void nodes_changes__free(struct nodes_changes *c);

int nodes_partitions__read(struct nodes_partitions *p, const struct job_filter *f, struct index *ix,
			   const struct viewer *v);
json_t *nodes_partitions__json(const struct nodes_partitions *p);
void nodes_partitions__free(struct nodes_partitions *p);

#endif
