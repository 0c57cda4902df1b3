/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the series and histograms of the page in a browser. */
#include "view/report/report.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/facts_fill.h"
#include "analysis/job/job_matrix.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/known.h"
#include "view/report/report_page.h"

/* ---- what the parts of the page share: their units, and numbers as JSON */

enum series_unit { SERIES_TASKS, SERIES_NODES, SERIES_GPUS, SERIES_UNITS };

static const char *const series_unit_names[SERIES_UNITS] = {
	[SERIES_TASKS] = "task",
	[SERIES_NODES] = "node",
	[SERIES_GPUS] = "GPU",
};

/* The units of a kind. Tasks are those of the main step; there are none if it has a single task and
 * the job several nodes. */
static struct job_units series_units(const struct model_job *j, enum series_unit kind)
{
	const struct job_unit *tasks;
	unsigned n;

	if (kind == SERIES_NODES)
		return job_units__nodes(j);
	if (kind == SERIES_GPUS)
		return job_units__gpus(j);
	tasks = facts__main_tasks(j, &n);
	if (n < 2 && j->nnodes > 1)
		n = 0;
	return (struct job_units){tasks, sizeof(*tasks), n};
}

static json_t *series_bytes(const unsigned char *v, size_t n)
{
	char *text = base64__of(v, n, 0);
	json_t *o = text ? json_string(text) : NULL;

	free(text);
	return o;
}

/* Encodes an array for JSON: base64 of little-endian floats, or of bytes. */
static json_t *series_floats(const float *v, size_t n)
{
	return series_bytes((const unsigned char *)v, n * sizeof(*v));
}

/* A number with four digits, which are enough for drawing; null: unknown. */
static json_t *series_rounded(double v)
{
	char text[32];

	snprintf(text, sizeof(text), "%.4g", v);
	return json__number(strtod(text, NULL));
}

/* ---- the lowest, the median and the highest unit of a job at each point of time; where points are
 * longer than rows, the lowest and the highest row of all units */

#define POINTS_MAX 3000 /* points of a line: more than a screen has pixels */

/* Of two lines with one key, the first with a known value is drawn. */
static const struct line {
	const char *key;
	enum series_unit of;
	enum quantity q;
} lines[] = {
	{"cpu", SERIES_TASKS, Q_CPU},
	{"cpu", SERIES_NODES, Q_CPU},
	{"memory", SERIES_TASKS, Q_RSS},
	{"memory", SERIES_NODES, Q_MEM_OWN},
	{"memory", SERIES_NODES, Q_RSS},
	{"io", SERIES_TASKS, Q_IO},
	{"io", SERIES_NODES, Q_IO},
	{"gpu", SERIES_GPUS, Q_GPU_UTILIZATION},
	{"net", SERIES_NODES, Q_NET},
	{"fabric", SERIES_NODES, Q_PORT},
	{"wait", SERIES_TASKS, Q_WAIT},
	{"wait", SERIES_NODES, Q_WAIT},
	{"disk_wait", SERIES_TASKS, Q_DISK_WAIT},
	{"disk_wait", SERIES_NODES, Q_DISK_WAIT},
	{"blk", SERIES_NODES, Q_BLK_MB},
	{"power", SERIES_NODES, Q_STEP_ENERGY},
};

/* The bins of a unit for a line; NULL: it has none. */
struct unit_bins {
	const double *mean;
	const float *extremes;
};

/* A line while it is computed; a point covers `factor` bins. */
struct points {
	unsigned n, factor;
	bool has_rows; /* lowest and highest come from rows */
	float *lo, *mid, *hi;
	double *room;	      /* space for one value per unit */
	struct unit_bins *of; /* one per unit */
};

static void find_bins(struct points *p, const struct line *l, const struct job_units *u,
		      const struct time_grid *g)
{
	for (unsigned m = 0; m < u->n; m++) {
		const struct job_unit *unit = job_units__at(u, m);

		p->of[m].mean = job_unit__bins(unit, l->q, g);
		p->of[m].extremes = job_unit__extremes(unit, l->q);
	}
}

