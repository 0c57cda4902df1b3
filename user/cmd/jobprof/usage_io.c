/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The I/O of all jobs of a site, in the quantities and tables of S. El Sayed et al., "Parallel I/O
 * Characterisation Based on Server-Side Performance Counters" (PDSW-DISCS 2016), where 0.17 million
 * jobs of an hour and more were looked at so.
 */
#include "cmd/jobprof/usage_io.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/room.h"

#define LEAST_S	  3600 /* what the paper looks at */
#define USUAL	  0.8  /* of the jobs stay at a value or below it */
#define TOP	  0.2  /* of the jobs move most */
#define HIST_BINS 64   /* powers of two */

/* The known values of a column, the least first. */
struct values {
	double *v;
	size_t n;
};

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* One column at a time: memory is bounded by 8 bytes a job. */
static int ask_values(struct index *ix, const struct site_args *a, const struct viewer *viewer,
		      const char *column, struct values *out)
{
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	query__add(&q, "SELECT j.");
	query__add(&q, column);
	query__add(&q, " FROM job j");
	if (!err)
		err = query__where(&q, &a->filter, viewer);
	query__add(&q, " AND j.");
	query__add(&q, column);
	query__add(&q, " IS NOT NULL");
	if (!err)
		err = query__ask(&q, ix->db, &r);
	while (!err && db_rows__next(&r)) {
		err = room__grow(&out->v, out->n, 1, sizeof(*out->v));
		if (!err)
			out->v[out->n++] = db_value__number(&r.v[0]);
	}
	err = err ? err : r.err;
	db_rows__end(&r);
	query__free(&q);
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), by_value);
	return err;
}

/* The least value that this share of the jobs stays at or below; NaN: there is none. */
static double quantile(const struct values *x, double share)
{
	size_t i = (size_t)fmax(ceil(share * (double)x->n - 1e-9), 1);

	return x->n ? x->v[i - 1] : NAN;
}

static double sum(const struct values *x, size_t from)
{
	double s = 0;

	for (size_t i = from; i < x->n; i++)
		s += x->v[i];
	return x->n ? s : NAN;
}

/* What share of all the jobs move that move most, as many as the share TOP. */
static double share_of_top(const struct values *x)
{
	size_t top = (size_t)ceil(TOP * (double)x->n - 1e-9);

	return sum(x, x->n - top) / sum(x, 0);
}

/* ---- distributions of bytes and of the highest bandwidth */

static const struct {
	const char *name, *column, *unit;
	bool is_volume; /* else what is added up means nothing */
} spread[] = {
	{"read", "read_bytes", "B", true},
	{"written", "write_bytes", "B", true},
	{"highest bandwidth of reads", "read_bw_max", "B/s", false},
	{"highest bandwidth of writes", "write_bw_max", "B/s", false},
};
#define N_SPREAD (sizeof(spread) / sizeof(*spread))

static const struct site_column spread_columns[] = {
	{"quantity", "", NULL, CELL_TEXT, 0, 0},
	{"jobs", "jobs", NULL, CELL_COUNT, 2, 0},
	{"p50", "50% of jobs", NULL, CELL_BYTES, 1, 0},
	{"p80", "80%", NULL, CELL_BYTES, 0, 0},
	{"p95", "95%", NULL, CELL_BYTES, 1, 0},
	{"most", "most", NULL, CELL_BYTES, 0, 0},
	{"sum", "all", NULL, CELL_BYTES, 0, 0},
	{"top_share", "20% of jobs move%", NULL, CELL_SHARE, 0, 0},
	{"unit", "unit", NULL, CELL_HIDDEN, 0, 0},
};

/* Counts by powers of two: bin i is from 2^i on; what is below 1 is left out. */
static json_t *histogram(const struct values *x)
{
	json_t *a = json_array();
	size_t from = 0;

	while (from < x->n && x->v[from] < 1)
		from++;
	for (int i = 0; i < HIST_BINS && from < x->n; i++) {
		size_t to = from;

		while (to < x->n && x->v[to] < ldexp(1, i + 1))
			to++;
		json_array_append_new(a, json_integer((json_int_t)(to - from)));
		from = to;
	}
	return a;
}

static int add_spread(struct index *ix, const struct site_args *a, const struct viewer *v,
		      struct site_table *t, json_t *histograms)
{
	int err = 0;

