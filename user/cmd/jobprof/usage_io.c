/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The I/O of all jobs of a site, in the quantities and tables of S. El Sayed et al., "Parallel I/O
 * Characterisation Based on Server-Side Performance Counters" (PDSW-DISCS 2016), a study of 0.17
 * million jobs that ran an hour or more. */
#include "cmd/jobprof/usage_io.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/room.h"
#include "index/many.h"

#define LEAST_S	  3600 /* as in the paper */
#define USUAL	  0.8  /* the share of jobs that the paper calls usual */
#define TOP	  0.2  /* the share of jobs whose part of all bytes is printed */
#define HIST_BINS 64   /* one per power of two */
#define FS_ROWS	  10   /* file systems, without --all */

/* The known values of a column, in ascending order. */
struct values {
	double *v;
	size_t n;
};

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Reads one column at a time, so that memory is bounded by 8 bytes a job. */
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
	err = db_rows__end(&r, err);
	query__free(&q);
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), by_value);
	return err;
}

/* The smallest value that at least this share of the jobs is at or below; NaN: no job. */
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

/* The share of all bytes that is moved by the TOP of the jobs that move most. */
static double share_of_top(const struct values *x)
{
	size_t top = (size_t)ceil(TOP * (double)x->n - 1e-9);

	return sum(x, x->n - top) / sum(x, 0);
}

/* ---- distributions of bytes and of the highest bandwidth */

static const struct {
	const char *name, *column, *unit;
	bool is_volume; /* a sum over jobs makes sense */
} spread[] = {
	{"read", "read_bytes", "B", true},
	{"written", "write_bytes", "B", true},
	{"highest bandwidth of reads", "read_bw_max", "B/s", false},
	{"highest bandwidth of writes", "write_bw_max", "B/s", false},
};
#define N_SPREAD (sizeof(spread) / sizeof(*spread))

static const struct site_column spread_columns[] = {
	{"quantity", "", NULL, CELL_TEXT, 0, 0},   {"jobs", "jobs", NULL, CELL_COUNT, 2, 0},
	{"p50", "50%<=", NULL, CELL_BYTES, 1, 0},  {"p80", "80%<=", NULL, CELL_BYTES, 0, 0},
	{"p95", "95%<=", NULL, CELL_BYTES, 1, 0},  {"most", "most", NULL, CELL_BYTES, 0, 0},
	{"sum", "all", NULL, CELL_BYTES, 0, 0},	   {"top_share", "top 20%", NULL, CELL_SHARE, 0, 0},
	{"unit", "unit", NULL, CELL_HIDDEN, 0, 0},
};

/* Counts per power of two: bin i is 2^i <= x < 2^(i + 1). Values below 1 are left out. */
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

/* ---- jobs by bytes and highest bandwidth */

/* Jobs by powers of two of the bytes that they moved, and of their highest bandwidth. */
struct plane {
	unsigned jobs[HIST_BINS][HIST_BINS];
};

/* False: the value is in no bin, as it is below 1. */
static bool bin_of(double v, int *bin)
{
	if (!(v >= 1) || !isfinite(v))
		return false;
	frexp(v, bin);
	*bin = *bin - 1 < HIST_BINS ? *bin - 1 : HIST_BINS - 1;
	return true;
}

static int ask_plane(struct index *ix, const struct site_args *a, const struct viewer *v,
		     unsigned d, struct plane *p)
{
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	query__add(&q, d ? "SELECT j.write_bytes, j.write_bw_max FROM job j"
			 : "SELECT j.read_bytes, j.read_bw_max FROM job j");
	if (!err)
		err = query__where(&q, &a->filter, v);
	query__add(&q, d ? " AND j.write_bytes >= 1" : " AND j.read_bytes >= 1");
	if (!err)
		err = query__ask(&q, ix->db, &r);
	while (!err && db_rows__next(&r)) {
		int x, y;

		if (bin_of(db_value__number(&r.v[0]), &x) && bin_of(db_value__number(&r.v[1]), &y))
			p->jobs[x][y]++;
	}
	err = db_rows__end(&r, err);
	query__free(&q);
	return err;
}

