// SPDX-License-Identifier: GPL-2.0-only
/* Folding without markers: the frequency of the codes that samples executed, and its phase over
 * time. */
#include "analysis/fold/fold_period.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/order.h"
#include "base/cleanup.h"

#define CODES	  8 /* the most frequent */
#define WINDOW_S  2.0
#define LEAST	  20 /* samples of a window */
#define LOWEST_HZ 2.0
#define STEP_HZ	  0.1
#define FINE_HZ	  0.01
#define STRONG	  4.0 /* times what chance gives */
#define TAU	  6.283185307179586

struct window {
	size_t from, to; /* samples */
	double mean[CODES];
};

struct windows {
	const struct fold_trace *t;
	uint64_t code[CODES];
	unsigned ncodes, n;
	struct window *w;
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

static bool cut_windows(struct windows *ws, const struct fold_trace *t)
{
	size_t from = 0;

	*ws = (struct windows){.t = t, .w = calloc(t->nsamples / LEAST + 1, sizeof(*ws->w))};
	if (!ws->w || !choose_codes(ws))
		return false;
	for (size_t i = 1; i <= t->nsamples; i++)
		if (i == t->nsamples ||
		    (t->samples[i].t - t->samples[from].t >= WINDOW_S && i - from >= LEAST)) {
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

	for (unsigned k = 0; k < ws->ncodes; k++)
		z[k] = 0;
	for (size_t i = w->from; i < w->to; i++) {
		double complex e = cexp(-I * TAU * fmod(hz * ws->t->samples[i].t, 1));

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

static double highest(const struct windows *ws, double from, double to, double step, double *at)
{
	double best = 0;

	for (unsigned i = 0; from + i * step <= to; i++) {
		double hz = from + i * step, p = power(ws, hz);

		if (p > best) {
			best = p;
			*at = hz;
		}
	}
	return best;
}

enum analysis_status fold_period__find(const struct fold_trace *t, struct fold_period *p)
{
	struct windows ws;
	double hz = NAN, best = 0, every;
	enum analysis_status status = ANALYSIS_INSUFFICIENT;

	*p = (struct fold_period){NAN, NAN};
	if (t->nsamples < 10 * LEAST)
		return ANALYSIS_INSUFFICIENT;
	every = interval_of(t);
	if (!cut_windows(&ws, t))
		status = ANALYSIS_NO_MEMORY;
	else if (every > 0 && ws.n && ws.null > 0)
		best = highest(&ws, LOWEST_HZ, 0.5 / every, STEP_HZ, &hz);
	if (best > STRONG * ws.null) {
		best = highest(&ws, hz - STEP_HZ, hz + STEP_HZ, FINE_HZ, &hz);
		*p = (struct fold_period){1 / hz, best / ws.null};
		status = ANALYSIS_OK;
	}
	free(ws.w);
	return status;
}

/* Cycles until a window's middle, by its phase against what all windows have in common. */
struct fix {
	double t, cycles;
};

static double middle(const struct windows *ws, const struct window *w)
{
	return (ws->t->samples[w->from].t + ws->t->samples[w->to - 1].t) / 2;
}

static void follow(const struct windows *ws, double hz, double shift, struct fix *fix)
{
	double complex common[CODES] = {0}, z[CODES];
	double before = 0;

	for (unsigned i = 0; i < ws->n; i++) {
		double complex turn = 0;
		double phase;

		transform(ws, &ws->w[i], hz, z);
		for (unsigned k = 0; k < ws->ncodes; k++)
			turn += z[k] * conj(common[k]);
		phase = i ? carg(turn) / TAU : 0;
		for (unsigned k = 0; k < ws->ncodes; k++)
			common[k] += z[k] * cexp(-I * TAU * phase);
		phase += round(before - phase); /* the nearest to the window before */
		before = phase;
		fix[i].t = middle(ws, &ws->w[i]);
		fix[i].cycles = hz * fix[i].t + phase - shift;
	}
}

size_t fold_period__instances(const struct fold_trace *t, double period_s, double shift,
			      struct fold_instance *out, size_t max)
{
	_cleanup_free_ struct fix *fix = NULL;
	struct windows ws;
	size_t n = 0;

	if (cut_windows(&ws, t) && ws.n > 1)
		fix = calloc(ws.n, sizeof(*fix));
	if (fix) {
		follow(&ws, 1 / period_s, shift, fix);
		for (unsigned i = 0; i + 1 < ws.n; i++) {
			double rate =
				(fix[i + 1].cycles - fix[i].cycles) / (fix[i + 1].t - fix[i].t);

			for (double c = ceil(fix[i].cycles);
			     rate > 0 && c < fix[i + 1].cycles && n < max; c++) {
				double at = fix[i].t + (c - fix[i].cycles) / rate;

				if (n)
					out[n - 1].t1 = at;
				out[n++] = (struct fold_instance){.t0 = at, .t1 = at + period_s};
			}
		}
	}
	free(ws.w);
	return n;
}
