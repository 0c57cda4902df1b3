// SPDX-License-Identifier: GPL-2.0-only
/* Folding without markers: the iterations of a period, whose phase is followed over time. */
#include <math.h>
#include <stdlib.h>

#include "analysis/fold/fold_period.h"
#include "analysis/fold/fold_windows.h"
#include "base/cleanup.h"

#define HARMONICS    8	  /* of the period, which place its edges */
#define ALIGN	     0.05 /* of a period, to both sides */
#define ALIGN_STEPS  100  /* on each */
#define ALIGN_ROUNDS 3
#define LINE_WINDOWS 5	 /* fewer tell no line */
#define NO_DRIFT     1.2 /* 2 by chance, in the mean */

/* Cycles until a window's middle, by its phase against what all windows have in common. */
struct fix {
	double t, phase, cycles;
	bool strong; /* it iterates there */
	double complex z[HARMONICS][FOLD_CODES];
};

static double middle(const struct fold_windows *ws, const struct fold_window *w)
{
	return (ws->t->samples[w->from].t + ws->t->samples[w->to - 1].t) / 2;
}

/* Adds a window, turned back by its phase; sign -1 takes it out again. */
static void add_turned(double complex common[HARMONICS][FOLD_CODES], const struct fix *f,
		       double sign)
{
	for (unsigned h = 0; h < HARMONICS; h++) {
		double complex turn = sign * cexp(-I * FOLD_TAU * (h + 1) * f->phase);

		for (unsigned k = 0; k < FOLD_CODES; k++)
			common[h][k] += f->z[h][k] * turn;
	}
}

/* How well a window, turned back by a phase, fits to what the others have in common. */
static double likeness(const double complex common[HARMONICS][FOLD_CODES], const struct fix *f,
		       double phase)
{
	double sum = 0;

	for (unsigned h = 0; h < HARMONICS; h++) {
		double complex all = 0;

		for (unsigned k = 0; k < FOLD_CODES; k++)
			all += f->z[h][k] * conj(common[h][k]);
		sum += creal(all * cexp(-I * FOLD_TAU * (h + 1) * phase));
	}
	return sum;
}

/* The phases by the period alone, each the nearest to the window before. */
static void follow(struct fix *fix, unsigned n, double complex common[HARMONICS][FOLD_CODES])
{
	double before = 0;

	for (unsigned i = 0; i < n; i++) {
		double complex turn = 0;

		for (unsigned k = 0; k < FOLD_CODES; k++)
			turn += fix[i].z[0][k] * conj(common[0][k]);
		fix[i].phase = i ? carg(turn) / FOLD_TAU : 0;
		fix[i].phase += round(before - fix[i].phase);
		before = fix[i].phase;
		add_turned(common, &fix[i], 1);
	}
}

/* The phases by the harmonics, too, which know where one code follows another. */
static void align(struct fix *fix, unsigned n, double complex common[HARMONICS][FOLD_CODES])
{
	for (unsigned i = 0; i < n; i++) {
		double best = -INFINITY, at = fix[i].phase;

		add_turned(common, &fix[i], -1);
		for (int step = -ALIGN_STEPS; step <= ALIGN_STEPS; step++) {
			double phase = at + ALIGN * step / ALIGN_STEPS;
			double like = likeness(common, &fix[i], phase);

			if (like > best) {
				best = like;
				fix[i].phase = phase;
			}
		}
		add_turned(common, &fix[i], 1);
	}
}

/*
 * Iterations of one length: what is left of the phases behind a line is noise, so that windows are
 * no more like their neighbours than like others. That is so where the squares of the differences
 * of neighbours are about twice those of what is left (J. von Neumann, "Distribution of the ratio
 * of the mean square successive difference to the variance", 1941). Then the line is nearer to the
 * truth than the phases.
 */
static void straighten(struct fix *fix, unsigned n)
{
	double t = 0, phase = 0, tt = 0, tp = 0, left = 0, steps = 0, before = 0, slope;

	for (unsigned i = 0; i < n; i++) {
		t += fix[i].t / n;
		phase += fix[i].phase / n;
	}
	for (unsigned i = 0; i < n; i++) {
		tt += (fix[i].t - t) * (fix[i].t - t);
		tp += (fix[i].t - t) * (fix[i].phase - phase);
	}
	slope = tt > 0 ? tp / tt : 0;
	for (unsigned i = 0; i < n; i++) {
		double rest = fix[i].phase - phase - slope * (fix[i].t - t);

		left += rest * rest;
		steps += i ? (rest - before) * (rest - before) : 0;
		before = rest;
	}
	if (n < LINE_WINDOWS || steps < NO_DRIFT * left)
		return;
	for (unsigned i = 0; i < n; i++)
		fix[i].phase = phase + slope * (fix[i].t - t);
}

static void find_fixes(const struct fold_windows *ws, double hz, double shift, struct fix *fix)
{
	double complex common[HARMONICS][FOLD_CODES] = {0};

	for (unsigned i = 0; i < ws->n; i++) {
		fix[i].t = middle(ws, &ws->w[i]);
		fix[i].strong = fold_windows__is_strong(ws, &ws->w[i], hz);
		for (unsigned h = 0; h < HARMONICS; h++)
			fold_windows__transform(ws, &ws->w[i], (h + 1) * hz, fix[i].z[h]);
	}
	follow(fix, ws->n, common);
	for (unsigned round = 0; round < ALIGN_ROUNDS; round++)
		align(fix, ws->n, common);
	straighten(fix, ws->n);
	for (unsigned i = 0; i < ws->n; i++)
		fix[i].cycles = hz * fix[i].t + fix[i].phase - shift;
}

/* Between two windows the thread iterates: it may do something else for a while. */
static bool is_followed(const struct fix *fix, unsigned i)
{
	return fix[i].strong && fix[i + 1].strong;
}

size_t fold_period__instances(const struct fold_trace *t, const struct fold_period *p, double shift,
			      struct fold_instance *out, size_t max)
{
	_cleanup_free_ struct fix *fix = NULL;
	struct fold_windows ws;
	size_t n = 0;

	if (fold_windows__cut(&ws, t, p->window_s) && ws.n > 1)
		fix = calloc(ws.n, sizeof(*fix));
	if (fix) {
		find_fixes(&ws, 1 / p->period_s, shift, fix);
		for (unsigned i = 0; i + 1 < ws.n; i++) {
			const size_t first = n;
			double rate =
				(fix[i + 1].cycles - fix[i].cycles) / (fix[i + 1].t - fix[i].t);

			for (double c = ceil(fix[i].cycles);
			     is_followed(fix, i) && rate > 0 && c < fix[i + 1].cycles && n < max;
			     c++) {
				double at = fix[i].t + (c - fix[i].cycles) / rate;

				if (n > first || (n && i && is_followed(fix, i - 1)))
					out[n - 1].t1 = at;
				out[n++] = (struct fold_instance){.t0 = at, .t1 = at + p->period_s};
			}
		}
	}
	fold_windows__free(&ws);
	return n;
}
