/* SPDX-License-Identifier: GPL-2.0-only */
/* The tables Regions and SamplePoints of a node: executions of regions, and samples of threads. */
#ifndef JP_MODEL_POINTS_H
#define JP_MODEL_POINTS_H

#include <stddef.h>
#include <stdint.h>

struct reader_node;

enum point_counter { POINT_CPU_TIME, POINT_PAGE_FAULTS, POINT_COUNTERS };

/* Their columns, and their units: "s", "". */
extern const char *const point_counters[POINT_COUNTERS], *const point_units[POINT_COUNTERS];

/* Threads of different nodes and processes have different numbers here. */
struct thread_key {
	unsigned node;
	double process, thread;
};

struct point {
	struct thread_key thread;
	double time_s, task; /* task NaN: not known */
	unsigned kind;	     /* enum jp_module */
	uint64_t place;	     /* see jp_place in bpf/jobprof.h */
	double count[POINT_COUNTERS];
};

struct region_row {
	struct thread_key thread;
	unsigned region; /* of names[] */
	double begin_s, end_s;
	/* what the thread had counted by then; NaN: not known */
	double at_begin[POINT_COUNTERS], at_end[POINT_COUNTERS];
};

struct points {
	struct point *points; /* by thread, then by time */
	size_t npoints;
	struct region_row *regions; /* by thread, then by begin */
	size_t nregions;
	char **names;
	unsigned nnames;
	double lost_points, lost_regions; /* NaN: not known */
};

/* Adds what the node has; times are of its own clock, and go on from 0 on each node. 0; -ENOENT: it
 * has neither table; -EBADMSG: damaged; -EMSGSIZE: more rows than are read; -ENOMEM. */
int points__read(struct points *p, const struct reader_node *n, unsigned number);
void points__free(struct points *p);

#endif