static json_t *cells_json(const struct plane *p)
{
	json_t *a = json_array();

	for (int x = 0; x < HIST_BINS; x++)
		for (int y = 0; y < HIST_BINS; y++)
			if (p->jobs[x][y])
				json_array_append_new(
					a, json_pack("[i, i, I]", x, y, (json_int_t)p->jobs[x][y]));
	return a;
}

/* Sets "read" and "written" to the cells that have jobs. */
static int add_planes(struct index *ix, const struct site_args *a, const struct viewer *v,
		      json_t *planes)
{
	static const char *const names[] = {"read", "written"};
	struct plane *p;
	int err = 0;

	if (!a->json)
		return 0;
	p = malloc(sizeof(*p));
	for (unsigned d = 0; p && !err && d < 2; d++) {
		memset(p, 0, sizeof(*p));
		err = ask_plane(ix, a, v, d, p);
		if (!err)
			json__set(planes, names[d], cells_json(p));
	}
	err = p ? err : -ENOMEM;
	free(p);
	return err;
}

/* ---- bytes and bandwidth, per file system */

/* What jobs did with one file system. */
struct fs {
	char *name;
	struct values bytes[2], bw[2]; /* read, written */
	double sum;		       /* of both */
};

struct fs_list {
	struct fs *v;
	size_t n;
	double sum[2]; /* read, written */
};

static const struct site_column fs_columns[] = {
	{"file_system", "file system", NULL, CELL_TEXT, 0, 24},
	{"quantity", "", NULL, CELL_TEXT, 0, 0},
	{"jobs", "jobs", NULL, CELL_COUNT, 0, 0},
	{"p50", "50%<=", NULL, CELL_BYTES, 2, 0},
	{"p80", "80%<=", NULL, CELL_BYTES, 1, 0},
	{"p95", "95%<=", NULL, CELL_BYTES, 3, 0},
	{"most", "most", NULL, CELL_BYTES, 0, 0},
	{"sum", "all", NULL, CELL_BYTES, 0, 0},
	{"of_all", "of all%", NULL, CELL_SHARE, 0, 0},
	{"top_share", "top 20%", NULL, CELL_SHARE, 0, 0},
	{"bw_p80", "80%<= /s", NULL, CELL_BYTES, 4, 0},
	{"bw_most", "most /s", NULL, CELL_BYTES, 0, 0},
};
#define FS_COLUMNS (sizeof(fs_columns) / sizeof(*fs_columns))

static void free_fs(struct fs_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].name);
		for (unsigned d = 0; d < 2; d++) {
			free(l->v[i].bytes[d].v);
			free(l->v[i].bw[d].v);
		}
	}
	free(l->v);
}

/* Finds the file system of that name, or adds it. *at: the index of the last one found, where the
 * search begins, for rows come in the order of names. NULL: no memory. */
static struct fs *fs_of(struct fs_list *l, const char *name, size_t *at)
{
	for (size_t i = 0; i < l->n; i++) {
		size_t k = (*at + i) % l->n;

		if (!strcmp(l->v[k].name, name)) {
			*at = k;
			return &l->v[k];
		}
	}
	if (room__grow(&l->v, l->n, 1, sizeof(*l->v)))
		return NULL;
	*at = l->n;
	l->v[l->n] = (struct fs){.name = strdup(name)};
	return l->v[l->n].name ? &l->v[l->n++] : NULL;
}

static int add_value(struct values *x, double v)
{
	if (isnan(v))
		return 0;
	if (room__grow(&x->v, x->n, 1, sizeof(*x->v)))
		return -ENOMEM;
	x->v[x->n++] = v;
	return 0;
}