static double value(const struct line *l, const struct unit_bins *b, const struct time_grid *g,
		    unsigned bin)
{
	double span = quantity__is_gauge(l->q) ? 1 : time_grid__span_s(g, bin);

	return b->mean && span > 0 ? b->mean[bin] / span : NAN;
}

/* Damaged files may have numbers out of a float's range. */
static float drawable(double v)
{
	return fabs(v) < 1e30 ? (float)v : NAN;
}

static void fill_points(struct points *p, const struct line *l, const struct job_units *u,
			const struct time_grid *g)
{
	find_bins(p, l, u, g);
	for (unsigned i = 0; i < p->n; i++) {
		double lo = NAN, hi = NAN, sum = 0, medians = 0;

		for (unsigned k = i * p->factor; k < g->n && k < (i + 1) * p->factor; k++) {
			size_t n = 0;

			for (unsigned m = 0; m < u->n; m++) {
				double v = value(l, &p->of[m], g, k);
				const float *rows = p->of[m].extremes;

				if (isnan(v))
					continue;
				p->room[n++] = v;
				lo = rows ? fmin(lo, rows[k]) : lo;
				hi = rows ? fmax(hi, rows[g->n + k]) : hi;
			}
			if (!n)
				continue;
			sum += facts__median(p->room, n); /* the median sorts them, so it is last */
			medians++;
			lo = fmin(lo, p->room[0]);
			hi = fmax(hi, p->room[n - 1]);
		}
		p->lo[i] = drawable(lo);
		p->hi[i] = drawable(hi);
		p->mid[i] = drawable(sum / medians);
	}
}

static json_t *line_json(const struct points *p, const struct line *l, const struct job_units *u)
{
	json_t *o = json_object();

	json_object_set_new(o, "key", json__text(l->key));
	json_object_set_new(o, "of", json__text(series_unit_names[l->of]));
	json_object_set_new(o, "units", json_integer(u->n));
	json_object_set_new(o, "median", series_floats(p->mid, p->n));
	if (u->n > 1 || p->factor > 1 || p->has_rows) {
		json_object_set_new(o, "lowest", series_floats(p->lo, p->n));
		json_object_set_new(o, "highest", series_floats(p->hi, p->n));
	}
	return o;
}

static bool is_known(const struct line *l, const struct job_units *u)
{
	return u->n && job_units__know(u, l->q);
}

static json_t *all_lines(const struct model_job *j, struct points *p)
{
	json_t *a = json_array();
	const char *last = "";

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct job_units u = series_units(j, lines[i].of);

		if (!strcmp(last, lines[i].key) || !is_known(&lines[i], &u))
			continue;
		fill_points(p, &lines[i], &u, &j->grid);
		json_array_append_new(a, line_json(p, &lines[i], &u));
		last = lines[i].key;
	}
	return a;
}

/* Its members: lowest, median and highest unit over time, units by time, and units that differ from
 * the others. */
static json_t *lines_json(const struct report *r)
{
	const struct model_job *j = r->drawn ? r->drawn : r->job;
	unsigned factor = (j->grid.n + POINTS_MAX - 1) / POINTS_MAX;
	unsigned n = (j->grid.n + factor - 1) / (factor ? factor : 1);
	size_t units = (size_t)j->ntasks + j->nnodes + j->ngpus + 1;
	struct points p = {.n = n, .factor = factor, .has_rows = j->grid.row_s > 0};
	json_t *o = json_object();

	p.lo = calloc(3 * (size_t)n + 1, sizeof(*p.lo));
	p.room = calloc(units, sizeof(*p.room));
	p.of = calloc(units, sizeof(*p.of));
	if (p.lo && p.room && p.of) {
		p.mid = p.lo + n;
		p.hi = p.mid + n;
		JSON_NUMBERS(o, {"dt_s", j->grid.dt_s * factor}, {"end_s", j->grid.end_s});
		json_object_set_new(o, "n", json_integer(n));
		json_object_set_new(o, "of_rows", json_boolean(p.has_rows));
		json_object_set_new(o, "of", all_lines(j, &p));
	}
	free(p.lo);
	free(p.room);
	free(p.of);
	return o;
}

