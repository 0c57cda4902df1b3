/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Measures what a node can do. Each measure makes several passes; the peak is the median of their
 * rates. A measure ends when it has its passes or its time is over.
 */
#ifndef JP_PEAKS_MEASURE_H
#define JP_PEAKS_MEASURE_H

#include <stdint.h>

#include "peaks/peaks.h"

#define PASSES_MAX   64
#define SPREAD_LIMIT 0.10 /* from here on a result deserves a warning */

struct measure_opts {
	const int *cpus; /* [ncpus]: a thread on each */
	unsigned ncpus;
	double seconds;	     /* for each group of measures */
	unsigned passes;     /* at most PASSES_MAX */
	uint64_t file_bytes; /* of the scratch file, at most */
	const char *dir;     /* where that file is */
	const char *sys;     /* "/sys" */
};

/* What came out of one measure. All zeros: it was not asked for. */
struct measure {
	double pass[PASSES_MAX]; /* rates, in the unit of the peak */
	unsigned npasses;	 /* 0: there is no result, and error says why */
	double cpu_share; /* how much of their CPUs the threads had; 0: does not matter here */
	char how[256];	  /* what was measured, for people; "" nothing */
	char error[256];
	bool absent; /* with an error: this node does not have it, which is no failure */
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
/* Median, minimum and maximum of the passes. */
struct peak measure__peak(const struct measure *m);
/* (maximum - minimum) / median; NaN for fewer than two passes. */
double measure__spread(const struct measure *m);
void measure__fail(struct measure *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* True as long as another pass may begin: began is the clock__mono_ns() of the first. */
bool measure__goes_on(const struct measure *m, const struct measure_opts *o, uint64_t began);

#endif
