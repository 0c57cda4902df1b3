/* SPDX-License-Identifier: GPL-2.0-only */
/* The numbers of "jobprof show", out of tables in memory. */
#ifndef JP_CMD_JOBPROF_SHOW_CALC_H
#define JP_CMD_JOBPROF_SHOW_CALC_H

#include "bpf/jobprof.h"
#include "hdf5/reader.h"

/* Over a column's known values; NaN when there is no such column or none is known. */
double calc__sum(const struct table *t, const char *column);
double calc__max(const struct table *t, const char *column);
double calc__last(const struct table *t, const char *column);
double calc__mean(const struct table *t, const char *column);

/* When each row ended, in seconds since the step's start: from TimeNS and start_ns (NaN: not
 * known), else from ElapsedTime. nrows values, to be freed; NULL without memory or rows. */
double *calc__times(const struct table *t, double start_ns);

/*
 * Rows as n equal bins over [0, wall] s: the value of a row holds from the row before to its own
 * end; bins are means weighted by time, NaN where nothing is known. With rate set, values are
 * per-interval amounts and are divided by the interval first.
 */
void calc__bins(const double *end, const double *v, uint64_t rows, double wall, bool rate,
		double *bins, unsigned n);

/* Sums of the columns <prefix>0..<prefix>39; returns how many values there are in all. */
double calc__histogram(const struct table *t, char prefix, double counts[JP_LAT_BUCKETS]);
/* Upper bound, in ns, of the bucket that holds quantile q (0..1]; NaN when all are empty. */
double calc__quantile(const double counts[JP_LAT_BUCKETS], double q);

/* CPUs in a list such as "0-3,8", or a plain number n given alone as text; 0: neither. */
unsigned calc__cpu_count(const char *list);

#endif
