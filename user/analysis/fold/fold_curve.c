/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The curve of a folded region, the rate along it, and figures that say whether it can be
 * trusted. */
#include "analysis/fold/fold.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/order.h"
#include "base/cleanup.h"

/* ---- a spline for many points */

/*
 * Folding: a natural cubic smoothing spline by the algorithm of Reinsch. With knots of distances
 * h and weights w, the second derivatives g at the inner knots solve
 *	(R + lambda Q' W^-1 Q) g = Q' y
 * where R is tridiagonal and Q has three diagonals. The matrix has five diagonals and is positive
 * definite, so LDL' without pivoting solves it. Where knots are close, its elements differ by many
 * orders of magnitude: with 2000 random points double leaves errors of 1e-3, long double 1e-8.
 */

#define SAME_X 1e-9 /* values of x closer than this are one knot: 1 / h must not overflow */

/* The knots, and the matrix, whose row j belongs to the inner knot j + 1. */
struct reinsch {
	size_t n;		   /* knots */
	long double *x, *y, *w;	   /* position, mean, number of the points there */
	long double *q0, *q1, *q2; /* column j of Q: rows j, j + 1 and j + 2 */
	long double *d, *l1, *l2;  /* the diagonal and the two below it, then D and L */
	long double *g;		   /* the right side, then the solution */
};

static bool reinsch__alloc(struct reinsch *r, size_t n)
{
	long double *block = calloc(10 * n + 1, sizeof(*block));

	if (!block)
		return false;
	*r = (struct reinsch){.x = block,
			      .y = block + n,
			      .w = block + 2 * n,
			      .q0 = block + 3 * n,
			      .q1 = block + 4 * n,
			      .q2 = block + 5 * n,
			      .d = block + 6 * n,
			      .l1 = block + 7 * n,
			      .l2 = block + 8 * n,
			      .g = block + 9 * n};
	return true;
}

static void reinsch__free(struct reinsch *r)
{
	free(r->x);
	r->x = NULL;
}

/* Points become knots in ascending order; y is their mean. Returns false without memory. */
static bool make_knots(struct reinsch *r, const double *x, const double *y, size_t n)
{
	_cleanup_free_ struct ranked *sorted = calloc(n + 1, sizeof(*sorted));
	size_t known = 0, k = 0;

	if (!sorted)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (isfinite(x[i]) && isfinite(y[i]))
			sorted[known++] = (struct ranked){x[i], i};
	}
	qsort(sorted, known, sizeof(*sorted), order__ranked);
	for (size_t i = 0; i < known; i++) {
		if (!k || sorted[i].v - r->x[k - 1] >= SAME_X) {
			r->x[k] = sorted[i].v;
			r->y[k] = r->w[k] = 0;
			k++;
		}
		r->w[k - 1]++;
		r->y[k - 1] += y[sorted[i].at];
	}
	for (size_t i = 0; i < k; i++)
		r->y[i] /= r->w[i];
	r->n = k;
	return true;
}

/* Fills the rows of the inner knots: Q, R + lambda Q' W^-1 Q, and Q' y. */
static void make_matrix(struct reinsch *r, long double lambda)
{
	const long double *w = r->w, *q0 = r->q0, *q1 = r->q1, *q2 = r->q2;

	for (size_t j = 0; j + 2 < r->n; j++) {
		long double h = r->x[j + 1] - r->x[j], next = r->x[j + 2] - r->x[j + 1];

		r->q0[j] = 1.0L / h;
		r->q1[j] = -1.0L / h - 1 / next;
		r->q2[j] = 1 / next;
		r->g[j] = (r->y[j + 2] - r->y[j + 1]) / next - (r->y[j + 1] - r->y[j]) / h;
		r->d[j] = (h + next) / 3;
		r->l1[j] = next / 6;
	}
	for (size_t j = 0; j + 2 < r->n; j++) {
		r->d[j] += lambda * (q0[j] * q0[j] / w[j] + q1[j] * q1[j] / w[j + 1] +
				     q2[j] * q2[j] / w[j + 2]);
		if (j + 3 < r->n)
			r->l1[j] += lambda *
				    (q1[j] * q0[j + 1] / w[j + 1] + q2[j] * q1[j + 1] / w[j + 2]);
		if (j + 4 < r->n)
			r->l2[j] = lambda * q2[j] * q0[j + 2] / w[j + 2];
	}
}

