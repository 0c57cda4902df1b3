/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bursts: what a thread computes between two voluntary waits. A preemption does not end a burst;
 * the time that it takes is known and is not the burst's.
 */
#ifndef JP_ANALYSIS_BURST_H
#define JP_ANALYSIS_BURST_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/status.h"

enum burst_event {
	BURST_IN,      /* the thread got a CPU, or left a call that is not computation */
	BURST_PREEMPT, /* the thread lost the CPU although it could run */
	BURST_BLOCK,   /* the thread waits, or enters such a call */
};

/* The events of one thread in time order: t in any unit, and n rows of ncounters cumulative counts,
 * NaN where a counter was not read. */
struct burst_stream {
	const double *t;
	const enum burst_event *event;
	const double *counts;
	size_t n, ncounters;
};

/* Times in the unit of the stream. */
struct burst {
	double start, end;
	double wall;		/* end - start */
	double preempted;	/* the part without a CPU */
	double on_cpu;		/* wall - preempted */
	double preempted_share; /* preempted / wall */
};

#define BURST_MIN_ON_CPU_US 1000 /* the default of BSC's clustering tools */

struct bursts {
	struct burst *bursts;
	double *counts; /* n rows of ncounters: end less start */
	size_t n, ncounters;
	size_t filtered_n;    /* bursts with less time on the CPU than the minimum */
	double filtered_time; /* the sum of their on_cpu */
	bool is_open;	      /* the last burst had not ended; it is not among the others */
};

/* ANALYSIS_INSUFFICIENT: no burst is left; the counts of what was filtered are set. Release the
 * result with bursts__free(). */
enum analysis_status burst__extract(const struct burst_stream *s, double min_on_cpu,
				    struct bursts *b);
void bursts__free(struct bursts *b);

/* The largest power of 2 such that the bursts of at least this length have 90 % or more of the sum
 * of on_cpu. Values that are NaN or not positive do not count. ANALYSIS_INSUFFICIENT: no value
 * counts, *min_on_cpu is NaN. */
enum analysis_status burst__choose_filter(const double *on_cpu, size_t n, double *min_on_cpu);

#endif
