/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folding without markers: the iterations of a thread are found by the frequency of the codes that
 * its samples executed, or by the long waits between its bursts. */
#include "analysis/fold/fold_period.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/fold/fold_trace.h"
#include "analysis/order.h"
#include "base/cleanup.h"

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

/* ---- the codes of samples, by windows of time and frequencies */

#define STEPS 5.0 /* of frequency, to the inverse of a window */

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

static bool choose_codes(struct fold_windows *ws)
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
	ws->ncodes = kinds < FOLD_CODES ? (unsigned)kinds : FOLD_CODES;
	for (unsigned k = 0; k < ws->ncodes; k++)
		ws->code[k] = all[k].code;
	return true;
}

static unsigned number_of(const struct fold_windows *ws, uint64_t code)
{
	unsigned k = 0;

	while (k < ws->ncodes && ws->code[k] != code)
		k++;
	return k;
}

/* Hann's taper: without one, a line would have others beside it that are as strong as a twentieth.
 */
static double taper_at(const struct fold_trace *t, size_t from, size_t to, size_t i)
{
	double first = t->samples[from].t, length = t->samples[to - 1].t - first;
	double s = length > 0 ? sin(FOLD_TAU / 2 * (t->samples[i].t - first) / length) : 0;

	return s * s;
}

static void add_window(struct fold_windows *ws, size_t from, size_t to)
{
	struct fold_window *w = &ws->w[ws->n];
	double all = 0;

	if (to - from < FOLD_LEAST)
		return;
	*w = (struct fold_window){.from = from, .to = to};
	for (size_t i = from; i < to; i++) {
		struct fold_tapered *s = &ws->s[i];

		*s = (struct fold_tapered){taper_at(ws->t, from, to, i),
					   number_of(ws, ws->t->code[i])};
		all += s->taper;
		w->squares += s->taper * s->taper;
		if (s->number < ws->ncodes)
			w->mean[s->number] += s->taper;
	}
	if (!(all > 0))
		return;
	for (unsigned k = 0; k < ws->ncodes; k++) {
		w->mean[k] /= all;
		ws->null += w->mean[k] * (1 - w->mean[k]);
	}
	ws->n++;
}

/* Windows of so many seconds, those of fewer than FOLD_LEAST samples left out. Returns false
 * without memory. windows_free() in all cases. */
static bool windows_cut(struct fold_windows *ws, const struct fold_trace *t, double length_s)
{
	size_t from = 0;

	*ws = (struct fold_windows){.t = t,
				    .w = calloc(t->nsamples / FOLD_LEAST + 1, sizeof(*ws->w)),
				    .s = calloc(t->nsamples + 1, sizeof(*ws->s)),
				    .length_s = length_s};
	if (!ws->w || !ws->s || !choose_codes(ws))
		return false;
	for (size_t i = 1; i <= t->nsamples; i++)
		if (i == t->nsamples ||
		    (t->samples[i].t - t->samples[from].t >= length_s && i - from >= FOLD_LEAST)) {
			add_window(ws, from, i);
			from = i;
		}
	return true;
}

static void windows_free(struct fold_windows *ws)
{
	free(ws->w);
	free(ws->s);
	ws->w = NULL;
	ws->s = NULL;
}

/* The codes of a window at a frequency, as one number each, less what is there at all times. */
static void windows_transform(const struct fold_windows *ws, const struct fold_window *w, double hz,
			      double complex z[FOLD_CODES])
{
	double complex all = 0, sums[FOLD_CODES + 1] = {0};

	for (size_t i = w->from; i < w->to; i++) {
		double cycles = hz * ws->t->samples[i].t,
		       angle = FOLD_TAU * (cycles - floor(cycles));
		double complex e = ws->s[i].taper * (cos(angle) - I * sin(angle));

		all += e;
		sums[ws->s[i].number] += e;
	}
	for (unsigned k = 0; k < FOLD_CODES; k++)
		z[k] = k < ws->ncodes ? sums[k] - w->mean[k] * all : 0;
}

/* The power of all codes together, in a window. */
static double windows_power(const struct fold_windows *ws, const struct fold_window *w, double hz)
{
	double complex z[FOLD_CODES];
	double sum = 0;

	windows_transform(ws, w, hz, z);
	for (unsigned k = 0; k < ws->ncodes; k++)
		sum += creal(z[k] * conj(z[k])) / w->squares;
	return sum;
}

/* Steps of frequency between which no line is missed, Hz. */
static double windows_step(const struct fold_windows *ws)
{
	return 1 / (STEPS * ws->length_s);
}

/* Whether a window's power at a frequency or next to it is no chance. */
static bool windows_is_strong(const struct fold_windows *ws, const struct fold_window *w, double hz)
{
	double null = 0, best = 0;

	for (unsigned k = 0; k < ws->ncodes; k++)
		null += w->mean[k] * (1 - w->mean[k]);
	for (int i = -2; i <= 2; i++)
		best = fmax(best, windows_power(ws, w, hz + i * windows_step(ws)));
	return best > FOLD_STRONG * null;
}

/* ---- the iterations of a period, whose phase is followed over time */

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
		fix[i].strong = windows_is_strong(ws, &ws->w[i], hz);
		for (unsigned h = 0; h < HARMONICS; h++)
			windows_transform(ws, &ws->w[i], (h + 1) * hz, fix[i].z[h]);
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

	if (windows_cut(&ws, t, p->window_s) && ws.n > 1)
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
	windows_free(&ws);
	return n;
}

