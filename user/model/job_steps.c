/* SPDX-License-Identifier: GPL-2.0-only */
#include "model/job_steps.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/json.h"
#include "base/progress.h"
#include "model/column_stats.h"
#include "identity/stepname.h"
#include "hdf5/cursor.h"

/* What is taken of a table, by the name of its column among the rows and in Totals. */
enum { CPU, READ, WRITE, RSS, N_WANTED };

static const struct {
	const char *row, *total;
	bool max; /* else a sum */
} wanted[N_WANTED] = {
	[CPU] = {"CPUTime", "Sum_CPUTime", false},
	[READ] = {"ReadMB", "Sum_ReadMB", false},
	[WRITE] = {"WriteMB", "Sum_WriteMB", false},
	[RSS] = {"RSS", "Max_RSS", true},
};

struct amounts {
	double v[N_WANTED];
	double wall;
};

static const struct amounts unknown = {{NAN, NAN, NAN, NAN}, NAN};

static double max_of(double a, double b)
{
	return isnan(a) || b > a ? b : a;
}

static double sum_of(double a, double b)
{
	return isnan(a) ? b : isnan(b) ? a : a + b;
}

static void add(struct amounts *a, const struct amounts *b)
{
	for (int i = 0; i < N_WANTED; i++)
		a->v[i] = wanted[i].max ? max_of(a->v[i], b->v[i]) : sum_of(a->v[i], b->v[i]);
	a->wall = max_of(a->wall, b->wall);
}

static void add_row(const struct cursor *c, const int at[N_WANTED], const union cell *row,
		    struct amounts *a)
{
	struct amounts one = unknown;

	for (int i = 0; i < N_WANTED; i++)
		if (at[i] >= 0 && !c->cols[at[i]].unknown)
			one.v[i] = cell__number(row[at[i]], c->cols[at[i]].type);
	add(a, &one);
}

/* All rows of a table: of a task's, or of the one in Totals, which has a row per task. */
static int read_rows(struct cursor *c, bool totals, struct amounts *a)
{
	const union cell *rows;
	int at[N_WANTED], err;
	unsigned n;

	for (int i = 0; i < N_WANTED; i++)
		at[i] = cursor__column(c, totals ? wanted[i].total : wanted[i].row);
	while ((err = cursor__next(c, &rows, &n)) > 0)
		for (unsigned i = 0; i < n; i++)
			add_row(c, at, rows + (size_t)i * c->ncols, a);
	return err;
}

static double number(const struct reader_node *n, const char *name)
{
	struct reader_attr a;
	double v;

	if (reader__attr(n, name, &a))
		return NAN;
	v = a.type == ATTR_F64 ? a.f : a.type == ATTR_STR ? NAN : (double)a.i;
	free(a.str);
	return v;
}

/* Whole seconds say nothing of a short job: ours say it more exactly. */
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
		a->wall = max_of(a->wall, wall_of(c, rows, start_ns));
	return err < 0 ? err : 0;
}

static bool has_table(const struct reader_series *s, const char *name)
{
	for (unsigned i = 0; s && i < s->ntables; i++)
		if (!strcmp(s->tables[i], name))
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
	for (unsigned i = 0; !err && s && s->grouped && i < s->ntables; i++) {
		err = cursor__open(c, n, s, s->tables[i]);
		if (!err)
			err = read_rows(c, false, a);
	}
	return err;
}

/* The step's own table knows how long it was; without it every task's is asked. */
static int read_walls(struct cursor *c, const struct reader_node *n, struct amounts *a)
{
	const struct reader_series *s = node__series(n, "Step");
	double start_ns = number(n, "Start TimeNS");
	int err = 0;

	if (!s || s->grouped)
		s = node__series(n, "Tasks");
	for (unsigned i = 0; !err && s && i < s->ntables; i++) {
		err = cursor__open(c, n, s, s->tables[i]);
		if (!err)
			err = read_wall(c, start_ns, a);
	}
	return err;
}

/* As the node's page has it. */
static double allocated_cpus(const struct reader_node *n, double tasks)
{
	struct reader_attr a;
	double v = 0;

	if (!reader__attr(n, "Allocated CPUs", &a)) {
		v = a.type == ATTR_STR ? calc__cpu_count(a.str) : a.type == ATTR_F64 ? a.f : a.i;
		free(a.str);
	}
	return v > 0 ? v : number(n, "CPUs per Task") * tasks;
}