/* ---- units that differ, for the page in a browser: extremes with names, and a sample of all */

#define SAMPLE 128 /* number of quantiles that stand for all units */

static const struct {
	const char *key;
	enum fact of_task, of_node; /* N_FACTS: none */
} kinds[] = {
	{"cpu_s", FACT_TASK_cpu_s, FACT_NODE_cpu_s},
	{"wait_s", FACT_TASK_wait_s, FACT_NODE_wait_s},
	{"disk_wait_s", FACT_TASK_disk_wait_s, N_FACTS},
	{"peak_mb", FACT_TASK_peak_mb, FACT_NODE_own_peak_mb},
	{"read_mb", FACT_TASK_read_mb, N_FACTS},
	{"write_mb", FACT_TASK_write_mb, N_FACTS},
	{"net_tx_mb", N_FACTS, FACT_NODE_net_tx_mb},
};

struct ranked {
	double v;
	size_t unit;
};

static int cmp(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->v != y->v ? (x->v > y->v) - (x->v < y->v)
			    : (x->unit > y->unit) - (x->unit < y->unit);
}

static json_t *extreme_json(const struct facts *f, enum fact_scope scope, const struct ranked *t)
{
	json_t *o = json_object();

	json_object_set_new(o, "value", json__number(t->v));
	json_object_set_new(o, "name", json__text(f->names[scope][t->unit]));
	if (scope == SCOPE_TASK) {
		size_t node = (size_t)f->values[FACT_TASK_node][t->unit] - 1;

		json_object_set_new(o, "node", json__text(f->names[SCOPE_NODE][node]));
	}
	return o;
}

/* v[n] is sorted. */
static json_t *spread_json(const struct facts *f, enum fact_scope scope, const char *key,
			   const struct ranked *v, size_t n)
{
	json_t *o = json_object(), *sample = json_array();
	size_t points = n < SAMPLE ? n : SAMPLE;
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i].v;
	for (size_t i = 0; i < points; i++)
		json_array_append_new(
			sample, series_rounded(v[points > 1 ? i * (n - 1) / (points - 1) : 0].v));
	json_object_set_new(o, "key", json__text(key));
	json_object_set_new(o, "units", json_integer((json_int_t)n));
	json_object_set_new(o, "lowest", extreme_json(f, scope, &v[0]));
	json_object_set_new(o, "median",
			    json__number(n % 2 ? v[n / 2].v : (v[n / 2 - 1].v + v[n / 2].v) / 2));
	json_object_set_new(o, "highest", extreme_json(f, scope, &v[n - 1]));
	json_object_set_new(o, "mean", json__number(sum / (double)n));
	json_object_set_new(o, "sample", sample);
	return o;
}

static json_t *report_spread_json(const struct report *r)
{
	const struct facts *f = r->facts;
	enum fact_scope scope = f->count[SCOPE_TASK] > 1 ? SCOPE_TASK : SCOPE_NODE;
	size_t count = f->count[scope];
	struct ranked *v = calloc(count + 1, sizeof(*v));
	json_t *o = json_object(), *a = json_array();

	for (size_t i = 0; v && count > 1 && i < sizeof(kinds) / sizeof(*kinds); i++) {
		enum fact fact = scope == SCOPE_TASK ? kinds[i].of_task : kinds[i].of_node;
		size_t n = 0;

		for (size_t k = 0; fact != N_FACTS && k < count; k++)
			if (!isnan(f->values[fact][k]))
				v[n++] = (struct ranked){f->values[fact][k], k};
		if (!n)
			continue;
		qsort(v, n, sizeof(*v), cmp);
		if (v[n - 1].v > 0)
			json_array_append_new(a, spread_json(f, scope, kinds[i].key, v, n));
	}
	free(v);
	json_object_set_new(o, "of", json__text(scope == SCOPE_TASK ? "task" : "node"));
	json_object_set_new(o, "quantities", a);
	return o;
}

