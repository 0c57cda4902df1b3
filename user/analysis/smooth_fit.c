// SPDX-License-Identifier: GPL-2.0-or-later
/* Least squares with a penalty on steps, for unknowns that are not negative. */
#include "analysis/smooth_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DECADES	      13    /* of lambda that are tried, */
#define FIRST_DECADE  -7    /* from this one, times the mean of the diagonal */
#define FREEDOM_COSTS 1.4   /* see smooth_fit.h */
#define ROUNDS	      50    /* for the choice of the unknowns that are 0 */
#define EXACT	      1e-13 /* squares smaller than this, by those of y, are rounding */

bool smooth_fit__init(struct smooth_fit *f, size_t n, size_t nsmooth)
{
	*f = (struct smooth_fit){
		.n = n,
		.nsmooth = nsmooth,
		.normal = calloc(n * n + 1, sizeof(*f->normal)),
		.right = calloc(n + 1, sizeof(*f->right)),
	};
	if (f->normal && f->right)
		return true;
	smooth_fit__free(f);
	return false;
}

void smooth_fit__free(struct smooth_fit *f)
{
	free(f->normal);
	free(f->right);
	*f = (struct smooth_fit){0};
}

void smooth_fit__add(struct smooth_fit *f, const double *e, double y)
{
	for (size_t i = 0; i < f->n; i++) {
		if (e[i] == 0)
			continue;
		for (size_t j = 0; j <= i; j++)
			f->normal[i * f->n + j] += e[i] * e[j];
		f->right[i] += e[i] * y;
	}
	f->squares += y * y;
	f->rows++;
}

/* The matrix of the penalised equations; those that are not free become x = 0. */
static void make_matrix(const struct smooth_fit *f, double lambda, const bool *open, double *m)
{
	size_t n = f->n;

	memcpy(m, f->normal, n * n * sizeof(*m));
	for (size_t i = 0; i + 1 < f->nsmooth; i++) {
		m[i * n + i] += lambda;
		m[(i + 1) * n + i + 1] += lambda;
		m[(i + 1) * n + i] -= lambda;
	}
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < i; j++)
			if (!open[i] || !open[j])
				m[i * n + j] = 0;
		if (!open[i] || !(m[i * n + i] > 0))
			m[i * n + i] = 1;
	}
}

/* Cholesky's factor L in place, M = LL'. A pivot that rounding has made negative is rounding. */
static void factorize(double *m, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double all = m[i * n + i];

		for (size_t j = 0; j <= i; j++) {
			double sum = m[i * n + j];

			for (size_t k = 0; k < j; k++)
				sum -= m[i * n + k] * m[j * n + k];
			m[i * n + j] = i == j ? sqrt(fmax(sum, 1e-14 * all)) : sum / m[j * n + j];
		}
	}
}

/* x = L^-1 x; those before from are 0. */
static void solve_forward(const double *l, size_t n, size_t from, double *x)
{
	for (size_t i = from; i < n; i++) {
		for (size_t k = from; k < i; k++)
			x[i] -= l[i * n + k] * x[k];
		x[i] /= l[i * n + i];
	}
}

static void solve_backward(const double *l, size_t n, double *x)
{
	for (size_t i = n; i-- > 0;) {
		x[i] /= l[i * n + i];
		for (size_t k = 0; k < i; k++)
			x[k] -= l[i * n + k] * x[i];
	}
}

static void solve(const struct smooth_fit *f, const double *l, const bool *open, double *x)
{
	for (size_t i = 0; i < f->n; i++)
		x[i] = open[i] ? f->right[i] : 0;
	solve_forward(l, f->n, 0, x);
	solve_backward(l, f->n, x);
}

/* gradient = normal x + lambda penalty x - right */
static void find_gradient(const struct smooth_fit *f, double lambda, const double *x,
			  double *gradient)
{
	size_t n = f->n;

	for (size_t i = 0; i < n; i++) {
		gradient[i] = -f->right[i];
		for (size_t j = 0; j < n; j++)
			gradient[i] += f->normal[i >= j ? i * n + j : j * n + i] * x[j];
	}
	for (size_t i = 0; i + 1 < f->nsmooth; i++) {
		gradient[i] -= lambda * (x[i + 1] - x[i]);
		gradient[i + 1] += lambda * (x[i + 1] - x[i]);
	}
}