/* LDL' in place, then g. */
static void solve(struct reinsch *r)
{
	long double *d = r->d, *l1 = r->l1, *l2 = r->l2, *g = r->g;
	size_t m = r->n - 2;

	for (size_t i = 0; i < m; i++) {
		long double a1 = l1[i];

		if (i >= 1) {
			d[i] -= d[i - 1] * l1[i - 1] * l1[i - 1];
			a1 -= d[i - 1] * l1[i - 1] * l2[i - 1];
			g[i] -= l1[i - 1] * g[i - 1];
		}
		if (i >= 2) {
			d[i] -= d[i - 2] * l2[i - 2] * l2[i - 2];
			g[i] -= l2[i - 2] * g[i - 2];
		}
		l1[i] = i + 1 < m ? a1 / d[i] : 0;
		l2[i] = i + 2 < m ? l2[i] / d[i] : 0;
	}
	for (size_t i = m; i-- > 0;) {
		g[i] /= d[i];
		if (i + 1 < m)
			g[i] -= l1[i] * g[i + 1];
		if (i + 2 < m)
			g[i] -= l2[i] * g[i + 2];
	}
}

/* f = y - lambda W^-1 Q g; g is 0 at both ends. */
static bool take_spline(const struct reinsch *r, long double lambda, struct fold_spline *s)
{
	*s = (struct fold_spline){
		.x = calloc(r->n, sizeof(*s->x)),
		.f = calloc(r->n, sizeof(*s->f)),
		.g = calloc(r->n, sizeof(*s->g)),
		.nknots = r->n,
	};
	if (!s->x || !s->f || !s->g) {
		fold_spline__free(s);
		return false;
	}
	for (size_t i = 0; i < r->n; i++) {
		long double qg = 0;

		if (i + 2 < r->n)
			qg += r->q0[i] * r->g[i];
		if (i >= 1 && i + 1 < r->n)
			qg += r->q1[i - 1] * r->g[i - 1];
		if (i >= 2)
			qg += r->q2[i - 2] * r->g[i - 2];
		s->x[i] = (double)r->x[i];
		s->f[i] = (double)(r->y[i] - lambda * qg / r->w[i]);
		s->g[i] = i >= 1 && i + 1 < r->n ? (double)r->g[i - 1] : 0;
	}
	return true;
}

enum analysis_status fold_spline__fit(const double *x, const double *y, size_t n, double nugget,
				      struct fold_spline *s)
{
	struct reinsch r = {0};
	enum analysis_status status = ANALYSIS_NO_MEMORY;

	*s = (struct fold_spline){0};
	if (!(nugget >= 0))
		return ANALYSIS_UNSUITABLE;
	if (!reinsch__alloc(&r, n))
		return ANALYSIS_NO_MEMORY;
	if (!make_knots(&r, x, y, n))
		goto out;
	status = ANALYSIS_INSUFFICIENT;
	if (r.n < 2)
		goto out;
	make_matrix(&r, (long double)nugget / 12);
	solve(&r);
	status = take_spline(&r, (long double)nugget / 12, s) ? ANALYSIS_OK : ANALYSIS_NO_MEMORY;
out:
	reinsch__free(&r);
	return status;
}

void fold_spline__free(struct fold_spline *s)
{
	free(s->x);
	free(s->f);
	free(s->g);
	*s = (struct fold_spline){0};
}

/* The interval [x_i, x_i+1] that x is in; the first or the last one for an x outside. */
static size_t find_interval(const struct fold_spline *s, double x)
{
	size_t lo = 0, hi = s->nknots - 1;

	while (hi - lo > 1) {
		size_t middle = lo + (hi - lo) / 2;

		if (s->x[middle] <= x)
			lo = middle;
		else
			hi = middle;
	}
	return lo;
}

double fold_spline__at(const struct fold_spline *s, double x)
{
	size_t i, last = s->nknots - 1;
	double h, a, b, slope;

	if (s->nknots < 2 || isnan(x))
		return NAN;
	i = find_interval(s, x);
	h = s->x[i + 1] - s->x[i];
	slope = (s->f[i + 1] - s->f[i]) / h;
	if (x < s->x[0])
		return s->f[0] + (slope - h * s->g[1] / 6) * (x - s->x[0]);
	if (x > s->x[last])
		return s->f[last] + (slope + h * s->g[last - 1] / 6) * (x - s->x[last]);
	a = s->x[i + 1] - x;
	b = x - s->x[i];
	return (a * s->f[i] + b * s->f[i + 1]) / h -
	       a * b / 6 * ((1 + a / h) * s->g[i] + (1 + b / h) * s->g[i + 1]);
}

