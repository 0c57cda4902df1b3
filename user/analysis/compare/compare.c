/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Splits the change of the wall time into terms. */
#include "analysis/compare/compare.h"

#include <math.h>

/* The logarithmic mean: (b - a) / ln(b / a), between a and b; 0 where one of them is 0. */
static double log_mean(double a, double b)
{
	double r;

	if (!(a > 0) || !(b > 0))
		return 0;
	r = (b - a) / a;
	return fabs(r) < 1e-7 ? (a + b) / 2 : a * r / log1p(r);
}

static bool is_positive(double v)
{
	return v > 0 && isfinite(v);
}

static bool has_counters(const struct compare_run *r)
{
	return is_positive(r->instructions) && is_positive(r->cycles) && is_positive(r->cpu_s);
}

static double parallelism(const struct compare_run *r)
{
	return r->cpu_s / r->path_cpu_s;
}

/* A part of the path that is a term where both runs know it. */
static double part_s(const struct compare_run *r, enum compare_term term)
{
	return term == TERM_WAIT   ? r->path_wait_s
	       : term == TERM_DISK ? r->path_disk_s
	       : term == TERM_TAIL ? r->tail_s
				   : r->path_cause_s[term - TERM_QUOTA];
}

static bool is_part(enum compare_term term)
{
	return term == TERM_WAIT || term == TERM_DISK || term == TERM_TAIL ||
	       compare_term__is_cause(term);
}

/* What is left without the parts that both know. */
static double blocked_s(const struct compare_run *r, const struct comparison *c)
{
	double s = r->wall_s - r->path_cpu_s - r->unknown_s;

	for (int i = 0; i < N_TERMS; i++)
		if (is_part(i) && c->change[i].is_in == (enum compare_term)i)
			s -= part_s(r, i);
	return s;
}

/* Seconds: what is not known of one run is not known of the change, and is part of the other. */
static void put_seconds(struct comparison *c, enum compare_term term, double a, double b)
{
	c->change[term].before = a;
	c->change[term].after = b;
	c->change[term].s = b - a;
}

/* A factor of the path's CPU time: it grows as the factor does, or the other way round. */
static void put_factor(struct comparison *c, enum compare_term term, double a, double b,
		       double weight)
{
	c->change[term].before = a;
	c->change[term].after = b;
	c->change[term].s = weight * log(b / a);
}

static void merge(struct comparison *c, enum compare_term term, enum compare_term into)
{
	c->change[term].s = NAN;
	c->change[term].is_in = into;
}

static void put_counters(struct comparison *c, const struct compare_run *a,
			 const struct compare_run *b, double weight)
{
	if (!has_counters(a) || !has_counters(b)) {
		merge(c, TERM_IPC, TERM_WORK);
		merge(c, TERM_CLOCK, TERM_WORK);
		put_factor(c, TERM_WORK, a->cpu_s, b->cpu_s, weight);
		return;
	}
	put_factor(c, TERM_WORK, a->instructions, b->instructions, weight);
	put_factor(c, TERM_IPC, a->instructions / a->cycles, b->instructions / b->cycles, -weight);
	put_factor(c, TERM_CLOCK, a->cycles / a->cpu_s, b->cycles / b->cpu_s, -weight);
}

static void put_cpu(struct comparison *c, const struct compare_run *a, const struct compare_run *b)
{
	double weight = log_mean(a->path_cpu_s, b->path_cpu_s),
	       at_once[] = {parallelism(a), parallelism(b)};
	bool cores = is_positive(a->cores) && is_positive(b->cores);

	/* A run without CPU time has no factors. */
	if (!(weight > 0) || !is_positive(a->cpu_s) || !is_positive(b->cpu_s)) {
		put_seconds(c, TERM_WORK, a->path_cpu_s, b->path_cpu_s);
		merge(c, TERM_IPC, TERM_WORK);
		merge(c, TERM_CLOCK, TERM_WORK);
		merge(c, TERM_CORES, TERM_WORK);
		merge(c, TERM_BALANCE, TERM_WORK);
		return;
	}
	put_counters(c, a, b, weight);
	put_factor(c, TERM_BALANCE, at_once[0], at_once[1], -weight);
	if (cores) {
		put_factor(c, TERM_CORES, a->cores, b->cores, -weight);
		c->change[TERM_BALANCE].s -= c->change[TERM_CORES].s;
	} else {
		merge(c, TERM_CORES, TERM_BALANCE);
	}
}

/* Where the run became longer the term that adds most, else the one that takes most. */
static enum compare_term cause_of(const struct comparison *c, double wall_s)
{
	enum compare_term cause = N_TERMS;
	double most = 0, sign = c->s < 0 ? -1 : 1;

	if (fabs(c->s) < COMPARE_SAME * wall_s)
		return N_TERMS;
	for (int i = 0; i < N_TERMS; i++)
		if (sign * c->change[i].s > most) {
			most = sign * c->change[i].s;
			cause = i;
		}
	return cause;
}

void compare__of(struct comparison *out, const struct compare_run *a, const struct compare_run *b)
{
	double mean = log_mean(a->wall_s, b->wall_s);

	*out = (struct comparison){.s = b->wall_s - a->wall_s, .ln = log(b->wall_s / a->wall_s)};
	for (int i = 0; i < N_TERMS; i++)
		out->change[i] = (struct compare_change){0, 0, NAN, NAN, i};
	put_cpu(out, a, b);
	for (int i = 0; i < N_TERMS; i++) {
		if (!is_part(i))
			continue;
		put_seconds(out, i, part_s(a, i), part_s(b, i));
		if (isnan(out->change[i].s))
			merge(out, i, TERM_BLOCKED);
	}
	put_seconds(out, TERM_BLOCKED, blocked_s(a, out), blocked_s(b, out));
	put_seconds(out, TERM_UNKNOWN, a->unknown_s, b->unknown_s);
	for (int i = 0; i < N_TERMS; i++)
		out->change[i].ln = out->change[i].s / mean;
	out->cause = cause_of(out, a->wall_s);
}
