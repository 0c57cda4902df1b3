// SPDX-License-Identifier: GPL-2.0-only
/* Folding without markers: the frequency of the codes that samples executed. */
#include "analysis/fold/fold_period.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/fold/fold_windows.h"
#include "analysis/order.h"
#include "base/cleanup.h"

#define PERIODS	   4.0 /* at least, of a window */
#define HIGHEST_HZ 100.0
#define WINDOW_S   2.0	  /* the shortest */
#define OCTAVES	   8	  /* the longest window is 2^7 of these */
#define FINE	   10	  /* smaller ones, of a step */
#define NEAR	   0.4	  /* of a step: the same frequency */
#define WINDOWS	   4	  /* fewer of the longer ones say nothing, */
#define SHORT	   5	  /* and of the shortest ones */
#define MOST	   0.7	  /* of the windows */
#define MULTIPLE   8	  /* of the period that may be part of a longer one */
#define SURE	   3	  /* times that must be known not to be */
#define ENOUGH	   0.9	  /* of PERIODS: frequencies are not exact */
#define VARIED	   1.05	  /* the third quartile of times between samples, over the first */
#define SAMPLES	   120000 /* that are looked at: 20 minutes */
#define PART	   0.1	  /* of its power, then */
#define NEAREST	   2.5	  /* to what is beside a frequency, over the inverse of a window; */
#define FARTHEST   4.5	  /* and from it */

static double power(const struct fold_windows *ws, double hz)
{
	double sum = 0;

	for (unsigned i = 0; i < ws->n; i++)
		sum += fold_windows__power(ws, &ws->w[i], hz);
	return sum;
}

/* Whether the times between samples change, as faster loops ask for. */
static bool is_varied(const struct fold_trace *t)
{
	_cleanup_free_ double *d = calloc(t->nsamples + 1, sizeof(*d));
	size_t n = t->nsamples - 1;

	if (!d)
		return false;
	for (size_t i = 0; i < n; i++)
		d[i] = t->samples[i + 1].t - t->samples[i].t;
	qsort(d, n, sizeof(*d), order__doubles);
	return d[n * 3 / 4] >= VARIED * d[n / 4];
}

/* Moves a frequency to the highest power within a step. Returns that. */
static double sharpen(const struct fold_windows *ws, double *at)
{
	double step = fold_windows__step(ws), middle = *at, best = 0;

	for (int i = -FINE; i <= FINE; i++) {
		double hz = middle + i * step / FINE, p = power(ws, hz);

		if (p > best) {
			best = p;
			*at = hz;
		}
	}
	return best;
}

/* Powers of frequencies, a step from one to the next. */
struct spectrum {
	double from, step;
	double *v;
	size_t n;
};

static bool take_spectrum(struct spectrum *s, const struct fold_windows *ws, double from, double to)
{
	s->step = fold_windows__step(ws);
	s->from = from - FARTHEST / ws->length_s;
	s->n = (size_t)((to + FARTHEST / ws->length_s - s->from) / s->step) + 1;
	s->v = calloc(2 * s->n, sizeof(*s->v));
	for (size_t i = 0; s->v && i < s->n; i++)
		s->v[i] = power(ws, s->from + (double)i * s->step);
	return s->v;
}

/* The median power of the frequencies around. Where changes come at no set times, it is nearly as
 * high. */
static double beside(const struct spectrum *s, const struct fold_windows *ws, size_t at)
{
	double hz = s->from + (double)at * s->step, *around = s->v + s->n;
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		double away = fabs(s->from + (double)i * s->step - hz) * ws->length_s;

		if (away >= NEAREST && away <= FARTHEST)
			around[n++] = s->v[i];
	}
	qsort(around, n, sizeof(*around), order__doubles);
	return n ? around[n / 2] : INFINITY;
}

/* The clock of the samples changes four times a second: what that makes of a faster loop is at
 * another frequency then, and not in most windows. */
static bool is_steady(const struct fold_windows *ws, double hz)
{
	unsigned strong = 0;

	for (unsigned i = 0; i < ws->n; i++)
		strong += fold_windows__is_strong(ws, &ws->w[i], hz);
	return strong >= MOST * ws->n;
}

