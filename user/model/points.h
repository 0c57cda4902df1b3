/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables Regions and SamplePoints of a node: executions of regions, and samples of threads. */
#ifndef JP_MODEL_POINTS_H
#define JP_MODEL_POINTS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/jobprof.h"

struct model_bursts;
struct reader_node;
struct selection;
struct symbols;

/* The counters of a point: every file has the first ones; POINT_EVENT is a counted event that the
 * caller names by its column. */
enum point_counter {
	POINT_CPU_TIME,
	POINT_PAGE_FAULTS,
	POINT_FIXED,
	POINT_EVENT = POINT_FIXED,
	POINT_COUNTERS
};

/* The columns of the first counters, and the units of all: "s", "". */
extern const char *const point_counters[POINT_FIXED], *const point_units[POINT_COUNTERS];

/* The key tells a thread from all others, also of other nodes and processes. */
struct thread_key {
	unsigned node;
	double process, thread;
};

/* Compares by node, then by process, then by thread. */
int thread_key__cmp(const struct thread_key *a, const struct thread_key *b);

#define POINT_ROWS_MAX (8u << 20)
#define POINT_NOT_RUNNING \
	JP_MODULES /* no sample: a tick of the clock at which the thread did not run */

/* The kinds of points in words. */
extern const char *const point_kinds[POINT_NOT_RUNNING + 1];

struct point {
	struct thread_key thread;
	double time_s, task; /* task NaN: not known */
	unsigned kind;	     /* enum jp_module, or POINT_NOT_RUNNING */
	uint64_t place;	     /* see JP_PLACE_LIBRARY in bpf/abi/sample.h */
	double period_s;     /* of the clock then; NaN: not known */
	unsigned function;   /* from 1 on: an index of functions[], plus one; 0: not known */
	double count[POINT_COUNTERS];
};

struct region_row {
	struct thread_key thread;
	unsigned region; /* of names[] */
	double begin_s, end_s;
	double end_ns; /* as TimeNS of other tables; NaN: not known */
	/* what the thread had counted by then; NaN: not known */
	double at_begin[POINT_COUNTERS], at_end[POINT_COUNTERS];
};

/* A burst of a thread, where no region is named. */
struct point_burst {
	unsigned node;
	double thread;
	double begin_s, gap_s; /* gap_s: how long the thread was blocked before; NaN: not known */
};

struct points {
	const char *event; /* name of the event that is read, the caller's; NULL: none */
	bool has_event;	   /* some node's file has it */
	bool by_cycles;	   /* some points are samples of cycles, which come at no fixed times */
	size_t rows_max; /* set by the caller: a table with more rows is not read; 0: POINT_ROWS_MAX
			  */
	struct point *points; /* by thread, then by time */
	size_t npoints;
	struct region_row *regions; /* by thread, then by begin */
	size_t nregions;
	struct point_burst *bursts; /* by node, by thread, then by begin */
	size_t nbursts;
	bool many_bursts; /* there are more than are read, so that none is here */
	double clock_ns;  /* TimeNS at time 0 of the node that was read last; NaN: not known */
	char **names;
	unsigned nnames;
	char **functions;
	unsigned nfunctions;
	double lost_points, lost_regions; /* NaN: not known */
};

/* Adds the tables of a node; times are of its own clock, and begin at 0 on each node. 0; -ENOENT:
 * it has neither table; -EBADMSG: damaged; -EMSGSIZE: more rows than are read; -ENOMEM. */
int points__read(struct points *p, const struct reader_node *n, unsigned number);
/* The same, but only the samples. */
int points__read_samples(struct points *p, const struct reader_node *n, unsigned number);
/* Adds the bursts, if any, of the node that was read last; its number must be above those of
 * earlier nodes. Where all nodes together have more bursts than are read, none is stored. 0;
 * -ENOMEM; else as cursor__open(). */
int points__read_bursts(struct points *p, const struct reader_node *n, unsigned number);
/*
 * Names the functions of the node that was read last, where this machine has the file of a task's
 * program. Functions are named for the process with most of the task's samples, because the task's
 * table has that process's program, and for its ranks, where all ranks of the node execute that
 * program. 0 or -ENOMEM.
 */
int points__name(struct points *p, const struct reader_node *n, unsigned number,
		 struct symbols *symbols);
/*
 * Adds points without counts for ticks of the clock that took no sample of a thread, because it did
 * not run; to be called when all nodes are read. Such ticks are assumed between two samples of the
 * thread inside of regions or, where there are no regions, between samples that are not far apart.
 * 0 or -ENOMEM.
 */
int points__fill_gaps(struct points *p);

/* Reads all nodes of the selected steps of a file, names the functions, and fills the gaps.
 * 0; -ENODATA: there are no samples; -ESRCH: there is no such step; or as points__read() and
 * reader__open(). points__free() in all cases. */
int points__read_file(struct points *p, const char *path, const struct selection *sel);

#define POINTS_NO_NODE UINT_MAX
/* Reads and names the samples of the nodes in b, with times as bursts have them; nodes whose clock
 * was set are left out. nodes[], by places of b, gets the node's number in the points, or
 * POINTS_NO_NODE. 0, or as points__read() and reader__open(). */
int points__read_samples_of(struct points *p, const struct model_bursts *b, unsigned *nodes);
/* Reads the executions of regions of these nodes; the number of a node is its first place in b. 0;
 * -ENXIO: there are none; -ESTALE: the clock by which bursts have their times was set meanwhile; or
 * as points__read() and reader__open(). */
int points__read_regions_of(struct points *p, const struct model_bursts *b);
void points__free(struct points *p);

#endif
