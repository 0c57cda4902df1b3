// SPDX-License-Identifier: GPL-2.0-only
/* Which function a phase of a folded region is in. */
#include "cmd/jobprof/fold/fold_names.h"

#include <math.h>
#include <stdlib.h>

#define NOT_RUNNING FOLD_CODE(POINT_NOT_RUNNING, 0)
#define ASLEEP	    0.9 /* of the samples of a phase, and more */
#define SHORT	    20	/* samples: where one code follows another is known to so many */

static uint64_t function_of(uint64_t code)
{
	return code & FOLD_NAMED ? code & ~FOLD_BLOCK_MASK : code;
}

static int by_code(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The function of a phase is the one with most of the n samples, wherever in it they are; its code
 * is the most frequent one of that function. The phase has `all` samples. */
static void name_phase(struct fold_phase *p, uint64_t *code, size_t n, size_t all)
{
	size_t most = 0, most_of_code = 0, of_function = 0, of_code = 0;
	uint64_t best = p->code; /* of the function under way */

	qsort(code, n, sizeof(*code), by_code);
	for (size_t i = 0; i < n; i++) {
		if (i && function_of(code[i]) != function_of(code[i - 1]))
			of_function = most_of_code = 0;
		of_code = i && code[i] == code[i - 1] ? of_code + 1 : 1;
		if (of_code > most_of_code) {
			most_of_code = of_code;
			best = code[i];
		}
		if (++of_function > most) {
			most = of_function;
			p->code = best;
		}
	}
	p->share = all ? (double)most / (double)all : NAN;
}

static bool is_asleep(const struct fold_phase *p)
{
	return p->code == NOT_RUNNING && p->share > ASLEEP;
}

/* Nothing tells two phases apart that follow each other, if nothing runs in either, if both are in
 * one place, or if they are in one function and one of them is short. */
static bool are_one(const struct fold_phase *a, const struct fold_phase *b)
{
	const bool is_short = a->samples < SHORT || b->samples < SHORT;

	if (a->code == NOT_RUNNING && b->code == NOT_RUNNING)
		return is_short || (is_asleep(a) && is_asleep(b));
	return a->code == b->code || (is_short && function_of(a->code) == function_of(b->code));
}

static void join_phases(struct folded *f)
{
	size_t n = 0;

	for (size_t k = 0; k < f->nphases; k++) {
		struct fold_phase *last = n ? &f->phases[n - 1] : NULL, p = f->phases[k];

		if (!last || !are_one(last, &p)) {
			f->phases[n++] = p;
			continue;
		}
		p.from = last->from;
		p.code = p.samples > last->samples ? p.code : last->code;
		p.share = (last->share * (double)last->samples + p.share * (double)p.samples) /
			  (double)(last->samples + p.samples);
		p.samples += last->samples;
		*last = p;
	}
	f->nphases = n;
}

bool fold_names__phases(struct folded *f, const double *x, const uint64_t *code, size_t n)
{
	uint64_t *inside = calloc(n + 1, sizeof(*inside));

	if (!inside)
		return false;
	for (size_t k = 0; k < f->nphases; k++) {
		struct fold_phase *p = &f->phases[k];
		size_t on = 0, off = 0;

		for (size_t i = 0; i < n; i++) {
			if (x[i] < p->from || x[i] >= p->to)
				continue;
			if (code[i] == NOT_RUNNING)
				off++;
			else
				inside[on++] = code[i];
		}
		if (off > on) {
			p->code = NOT_RUNNING;
			p->share = (double)off / (double)(on + off);
		} else {
			name_phase(p, inside, on, on + off);
		}
	}
	join_phases(f);
	for (size_t k = 0; k < f->nphases; k++) {
		const uint64_t its = function_of(f->phases[k].code);
		bool alone = !k || function_of(f->phases[k - 1].code) != its;

		if (alone && (k + 1 == f->nphases || function_of(f->phases[k + 1].code) != its))
			f->phases[k].code = its;
	}
	free(inside);
	return true;
}
