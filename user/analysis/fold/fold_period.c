// SPDX-License-Identifier: GPL-2.0-only
/* Folding without markers: the frequency of the codes that samples executed, and its phase over
 * time. */
#include "analysis/fold/fold_period.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/order.h"
#include "base/cleanup.h"

#define CODES	     8	 /* the most frequent */
#define LEAST	     20	 /* samples of a window */
#define PERIODS	     4.0 /* at least, of a window */
#define HIGHEST_HZ   100.0
#define WINDOW_S     2.0    /* the shortest */
#define OCTAVES		8	  /* the longest window is 2^7 of these */
#define STEPS	     5.0    /* of frequency, to the inverse of a window */
#define FINE	     10	    /* smaller ones, of a step */
#define NEAR	     0.4    /* of a step: the same frequency */
#define STRONG	     4.0    /* times what chance gives, and what is beside */
#define WINDOWS	     4	    /* fewer of the longer ones say nothing */
#define MULTIPLE     8	    /* of the period that may be part of a longer one */
#define SURE	     3	    /* times that must be known not to be */
#define ENOUGH	     0.9    /* of PERIODS: frequencies are not exact */
#define SAMPLES	120000 /* that are looked at: 20 minutes */
#define PART	     0.1    /* of its power, then */
#define NEAREST	     1.5    /* to what is beside a frequency, over the inverse of a window; */
#define FARTHEST     3.5    /* and from it */
#define HARMONICS    8	    /* of the period, which place its edges */
#define ALIGN	     0.05   /* of a period, to both sides */
#define ALIGN_STEPS  100    /* on each */
#define ALIGN_ROUNDS 3
#define LINE_WINDOWS 5	 /* fewer tell no line */
#define NO_DRIFT     1.2 /* 2 by chance, in the mean */
#define TAU	     6.283185307179586

struct window {
	size_t from, to; /* samples */
	double mean[CODES];
};

struct windows {
	const struct fold_trace *t;
	uint64_t code[CODES];
	unsigned ncodes, n;
	struct window *w;
	double length_s;
	double null; /* power of any frequency by chance */
};

struct tally {
	uint64_t code;
	size_t n;
};