/* One for each shape of table: a cursor learns a shape anew whenever it changes. */
struct cursors {
	struct cursor *sums, *walls;
};

static int read_node(const struct cursors *c, const struct reader_node *n, struct job_step *out)
{
	struct amounts a = unknown;
	double tasks, cpus;
	int err = read_sums(c->sums, n, &a);

	if (!err)
		err = read_walls(c->walls, n, &a);
	if (err)
		return err;
	tasks = number(n, "Number of Tasks");
	cpus = allocated_cpus(n, tasks);
	out->tasks = sum_of(out->tasks, tasks);
	out->wall = max_of(out->wall, a.wall);
	out->cpu_s = sum_of(out->cpu_s, a.v[CPU]);
	out->offered_s = sum_of(out->offered_s, cpus * a.wall);
	out->max_rss_mb = max_of(out->max_rss_mb, a.v[RSS] / 1024);
	out->read_mb = sum_of(out->read_mb, a.v[READ]);
	out->write_mb = sum_of(out->write_mb, a.v[WRITE]);
	return 0;
}

static int add_node(const struct cursors *c, const struct reader *r, unsigned step, unsigned node,
		    struct job_step *out)
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

int show_job__sum(const struct reader *r, unsigned step, struct job_step *out)
{
	struct cursors c = {0};
	struct progress progress;
	int err = cursor__new(&c.sums);

	if (!err)
		err = cursor__new(&c.walls);
	*out = (struct job_step){
		r->steps[step].name, r->steps[step].nnodes, 0, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
	progress__begin(&progress, "reading nodes", out->nodes);
	for (unsigned i = 0; !err && i < out->nodes; i++) {
		progress__at(&progress, i);
		err = add_node(&c, r, step, i, out);
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

static void cell(double v, const char *fmt, int width, FILE *out)
{
	char buf[32] = "?";

	if (!isnan(v))
		snprintf(buf, sizeof(buf), fmt, v);
	fprintf(out, " %*s", width, buf);
}

void show_job__head(FILE *out)
{
	fprintf(out, "%-12s %7s %7s %10s %12s %6s %11s %12s %12s\n", "step", "nodes", "tasks",
		"wall s", "CPU s", "CPU %", "max RSS MB", "read MB", "write MB");
}

static double efficiency(const struct job_step *s)
{
	return s->offered_s > 0 ? s->cpu_s / s->offered_s : NAN;
}

void show_job__line(const struct job_step *s, FILE *out)
{
	const char *name = stepname__human(s->name);

	print__escaped(out, name);
	for (size_t n = strlen(name); n < 12; n++)
		putc(' ', out);
	fprintf(out, " %7u", s->nodes);
	cell(s->tasks, "%.0f", 7, out);
	cell(s->wall, "%.1f", 10, out);
	cell(s->cpu_s, "%.2f", 12, out);
	cell(100 * efficiency(s), "%.1f", 6, out);
	cell(s->max_rss_mb, "%.1f", 11, out);
	cell(s->read_mb, "%.1f", 12, out);
	cell(s->write_mb, "%.1f", 12, out);
	if (s->damaged)
		fprintf(out, "  (%u damaged)", s->damaged);
	putc('\n', out);
}

json_t *show_job__json(const struct job_step *s)
{
	json_t *obj = json_object();

	json_object_set_new(obj, "step", json__text(stepname__human(s->name)));
	json_object_set_new(obj, "nodes", json_integer(s->nodes));
	json_object_set_new(obj, "damaged_nodes", json_integer(s->damaged));
	json_object_set_new(obj, "tasks", json__number(s->tasks));
	json_object_set_new(obj, "wall_s", json__number(s->wall));
	json_object_set_new(obj, "cpu_s", json__number(s->cpu_s));
	json_object_set_new(obj, "cpu_efficiency", json__number(efficiency(s)));
	json_object_set_new(obj, "max_rss_mb", json__number(s->max_rss_mb));
	json_object_set_new(obj, "read_mb", json__number(s->read_mb));
	json_object_set_new(obj, "write_mb", json__number(s->write_mb));
	return obj;
}