/* ---- units of a job by time, a byte for each quantity; many nodes are grouped */

#define ROWS_MAX  512
#define CELLS_MAX 120000 /* cells of a quantity, at most */
#define LEVELS	  250	 /* levels of a byte: LEVELS is the highest value */
#define UNKNOWN	  255

/* The quantities of a row over time: shares of its cores or GPUs, MB, MB/s. */
enum cell_of { OF_CORES, OF_GPUS, OF_ALL };
static const struct cell_kind {
	const char *key;
	enum quantity q;
	enum cell_of of;
	bool of_gpus; /* for rows that are GPUs, else for tasks and nodes */
} cell_kinds[] = {
	{"cpu", Q_CPU, OF_CORES, false},
	{"wait", Q_WAIT, OF_CORES, false},
	{"disk", Q_DISK_WAIT, OF_CORES, false},
	{"memory", Q_RSS, OF_ALL, false},
	{"io", Q_IO, OF_ALL, false},
	{"gpu", Q_GPU_UTILIZATION, OF_GPUS, true},
	{"gpu_memory", Q_GPU_MEM, OF_ALL, true},
};

struct rows {
	const struct model_job *j, *drawn; /* both have the same units */
	const struct facts *f;
	struct job_units u, drawn_u;
	enum series_unit of;
	unsigned group, n;	/* units per row; rows */
	unsigned factor, cells; /* bins per cell; cells per row */
	double *cores;		/* one per row */
	double *v;		/* [n][cells], of the current quantity */
	unsigned char *bytes;
};

static double known(double v, double otherwise)
{
	return isnan(v) ? otherwise : v;
}

/* The cores of a unit; a task has an equal part of its node's cores. */
static double cores_of(const struct rows *r, const struct job_unit *u)
{
	double all = facts__job(r->f, FACT_JOB_cores), beside = 0;
	double node = r->j->nodes[u->node].cores;

	if (r->of == SERIES_NODES)
		return known(node, all / r->u.n);
	for (unsigned i = 0; i < r->u.n; i++)
		beside += job_units__at(&r->u, i)->node == u->node;
	return known(node, all * beside / r->u.n) / beside;
}

static unsigned end_of(const struct rows *r, unsigned row)
{
	unsigned end = (row + 1) * r->group;

	return end < r->u.n ? end : r->u.n;
}

/* The mean of a unit's quantity over a cell's bins; amounts are per second. */
static double cell_of(const struct rows *r, const struct job_unit *u, enum quantity q,
		      unsigned cell)
{
	const struct time_grid *g = &r->drawn->grid;
	const double *v = job_unit__bins(u, q, g);
	unsigned end = (cell + 1) * r->factor;
	double sum = 0, span = 0;

	for (unsigned k = cell * r->factor; v && k < end && k < g->n; k++) {
		double s = time_grid__span_s(g, k);

		if (isnan(v[k]))
			continue;
		sum += quantity__is_gauge(q) ? v[k] * s : v[k];
		span += s;
	}
	return span > 0 ? sum / span : NAN;
}

static double value_of(const struct rows *r, const struct cell_kind *kind, unsigned row,
		       unsigned cell)
{
	double sum = NAN, units = 0;

	for (unsigned i = row * r->group; i < end_of(r, row); i++) {
		double v = cell_of(r, job_units__at(&r->drawn_u, i), kind->q, cell);

		if (isnan(v))
			continue;
		sum = known(sum, 0) + v;
		units++;
	}
	return kind->of == OF_CORES ? sum / r->cores[row] : kind->of == OF_GPUS ? sum / units : sum;
}

