/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A summary of the rows of one series over any number of nodes: moments and a histogram for each
 * column, a sample of rows, and the files and nodes that it covers. Its size does not grow with the
 * number of rows. Reductions are merged in any order with the same result, and travel as bytes
 * (payload.h) from process to process and into files.
 */
#ifndef JP_ANALYSIS_REDUCTION_REDUCTION_H
#define JP_ANALYSIS_REDUCTION_REDUCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/reduce.h"
#include "base/string_list.h"

#define LOG_HISTOGRAM_PARTS 4	/* bins per power of 2 */
#define LOG_HISTOGRAM_LEAST -40 /* numbers smaller than 2^-40 are in the bin of 0 */
#define LOG_HISTOGRAM_MOST  64	/* 2^64 and larger ones are in the last bin */
#define LOG_HISTOGRAM_SIDE  (LOG_HISTOGRAM_PARTS * (LOG_HISTOGRAM_MOST - LOG_HISTOGRAM_LEAST))
#define LOG_HISTOGRAM_BINS  (2 * LOG_HISTOGRAM_SIDE + 1)

/* A histogram of numbers of any size and sign. Each power of 2 of the absolute value has four bins
 * of equal width, so that no bin is wider than a quarter of its lower bound. Bins of negative
 * numbers come first, the farthest from 0 before the others; then that of 0, then the positive
 * ones. */
struct log_histogram {
	uint64_t n[LOG_HISTOGRAM_BINS];
};

/* Adds a finite number. */
void log_histogram__add(struct log_histogram *h, double v);

/* The bounds of a bin. The outermost bins end at infinity. */
struct log_bin {
	double low, high;
};
struct log_bin log_histogram__bin(unsigned bin);
/* The bin of quantile q, 0..1: at least the part q of all numbers is not above its value. NaN for
 * an empty histogram. */
struct log_bin log_histogram__quantile(const struct log_histogram *h, double q);

#define REDUCTION_COLUMNS 4096u	 /* at most; more than a file's tables can have */
#define REDUCTION_K	  100u	 /* rows of a sample by default */
#define REDUCTION_K_MAX	  50000u /* rows of a sample at most */
#define REDUCTION_SEED	  0u
#define REDUCTION_ENOUGH \
	0.9 /* where a smaller part of the files was read, a result is called degraded */

struct reduction_column {
	char *name, *unit;
	struct moments moments;
	uint64_t unknown; /* rows without a value */
	struct log_histogram histogram;
};

/* A row of the sample. */
struct reduction_item {
	uint64_t key;
	char *place, *table; /* "42.0/n1", "3" */
	uint64_t row;	     /* in its table, from 0 */
	double *values;	     /* of the first nvalues columns; the others are not known */
	unsigned nvalues;
};

/* A list of files; this reduction covers a part of them. */
struct reduction_list {
	uint64_t id;
	uint64_t n;
	uint8_t *read, *damaged; /* a bit per file: it was read, wholly or in part; it was read, but
				    not wholly */
};

struct reduction {
	char *series;
	uint64_t seed;
	unsigned k;
	struct reduction_column **columns; /* see reduction__order() */
	unsigned ncolumns;
	/* Up to 2 k while rows are added; the k with the smallest keys after reduction__order(). */
	struct reduction_item *items;
	unsigned nitems;
	size_t room;
	struct reduction_list *lists;
	unsigned nlists;
	struct string_list places; /* steps of nodes with rows, ascending */
	uint64_t tables, rows;
	uint64_t processes; /* number of processes that made it */
	double cpu_s;	    /* CPU time of these processes */
};

/* 0 or -ENOMEM; reduction__free() in both cases. */
int reduction__init(struct reduction *r, const char *series, uint64_t seed, unsigned k);
void reduction__free(struct reduction *r);

/* The index of a column, which is added if there is none of that name. -ENOMEM; -E2BIG: too many.
 */
int reduction__column(struct reduction *r, const char *name, const char *unit);
/* Adds a step of a node to the places. 0; -EEXIST: it is there already; -ENOMEM. */
int reduction__place(struct reduction *r, const char *place);
/* The reduction is over a list of n files, none of which was read so far. 0 or -ENOMEM. */
int reduction__list(struct reduction *r, uint64_t list, uint64_t n);
/* File i of a list of n was read. 0 or -ENOMEM. */
int reduction__file(struct reduction *r, uint64_t list, uint64_t n, uint64_t i, bool damaged);

/* Where rows come from. */
struct reduction_table {
	const char *place, *name;
	const int *columns; /* of the reduction, for each value of a row */
	unsigned n;
	uint64_t unit; /* of reduction__unit() */
};

/* A hash of what a row belongs to, for sample_item__of(seed ^ unit, 0, row). */
uint64_t reduction__unit(const char *place, const char *table);
/* A value that is not finite is not known. 0 or -ENOMEM. */
int reduction__row(struct reduction *r, const struct reduction_table *t, uint64_t row,
		   const double *values);
/* Adds the values of a row, but not the row to the sample. */
void reduction__sums(struct reduction *r, const struct reduction_table *t, const double *values);
/* The first column of that name; -1: there is none. */
int reduction__find(const struct reduction *r, const char *name);

/* Adds another reduction. 0; -EINVAL: its series, seed or k differ; -EEXIST: both have rows of
 * *place, nothing is merged; -E2BIG; -ENOMEM: parts may be merged. */
int reduction__merge(struct reduction *r, const struct reduction *from, const char **place);

/* Sorts columns as schemas/ have them, with others behind these by name; sorts items ascending, and
 * leaves k of them. */
void reduction__order(struct reduction *r);

struct reduction_coverage {
	uint64_t files, read, damaged;
	double part; /* of the files, those that were read wholly; NaN: there is no list */
	bool is_enough;
};
/* `second` was made by a second pass over the same files: files that it lacks count as not wholly
 * read. */
void reduction__cover(struct reduction *r, const struct reduction *second);
struct reduction_coverage reduction__coverage(const struct reduction *r);

/* A copy of an item; column i of its values is column at[i] here. */
int reduction_items__add(struct reduction *r, const struct reduction_item *from, const int *at);

#endif
