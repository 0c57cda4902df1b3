// SPDX-License-Identifier: GPL-2.0-only
/* The folded regions that two job files have, and their phases. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cmd/jobprof/compare/compare_besides.h"
#include "cmd/jobprof/report/report_besides.h"

#define NAME 128

static double length_of(const json_t *phase)
{
	return json__number_of(phase, "to") - json__number_of(phase, "from");
}

/* Phases have the numbers from 1 on as names. at may be any number: they follow each other in
 * turn. */
static const json_t *phase_of(const json_t *fold, size_t at)
{
	const json_t *phases = json_object_get(fold, "phases");
	char key[24];

	snprintf(key, sizeof(key), "%zu", at % json_object_size(phases) + 1);
	return json_object_get(phases, key);
}

/* The code that a phase executes, without the place in it that the fold may say. */
static size_t code_length(const char *code)
{
	const char *place = strstr(code, " (at ");

	return place ? (size_t)(place - code) : strlen(code);
}

static bool is_same_code(const json_t *a, const json_t *b)
{
	const char *x = json__text_of(a, "code"), *y = json__text_of(b, "code");

	return code_length(x) == code_length(y) && !strncmp(x, y, code_length(x));
}

/*
 * By how many phases the second fold is behind the first one: where an iteration begins that has no
 * name is a choice. *shift is set if each phase then executes the same code.
 */
static bool find_shift(json_t *const fold[2], size_t n, size_t *shift)
{
	const bool is_named = json_string_value(json_object_get(fold[0], "region"));

	for (*shift = 0; *shift < (is_named ? 1 : n); (*shift)++) {
		size_t i = 0;

		while (i < n && is_same_code(phase_of(fold[0], i), phase_of(fold[1], i + *shift)))
			i++;
		if (i == n)
			return true;
	}
	return false;
}

static void put_part(json_t *const fold[2], const char *name, const double share[2],
		     struct message *m)
{
	double s[2];

	for (int i = 0; i < 2; i++)
		s[i] = share[i] * json__number_of(fold[i], "period_s");
	compare_rows__put(m, name, share, s);
}

static void put_phase(json_t *const fold[2], size_t at, size_t shift, struct message *m)
{
	const json_t *a = phase_of(fold[0], at), *b = phase_of(fold[1], at + shift);
	const double share[2] = {length_of(a), length_of(b)};
	const char *code = json__text_of(a, "code");
	char name[NAME];

	snprintf(name, sizeof(name), "%.*s", (int)code_length(code), code);
	put_part(fold, name, share, m);
}

/* Phases follow each other from 0 to 1. */
static bool are_whole(const json_t *fold)
{
	const size_t n = json_object_size(json_object_get(fold, "phases"));
	double end = 0;

	for (size_t i = 0; i < n; i++) {
		const json_t *phase = phase_of(fold, i);
		double from = json__number_of(phase, "from"), to = json__number_of(phase, "to");

		if (fabs(from - end) > 1e-6 || !(to > from))
			return false;
		end = to;
	}
	return fabs(end - 1) <= 1e-6;
}

/* One execution, and its phases where both runs have as many, of the same code. */
static void put_parts(json_t *const fold[2], struct message *m)
{
	const size_t n = json_object_size(json_object_get(fold[0], "phases"));
	const double all[2] = {1, 1};
	size_t shift;

	put_part(fold, "one execution", all, m);
	if (n < 2 || !are_whole(fold[0]) || !are_whole(fold[1]) ||
	    json_object_size(json_object_get(fold[1], "phases")) != n ||
	    !find_shift(fold, n, &shift))
		return;
	for (size_t i = 0; i < n && i + 1 < COMPARE_BESIDES_ROWS; i++)
		put_phase(fold, i, shift, m);
}

static bool are_comparable(json_t *const fold[2])
{
	for (int i = 0; i < 2; i++)
		if (!json_is_object(fold[i]) || !(json__number_of(fold[i], "period_s") > 0))
			return false;
	return !strcmp(json__text_of(fold[0], "region"), json__text_of(fold[1], "region"));
}

int compare_fold__put(const struct compare_inside runs[2], struct message *m)
{
	json_t *fold[2];
	int err = -ENODATA;

	for (int i = 0; i < 2; i++) {
		fold[i] = report_besides__stored(runs[i].in->v, "fold", NULL);
		json_object_del(json_object_get(fold[i], "phases"), "version");
	}
	if (are_comparable(fold)) {
		put_parts(fold, m);
		err = 0;
	}
	for (int i = 0; i < 2; i++)
		json_decref(fold[i]);
	return err;
}
