/* SPDX-License-Identifier: GPL-2.0-only */
/* A thread's samples cut into windows of time, and how often each has the codes at a frequency. */
#ifndef JP_ANALYSIS_FOLD_WINDOWS_H
#define JP_ANALYSIS_FOLD_WINDOWS_H

#include <complex.h>

#include "analysis/fold/fold_trace.h"

#define FOLD_CODES  8  /* the most frequent */
#define FOLD_LEAST  20 /* samples of a window */
#define FOLD_TAU    6.283185307179586
#define FOLD_STRONG 4.0 /* times what chance gives, and what is beside */

struct fold_window {
	size_t from, to; /* samples */
	double mean[FOLD_CODES];
	double squares; /* of the tapers */
};

/* A sample: it counts less near the ends of its window. */
struct fold_tapered {
	double taper;
	unsigned number; /* of its code; ncodes: another one */
};

struct fold_windows {
	const struct fold_trace *t;
	uint64_t code[FOLD_CODES];
	unsigned ncodes, n;
	struct fold_window *w;
	struct fold_tapered *s; /* of all samples */
	double length_s;
	double null; /* power of any frequency by chance */
};

/* Windows of so many seconds, those of fewer than FOLD_LEAST samples left out. Returns false
 * without memory. fold_windows__free() in all cases. */
bool fold_windows__cut(struct fold_windows *ws, const struct fold_trace *t, double length_s);
void fold_windows__free(struct fold_windows *ws);

/* The codes of a window at a frequency, as one number each, less what is there at all times. */
void fold_windows__transform(const struct fold_windows *ws, const struct fold_window *w, double hz,
			     double complex z[FOLD_CODES]);

/* The power of all codes together, in a window. */
double fold_windows__power(const struct fold_windows *ws, const struct fold_window *w, double hz);
/* Steps of frequency between which no line is missed, Hz. */
double fold_windows__step(const struct fold_windows *ws);
/* Whether a window's power at a frequency or next to it is no chance. */
bool fold_windows__is_strong(const struct fold_windows *ws, const struct fold_window *w, double hz);

#endif
