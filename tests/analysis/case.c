/* SPDX-License-Identifier: GPL-2.0-or-later */
/* analysis-case FILE: one case of an analysis, computed; see case.h. */
#include "tests/analysis/case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double case_number(const json_t *object, const char *name, double other)
{
	const json_t *v = json_object_get(object, name);

	if (json_is_null(v))
		return NAN;
	return json_is_number(v) ? json_number_value(v) : other;
}

void *case_alloc(size_t n, size_t size)
{
	void *p = calloc(n + 1, size);

	if (!p)
		abort();
	return p;
}

double *case_numbers(const json_t *array, size_t *n)
{
	double *v;

	*n = json_array_size(array);
	if (!json_is_array(array))
		return NULL;
	v = case_alloc(*n, sizeof(*v));
	for (size_t i = 0; i < *n; i++) {
		const json_t *element = json_array_get(array, i);

		if (!json_is_number(element) && !json_is_null(element))
			return NULL;
		v[i] = json_is_null(element) ? NAN : json_number_value(element);
	}
	return v;
}

bool case_matrix(const json_t *rows, struct matrix *m)
{
	size_t units = json_array_size(rows), bins = json_array_size(json_array_get(rows, 0));
	double *v, *row;

	if (!json_is_array(rows))
		return false;
	v = case_alloc(units * bins, sizeof(*v));
	for (size_t u = 0; u < units; u++) {
		size_t n;

		row = case_numbers(json_array_get(rows, u), &n);
		if (!row || n != bins)
			return false;
		memcpy(v + u * bins, row, n * sizeof(*v));
	}
	*m = (struct matrix){.units = units, .bins = bins, .v = v};
	return true;
}

json_t *case_real(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

json_t *case_reals(const double *v, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(a, case_real(v[i]));
	return a;
}

static case_fn *find_analysis(const char *name)
{
	const struct case_entry *const tables[] = {pika_cases, io_cases, fold_cases, cluster_cases,
						   counter_cases};

	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
		for (const struct case_entry *e = tables[t]; e->analysis; e++)
			if (!strcmp(e->analysis, name))
				return e->fn;
	return NULL;
}

static int fail(const char *file, const char *why, const char *name)
{
	fprintf(stderr, "analysis-case: %s: %s%s\n", file, why, name);
	return 2;
}

static int print_case(const char *file, const json_t *root)
{
	const json_t *params = json_object_get(root, "params");
	const json_t *inputs = json_object_get(root, "inputs");
	const char *name = json_string_value(json_object_get(root, "analysis"));
	json_t *result;
	case_fn *fn = name ? find_analysis(name) : NULL;

	if (!fn || !json_is_object(inputs))
		return fn ? fail(file, "it has no inputs", "")
			  : fail(file, "unknown analysis ", name ? name : "");
	result = fn(json_is_object(params) ? params : json_object(), inputs);
	if (!result)
		return fail(file, "bad input for ", name);
	json_dumpf(result, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
	putchar('\n');
	return 0;
}

int main(int argc, char **argv)
{
	json_error_t error;
	json_t *root;

	if (argc != 2) {
		fputs("usage: analysis-case FILE.json\n", stderr);
		return 2;
	}
	root = json_load_file(argv[1], 0, &error);
	if (!root)
		return fail(argv[1], "no JSON: ", error.text);
	return print_case(argv[1], root);
}