static json_t *cells_json(const struct rows *r, const struct cell_kind *kind)
{
	size_t n = (size_t)r->n * r->cells;
	double max = 0;
	json_t *o;

	for (size_t i = 0; i < n; i++) {
		r->v[i] = value_of(r, kind, (unsigned)(i / r->cells), (unsigned)(i % r->cells));
		max = isfinite(r->v[i]) ? fmax(max, r->v[i]) : max;
	}
	for (size_t i = 0; i < n; i++)
		r->bytes[i] = !isfinite(r->v[i]) || r->v[i] < 0 ? UNKNOWN
			      : max > 0 ? (unsigned char)lrint(r->v[i] / max * LEVELS)
					: 0;
	o = json_object();
	json_object_set_new(o, "max", series_rounded(max));
	json_object_set_new(o, "bytes", series_bytes(r->bytes, n));
	return o;
}

static json_t *all_cells(const struct rows *r)
{
	json_t *o = json_object();

	for (size_t i = 0; i < sizeof(cell_kinds) / sizeof(*cell_kinds); i++) {
		if (cell_kinds[i].of_gpus == (r->of == SERIES_GPUS) &&
		    job_units__know(&r->u, cell_kinds[i].q))
			json_object_set_new(o, cell_kinds[i].key, cells_json(r, &cell_kinds[i]));
	}
	return o;
}

/* "n1", or "n1 to n4" of a group. */
static json_t *name_of(const struct rows *r, unsigned row)
{
	const char *first = job_units__at(&r->u, row * r->group)->name;
	const char *last = job_units__at(&r->u, end_of(r, row) - 1)->name;
	char text[600];

	if (first == last)
		return json__text(first);
	snprintf(text, sizeof(text), "%.256s to %.256s", first, last);
	return json__text(text);
}

static double total_of(const struct rows *r, unsigned row, enum quantity q)
{
	double sum = 0;

	for (unsigned i = row * r->group; i < end_of(r, row); i++)
		sum += job_units__at(&r->u, i)->total[q];
	return sum;
}

/* How long a task's threads were blocked other than on a disk. Where the lifetime of threads is
 * unknown, at least one lived as long as the task. */
static double task_asleep(const struct job_unit *u)
{
	double lived = fmax(u->end_s - u->begin_s, u->total[Q_THREAD_TIME]);

	return fmax(0, lived - u->total[Q_CPU] - known(u->total[Q_WAIT], 0) -
			       known(u->total[Q_DISK_WAIT], 0));
}

/* Why the cores of a row's tasks were idle, as if each task had cores of its own. */
static struct idle_split idle_of_tasks(const struct rows *r, unsigned row, double idle)
{
	double held = total_of(r, row, Q_THREAD_THROTTLED);
	struct idle_split wanted = {.quota = held,
				    .wait = total_of(r, row, Q_WAIT) - known(held, 0),
				    .disk = total_of(r, row, Q_DISK_WAIT),
				    .asleep = NAN,
				    .taken = NAN};

	if (!isnan(facts__job(r->f, FACT_JOB_idle_asleep_s)))
		for (unsigned i = row * r->group; i < end_of(r, row); i++)
			wanted.asleep =
				known__sum(wanted.asleep, task_asleep(job_units__at(&r->u, i)));
	return facts_idle__split(idle, &wanted);
}

static struct idle_split idle_of_nodes(const struct rows *r, unsigned row, double idle)
{
	struct idle_split sum = {NAN, NAN, NAN, NAN, NAN, NAN}, one;

	for (unsigned i = row * r->group; i < end_of(r, row); i++) {
		one = facts_idle__of(r->j, &r->j->nodes[i]);
		facts_idle__add(&sum, &one);
	}
	return facts_idle__split(idle, &sum);
}