/* ---- figures that say whether a folded region can be trusted */

static double max_gap(const double *sorted, size_t n)
{
	double gap = 0, before = 0;

	for (size_t i = 0; i < n; i++) {
		gap = fmax(gap, sorted[i] - before);
		before = fmax(before, sorted[i]);
	}
	return fmax(gap, 1 - before);
}

/* How far the empirical distribution is off, above and below each of its steps. */
static double kolmogorov_distance(const double *sorted, size_t n)
{
	double d = 0;

	for (size_t i = 0; i < n; i++) {
		double x = fmin(fmax(sorted[i], 0), 1);

		d = fmax(d, (double)(i + 1) / (double)n - x);
		d = fmax(d, x - (double)i / (double)n);
	}
	return d;
}

#define SURE 2.0  /* times the limit of 5 % */
#define FAR  0.25 /* at least: a thread that others disturb is not sampled uniformly either */

bool fold__is_locked(const struct fold_points *p, const struct fold_spline *cpu)
{
	_cleanup_free_ double *u = calloc(p->n + 1, sizeof(*u)), *v = calloc(p->n + 1, sizeof(*v));

	if (!u || !v || p->n < 30)
		return false;
	for (size_t i = 0; i < p->n; i++) {
		u[i] = p->x[i];
		v[i] = cpu->nknots ? fold_spline__at(cpu, p->x[i]) : p->x[i];
	}
	qsort(u, p->n, sizeof(*u), order__doubles);
	qsort(v, p->n, sizeof(*v), order__doubles);
	return fmin(kolmogorov_distance(u, p->n), kolmogorov_distance(v, p->n)) >
	       fmax(SURE * 1.358 / sqrt((double)p->n), FAR);
}

static void residuals(const double *x, const double *y, size_t n, const struct fold_spline *s,
		      struct fold_validity *v)
{
	double count = (double)v->n_samples, mean = 0, all = 0, squares = 0, sum = 0;
	double least = INFINITY, most = -INFINITY;

	for (size_t i = 0; i < n; i++)
		mean += isnan(x[i]) || isnan(y[i]) ? 0 : y[i] / count;
	for (size_t i = 0; i < n; i++) {
		double e = y[i] - fold_spline__at(s, x[i]);

		if (isnan(x[i]) || isnan(y[i]))
			continue;
		sum += fabs(e);
		squares += e * e;
		all += (y[i] - mean) * (y[i] - mean);
		least = fmin(least, y[i]);
		most = fmax(most, y[i]);
	}
	v->rms = sqrt(squares / count);
	v->mean_abs = sum / count;
	/* Equal values may miss their mean by a rounding. */
	v->r2 = most > least && all > 0 ? 1 - squares / all : NAN;
}

enum analysis_status fold__validity(const double *x, const double *y, size_t n,
				    const struct fold_spline *s, size_t n_instances, size_t n_kept,
				    struct fold_validity *v)
{
	_cleanup_free_ double *sorted = calloc(n + 1, sizeof(*sorted));
	size_t known = 0;

	*v = (struct fold_validity){0,	 NAN,	NAN,   NAN, NAN, NAN, NAN,
				    NAN, false, false, NAN, NAN, NAN, NAN};
	if (!sorted)
		return ANALYSIS_NO_MEMORY;
	if (n_instances)
		v->kept_fraction = (double)n_kept / (double)n_instances;
	for (size_t i = 0; i < n; i++) {
		if (!isnan(x[i]) && !isnan(y[i]))
			sorted[known++] = x[i];
	}
	v->n_samples = known;
	if (!known)
		return ANALYSIS_INSUFFICIENT;
	qsort(sorted, known, sizeof(*sorted), order__doubles);
	v->max_gap = max_gap(sorted, known);
	v->ks_d = kolmogorov_distance(sorted, known);
	v->ks_limit = 1.358 / sqrt((double)known);
	v->uniform = v->ks_d <= v->ks_limit;
	residuals(x, y, n, s, v);
	v->good = n_kept >= 10 && known >= 30 && v->max_gap <= 0.05 && v->uniform && v->rms <= 0.05;
	return ANALYSIS_OK;
}

