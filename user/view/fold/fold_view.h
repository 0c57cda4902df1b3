/* SPDX-License-Identifier: GPL-2.0-only */
/* A folded region as text for a terminal, as SVG and as JSON. */
#ifndef JP_VIEW_FOLD_VIEW_H
#define JP_VIEW_FOLD_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "analysis/fold/fold_trace.h"
#include "model/points.h"

#define FOLD_CURVE 1000 /* values of a curve */

struct folded {
	const char *region; /* name; NULL: no region was named, and iterations were found */
	double wait_s;	    /* those of bursts, which end with such a wait or a longer one; NaN: of
			       samples */
	size_t instances, threads, samples;
	double period_s;    /* mean of those that were kept */
	const char *locked; /* why the result is not to be used; NULL: it is */
	struct fold_result of[POINT_COUNTERS];
	bool known[POINT_COUNTERS]; /* it was counted, and folded */
	const char
		*flawed[POINT_COUNTERS]; /* why it has no curve although it was counted, or NULL */
	enum point_counter shown;
	const char *event;		       /* name of POINT_EVENT; NULL: none was asked for */
	struct fold_phase phases[FOLD_PHASES]; /* their code: one of FOLD_CODE... */
	char *const *functions;		       /* their names */
	size_t nphases;
	double scatter; /* of CPU time, see struct fold_validity */
	double lost_points, lost_regions;
};

/*
 * A code of fold_trace: what kind of file it is from, and in which 256 bytes of the program; of a
 * function that is known also its number, from 1 on.
 */
#define FOLD_CODE(kind, place) ((uint64_t)(kind) << 56 | ((place) >> FOLD_CODE_SHIFT))
#define FOLD_CODE_SHIFT	       8
#define FOLD_FUNCTION(number, place)                              \
	(FOLD_NAMED | (uint64_t)(number) << FOLD_FUNCTION_SHIFT | \
	 (((place) >> FOLD_CODE_SHIFT) & FOLD_BLOCK_MASK))
#define FOLD_NAMED	    (1ull << 55)
#define FOLD_FUNCTION_SHIFT 34
#define FOLD_BLOCK_MASK	    ((1ull << FOLD_FUNCTION_SHIFT) - 1)

/* Says what it is, and where: "the program + 0x1200", "main", "main (at 0x1200)" where the code has
 * the block, too. */
void fold_view__code(const struct folded *f, uint64_t code, char *text, size_t size);
#define FOLD_TEXT 512

/* The same of a phase, and of one that mostly does not run, what it executes else. */
void fold_view__phase(const struct folded *f, const struct fold_phase *p, char *text, size_t size);

/* The counter's name; NULL: it is the event, and there is none. */
const char *fold_view__counter(const struct folded *f, enum point_counter c);
/* Counts per second in a phase, as they are estimated; NaN: not known. */
double fold_view__rate(const struct folded *f, enum point_counter c, const struct fold_phase *p);
/* An estimated rate, as it can be: a thread has at most one CPU. */
double fold_view__possible(enum point_counter c, double rate);
/* Why a counter is not folded; NULL: it is. */
const char *fold_view__missing(const struct folded *f, enum point_counter c);
/* How far a bound between phases may be off, 95 % sure: that which is least known. NaN: there is no
 * bound. */
double fold_view__bounds(const struct folded *f);
/* "good", "weak" */
const char *fold_view__validity(const struct folded *f, char *why, size_t size);

void fold_text__print(const struct folded *f, FILE *out, unsigned width, bool utf8);
void fold_svg__print(const struct folded *f, FILE *out);
/* curves: with the values of the curves, too. NULL: no memory. */
json_t *fold_json__of(const struct folded *f, bool curves);

#endif
