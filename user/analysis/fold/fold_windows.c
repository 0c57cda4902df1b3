// SPDX-License-Identifier: GPL-2.0-only
/* Folding without markers: the codes of samples, by windows of time and frequencies. */
#include "analysis/fold/fold_windows.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"

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

bool fold_windows__cut(struct fold_windows *ws, const struct fold_trace *t, double length_s)
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

void fold_windows__free(struct fold_windows *ws)
{
	free(ws->w);
	free(ws->s);
	ws->w = NULL;
	ws->s = NULL;
}

void fold_windows__transform(const struct fold_windows *ws, const struct fold_window *w, double hz,
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

double fold_windows__power(const struct fold_windows *ws, const struct fold_window *w, double hz)
{
	double complex z[FOLD_CODES];
	double sum = 0;

	fold_windows__transform(ws, w, hz, z);
	for (unsigned k = 0; k < ws->ncodes; k++)
		sum += creal(z[k] * conj(z[k])) / w->squares;
	return sum;
}

double fold_windows__step(const struct fold_windows *ws)
{
	return 1 / (STEPS * ws->length_s);
}

bool fold_windows__is_strong(const struct fold_windows *ws, const struct fold_window *w, double hz)
{
	double null = 0, best = 0;

	for (unsigned k = 0; k < ws->ncodes; k++)
		null += w->mean[k] * (1 - w->mean[k]);
	for (int i = -2; i <= 2; i++)
		best = fmax(best, fold_windows__power(ws, w, hz + i * fold_windows__step(ws)));
	return best > FOLD_STRONG * null;
}
