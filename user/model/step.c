/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A step over all its nodes: sums that are made while rows are read. */
#include "model/model.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/known.h"
#include "base/progress.h"
#include "hdf5/hdf5.h"
#include "schema/describe.h"

/* The columns that are summed up. */
enum { CPU, READ, WRITE, RSS, N_WANTED };

static const struct {
	const char *name;
	enum aggregate in_totals; /* AGGREGATE_SUM or AGGREGATE_MAX, also of rows */
} wanted[N_WANTED] = {
	[CPU] = {"CPUTime", AGGREGATE_SUM},
	[READ] = {"ReadMB", AGGREGATE_SUM},
	[WRITE] = {"WriteMB", AGGREGATE_SUM},
	[RSS] = {"RSS", AGGREGATE_MAX},
};

struct amounts {
	double v[N_WANTED];
	double wall;
};

static const struct amounts unknown = {{NAN, NAN, NAN, NAN}, NAN};

static void add_amounts(struct amounts *a, const struct amounts *b)
{
	for (int i = 0; i < N_WANTED; i++)
		a->v[i] = wanted[i].in_totals == AGGREGATE_MAX ? fmax(a->v[i], b->v[i])
							       : known__sum(a->v[i], b->v[i]);
	a->wall = fmax(a->wall, b->wall);
}

static void add_row(const struct cursor *c, const int at[N_WANTED], const union cell *row,
		    struct amounts *a)
{
	struct amounts one = unknown;

	for (int i = 0; i < N_WANTED; i++)
		if (at[i] >= 0 && !c->cols[at[i]].unknown)
			one.v[i] = cell__number(row[at[i]], c->cols[at[i]].type);
	add_amounts(a, &one);
}

/* All rows of a table: of a task's, or of the one in Totals, which has a row per task. */
static int read_rows(struct cursor *c, bool totals, struct amounts *a)
{
	const union cell *rows;
	int at[N_WANTED], err;
	unsigned n;

	for (int i = 0; i < N_WANTED; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%s%s",
			 totals ? aggregate__prefix(wanted[i].in_totals) : "", wanted[i].name);
		at[i] = cursor__column(c, name);
	}
	while ((err = cursor__next(c, &rows, &n)) > 0)
		for (unsigned i = 0; i < n; i++)
			add_row(c, at, rows + (size_t)i * c->ncols, a);
	return err;
}

static double read_number(const struct reader_node *n, const char *name)
{
	struct reader_attr a;
	double v;

	if (reader__attr(n, name, &a))
		return NAN;
	v = a.type == ATTR_F64 ? a.f : a.type == ATTR_STR ? NAN : (double)a.i;
	free(a.str);
	return v;
}

/* The end of a row in s since the step's start: TimeNS says it, since ElapsedTime has whole seconds
 * only. */
static double wall_of(const struct cursor *c, const union cell *row, double start_ns)
{
	int at = cursor__column(c, "TimeNS");
	double v = at < 0 ? NAN : cell__number(row[at], c->cols[at].type) - start_ns;

	if (v >= 0)
		return v / 1e9;
	at = cursor__column(c, "ElapsedTime");
	return at < 0 ? NAN : cell__number(row[at], c->cols[at].type);
}

static int read_wall(struct cursor *c, double start_ns, struct amounts *a)
{
	const union cell *rows;
	unsigned n;
	int err;

	if (!c->nrows)
		return 0;
	cursor__seek(c, c->nrows - 1);
	err = cursor__next(c, &rows, &n);
	if (err > 0)
		a->wall = fmax(a->wall, wall_of(c, rows, start_ns));
	return err < 0 ? err : 0;
}

static bool has_table(const struct reader_series *s, const char *name)
{
	for (unsigned i = 0; s && i < s->tables.n; i++)
		if (!strcmp(s->tables.v[i], name))
			return true;
	return false;
}

