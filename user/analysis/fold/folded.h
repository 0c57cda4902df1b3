/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folded region: what happens inside a region that was executed many times. */
#ifndef JP_ANALYSIS_FOLDED_H
#define JP_ANALYSIS_FOLDED_H

#include <stdbool.h>

#include "analysis/fold/fold_trace.h"
#include "model/points.h"

#define FOLD_CURVE 1000 /* values of a curve */

struct folded {
	const char *region; /* name; NULL: no region was named, and iterations were found */
	double wait_s; /* iterations were found by bursts, and end with a wait of at least so long;
			  NaN: they were found by samples */
	size_t instances, threads, samples;
	double period_s;    /* mean length of the instances that were kept */
	const char *locked; /* why the result is not to be used; NULL: it is */
	struct fold_result of[POINT_COUNTERS];
	bool known[POINT_COUNTERS]; /* it was counted, and folded */
	const char
		*flawed[POINT_COUNTERS]; /* why it has no curve although it was counted, or NULL */
	enum point_counter shown;
	const char *event; /* name of POINT_EVENT; NULL: none was asked for */
	struct fold_phase
		phases[FOLD_PHASES]; /* their code is one of FOLD_CODE() or FOLD_FUNCTION() */
	char *const *functions;	     /* their names */
	size_t nphases;
	double scatter; /* of CPU time, see struct fold_validity */
	double lost_points, lost_regions;
};

/*
 * A code of fold_trace: the kind of its file, and the block of 256 bytes in the program; where the
 * function is known, also its number, from 1 on.
 */
#define FOLD_CODE(kind, place) ((uint64_t)(kind) << 56 | ((place) >> FOLD_CODE_SHIFT))
#define FOLD_CODE_SHIFT	       8
#define FOLD_FUNCTION(number, place)                              \
	(FOLD_NAMED | (uint64_t)(number) << FOLD_FUNCTION_SHIFT | \
	 (((place) >> FOLD_CODE_SHIFT) & FOLD_BLOCK_MASK))
#define FOLD_NAMED	    (1ull << 55)
#define FOLD_FUNCTION_SHIFT 34
#define FOLD_BLOCK_MASK	    ((1ull << FOLD_FUNCTION_SHIFT) - 1)

struct fold_query {
	const char *region;	    /* NULL: the one that took most time */
	enum point_counter counter; /* POINT_EVENT: the points' event */
	double nugget;
};

/* Folds what p has; region names stay p's. 0; -ENOENT: no such region; -ENODATA: there is no
 * execution of it with a sample; -ENOMEM. */
int folded__of(struct folded *f, const struct points *p, const struct fold_query *q);
void folded__free(struct folded *f);

/* Counts per second in a phase, as they are estimated; NaN: not known. */
double folded__rate(const struct folded *f, enum point_counter c, const struct fold_phase *p);
/* An estimated rate, as it can be: a thread has at most one CPU. */
double folded__possible(enum point_counter c, double rate);
/* How far a bound between phases may be off, 95 % sure, for the least certain bound. NaN: there is
 * no bound. */
double folded__bounds(const struct folded *f);

/* Gives each phase the function that most of its samples were in, and the share of these samples. A
 * phase next to another phase of the same function also has its place in the function. x[n],
 * code[n]: all samples. False: no memory. */
bool fold_names__phases(struct folded *f, const double *x, const uint64_t *code, size_t n);

/* The largest difference, over all functions, between a function's share of the n samples at x and
 * the length of its phases; NaN: not known. */
double fold_names__misplaced(const struct folded *f, const double *x, const uint64_t *code,
			     size_t n);

#endif