/* Adds where the time of a row went, as report_budget__of() does for the job. */
static void add_shares(const struct rows *r, unsigned row, json_t **shares)
{
	struct budget_times t = {
		.cpu = total_of(r, row, Q_CPU),
		.user = total_of(r, row, Q_USER),
		.system = total_of(r, row, Q_SYSTEM),
		.core_s = facts__job(r->f, FACT_JOB_wall_s) * r->cores[row],
	};
	struct report_budget b;

	t.idle = (r->of == SERIES_TASKS ? idle_of_tasks : idle_of_nodes)(r, row, t.core_s - t.cpu);
	b = report_budget__of_times(&t);
	for (int i = 0; i < N_BUDGET; i++)
		json_array_append_new(shares[i],
				      series_rounded(isnan(b.core_s) ? NAN : b.share[i]));
}

static json_t *shares_json(const struct rows *r)
{
	json_t *a = json_array(), *shares[N_BUDGET];

	for (int i = 0; i < N_BUDGET; i++) {
		shares[i] = json_array();
		json_array_append_new(a, shares[i]);
	}
	for (unsigned row = 0; row < r->n; row++)
		add_shares(r, row, shares);
	return a;
}

/* The parts of a whole per row, as report_parts__json() does for the job. NULL: unknown for all
 * rows. */
static json_t *parts_json(const struct rows *r, const struct report_parts *p)
{
	json_t *a = json_array(), *shares[REPORT_PARTS_MAX];
	double total[N_QUANTITIES], share[REPORT_PARTS_MAX];
	bool is_known = false;

	for (unsigned i = 0; i < p->n; i++)
		shares[i] = json_array();
	for (unsigned row = 0; row < r->n; row++) {
		for (int q = 0; q < N_QUANTITIES; q++)
			total[q] = total_of(r, row, q);
		is_known |= !isnan(report_parts__divide(p, total, share));
		for (unsigned i = 0; i < p->n; i++)
			json_array_append_new(shares[i], series_rounded(share[i]));
	}
	for (unsigned i = 0; i < p->n; i++) {
		if (is_known)
			json_array_append(a, shares[i]);
		json_decref(shares[i]);
	}
	return a;
}

static void put_parts(const struct rows *r, json_t *o)
{
	json_object_set_new(o, report_threads.rows_key, parts_json(r, &report_threads));
	json_object_set_new(o, report_culprits.rows_key, parts_json(r, &report_culprits));
	json_object_set_new(o, report_modules.rows_key, parts_json(r, &report_modules));
}

static void put_rows(const struct rows *r, json_t *o)
{
	json_t *names = json_array(), *nodes = json_array(), *cores = json_array();

	for (unsigned row = 0; row < r->n; row++) {
		unsigned node = job_units__at(&r->u, row * r->group)->node;

		json_array_append_new(names, name_of(r, row));
		json_array_append_new(nodes, r->of == SERIES_NODES
						     ? json_null()
						     : json__text(r->j->nodes[node].unit.name));
		json_array_append_new(cores, series_rounded(r->cores[row]));
	}
	json_object_set_new(o, "of", json__text(series_unit_names[r->of]));
	json_object_set_new(o, "units", json_integer(r->u.n));
	json_object_set_new(o, "group", json_integer(r->group));
	json_object_set_new(
		o, "are_ranks",
		json_boolean(r->of == SERIES_TASKS && job_units__at(&r->u, 0)->is_rank));
	json_object_set_new(o, "name", names);
	json_object_set_new(o, "node", nodes);
	if (r->of != SERIES_GPUS) {
		json_object_set_new(o, "cores", json_incref(cores));
		json_object_set_new(o, "shares", shares_json(r));
		put_parts(r, o);
	}
	json_decref(cores);
	json_object_set_new(o, "dt_s", json__number(r->drawn->grid.dt_s * r->factor));
	json_object_set_new(o, "cells", json_integer(r->cells));
	json_object_set_new(o, "of_time", all_cells(r));
}