/* d: 0 reads, 1 writes. */
static int ask_fs(struct index *ix, const struct site_args *a, const struct viewer *viewer,
		  unsigned d, struct fs_list *l)
{
	struct db_rows r = {0};
	struct query q;
	size_t at = 0;
	int err = query__init(&q);

	query__add(&q, d ? "SELECT f.fs, f.write_bytes, f.write_bw_max"
			 : "SELECT f.fs, f.read_bytes, f.read_bw_max");
	query__add(&q, " FROM job j JOIN job_fs f ON f.job = j.id");
	if (!err)
		err = query__where(&q, &a->filter, viewer);
	query__add(&q, " ORDER BY f.fs");
	if (!err)
		err = query__ask(&q, ix->db, &r);
	while (!err && db_rows__next(&r)) {
		struct fs *fs = fs_of(l, r.v[0].text, &at);

		err = fs ? add_value(&fs->bytes[d], db_value__number(&r.v[1])) : -ENOMEM;
		if (!err)
			err = add_value(&fs->bw[d], db_value__number(&r.v[2]));
	}
	err = db_rows__end(&r, err);
	query__free(&q);
	return err;
}

static int by_sum(const void *a, const void *b)
{
	const struct fs *x = a, *y = b;

	return x->sum != y->sum ? (x->sum < y->sum) - (x->sum > y->sum) : strcmp(x->name, y->name);
}

static void sort_values(struct values *x)
{
	if (x->n)
		qsort(x->v, x->n, sizeof(*x->v), by_value);
}

/* Sorts file systems by the bytes moved, the largest first. */
static void sort_fs(struct fs_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct fs *fs = &l->v[i];

		for (unsigned d = 0; d < 2; d++) {
			sort_values(&fs->bytes[d]);
			sort_values(&fs->bw[d]);
			l->sum[d] += fs->bytes[d].n ? sum(&fs->bytes[d], 0) : 0;
			fs->sum += fs->bytes[d].n ? sum(&fs->bytes[d], 0) : 0;
		}
	}
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), by_sum);
}

static int add_fs(struct site_table *t, const struct fs_list *l, const struct fs *fs, unsigned d)
{
	const struct values *x = &fs->bytes[d], *bw = &fs->bw[d];
	const struct db_value row[FS_COLUMNS] = {
		db_value__text(fs->name),
		db_value__text(d ? "written" : "read"),
		db_value__int((int64_t)x->n),
		db_value__real(quantile(x, 0.5)),
		db_value__real(quantile(x, USUAL)),
		db_value__real(quantile(x, 0.95)),
		db_value__real(quantile(x, 1)),
		db_value__real(sum(x, 0)),
		db_value__real(sum(x, 0) / l->sum[d]),
		db_value__real(share_of_top(x)),
		db_value__real(quantile(bw, USUAL)),
		db_value__real(quantile(bw, 1)),
	};

	return site_table__add(t, row);
}

/* *left: the number of file systems that got no rows. */
static int add_all_fs(struct index *ix, const struct site_args *a, const struct viewer *v,
		      struct site_table *t, size_t *left)
{
	const bool all = a->all || a->json || a->csv;
	struct fs_list l = {0};
	int err = ask_fs(ix, a, v, 0, &l);

	if (!err)
		err = ask_fs(ix, a, v, 1, &l);
	if (!err)
		sort_fs(&l);
	for (size_t i = 0; !err && i < l.n && (all || i < FS_ROWS); i++) {
		err = add_fs(t, &l, &l.v[i], 0);
		if (!err)
			err = add_fs(t, &l, &l.v[i], 1);
	}
	*left = l.n - t->nrows / 2;
	free_fs(&l);
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

struct tables {
	struct site_table moved, fs, usual;
	json_t *histograms, *planes;
	size_t fs_left; /* file systems that got no rows */
	double without_profile;
};

static void print_ran(FILE *out, const struct job_filter *f)
{
	const double least = f->range[RANGE_RAN].least, most = f->range[RANGE_RAN].most;

	if (!isnan(most))
		fprintf(out, " that ran %g to %g h", least / 3600, most / 3600);
	else if (least > 0)
		fprintf(out, " that ran %g h or more", least / 3600);
}

/* Of which jobs. */
static void print_head(const struct site_args *a, unsigned width)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (out) {
		fputs("I/O of jobs", out);
		site_args__print_times(out, a);
		print_ran(out, &a->filter);
		putc('.', out);
	}
	if (out && !fclose(out))
		site_table__wrap(text, width, stdout);
	free(text);
}

