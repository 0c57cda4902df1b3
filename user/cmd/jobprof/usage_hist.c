/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How well jobs used what they held, as histograms by core time: CPU time, memory, time limit. That
 * of a quantity ignores the filter's range of it, so that a reader who has chosen a part sees the
 * rest. */
#include "cmd/jobprof/usage_hist.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/json.h"

#define BINS  20
#define WIDTH 40 /* characters of the longest bar */

static const struct histogram_of {
	const char *name, *title;
	const char *column, *stored; /* of the tables job and hist */
	enum filter_range range;
} quantities[] = {
	{"cpu", "CPU time of what was held", "bin_cpu", "cpu", RANGE_CPU},
	{"memory", "Memory used of what was asked for", "bin_mem", "mem", RANGE_MEMORY},
	{"limit", "Time used of the limit", "bin_limit", "limit", RANGE_LIMIT},
};
#define QUANTITIES (sizeof(quantities) / sizeof(*quantities))

struct bin {
	double core_s, lost_core_s, jobs;
};

struct histogram {
	struct bin bins[BINS];
};

/* Whether the time has most days of the table: all of it is then read faster than by its index. */
static bool is_most(struct index *ix, const struct job_filter *f)
{
	int err;
	const double days = db__number(
		ix->db, &err, "SELECT (SELECT max(day) FROM hist) - (SELECT min(day) FROM hist)",
		NULL, 0);
	const double until = isnan(f->until) ? (double)time(NULL) : f->until;

	return !err && !(until - f->since < days / 2 * 86400);
}

static int write_question(struct query *q, struct index *ix, const struct histogram_of *of,
			  const struct job_filter *f, const struct viewer *v)
{
	const bool is_stored = v->sees_all && !f->user && !f->account && query__is_of_days(ix, f);
	int err = 0;

	if (is_stored) {
		query__add(q, "SELECT s.bin, sum(s.core_s), sum(s.lost_core_s), "
			      "CAST(sum(s.jobs) AS BIGINT) FROM (SELECT * FROM hist WHERE "
			      "quantity = ?) s");
		query__arg(q, db_value__text(of->stored));
		q->in_order = is_most(ix, f);
		query__where_sums(q, "day", f, v);
	} else {
		query__add(q, "SELECT j.");
		query__add(q, of->column);
		query__add(q, ", sum(j.held_core_s), sum(j.lost_core_s), count(*) FROM job j");
		err = query__where(q, f, v);
		query__add(q, " AND j.");
		query__add(q, of->column);
		query__add(q, " IS NOT NULL");
	}
	query__add(q, " GROUP BY 1");
	return err;
}

static double known(const struct db_value *v)
{
	return v->type == DB_NULL ? 0 : db_value__number(v);
}

static int ask(struct index *ix, const struct histogram_of *of, const struct site_args *a,
	       const struct viewer *v, struct histogram *out)
{
	struct job_filter f = a->filter;
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	f.range[of->range].least = f.range[of->range].most = NAN;
	*out = (struct histogram){0};
	if (!err)
		err = write_question(&q, ix, of, &f, v);
	if (!err)
		err = query__ask(&q, ix->db, &r);
	while (!err && db_rows__next(&r))
		if (r.v[0].i >= 0 && r.v[0].i < BINS)
			out->bins[r.v[0].i] =
				(struct bin){known(&r.v[1]), known(&r.v[2]), known(&r.v[3])};
	err = db_rows__end(&r, err);
	query__free(&q);
	return err;
}

/* ---- forms */

static double most_of(const struct histogram *h)
{
	double most = 0;

	for (unsigned i = 0; i < BINS; i++)
		most = fmax(most, h->bins[i].core_s);
	return most;
}

/* "=" is what was held and "#" what of that was lost. */
static void print_bar(const struct bin *b, double most)
{
	const int all = (int)ceil(WIDTH * b->core_s / most - 1e-9);
	const int lost = (int)lround(WIDTH * fmin(b->lost_core_s, b->core_s) / most);

	for (int i = 0; i < WIDTH; i++)
		putchar(i < lost ? '#' : i < all ? '=' : ' ');
}

static void print_histogram(const struct histogram_of *of, const struct histogram *h)
{
	const double most = most_of(h);

	printf("\n%s\n", of->title);
	for (unsigned i = 0; i < BINS; i++) {
		const struct bin *b = &h->bins[i];
		char held[SITE_CELL], jobs[SITE_CELL];

		site_cell__put(held, CELL_HOURS, b->core_s);
		site_cell__put(jobs, CELL_COUNT, b->jobs);
		printf("%3u-%-3u ", i * 5, i * 5 + 5);
		if (most > 0)
			print_bar(b, most);
		printf(" %11s %10s\n", held, jobs);
	}
}

static void print_text(const struct site_args *a, const struct histogram *h)
{
	fputs("Jobs", stdout);
	site_args__print_times(stdout, a);
	puts(" by percent: = core-h held, # lost of that; then core-h and jobs.");
	for (unsigned i = 0; i < QUANTITIES; i++)
		print_histogram(&quantities[i], &h[i]);
}

static void print_csv(const struct histogram *h)
{
	puts("quantity,from,core_s,lost_core_s,jobs");
	for (unsigned i = 0; i < QUANTITIES; i++)
		for (unsigned k = 0; k < BINS; k++)
			printf("%s,%g,%.15g,%.15g,%.0f\n", quantities[i].name, k / (double)BINS,
			       h[i].bins[k].core_s, h[i].bins[k].lost_core_s, h[i].bins[k].jobs);
}

static json_t *bins_json(const struct histogram *h)
{
	json_t *a = json_array();

	for (unsigned i = 0; i < BINS; i++) {
		const struct bin *b = &h->bins[i];

		json_array_append_new(a, json_pack("[o, o, o]", json__number(b->core_s),
						   json__number(b->lost_core_s),
						   json__whole(b->jobs)));
	}
	return a;
}

static int print_all(const struct site_args *a, const struct histogram *h)
{
	json_t *o;

	if (!a->json && !a->csv) {
		print_text(a, h);
		return 0;
	}
	if (a->csv) {
		print_csv(h);
		return 0;
	}
	o = json_object();
	for (unsigned i = 0; i < QUANTITIES; i++)
		json__set(o, quantities[i].name, bins_json(&h[i]));
	return json__print(o, stdout, JSON_COMPACT) ? 1 : 0;
}

int usage_hist__run(struct site_args *a)
{
	struct histogram h[QUANTITIES];
	struct viewer viewer;
	struct index ix;
	int status = site_args__open(a, &ix, &viewer), err = 0;

	if (status)
		return status;
	for (unsigned i = 0; !err && i < QUANTITIES; i++)
		err = ask(&ix, &quantities[i], a, &viewer, &h[i]);
	status = err ? site_args__status(err) : print_all(a, h);
	index__close(&ix);
	return status;
}
