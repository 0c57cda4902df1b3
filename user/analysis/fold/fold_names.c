// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the function that a phase of a folded region is in. */
#include "analysis/fold/folded.h"

#include <math.h>
#include <stdlib.h>

#define NOT_RUNNING FOLD_CODE(POINT_NOT_RUNNING, 0)
#define ASLEEP	    0.9 /* of the samples of a phase, and more */
#define SHORT	    20	/* samples: where one code follows another is known to so many */
#define UNEVEN	    0.3 /* of the samples of a function */
#define SOME	    5	/* samples: which function a wait is in is known to so many, */
#define MOSTLY	    0.5 /* if so many of them are in one */

static uint64_t function_of(uint64_t code)
{
	return code & FOLD_NAMED ? code & ~FOLD_BLOCK_MASK : code;
}

/* What of a code is shown: a function, or of libraries their kind. */
static uint64_t shown_of(uint64_t code)
{
	const uint64_t library = FOLD_CODE(0, JP_PLACE_LIBRARY);

	if (code & FOLD_NAMED || !(code & library))
		return function_of(code);
	return FOLD_CODE(code >> 56, JP_PLACE_LIBRARY);
}

static int by_code(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The function of a phase is the one with most of the n samples, wherever in it they are, or a kind
 * of library; its code is the most frequent one of that. The phase has `all` samples. */
static void name_phase(struct fold_phase *p, uint64_t *code, size_t n, size_t all)
{
	size_t most = 0, most_of_code = 0, of_function = 0, of_code = 0;
	uint64_t best = p->code; /* of the function under way */

	qsort(code, n, sizeof(*code), by_code);
	for (size_t i = 0; i < n; i++) {
		if (i && shown_of(code[i]) != shown_of(code[i - 1]))
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

/* Writes the codes of the samples in a phase at which its thread ran. Returns how many; off: the
 * others. */
static size_t codes_in(const struct fold_phase *p, const double *x, const uint64_t *code, size_t n,
		       uint64_t *inside, size_t *off)
{
	size_t on = 0;

	*off = 0;
	for (size_t i = 0; i < n; i++) {
		if (x[i] < p->from || x[i] >= p->to)
			continue;
		if (code[i] == NOT_RUNNING)
			++*off;
		else
			inside[on++] = code[i];
	}
	return on;
}

/* A wait has no code of its own: the function that waits is the one that runs between the waits. */
static void name_waiting(struct fold_phase *p, uint64_t *inside, size_t on)
{
	struct fold_phase running = {0};

	if (on < SOME)
		return;
	name_phase(&running, inside, on, on);
	p->runs = running.share > MOSTLY ? function_of(running.code) : 0;
}

bool fold_names__phases(struct folded *f, const double *x, const uint64_t *code, size_t n)
{
	uint64_t *inside = calloc(n + 1, sizeof(*inside));
	size_t on, off;

	if (!inside)
		return false;
	for (size_t k = 0; k < f->nphases; k++) {
		struct fold_phase *p = &f->phases[k];

		on = codes_in(p, x, code, n, inside, &off);
		if (off > on) {
			p->code = NOT_RUNNING;
			p->share = (double)off / (double)(on + off);
		} else {
			name_phase(p, inside, on, on + off);
		}
	}
	join_phases(f);
	for (size_t k = 0; k < f->nphases; k++) {
		if (f->phases[k].code != NOT_RUNNING)
			continue;
		on = codes_in(&f->phases[k], x, code, n, inside, &off);
		name_waiting(&f->phases[k], inside, on);
	}
	for (size_t k = 0; k < f->nphases; k++) {
		const uint64_t its = function_of(f->phases[k].code);
		bool alone = !k || function_of(f->phases[k - 1].code) != its;

		if (alone && (k + 1 == f->nphases || function_of(f->phases[k + 1].code) != its))
			f->phases[k].code = its;
	}
	free(inside);
	return true;
}

/* A sample, by its function; the kernel is one. */
struct placed {
	uint64_t function;
	size_t phase;
	bool outer; /* in the first or the last quarter of its phase */
};

static uint64_t placed_function(uint64_t code)
{
	bool kernel = !(code & FOLD_NAMED) && code >> 56 == JP_MODULE_KERNEL;

	return kernel ? FOLD_CODE(JP_MODULE_KERNEL, 0) : function_of(code);
}

static int by_function(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	return x->function < y->function ? -1 : x->function > y->function;
}

static struct placed place(const struct folded *f, double x, uint64_t code)
{
	size_t k = 0;
	double at;

	while (k + 1 < f->nphases && x >= f->phases[k].to)
		k++;
	at = (x - f->phases[k].from) / (f->phases[k].to - f->phases[k].from);
	return (struct placed){placed_function(code), k, at < 0.25 || at >= 0.75};
}

/* Phases call what is all over them; what is at their ends alone is another phase. */
static bool is_called(const struct placed *v, size_t n)
{
	double outer = 0;

	for (size_t i = 0; i < n; i++)
		outer += v[i].outer;
	return fabs(2 * outer - (double)n) <= UNEVEN * (double)n + 2 * sqrt((double)n);
}

static bool has_phase(const struct folded *f, uint64_t function)
{
	for (size_t k = 0; k < f->nphases; k++)
		if (placed_function(f->phases[k].code) == function)
			return true;
	return false;
}

/* What a function's phases have of the region, less what its samples and those of what they call
 * have of all. */
static double too_long(const struct folded *f, uint64_t function, const size_t *in, size_t n)
{
	double sum = 0;

	for (size_t k = 0; k < f->nphases; k++)
		if (placed_function(f->phases[k].code) == function)
			sum += f->phases[k].to - f->phases[k].from - (double)in[k] / (double)n;
	return sum;
}

/* v: n samples in the order of their functions. */
static double most_misplaced(const struct folded *f, const struct placed *v, size_t n)
{
	size_t in[FOLD_PHASES] = {0}, last;
	double most = 0;

	for (size_t i = 0; i < n; i = last) {
		bool own = has_phase(f, v[i].function), called;

		for (last = i; last < n && v[last].function == v[i].function;)
			last++;
		called = !own && is_called(&v[i], last - i);
		if (!own && !called)
			most = fmax(most, (double)(last - i) / (double)n);
		for (size_t k = 0; own && k < f->nphases; k++)
			if (placed_function(f->phases[k].code) == v[i].function) {
				in[k] += last - i; /* all of them in its first phase */
				break;
			}
		for (size_t j = i; called && j < last; j++)
			in[v[j].phase]++;
	}
	for (size_t k = 0; k < f->nphases; k++)
		most = fmax(most, fabs(too_long(f, placed_function(f->phases[k].code), in, n)));
	return most;
}

/* The part of the samples that are in another function than the only phase. */
static double elsewhere(const struct folded *f, const uint64_t *code, size_t n)
{
	const uint64_t its = function_of(f->phases[0].code);
	size_t other = 0;

	for (size_t i = 0; i < n; i++)
		other += function_of(code[i]) != its;
	return n ? (double)other / (double)n : NAN;
}

double fold_names__misplaced(const struct folded *f, const double *x, const uint64_t *code,
			     size_t n)
{
	struct placed *v = calloc(n + 1, sizeof(*v));
	double most = NAN;

	if (f->nphases == 1) { /* but the code changes, or there would be no period */
		most = elsewhere(f, code, n);
	} else if (v && f->nphases) {
		for (size_t i = 0; i < n; i++)
			v[i] = place(f, x[i], code[i]);
		qsort(v, n, sizeof(*v), by_function);
		most = most_misplaced(f, v, n);
	}
	free(v);
	return most;
}