/* ---- iterations by the long waits between bursts */

#define APART	   1.5	/* gaps of one kind and of another */
#define LEAST	   10	/* iterations */
#define MOST_USUAL 0.8	/* of the time is in usual ones, */
#define SHORT_PART 0.5	/* which have this part of the median length, */
#define LONG	   1.5	/* or that */
#define ALIKE	   0.1	/* of a period that is known, or of iterations by longer gaps, */
#define MORE	   1.05 /* and in usual ones is not more than so much of their time */

/* The lengths of the iterations, in order of length. Returns how many there are. */
static size_t lengths_of(const struct fold_wake *w, size_t n, double gap_s, double *length)
{
	double before = NAN;
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		if (!(w[i].gap >= gap_s))
			continue;
		if (w[i].t > before)
			length[found++] = w[i].t - before;
		before = w[i].t;
	}
	qsort(length, found, sizeof(*length), order__doubles);
	return found;
}

/* The median length of iterations, if most are of about that; else NaN. *usual_s: the time in
 * usual ones. */
static double regular(const double *length, size_t n, double *usual_s)
{
	double median = n ? length[n / 2] : NAN, all = 0, usual = 0;

	for (size_t i = 0; i < n; i++) {
		all += length[i];
		if (length[i] >= SHORT_PART * median && length[i] <= LONG * median)
			usual += length[i];
	}
	*usual_s = usual;
	return n >= LEAST && usual >= MOST_USUAL * all ? median : NAN;
}

/* The gaps that are known and above 0, the shortest first. */
static size_t sort_gaps(const struct fold_wake *w, size_t n, double *gap)
{
	size_t known = 0;

	for (size_t i = 0; i < n; i++)
		if (w[i].gap > 0)
			gap[known++] = w[i].gap;
	qsort(gap, known, sizeof(*gap), order__doubles);
	return known;
}

static bool is_wanted(double found, double period_s)
{
	return isnan(period_s) ? !isnan(found) : fabs(found - period_s) <= ALIKE * period_s;
}

/* Shorter gaps than those of a train tell other iterations, or more of them: a few gaps by chance
 * do not. */
static bool is_better(double found, double usual_s, const struct fold_train *t, double best_s)
{
	return isnan(t->period_s) || found < (1 - ALIKE) * t->period_s || usual_s > MORE * best_s;
}

enum analysis_status fold_train__find(const struct fold_wake *w, size_t n, double period_s,
				      struct fold_train *out)
{
	_cleanup_free_ double *gap = calloc(2 * n + 1, sizeof(*gap));
	double *length, best_s = 0;
	size_t known;

	*out = (struct fold_train){NAN, NAN};
	if (!gap)
		return ANALYSIS_NO_MEMORY;
	length = gap + n;
	known = sort_gaps(w, n, gap);
	for (size_t i = known > LEAST ? known - LEAST : 0; i-- > 0;) {
		double found, usual_s;

		if (i && gap[i] < APART * gap[i - 1])
			continue;
		found = regular(length, lengths_of(w, n, gap[i], length), &usual_s);
		if (!is_wanted(found, period_s) || !is_better(found, usual_s, out, best_s))
			continue;
		*out = (struct fold_train){gap[i], found};
		best_s = usual_s;
	}
	return isnan(out->gap_s) ? ANALYSIS_INSUFFICIENT : ANALYSIS_OK;
}

size_t fold_train__instances(const struct fold_wake *w, size_t n, const struct fold_train *t,
			     struct fold_instance *out, size_t max)
{
	double before = NAN;
	size_t found = 0;

	for (size_t i = 0; i < n && found < max; i++) {
		if (!(w[i].gap >= t->gap_s))
			continue;
		if (w[i].t > before)
			out[found++] = (struct fold_instance){.t0 = before, .t1 = w[i].t};
		before = w[i].t;
	}
	return found;
}

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
		sum += windows_power(ws, &ws->w[i], hz);
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
	double step = windows_step(ws), middle = *at, best = 0;

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
	s->step = windows_step(ws);
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
		strong += windows_is_strong(ws, &ws->w[i], hz);
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

	if (windows_cut(&ws, t, length_s)) {
		double step = windows_step(&ws);

		if (ws.n > 1)
			best = line_of(&ws, wanted - step, wanted + step, &at);
		status = ws.n < 2 ? ANALYSIS_INSUFFICIENT : ANALYSIS_UNAVAILABLE;
		if (best > PART * power(&ws, hz) && fabs(at - wanted) <= near * step)
			status = ws.n < WINDOWS ? ANALYSIS_INSUFFICIENT : ANALYSIS_OK;
	}
	if (status == ANALYSIS_OK)
		*p = (struct fold_period){1 / at, best / ws.null, length_s};
	windows_free(&ws);
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

		if (windows_cut(&ws, t, length_s) && ws.null > 0 && ws.n >= (i ? WINDOWS : SHORT))
			best = line_of(&ws, from, to, &hz);
		if (best > 0)
			*p = (struct fold_period){1 / hz, best / ws.null, length_s};
		length_s *= 2;
		windows_free(&ws);
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