static int by_code(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int by_number(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;

	return x->n > y->n ? -1 : x->n < y->n;
}

static bool choose_codes(struct windows *ws)
{
	size_t n = ws->t->nsamples, kinds = 0;
	_cleanup_free_ uint64_t *c = calloc(n + 1, sizeof(*c));
	_cleanup_free_ struct tally *all = calloc(n + 1, sizeof(*all));

	if (!c || !all)
		return false;
	for (size_t i = 0; i < n; i++)
		c[i] = ws->t->code[i];
	qsort(c, n, sizeof(*c), by_code);
	for (size_t i = 0; i < n; i++) {
		if (!kinds || all[kinds - 1].code != c[i])
			all[kinds++] = (struct tally){c[i], 0};
		all[kinds - 1].n++;
	}
	qsort(all, kinds, sizeof(*all), by_number);
	ws->ncodes = kinds < CODES ? (unsigned)kinds : CODES;
	for (unsigned k = 0; k < ws->ncodes; k++)
		ws->code[k] = all[k].code;
	return true;
}

static void add_window(struct windows *ws, size_t from, size_t to)
{
	struct window *w = &ws->w[ws->n];

	if (to - from < LEAST)
		return;
	*w = (struct window){.from = from, .to = to};
	for (unsigned k = 0; k < ws->ncodes; k++) {
		size_t n = 0;

		for (size_t i = from; i < to; i++)
			n += ws->t->code[i] == ws->code[k];
		w->mean[k] = (double)n / (double)(to - from);
		ws->null += w->mean[k] * (1 - w->mean[k]);
	}
	ws->n++;
}

static bool cut_windows(struct windows *ws, const struct fold_trace *t, double length_s)
{
	size_t from = 0;

	*ws = (struct windows){
		.t = t, .w = calloc(t->nsamples / LEAST + 1, sizeof(*ws->w)), .length_s = length_s};
	if (!ws->w || !choose_codes(ws))
		return false;
	for (size_t i = 1; i <= t->nsamples; i++)
		if (i == t->nsamples ||
		    (t->samples[i].t - t->samples[from].t >= length_s && i - from >= LEAST)) {
			add_window(ws, from, i);
			from = i;
		}
	return true;
}

/* The codes of a window at a frequency, as one number each. */
static void transform(const struct windows *ws, const struct window *w, double hz,
		      double complex *z)
{
	double complex all = 0;

	for (unsigned k = 0; k < CODES; k++)
		z[k] = 0;
	for (size_t i = w->from; i < w->to; i++) {
		double cycles = hz * ws->t->samples[i].t, angle = TAU * (cycles - floor(cycles));
		double complex e = cos(angle) - I * sin(angle);

		all += e;
		for (unsigned k = 0; k < ws->ncodes; k++)
			if (ws->t->code[i] == ws->code[k])
				z[k] += e;
	}
	for (unsigned k = 0; k < ws->ncodes; k++)
		z[k] -= w->mean[k] * all;
}

static double power(const struct windows *ws, double hz)
{
	double complex z[CODES];
	double sum = 0;

	for (unsigned i = 0; i < ws->n; i++) {
		transform(ws, &ws->w[i], hz, z);
		for (unsigned k = 0; k < ws->ncodes; k++)
			sum += creal(z[k] * conj(z[k])) / (double)(ws->w[i].to - ws->w[i].from);
	}
	return sum;
}

/* The usual time between two samples. */
static double interval_of(const struct fold_trace *t)
{
	_cleanup_free_ double *d = calloc(t->nsamples + 1, sizeof(*d));
	size_t n = t->nsamples - 1;

	if (!d)
		return NAN;
	for (size_t i = 0; i < n; i++)
		d[i] = t->samples[i + 1].t - t->samples[i].t;
	qsort(d, n, sizeof(*d), order__doubles);
	return d[n / 2];
}

static double step_of(const struct windows *ws)
{
	return 1 / (STEPS * ws->length_s);
}

/* Moves a frequency to the highest power within a step. Returns that. */
static double sharpen(const struct windows *ws, double *at)
{
	double step = step_of(ws), middle = *at, best = 0;

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

static bool take_spectrum(struct spectrum *s, const struct windows *ws, double from, double to)
{
	s->step = step_of(ws);
	s->from = from - FARTHEST / ws->length_s;
	s->n = (size_t)((to + FARTHEST / ws->length_s - s->from) / s->step) + 1;
	s->v = calloc(2 * s->n, sizeof(*s->v));
	for (size_t i = 0; s->v && i < s->n; i++)
		s->v[i] = power(ws, s->from + (double)i * s->step);
	return s->v;
}

/* The median power of the frequencies around. Where changes come at no set times, it is nearly as
 * high. */
static double beside(const struct spectrum *s, const struct windows *ws, size_t at)
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

/* The highest power from one frequency to another, and where, if that is no chance; else 0. */
static double line_of(const struct windows *ws, double from, double to, double *at)
{
	struct spectrum s;
	double best = 0;

	if (!take_spectrum(&s, ws, from, to))
		return 0;
	for (size_t i = 1; i + 1 < s.n; i++) {
		double hz = s.from + (double)i * s.step;

		if (hz >= from && hz <= to && s.v[i] > best && s.v[i] > STRONG * ws->null &&
		    s.v[i] >= s.v[i - 1] && s.v[i] >= s.v[i + 1] &&
		    s.v[i] > STRONG * beside(&s, ws, i)) {
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
	struct windows ws;

	if (cut_windows(&ws, t, length_s)) {
		double step = step_of(&ws);

		if (ws.n > 1)
			best = line_of(&ws, wanted - step, wanted + step, &at);
		status = ws.n < 2 ? ANALYSIS_INSUFFICIENT : ANALYSIS_UNAVAILABLE;
		if (best > PART * power(&ws, hz) && fabs(at - wanted) <= near * step)
			status = ws.n < WINDOWS ? ANALYSIS_INSUFFICIENT : ANALYSIS_OK;
	}
	if (status == ANALYSIS_OK)
		*p = (struct fold_period){1 / at, best / ws.null, length_s};
	free(ws.w);
	return status;
}

/* The shortest period that stands out; its frequency, 0: there is none. */
static double shortest(const struct fold_trace *t, struct fold_period *p)
{
	double every = interval_of(t), length_s = WINDOW_S, hz = NAN, best = 0;

	for (unsigned i = 0; every > 0 && !(best > 0) && i < OCTAVES; i++) {
		const double from = PERIODS / length_s,
			     to = i ? 2 * from : fmin(0.5 / every, HIGHEST_HZ);
		struct windows ws;

		if (cut_windows(&ws, t, length_s) && ws.null > 0 && ws.n >= (i ? WINDOWS : 1))
			best = line_of(&ws, from, to, &hz);
		if (best > 0)
			*p = (struct fold_period){1 / hz, best / ws.null, length_s};
		length_s *= 2;
		free(ws.w);
	}
	return best > 0 ? hz : 0;
}

/* So many samples tell the period. */
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
	if (t->nsamples < 10 * LEAST)
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

/* Cycles until a window's middle, by its phase against what all windows have in common. */
struct fix {
	double t, phase, cycles;
	double complex z[HARMONICS][CODES];
};

static double middle(const struct windows *ws, const struct window *w)
{
	return (ws->t->samples[w->from].t + ws->t->samples[w->to - 1].t) / 2;
}

/* Adds a window, turned back by its phase; sign -1 takes it out again. */
static void add_turned(double complex common[HARMONICS][CODES], const struct fix *f, double sign)
{
	for (unsigned h = 0; h < HARMONICS; h++) {
		double complex turn = sign * cexp(-I * TAU * (h + 1) * f->phase);

		for (unsigned k = 0; k < CODES; k++)
			common[h][k] += f->z[h][k] * turn;
	}
}

/* How well a window, turned back by a phase, fits to what the others have in common. */
static double likeness(const double complex common[HARMONICS][CODES], const struct fix *f,
		       double phase)
{
	double sum = 0;

	for (unsigned h = 0; h < HARMONICS; h++) {
		double complex all = 0;

		for (unsigned k = 0; k < CODES; k++)
			all += f->z[h][k] * conj(common[h][k]);
		sum += creal(all * cexp(-I * TAU * (h + 1) * phase));
	}
	return sum;
}

/* The phases by the period alone, each the nearest to the window before. */
static void follow(struct fix *fix, unsigned n, double complex common[HARMONICS][CODES])
{
	double before = 0;

	for (unsigned i = 0; i < n; i++) {
		double complex turn = 0;

		for (unsigned k = 0; k < CODES; k++)
			turn += fix[i].z[0][k] * conj(common[0][k]);
		fix[i].phase = i ? carg(turn) / TAU : 0;
		fix[i].phase += round(before - fix[i].phase);
		before = fix[i].phase;
		add_turned(common, &fix[i], 1);
	}
}

/* The phases by the harmonics, too, which know where one code follows another. */
static void align(struct fix *fix, unsigned n, double complex common[HARMONICS][CODES])
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

static void find_fixes(const struct windows *ws, double hz, double shift, struct fix *fix)
{
	double complex common[HARMONICS][CODES] = {0};

	for (unsigned i = 0; i < ws->n; i++) {
		fix[i].t = middle(ws, &ws->w[i]);
		for (unsigned h = 0; h < HARMONICS; h++)
			transform(ws, &ws->w[i], (h + 1) * hz, fix[i].z[h]);
	}
	follow(fix, ws->n, common);
	for (unsigned round = 0; round < ALIGN_ROUNDS; round++)
		align(fix, ws->n, common);
	straighten(fix, ws->n);
	for (unsigned i = 0; i < ws->n; i++)
		fix[i].cycles = hz * fix[i].t + fix[i].phase - shift;
}

size_t fold_period__instances(const struct fold_trace *t, const struct fold_period *p, double shift,
			      struct fold_instance *out, size_t max)
{
	_cleanup_free_ struct fix *fix = NULL;
	struct windows ws;
	size_t n = 0;

	if (cut_windows(&ws, t, p->window_s) && ws.n > 1)
		fix = calloc(ws.n, sizeof(*fix));
	if (fix) {
		find_fixes(&ws, 1 / p->period_s, shift, fix);
		for (unsigned i = 0; i + 1 < ws.n; i++) {
			double rate =
				(fix[i + 1].cycles - fix[i].cycles) / (fix[i + 1].t - fix[i].t);

			for (double c = ceil(fix[i].cycles);
			     rate > 0 && c < fix[i + 1].cycles && n < max; c++) {
				double at = fix[i].t + (c - fix[i].cycles) / rate;

				if (n)
					out[n - 1].t1 = at;
				out[n++] = (struct fold_instance){.t0 = at, .t1 = at + p->period_s};
			}
		}
	}
	free(ws.w);
	return n;
}