static void print_text(const struct site_args *a, const struct tables *t)
{
	const unsigned width = site_table__width(stdout);

	print_head(a, width);
	site_filter__print_unknown(t->without_profile, "they moved");
	puts("80%<=: 80% of the jobs are at or below; top 20%: the share of all bytes that\n"
	     "the 20% of the jobs with most bytes move, %.\n");
	site_table__print(&t->moved, width, stdout);
	if (t->fs.nrows) {
		puts("\nOf each network file system, from jobs with nodes of their own: elsewhere "
		     "nobody\n"
		     "knows whose bytes these are.\n");
		site_table__print(&t->fs, width, stdout);
	}
	if (t->fs_left)
		printf("%zu more; --all prints them.\n", t->fs_left);
	puts("\nA server is a node; it is active in an interval in which it moves more than the\n"
	     "threshold.\n");
	site_table__print(&t->usual, width, stdout);
}

static int print_all(const struct site_args *a, const struct tables *t)
{
	json_t *o;

	if (a->csv) {
		site_table__csv(&t->moved, stdout);
		putchar('\n');
		site_table__csv(&t->usual, stdout);
		putchar('\n');
		site_table__csv(&t->fs, stdout);
		return 0;
	}
	if (!a->json) {
		print_text(a, t);
		return 0;
	}
	o = json_pack("{s:o}", "least_s", json__whole(a->filter.range[RANGE_RAN].least));
	JSON_NUMBERS(o, {"without_profile", t->without_profile});
	json__set(o, "moved", site_table__json(&t->moved));
	json__set(o, "file_systems", site_table__json(&t->fs));
	json__set(o, "usual", site_table__json(&t->usual));
	json__set(o, "histograms", json_incref(t->histograms));
	json__set(o, "planes", json_incref(t->planes));
	return json__print(o, stdout, JSON_COMPACT) ? 1 : 0;
}

int usage_io__run(struct site_args *a)
{
	struct tables t = {
		.moved = {.columns = spread_columns,
			  .ncolumns = sizeof(spread_columns) / sizeof(*spread_columns)},
		.fs = {.columns = fs_columns, .ncolumns = FS_COLUMNS},
		.usual = {.columns = usual_columns,
			  .ncolumns = sizeof(usual_columns) / sizeof(*usual_columns)},
	};
	struct viewer viewer;
	struct index ix;
	int status, err;

	if (isnan(a->filter.range[RANGE_RAN].least))
		a->filter.range[RANGE_RAN].least = LEAST_S;
	status = site_args__open(a, &ix, &viewer);
	if (status)
		return status;
	t.histograms = json_object();
	t.planes = json_object();
	err = add_spread(&ix, a, &viewer, &t.moved, t.histograms);
	if (!err)
		err = add_planes(&ix, a, &viewer, t.planes);
	if (!err)
		err = add_all_fs(&ix, a, &viewer, &t.fs, &t.fs_left);
	if (!err)
		err = add_usual(&ix, a, &viewer, &t.usual);
	if (!err)
		err = many__without_profile(&ix, &a->filter, &viewer, NULL, &t.without_profile);
	status = err ? site_args__status(err) : print_all(a, &t);
	if (!status && !(db_value__number(&t.moved.cells[1]) > 0))
		site_filter__hint(a, &ix, &viewer);
	json_decref(t.histograms);
	json_decref(t.planes);
	site_table__free(&t.moved);
	site_table__free(&t.fs);
	site_table__free(&t.usual);
	index__close(&ix);
	return status;
}
