/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measures what a node can do. Each measure makes several passes; the peak is the median of their
 * rates. A measure ends when it has its passes or its time is over.
 */
#ifndef JP_PEAKS_MEASURE_H
#define JP_PEAKS_MEASURE_H

#include <stdint.h>

#include "peaks/peaks.h"

#define PASSES_MAX   64
#define SPREAD_LIMIT 0.10 /* with a larger spread a result gets a warning */

struct measure_opts {
	const int *cpus; /* [ncpus]: a thread on each */
	unsigned ncpus;
	double seconds;	     /* for each group of measures */
	unsigned passes;     /* at most PASSES_MAX */
	uint64_t file_bytes; /* of the scratch file, at most */
	const char *dir;     /* where that file is */
	const char *sys;     /* "/sys" */
};

/* The result of one measure. All zeros: it was not asked for. */
struct measure {
	double pass[PASSES_MAX]; /* rates, in the unit of the peak */
	unsigned npasses;	 /* 0: there is no result, and error says why */
	double cpu_share; /* the part of their CPUs that the threads had; 0: not relevant here */
	char how[256];	  /* what was measured, for people; "" nothing */
	char error[256];
	bool absent; /* set together with an error: this node does not have the part, which is no
			failure */
};

struct measures {
	struct measure of[PEAK_KINDS];
};

/* A group of measures that are taken together. */
struct measure_group {
	const char *name; /* of the option --only */
	enum peak_kind first, last;
	void (*run)(const struct measure_opts *o, struct measure *m); /* m[0] is the one of first */
};

#define MEASURE_GROUPS 4
extern const struct measure_group measure_groups[MEASURE_GROUPS];

void memory__measure(const struct measure_opts *o, struct measure *m);
void flops__measure(const struct measure_opts *o, struct measure *m);
void disk__measure(const struct measure_opts *o, struct measure *m);
void network__measure(const struct measure_opts *o, struct measure *m);

/* Runs a group. A group that does not return in time, as on a file system that hangs, gets an
 * error, and its thread is abandoned. */
void measure__run(const struct measure_group *g, const struct measure_opts *o, struct measures *m);
/* The median, minimum and maximum of the passes as a peak. */
struct peak measure__peak(const struct measure *m);
/* (maximum - minimum) / median; NaN for fewer than two passes. */
double measure__spread(const struct measure *m);
void measure__fail(struct measure *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* True as long as another pass may begin: began is the clock__mono_ns() of the first. */
bool measure__goes_on(const struct measure *m, const struct measure_opts *o, uint64_t began);

struct crew_time {
	double seconds;	  /* from the first beginning to the last end */
	double cpu_share; /* CPU time of the threads / (threads x seconds) */
};

/* Calls work(ctx, 0) to work(ctx, n - 1), each in a thread, pinned to cpus[i] unless cpus is NULL.
 * 0 or -errno: a thread could not be started or pinned, and no work was done. */
int crew__run(const int *cpus, unsigned n, void (*work)(void *ctx, unsigned i), void *ctx,
	      struct crew_time *t);

/* Ticks of all CPUs since boot, of /proc/stat. */
struct node_ticks {
	uint64_t busy, steal, all;
};

/* All zeros where /proc/stat cannot be read. */
void node_ticks__read(struct node_ticks *t);
/* Parts of the time between two readings, of all CPUs: 0..1; NaN: no time has passed. */
double node_ticks__busy(const struct node_ticks *from, const struct node_ticks *to);
double node_ticks__steal(const struct node_ticks *from, const struct node_ticks *to);

/* Bytes of the last-level caches of the CPUs, each cache once; 0: not known. */
uint64_t node_memory__caches(const char *sys, const int *cpus, unsigned ncpus);

#endif