void fold_validity__scatter(struct fold_validity *v, double scatter)
{
	v->scatter = scatter;
	v->good = v->good && !(scatter > FOLD_SCATTER_MAX);
}

void fold_validity__misplaced(struct fold_validity *v, double misplaced)
{
	v->misplaced = misplaced;
	v->good = v->good && !(misplaced > FOLD_MISPLACED_MAX);
}

void fold_validity__blurred(struct fold_validity *v, double blurred)
{
	v->blurred = blurred;
	v->good = v->good && !(blurred > FOLD_BLURRED_MAX);
}

#define PAIRS  30  /* are needed */
#define CHANCE 3.0 /* standard deviations */

double fold__unlike(const double *x, const uint64_t *code, const size_t *execution, size_t n)
{
	size_t within = 0, same = 0, across = 0, alike = 0, next = 0;
	double a, b, p;

	for (size_t i = 0; i + 1 < n; i++) {
		bool is_within = execution[i] == execution[i + 1];

		within += is_within;
		same += is_within && code[i] == code[i + 1];
		while (next < n && execution[next] <= execution[i])
			next++;
		if (next == n || execution[next] != execution[i] + 1)
			continue;
		while (next + 1 < n && execution[next + 1] == execution[next] &&
		       fabs(x[next + 1] - x[i]) < fabs(x[next] - x[i]))
			next++;
		across++;
		alike += code[next] == code[i];
	}
	if (within < PAIRS || across < PAIRS)
		return NAN;
	a = (double)same / (double)within;
	b = (double)alike / (double)across;
	p = (double)(same + alike) / (double)(within + across);
	return a - b - CHANCE * sqrt(p * (1 - p) * (1. / (double)within + 1. / (double)across));
}

void fold_validity__unlike(struct fold_validity *v, double unlike)
{
	v->unlike = unlike;
	v->good = v->good && !(unlike > FOLD_UNLIKE_MAX);
}

enum analysis_status fold__fit(const double *x, const double *y, size_t n, double nugget,
			       struct fold_spline *s)
{
	_cleanup_free_ double *xs = calloc(n + 2, sizeof(*xs)), *ys = calloc(n + 2, sizeof(*ys));
	size_t known = 0, inside = 0;
	bool zero = true;

	*s = (struct fold_spline){0};
	if (!xs || !ys)
		return ANALYSIS_NO_MEMORY;
	for (size_t i = 0; i < n; i++) {
		if (!isfinite(x[i]) || !isfinite(y[i]))
			continue;
		xs[known] = x[i];
		ys[known++] = y[i];
		inside += x[i] > 0 && x[i] < 1;
		zero = zero && y[i] == 0;
	}
	if (!inside)
		return ANALYSIS_INSUFFICIENT;
	xs[known] = ys[known] = 0;
	xs[known + 1] = 1;
	ys[known + 1] = zero ? 0 : 1;
	return fold_spline__fit(xs, ys, known + 2, nugget, s);
}

void fold_spline__curve(const struct fold_spline *s, double *curve, size_t m)
{
	for (size_t j = 0; j < m; j++) {
		double f = fold_spline__at(s, (double)j / (double)(m - 1));

		curve[j] = f < 0 ? 0 : f;
	}
}

enum analysis_status fold__krige(const double *x, const double *y, size_t n, double nugget,
				 double *curve, size_t m)
{
	struct fold_spline s = {0};
	enum analysis_status status = ANALYSIS_UNSUITABLE;

	if (m >= 2)
		status = fold__fit(x, y, n, nugget, &s);
	fold_spline__curve(&s, curve, m);
	fold_spline__free(&s);
	return status;
}

enum analysis_status fold__rate(const double *curve, size_t m, double factor, double *rate)
{
	double top;

	if (m < 2) {
		for (size_t j = 0; j < m; j++)
			rate[j] = NAN;
		return ANALYSIS_UNSUITABLE;
	}
	top = curve[0];
	for (size_t j = 1; j < m; j++) {
		rate[j] = factor * fmax(curve[j] - top, 0) * (double)(m - 1);
		top = fmax(top, curve[j]);
		if (isnan(curve[j]))
			rate[j] = NAN;
	}
	rate[0] = rate[1];
	return ANALYSIS_OK;
}