/* The highest power from one frequency to another, and where, if that is no chance; else 0. */
static double line_of(const struct fold_windows *ws, double from, double to, double *at)
{
	struct spectrum s;
	double best = 0;

	if (!take_spectrum(&s, ws, from, to))
		return 0;
	for (size_t i = 1; i + 1 < s.n; i++) {
		double hz = s.from + (double)i * s.step;

		if (hz >= from && hz <= to && s.v[i] > best && s.v[i] > FOLD_STRONG * ws->null &&
		    s.v[i] >= s.v[i - 1] && s.v[i] >= s.v[i + 1] &&
		    s.v[i] > FOLD_STRONG * beside(&s, ws, i) && is_steady(ws, hz)) {
			best = s.v[i];
			*at = hz;
		}
	}
	free(s.v);
	return best > 0 ? sharpen(ws, at) : 0;
}

/* The windows of a frequency are the shortest ones that have some periods of it. */
static double window_of(double hz)
{
	double length_s = WINDOW_S;

	while (length_s * hz < ENOUGH * PERIODS)
		length_s *= 2;
	return length_s;
}

/*
 * A period may be a part of a longer one, in which the same code is executed several times.
 * ANALYSIS_OK: it is, and *p is the longer one; ANALYSIS_UNAVAILABLE: it is none that many times;
 * ANALYSIS_INSUFFICIENT: there are too few windows to say so.
 */
static enum analysis_status part_of(const struct fold_trace *t, double hz, unsigned times,
				    struct fold_period *p)
{
	const double wanted = hz / times, length_s = window_of(wanted);
	/* Of short periods many are near a frequency that the clock of the samples makes of them.
	 */
	const double near = length_s > WINDOW_S ? 1 : NEAR;
	double at = NAN, best = 0;
	enum analysis_status status = ANALYSIS_NO_MEMORY;
	struct fold_windows ws;

	if (fold_windows__cut(&ws, t, length_s)) {
		double step = fold_windows__step(&ws);

		if (ws.n > 1)
			best = line_of(&ws, wanted - step, wanted + step, &at);
		status = ws.n < 2 ? ANALYSIS_INSUFFICIENT : ANALYSIS_UNAVAILABLE;
		if (best > PART * power(&ws, hz) && fabs(at - wanted) <= near * step)
			status = ws.n < WINDOWS ? ANALYSIS_INSUFFICIENT : ANALYSIS_OK;
	}
	if (status == ANALYSIS_OK)
		*p = (struct fold_period){1 / at, best / ws.null, length_s};
	fold_windows__free(&ws);
	return status;
}

/* The shortest period that stands out; its frequency, 0: there is none. */
static double shortest(const struct fold_trace *t, struct fold_period *p)
{
	double length_s = WINDOW_S, hz = NAN, best = 0;

	for (unsigned i = 0; !(best > 0) && i < OCTAVES; i++) {
		const double from = ENOUGH * PERIODS / length_s,
			     to = i ? 2 * PERIODS / length_s : HIGHEST_HZ;
		struct fold_windows ws;

		if (fold_windows__cut(&ws, t, length_s) && ws.null > 0 &&
		    ws.n >= (i ? WINDOWS : SHORT))
			best = line_of(&ws, from, to, &hz);
		if (best > 0)
			*p = (struct fold_period){1 / hz, best / ws.null, length_s};
		length_s *= 2;
		fold_windows__free(&ws);
	}
	return best > 0 ? hz : 0;
}

/* The middle SAMPLES of the trace: these are enough to find the period. */
static struct fold_trace middle_of(const struct fold_trace *t)
{
	size_t n = t->nsamples < SAMPLES ? t->nsamples : SAMPLES, from = (t->nsamples - n) / 2;

	return (struct fold_trace){
		.samples = t->samples + from, .code = t->code + from, .nsamples = n};
}

enum analysis_status fold_period__find(const struct fold_trace *t, struct fold_period *p)
{
	const struct fold_trace middle = middle_of(t);
	enum analysis_status status;
	double hz;

	*p = (struct fold_period){NAN, NAN, NAN};
	if (t->nsamples < 10 * FOLD_LEAST || !is_varied(&middle))
		return ANALYSIS_INSUFFICIENT;
	hz = shortest(&middle, p);
	for (unsigned times = MULTIPLE; hz > 0 && times > 1; times--) {
		status = part_of(&middle, hz, times, p);
		if (status == ANALYSIS_OK || status == ANALYSIS_NO_MEMORY ||
		    (status == ANALYSIS_INSUFFICIENT && times <= SURE))
			return status;
	}
	return hz > 0 ? ANALYSIS_OK : ANALYSIS_INSUFFICIENT;
}