/* Sum of (e x - y)^2 = squares - x right + x (normal x - right) */
static double find_residual(const struct smooth_fit *f, const double *x, double *room)
{
	double sum = f->squares;

	find_gradient(f, 0, x, room);
	for (size_t i = 0; i < f->n; i++)
		sum += x[i] * (room[i] - f->right[i]);
	return fmax(sum, EXACT * f->squares);
}

/* The trace of the matrix that makes of y what the solution expects: n - lambda tr(M^-1 penalty),
 * whose penalty is the sum of d d' over the steps d. */
static double find_freedom(const struct smooth_fit *f, double lambda, const double *l, double *step)
{
	double freedom = (double)f->n;

	for (size_t i = 0; i + 1 < f->nsmooth; i++) {
		memset(step, 0, f->n * sizeof(*step));
		step[i] = -1;
		step[i + 1] = 1;
		solve_forward(l, f->n, i, step);
		for (size_t k = i; k < f->n; k++)
			freedom -= lambda * step[k] * step[k];
	}
	return freedom;
}

/* Room for a solution. */
struct solver {
	double *m, *room;
	bool *open;
};

static double choose_lambda(const struct smooth_fit *f, const struct solver *s, double *x)
{
	double best = NAN, chosen = 1, mean = 0;

	for (size_t i = 0; i < f->nsmooth; i++)
		mean += f->normal[i * f->n + i] / (double)f->nsmooth;
	for (int d = 0; d < DECADES; d++) {
		double lambda = mean * pow(10, FIRST_DECADE + d), left, score;

		make_matrix(f, lambda, s->open, s->m);
		factorize(s->m, f->n);
		solve(f, s->m, s->open, x);
		left = (double)f->rows - FREEDOM_COSTS * find_freedom(f, lambda, s->m, s->room);
		score = find_residual(f, x, s->room) / (left * left);
		if (left > 0 && !(score >= best)) {
			best = score;
			chosen = lambda;
		}
	}
	return isnan(best) ? mean * pow(10, FIRST_DECADE + DECADES - 1) : chosen;
}

/* Unknowns that came out negative become 0; when there is none, those return that would gain from
 * it. Returns whether anything changed. */
static bool choose_free(const struct smooth_fit *f, double lambda, const struct solver *s,
			double *x)
{
	double low = 0, most = 0;
	bool changed = false;

	for (size_t i = 0; i < f->n; i++) {
		most = fmax(most, fabs(f->right[i]));
		low = fmin(low, x[i]);
	}
	if (!(low < 0))
		find_gradient(f, lambda, x, s->room);
	for (size_t i = 0; i < f->n; i++) {
		bool open = low < 0 ? s->open[i] && !(x[i] < 0)
				    : s->open[i] || s->room[i] < -1e-9 * most;

		changed = changed || open != s->open[i];
		s->open[i] = open;
		x[i] = fmax(x[i], 0);
	}
	return changed;
}

static void solve_within(const struct smooth_fit *f, const struct solver *s, double *x)
{
	double lambda;

	for (size_t i = 0; i < f->n; i++)
		s->open[i] = true;
	lambda = choose_lambda(f, s, x);
	for (int round = 0; round < ROUNDS; round++) {
		make_matrix(f, lambda, s->open, s->m);
		factorize(s->m, f->n);
		solve(f, s->m, s->open, x);
		if (!choose_free(f, lambda, s, x))
			break;
	}
}

static void solver__free(struct solver *s)
{
	free(s->m);
	free(s->room);
	free(s->open);
}

enum analysis_status smooth_fit__solve(const struct smooth_fit *f, double *x)
{
	struct solver s = {
		.m = calloc(f->n * f->n + 1, sizeof(*s.m)),
		.room = calloc(f->n + 1, sizeof(*s.room)),
		.open = calloc(f->n + 1, sizeof(*s.open)),
	};
	enum analysis_status status = ANALYSIS_NO_MEMORY;

	if (s.m && s.room && s.open)
		status = f->rows ? ANALYSIS_OK : ANALYSIS_INSUFFICIENT;
	if (status == ANALYSIS_OK)
		solve_within(f, &s, x);
	solver__free(&s);
	return status;
}