	for (size_t i = 0; !err && i < N_SPREAD; i++) {
		struct values x = {0};

		err = ask_values(ix, a, v, spread[i].column, &x);
		if (!err) {
			const struct db_value row[] = {
				db_value__text(spread[i].name),
				db_value__int((int64_t)x.n),
				db_value__real(quantile(&x, 0.5)),
				db_value__real(quantile(&x, USUAL)),
				db_value__real(quantile(&x, 0.95)),
				db_value__real(quantile(&x, 1)),
				db_value__real(spread[i].is_volume ? sum(&x, 0) : NAN),
				db_value__real(spread[i].is_volume ? share_of_top(&x) : NAN),
				db_value__text(spread[i].unit),
			};

			err = site_table__add(t, row);
			json__set(histograms, spread[i].column, histogram(&x));
		}
		free(x.v);
	}
	return err;
}

/* ---- I/O intensity, burstiness and parallel intensity at thresholds */

static const struct site_column usual_columns[] = {
	{"quantity", "80% of the jobs are at or below", NULL, CELL_TEXT, 0, 0},
	{"c0", "0", NULL, CELL_NUMBER, 0, 0},
	{"c128k", "128 KiB", NULL, CELL_NUMBER, 0, 0},
	{"c1m", "1 MiB", NULL, CELL_NUMBER, 0, 0},
};

static int add_usual(struct index *ix, const struct site_args *a, const struct viewer *v,
		     struct site_table *t)
{
	static const char *const directions[] = {"read", "write"};
	static const struct {
		const char *name, *column;
	} quantities[] = {{"I/O intensity", "intensity"},
			  {"burstiness", "burstiness"},
			  {"parallel I/O intensity", "parallel"}};
	static const char *const thresholds[] = {"0", "128k", "1m"};
	int err = 0;

	for (unsigned i = 0; !err && i < 6; i++) {
		const char *direction = directions[i / 3];
		struct db_value row[4];
		char name[64], column[64];

		snprintf(name, sizeof(name), "%s, %s", quantities[i % 3].name, direction);
		row[0] = db_value__text(name);
		for (unsigned k = 0; !err && k < 3; k++) {
			struct values x = {0};

			snprintf(column, sizeof(column), "%s_%s_%s", direction,
				 quantities[i % 3].column, thresholds[k]);
			err = ask_values(ix, a, v, column, &x);
			row[k + 1] = db_value__real(quantile(&x, USUAL));
			free(x.v);
		}
		if (!err)
			err = site_table__add(t, row);
	}
	return err;
}

/* ---- the verb */

static int print_all(const struct site_args *a, const struct site_table *moved,
		     const struct site_table *usual, json_t *histograms)
{
	json_t *o;

	if (a->csv) {
		site_table__csv(moved, stdout);
		putchar('\n');
		site_table__csv(usual, stdout);
		return 0;
	}
	if (!a->json) {
		printf("I/O of jobs that ran %g h or more%s%s\n\n", a->filter.least_s / 3600,
		       a->since_word ? ", since " : "", a->since_word ? a->since_word : "");
		site_table__print(moved, site_table__width(stdout), stdout);
		printf("\nA server is a node; it is active in an interval in which it moves more "
		       "than "
		       "the threshold.\n\n");
		site_table__print(usual, site_table__width(stdout), stdout);
		return 0;
	}
	o = json_pack("{s:f}", "least_s", a->filter.least_s);
	json__set(o, "moved", site_table__json(moved));
	json__set(o, "usual", site_table__json(usual));
	json__set(o, "histograms", json_incref(histograms));
	return json__print(o, stdout, JSON_COMPACT) ? 1 : 0;
}

int usage_io__run(struct site_args *a)
{
	struct site_table moved = {.columns = spread_columns,
				   .ncolumns = sizeof(spread_columns) / sizeof(*spread_columns)};
	struct site_table usual = {.columns = usual_columns,
				   .ncolumns = sizeof(usual_columns) / sizeof(*usual_columns)};
	json_t *histograms = json_object();
	struct viewer viewer;
	struct index ix;
	int status, err;

	if (isnan(a->filter.least_s))
		a->filter.least_s = LEAST_S;
	status = site_args__open(a, &ix, &viewer);
	if (status) {
		json_decref(histograms);
		return status;
	}
	err = add_spread(&ix, a, &viewer, &moved, histograms);
	if (!err)
		err = add_usual(&ix, a, &viewer, &usual);
	status = err == -EINVAL ? 2 : err ? 1 : print_all(a, &moved, &usual, histograms);
	json_decref(histograms);
	site_table__free(&moved);
	site_table__free(&usual);
	index__close(&ix);
	return status;
}
