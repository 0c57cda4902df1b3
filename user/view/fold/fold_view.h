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
	const char *region; /* name; NULL: no region was named, and its period was found */
	size_t instances, threads, samples;
	double period_s;    /* mean of those that were kept */
	const char *locked; /* why the result is not to be used; NULL: it is */
	struct fold_result of[POINT_COUNTERS];
	bool known[POINT_COUNTERS]; /* it was counted, and folded */
	enum point_counter shown;
	struct fold_phase phases[FOLD_PHASES];
	size_t nphases;
	double lost_points, lost_regions;
};

/* Says what a code of fold_trace is, and where: "the program + 0x1200"; */
void fold_view__code(uint64_t code, char *text, size_t size);
#define FOLD_CODE(kind, place) ((uint64_t)(kind) << 56 | ((place) >> FOLD_CODE_SHIFT))
#define FOLD_CODE_SHIFT	       8

/* Counts per second in a phase; NaN: not known. */
double fold_view__rate(const struct folded *f, enum point_counter c, const struct fold_phase *p);
/* "good", "weak" */
const char *fold_view__validity(const struct folded *f, char *why, size_t size);

void fold_text__print(const struct folded *f, FILE *out, unsigned width, bool utf8);
void fold_svg__print(const struct folded *f, FILE *out);
/* curves: with the values of the curves, too. NULL: no memory. */
json_t *fold_json__of(const struct folded *f, bool curves);

#endif
