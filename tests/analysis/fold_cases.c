/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cases of folding. */
#include "tests/analysis/case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fold/fold.h"

/* false: the method is unknown. */
static bool read_filter(const json_t *params, struct fold_filter *f)
{
	const char *method = json_string_value(json_object_get(params, "method"));

	if (method && strcmp(method, "median") && strcmp(method, "mean"))
		return false;
	*f = method && !strcmp(method, "mean") ? FOLD_FILTER_MEAN : FOLD_FILTER_MEDIAN;
	f->k = case_number(params, "k", f->k);
	f->floor = case_number(params, "mad_floor_rel", f->floor);
	return true;
}

static json_t *outliers(const json_t *params, const json_t *inputs)
{
	struct fold_filter f;
	struct fold_range r;
	size_t n;
	double *dur = case_numbers(json_object_get(inputs, "dur"), &n);
	bool *keep = case_alloc(n, sizeof(*keep));
	json_t *kept = json_array();

	if (!dur || !read_filter(params, &f))
		return NULL;
	fold__outliers(dur, n, &f, &r, keep);
	for (size_t i = 0; i < n; i++)
		json_array_append_new(kept, json_boolean(keep[i]));
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "center", case_real(r.center), "width",
			 case_real(r.width), "lo", case_real(r.lo), "hi", case_real(r.hi), "keep",
			 kept);
}

/* Pairs of a time and a count; NULL: they are none. */
static struct fold_sample *read_samples(const json_t *array, size_t *n)
{
	struct fold_sample *s = case_alloc(json_array_size(array), sizeof(*s));

	*n = json_array_size(array);
	for (size_t i = 0; i < *n; i++) {
		size_t two;
		double *pair = case_numbers(json_array_get(array, i), &two);

		if (!pair || two != 2)
			return NULL;
		s[i] = (struct fold_sample){.t = pair[0], .c = pair[1]};
	}
	return s;
}

static struct fold_instance *read_instances(const json_t *array, size_t *n)
{
	struct fold_instance *in = case_alloc(json_array_size(array), sizeof(*in));

	*n = json_array_size(array);
	for (size_t i = 0; i < *n; i++) {
		const json_t *o = json_array_get(array, i);

		in[i] = (struct fold_instance){
			.t0 = case_number(o, "t0", NAN),
			.t1 = case_number(o, "t1", NAN),
			.c0 = case_number(o, "c0", NAN),
			.c1 = case_number(o, "c1", NAN),
		};
		in[i].samples = read_samples(json_object_get(o, "samples"), &in[i].nsamples);
		if (!in[i].samples)
			return NULL;
	}
	return in;
}

static json_t *points(const json_t *params, const json_t *inputs)
{
	struct fold_points p;
	struct fold_instance *in;
	size_t n;

	in = read_instances(json_object_get(inputs, "instances"), &n);
	if (!in)
		return NULL;
	fold__points(in, n, NULL, &p);
	return json_pack("{s:o, s:o}", "x", case_reals(p.x, p.n), "y", case_reals(p.y, p.n));
}

/* The arrays x and y of a case, of the same length. */
struct pairs {
	double *x, *y;
	size_t n;
};

static bool read_pairs(const json_t *inputs, struct pairs *p)
{
	size_t ny;

	p->x = case_numbers(json_object_get(inputs, "x"), &p->n);
	p->y = case_numbers(json_object_get(inputs, "y"), &ny);
	return p->x && p->y && p->n == ny;
}

/* Values of the curve; 0: there are none. */
static size_t grid_points(const json_t *inputs)
{
	double m = case_number(inputs, "grid_points", 1000);

	return m >= 2 && m < 1e7 ? (size_t)m : 0;
}

static json_t *krige(const json_t *params, const json_t *inputs)
{
	double factor =
		case_number(inputs, "sum_counter", NAN) / case_number(inputs, "sum_time_s", NAN);
	size_t m = grid_points(inputs);
	double *curve = case_alloc(m, sizeof(*curve)), *rate = case_alloc(m, sizeof(*rate));
	struct pairs p;

	if (!m || case_number(params, "exponent", 3) != 3 || case_number(params, "drift", 1) != 1 ||
	    !read_pairs(inputs, &p))
		return NULL;
	fold__krige(p.x, p.y, p.n, case_number(params, "nugget", FOLD_NUGGET), curve, m);
	fold__rate(curve, m, factor, rate);
	return json_pack("{s:o, s:o}", "curve", case_reals(curve, m), "rate", case_reals(rate, m));
}

static json_t *validity_object(const struct fold_validity *v)
{
	return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "n_samples",
			 (json_int_t)v->n_samples, "kept_fraction", case_real(v->kept_fraction),
			 "max_gap", case_real(v->max_gap), "rms", case_real(v->rms), "mean_abs",
			 case_real(v->mean_abs), "r2", case_real(v->r2), "ks_d", case_real(v->ks_d),
			 "ks_limit", case_real(v->ks_limit), "uniform", v->uniform);
}

static json_t *validity(const json_t *params, const json_t *inputs)
{
	double all = case_number(inputs, "n_instances", 0), used = case_number(inputs, "n_used", 0);
	struct fold_validity v;
	struct fold_spline s;
	struct pairs p;

	if (!(all >= 0 && used >= 0) || !read_pairs(inputs, &p))
		return NULL;
	fold__fit(p.x, p.y, p.n, case_number(params, "nugget", FOLD_NUGGET), &s);
	fold__validity(p.x, p.y, p.n, &s, (size_t)all, (size_t)used, &v);
	return validity_object(&v);
}

/* The region that the samples of these cases were drawn from, which no input says: it runs with
 * slope 2 until 0.3, and the rest evenly. */
static double true_progress(double x)
{
	return x < 0.3 ? 2 * x : 0.6 + 0.4 / 0.7 * (x - 0.3);
}

static double distance_to_truth(const double *curve, size_t m)
{
	double sum = 0;

	for (size_t j = 0; j < m; j++)
		sum += fabs(curve[j] - true_progress((double)j / (double)(m - 1)));
	return sum / (double)m;
}

static json_t *endtoend(const json_t *params, const json_t *inputs)
{
	struct fold_options o = {.nugget = case_number(params, "nugget", FOLD_NUGGET)};
	struct fold_result r;
	struct fold_instance *in;
	size_t n, m = grid_points(inputs);

	if (!m || !read_filter(params, &o.filter))
		return NULL;
	in = read_instances(json_object_get(inputs, "instances"), &n);
	if (!in)
		return NULL;
	fold__region(in, n, &o, m, &r);
	return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o}", "n_kept", (json_int_t)r.range.kept,
			 "n_samples", (json_int_t)r.points.n, "curve", case_reals(r.curve, m),
			 "rate", case_reals(r.rate, m), "mean_abs_diff_to_truth",
			 case_real(distance_to_truth(r.curve, m)), "validity",
			 validity_object(&r.validity));
}

const struct case_entry fold_cases[] = {
	{"fold.outliers", outliers}, {"fold.points", points},	  {"fold.krige", krige},
	{"fold.validity", validity}, {"fold.endtoend", endtoend}, {NULL, NULL},
};
