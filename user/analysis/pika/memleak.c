/* SPDX-License-Identifier: GPL-2.0-only */
/* Suspicion of a memory leak: the memory of a job follows a line that rises. */
#include "analysis/pika/pika.h"

#include <math.h>

#define LOWEST_SLOPE  0.01
#define HIGHEST_SLOPE 1.0
#define LIMIT_SLOPE   0.1 /* from here on a tenth of the highest memory is the limit */
#define ROUNDING      1e-12

const struct analysis_param memleak__params[] = {
	{"lowest_slope", LOWEST_SLOPE},
	{"highest_slope", HIGHEST_SLOPE},
	{"limit_slope", LIMIT_SLOPE},
	{NULL, 0},
};

/* The points that are known. */
struct known_points {
	size_t n;
	double first_s, span_s, max;
	double x_mean, y_mean; /* normalised: of time 0..1, of memory by its maximum */
};

static bool is_known(const double *t_s, const double *bytes, size_t i)
{
	return !isnan(t_s[i]) && !isnan(bytes[i]);
}

static struct known_points known_points(const double *t_s, const double *bytes, size_t n)
{
	struct known_points p = {.max = -INFINITY};
	double last_s = 0, since_first = 0, sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (!is_known(t_s, bytes, i))
			continue;
		if (!p.n++)
			p.first_s = t_s[i];
		last_s = t_s[i];
		since_first += t_s[i] - p.first_s;
		sum += bytes[i];
		p.max = fmax(p.max, bytes[i]);
	}
	p.span_s = p.n ? last_s - p.first_s : 0;
	p.x_mean = since_first / p.n / p.span_s;
	p.y_mean = sum / p.n / p.max;
	return p;
}

static struct analysis_verdict verdict_of(const struct known_points *p)
{
	if (p->n < 3)
		return (struct analysis_verdict){ANALYSIS_INSUFFICIENT, "too_short"};
	if (!(p->max > 0) || isinf(p->max))
		return (struct analysis_verdict){ANALYSIS_UNSUITABLE, "no_memory"};
	if (!(p->span_s > 0) || isinf(p->span_s))
		return (struct analysis_verdict){ANALYSIS_UNSUITABLE, "no_time"};
	return (struct analysis_verdict){ANALYSIS_OK, ""};
}

static void fit_line(const double *t_s, const double *bytes, size_t n, const struct known_points *p,
		     struct memleak *out)
{
	double xy = 0, xx = 0;

	for (size_t i = 0; i < n; i++) {
		double x = (t_s[i] - p->first_s) / p->span_s - p->x_mean;

		if (!is_known(t_s, bytes, i))
			continue;
		xy += x * (bytes[i] / p->max - p->y_mean);
		xx += x * x;
	}
	out->m = xy / xx;
	if (fabs(out->m) < ROUNDING)
		out->m = 0;
	out->n = p->y_mean - out->m * p->x_mean;
	out->rate = out->m * p->max / p->span_s;
}

static double largest_distance(const double *t_s, const double *bytes, size_t n,
			       const struct known_points *p, const struct memleak *line)
{
	double max = 0;

	for (size_t i = 0; i < n; i++) {
		double x = (t_s[i] - p->first_s) / p->span_s, y = bytes[i] / p->max;

		if (is_known(t_s, bytes, i))
			max = fmax(max, fabs(line->m * x - y + line->n));
	}
	return max / sqrt(line->m * line->m + 1);
}

/* P is on the horizontal through the line's begin, where the line has risen by a tenth. */
static void set_limit(struct memleak *out)
{
	out->p1[0] = 0;
	out->p1[1] = out->n;
	out->p2[0] = 1;
	out->p2[1] = out->m + out->n;
	out->p[0] = out->m >= LIMIT_SLOPE ? LIMIT_SLOPE / out->m : 1;
	out->p[1] = out->n;
	out->max_distance = fmin(out->m, LIMIT_SLOPE) / sqrt(out->m * out->m + 1);
}

void memleak__of(const double *t_s, const double *bytes, size_t n, struct memleak *out)
{
	struct known_points p = known_points(t_s, bytes, n);

	*out = (struct memleak){
		.verdict = verdict_of(&p),
		.known = p.n,
		.missing = n - p.n,
		.m = NAN,
		.n = NAN,
		.max_dis = NAN,
		.p1 = {NAN, NAN},
		.p2 = {NAN, NAN},
		.p = {NAN, NAN},
		.max_distance = NAN,
		.ml = NAN,
		.rate = NAN,
	};
	if (out->verdict.status != ANALYSIS_OK)
		return;
	fit_line(t_s, bytes, n, &p, out);
	out->max_dis = largest_distance(t_s, bytes, n, &p, out);
	if (out->m >= LOWEST_SLOPE - ROUNDING && out->m <= HIGHEST_SLOPE + ROUNDING) {
		set_limit(out);
		out->is_suspected = out->max_dis < out->max_distance;
	}
	out->ml = out->is_suspected ? out->m : 0;
}