/* Rows are tasks unless these are too many, else nodes. */
static void choose_rows(struct rows *r)
{
	r->of = SERIES_TASKS;
	r->u = series_units(r->j, r->of);
	if (!r->u.n || r->u.n > ROWS_MAX) {
		r->of = SERIES_NODES;
		r->u = series_units(r->j, r->of);
	}
}

/* Joins units into rows and bins into cells where there are too many. */
static void divide(struct rows *r)
{
	unsigned most;

	r->group = (r->u.n + ROWS_MAX - 1) / ROWS_MAX;
	r->n = (r->u.n + r->group - 1) / r->group;
	most = CELLS_MAX / r->n;
	r->factor = (r->drawn->grid.n + most - 1) / most;
	r->cells = (r->drawn->grid.n + r->factor - 1) / r->factor;
}

/* The rows of the units in r->u. */
static json_t *rows_json(struct rows *r)
{
	json_t *o = json_object();

	r->drawn_u = series_units(r->drawn, r->of);
	if (!r->u.n || !r->drawn->grid.n)
		return o;
	divide(r);
	r->cores = calloc(r->n, sizeof(*r->cores));
	r->v = calloc((size_t)r->n * r->cells, sizeof(*r->v));
	r->bytes = calloc((size_t)r->n * r->cells, 1);
	if (r->cores && r->v && r->bytes) {
		for (unsigned row = 0; row < r->n && r->of != SERIES_GPUS; row++)
			for (unsigned i = row * r->group; i < end_of(r, row); i++)
				r->cores[row] += cores_of(r, job_units__at(&r->u, i));
		put_rows(r, o);
	}
	free(r->cores);
	free(r->v);
	free(r->bytes);
	return o;
}

static struct rows rows_of(const struct report *r)
{
	return (struct rows){.j = r->job, .drawn = r->drawn ? r->drawn : r->job, .f = r->facts};
}

static json_t *report_rows_json(const struct report *report)
{
	struct rows r = rows_of(report);

	choose_rows(&r);
	return rows_json(&r);
}

static json_t *rows_gpus_json(const struct report *report)
{
	struct rows r = rows_of(report);

	r.of = SERIES_GPUS;
	r.u = series_units(r.j, r.of);
	return rows_json(&r);
}

static json_t *histogram_json(const struct job_histogram *h)
{
	return json__numbers(h->counts, h->is_known ? JP_LAT_BUCKETS : 0);
}

/* Names of the first and the last node. */
static json_t *nodes_json(const struct model_job *j)
{
	json_t *a = json_array();

	json_array_append_new(a, json__text(j->nodes[0].unit.name));
	json_array_append_new(a, json__text(j->nodes[j->nnodes - 1].unit.name));
	return a;
}

json_t *report_series__json(const struct report *r)
{
	json_t *o = json_object();

	json_object_set_new(o, "version", json_string(JOBPROF_VERSION));
	json_object_set_new(o, "is_slurms", json_boolean(r->job->is_slurms));
	json_object_set_new(o, "nodes", nodes_json(r->job));
	json_object_set_new(o, "gpu_use", json__number(report_given__gpu_use(r->facts)));
	json_object_set_new(o, "lines", lines_json(r));
	json_object_set_new(o, "rows", report_rows_json(r));
	json_object_set_new(o, "gpu_rows", rows_gpus_json(r));
	json_object_set_new(o, "spread", report_spread_json(r));
	json_object_set_new(o, "run_latency", histogram_json(&r->job->run_latency));
	json_object_set_new(o, "blk_latency", histogram_json(&r->job->blk_latency));
	if (r->besides && r->besides->flame)
		json_object_set(o, "flame", r->besides->flame);
	if (r->besides && r->besides->blocked)
		json_object_set(o, "flame_blocked", r->besides->blocked);
	return o;
}