static int read_sums(struct cursor *c, const struct reader_node *n, struct amounts *a)
{
	const struct reader_series *totals = node__series(n, "Totals"), *s;
	bool summed = totals && totals->grouped && has_table(totals, "Tasks");
	int err = 0;

	if (summed) {
		err = cursor__open(c, n, totals, "Tasks");
		return err ? err : read_rows(c, true, a);
	}
	s = node__series(n, "Tasks");
	for (unsigned i = 0; !err && s && s->grouped && i < s->tables.n; i++) {
		err = cursor__open(c, n, s, s->tables.v[i]);
		if (!err)
			err = read_rows(c, false, a);
	}
	return err;
}

/* The longest table: the step's own, or else those of the tasks. */
static int read_walls(struct cursor *c, const struct reader_node *n, struct amounts *a)
{
	const struct reader_series *s = node__series(n, "Step");
	double start_ns = read_number(n, "Start TimeNS");
	int err = 0;

	if (!s || s->grouped)
		s = node__series(n, "Tasks");
	for (unsigned i = 0; !err && s && i < s->tables.n; i++) {
		err = cursor__open(c, n, s, s->tables.v[i]);
		if (!err)
			err = read_wall(c, start_ns, a);
	}
	return err;
}

/* CPUs that the step has on the node, as in a model_node. */
static double allocated_cpus(const struct reader_node *n, double tasks)
{
	struct reader_attr a;
	double v = 0;

	if (!reader__attr(n, "Allocated CPUs", &a)) {
		v = a.type == ATTR_STR ? model__count_cpus(a.str) : a.type == ATTR_F64 ? a.f : a.i;
		free(a.str);
	}
	return v > 0 ? v : read_number(n, "CPUs per Task") * tasks;
}

/* A cursor for each shape of table, since a cursor keeps the last shape that it has read. */
struct cursors {
	struct cursor *sums, *walls;
};

static int read_node(const struct cursors *c, const struct reader_node *n, struct model_step *out)
{
	struct amounts a = unknown;
	double tasks, cpus;
	int err = read_sums(c->sums, n, &a);

	if (!err)
		err = read_walls(c->walls, n, &a);
	if (err)
		return err;
	tasks = read_number(n, "Number of Tasks");
	cpus = allocated_cpus(n, tasks);
	out->tasks = known__sum(out->tasks, tasks);
	out->wall_s = fmax(out->wall_s, a.wall);
	out->cpu_s = known__sum(out->cpu_s, a.v[CPU]);
	out->offered_s = known__sum(out->offered_s, cpus * a.wall);
	out->max_rss_mb = fmax(out->max_rss_mb, a.v[RSS] / 1024);
	out->read_mb = known__sum(out->read_mb, a.v[READ]);
	out->write_mb = known__sum(out->write_mb, a.v[WRITE]);
	return 0;
}

static int add_node(const struct cursors *c, const struct reader *r, unsigned step, unsigned node,
		    struct model_step *out)
{
	struct reader_node *n;
	int err = reader__node(r, step, node, "Totals", &n);

	if (err)
		return err;
	err = reader_node__series(n, "Tasks");
	if (!err)
		err = reader_node__series(n, "Step");
	if (!err)
		err = read_node(c, n, out);
	reader_node__free(n);
	return err;
}

int model_file__sum_step(const struct model_file *f, unsigned step, struct model_step *out)
{
	const struct reader_step *s = &f->reader->steps[step];
	struct cursors c = {0};
	struct progress progress;
	int err = cursor__new(&c.sums);

	if (!err)
		err = cursor__new(&c.walls);
	*out = (struct model_step){s->name, s->nodes.n, 0, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
	progress__begin(&progress, "reading nodes", out->nodes);
	for (unsigned i = 0; !err && i < out->nodes; i++) {
		progress__at(&progress, i);
		err = add_node(&c, f->reader, step, i, out);
		if (err && err != -ENOMEM) {
			out->damaged++;
			err = 0;
		}
	}
	progress__clear(&progress);
	cursor__free(c.walls);
	cursor__free(c.sums);
	return err;
}
