/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * analysis-case prints what the functions of user/analysis make of a case, a JSON file with the
 * name of an analysis, its parameters and its inputs. The functions here turn the inputs into
 * arrays and results into JSON; null is NaN in both directions.
 */
#ifndef JP_TESTS_CASE_H
#define JP_TESTS_CASE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "analysis/matrix.h"
#include "analysis/status.h"

/* Computes a case; the result has the keys of the case's "expected". params and inputs are objects.
 * NULL: bad input. */
typedef json_t *case_fn(const json_t *params, const json_t *inputs);

struct case_entry {
	const char *analysis;
	case_fn *fn;
};
/* Each ends with a NULL name. */
extern const struct case_entry pika_cases[], io_cases[], fold_cases[], cluster_cases[],
	counter_cases[];

/* A number, NaN for null; other: there is none of that name, or it is no number. */
double case_number(const json_t *object, const char *name, double other);
/* n elements of zeros, and one more. The program computes one case: nothing is freed. */
void *case_alloc(size_t n, size_t size);
/* The values of an array of numbers and nulls, NULL if it is none. An empty array has values too.
 */
double *case_numbers(const json_t *array, size_t *n);
/* An array of such arrays, which have the same length. false: it is none. */
bool case_matrix(const json_t *rows, struct matrix *m);

json_t *case_real(double v); /* null: NaN or infinite */
json_t *case_reals(const double *v, size_t n);

#endif
