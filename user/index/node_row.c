/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes rows of five minutes from the bins of a job's nodes, and passes them on. */
#include "index/node_row.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/known.h"
#include "base/room.h"
#include "base/utf8.h"
#include "model/job/job.h"

#define TEXT_MAX  512 /* bytes of a name: PostgreSQL's keys have a limit */
#define NODES_MAX 20000
#define CPUS_MAX  4096.0
#define NODE_W	  20000 /* with GPUs; of what is no CPU */
#define CPU_W	  50
#define MARGIN	  1.1	    /* of clocks and of rounding */
#define MB_MAX	  (1 << 26) /* 64 TiB */

enum how { AMOUNT, LEVEL, COVERED };

static const struct {
	double scale;
	enum how how;
	enum quantity of[3];
	unsigned n;
	bool is_sum;
} infos[N_NODE_VALUES] = {
#define COUNT(...)		       (sizeof((enum quantity[]){__VA_ARGS__}) / sizeof(enum quantity))
#define FIRST(...)		       {__VA_ARGS__}, COUNT(__VA_ARGS__), false
#define SUM(...)		       {__VA_ARGS__}, COUNT(__VA_ARGS__), true
#define NODE_ROW(name, how, scale, of) [NODE_##name] = {scale, how, of},
#include "schemas/noderow.def"
};

const char *const node_value_names[N_NODE_VALUES] = {
#define NODE_ROW(name, how, scale, of) [NODE_##name] = #name,
#include "schemas/noderow.def"
};

void node_rows__free(struct node_rows *r)
{
	for (unsigned i = 0; i < r->n; i++) {
		free(r->v[i].node);
		free(r->v[i].model);
		free(r->v[i].v);
	}
	free(r->v);
	*r = (struct node_rows){0};
}

/* Adds a node without rows. NULL: no memory. */
static struct node_series *add_node(struct node_rows *r, const char *node, const char *model)
{
	struct node_series *s;
	unsigned replaced;

	if (room__grow(&r->v, r->n, 1, sizeof(*r->v)))
		return NULL;
	s = &r->v[r->n++];
	*s = (struct node_series){.node = utf8__clean(node, TEXT_MAX, &replaced),
				  .model = utf8__clean(model ? model : "", TEXT_MAX, &replaced),
				  .cores = NAN,
				  .cpus = NAN,
				  .memory_mb = NAN};
	return s->node && s->model ? s : NULL;
}

/* Makes n rows of which nothing is known. 0 or -ENOMEM. */
static int make_rows(struct node_series *s, int64_t first, unsigned n)
{
	s->v = malloc((size_t)n * N_NODE_VALUES * sizeof(*s->v));
	if (!s->v)
		return -ENOMEM;
	s->first = first;
	s->n = n;
	for (size_t i = 0; i < (size_t)n * N_NODE_VALUES; i++)
		s->v[i] = NODE_UNKNOWN;
	return 0;
}

static int64_t oldest_row(void)
{
	return ((int64_t)time(NULL) - NODE_ROW_DAYS * INT64_C(86400)) / NODE_ROW_S;
}

static unsigned rows_of(const struct node_rows *r)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->n; i++)
		n += r->v[i].n;
	return n;
}

/* ---- from bins */

/* One value over the rows: sums of amounts, or of levels by time. */
struct filling {
	double *sum, *s; /* of each row; NaN: not known */
	int64_t first;
	unsigned n;
};

/* Spreads a bin's value over the rows that it lies in. */
static void spread(struct filling *f, enum how how, double v, double begin_s, double length_s)
{
	const int64_t last = f->first + f->n;
	const double end_s = fmin(begin_s + length_s, (double)last * NODE_ROW_S);
	/* a forged profile may have begun any time ago */
	int64_t row = (int64_t)fmax(floor(begin_s / NODE_ROW_S), (double)f->first);

	if (isnan(v) || !(length_s > 0))
		return;
	for (; (double)row * NODE_ROW_S < end_s; row++) {
		const double from = fmax(begin_s, (double)row * NODE_ROW_S);
		const double s = fmin(end_s, (double)(row + 1) * NODE_ROW_S) - from;
		const int64_t at = row - f->first;

		if (at >= f->n || !(s > 0))
			continue;
		f->sum[at] = known__sum(f->sum[at], how == COVERED  ? s
						    : how == AMOUNT ? v * s / length_s
								    : v * s);
		f->s[at] += s;
	}
}

static double bin_value(const struct job_unit *u, enum node_value of, const struct time_grid *g,
			unsigned bin)
{
	double v = NAN;

	for (unsigned i = 0; i < infos[of].n; i++) {
		const double *bins = job_unit__bins(u, infos[of].of[i], g);
		const double one = bins ? bins[bin] : NAN;

		if (infos[of].is_sum)
			v = known__sum(v, one);
		else if (isnan(v))
			v = one;
	}
	return v;
}

/* Puts the rounded values into the rows; what rounding leaves of an amount goes to the next row. */
static void round_rows(struct node_series *s, enum node_value of, const struct filling *f)
{
	const double scale = infos[of].scale;
	double rest = 0;

	for (unsigned i = 0; i < s->n; i++) {
		const double exact = infos[of].how == LEVEL ? f->sum[i] / f->s[i] * scale
							    : f->sum[i] * scale + rest;
		const double v = rint(exact);

		if (!(fabs(v) < INT32_MAX))
			continue;
		rest = infos[of].how == LEVEL ? 0 : exact - v;
		s->v[(size_t)i * N_NODE_VALUES + of] = (int32_t)v;
	}
}

static void fill(struct node_series *s, const struct job_unit *u, const struct time_grid *g,
		 struct filling *f)
{
	const double t0_s = g->t0_ns / 1e9;

	for (int of = 0; of < N_NODE_VALUES; of++) {
		for (unsigned i = 0; i < s->n; i++) {
			f->sum[i] = NAN;
			f->s[i] = 0;
		}
		for (unsigned k = 0; k < g->n; k++)
			spread(f, infos[of].how, bin_value(u, of, g, k), t0_s + k * g->dt_s,
			       time_grid__span_s(g, k));
		round_rows(s, of, f);
	}
}

int node_rows__of_job(struct node_rows *r, const struct model_job *j)
{
	const struct time_grid *g = &j->grid;
	const double t0_s = g->t0_ns / 1e9, end_s = t0_s + g->end_s;
	const int64_t begin = (int64_t)floor(t0_s / NODE_ROW_S), oldest = oldest_row();
	const int64_t first = begin > oldest ? begin : oldest;
	const double rows = ceil(end_s / NODE_ROW_S) - (double)first;
	const unsigned n = rows >= 1 && rows <= NODE_ROW_MAX ? (unsigned)rows : 0;
	struct filling f = {calloc(n + 1, sizeof(double)), calloc(n + 1, sizeof(double)), first, n};
	int err = f.sum && f.s ? 0 : -ENOMEM;

	for (unsigned i = 0; !err && n && i < j->nnodes && rows_of(r) + n <= NODE_ROW_MAX; i++) {
		const struct job_node *node = &j->nodes[i];
		struct node_series *s = add_node(r, node->unit.name, node->model);

		err = s ? make_rows(s, first, n) : -ENOMEM;
		if (err)
			break;
		s->cores = node->cores_in_all;
		s->cpus = node->cores_in_all * node->threads_per_core;
		s->memory_mb = node->memory_in_all_mb;
		fill(s, &node->unit, g, &f);
	}
	free(f.sum);
	free(f.s);
	return err;
}

/* ---- bounds */

static double most_of(enum node_value of, double cpus)
{
	const double n = cpus > 0 && cpus <= CPUS_MAX ? cpus : CPUS_MAX;

	switch (of) {
	case NODE_span_s:
		return NODE_ROW_S;
	case NODE_cpu_ms:
	case NODE_node_idle_ms:
		return n * NODE_ROW_S * 1000 * MARGIN;
	case NODE_memory_mb:
	case NODE_node_memory_mb:
		return MB_MAX;
	case NODE_energy_j:
	case NODE_energy_low_j:
	case NODE_energy_high_j:
	case NODE_node_energy_j:
	case NODE_node_system_j:
	case NODE_node_unallocated_j:
		return (NODE_W + n * CPU_W) * NODE_ROW_S;
	default: /* threads that wait are as many as they like */
		return INT32_MAX;
	}
}

bool node_row__may_be(enum node_value of, int32_t v, double cpus)
{
	return v >= 0 && v <= most_of(of, cpus);
}

/* ---- as JSON */

static json_t *values_json(const struct node_series *s, enum node_value of)
{
	json_t *a = json_array();
	bool is_known = false;

	for (unsigned i = 0; i < s->n; i++) {
		const int32_t v = s->v[(size_t)i * N_NODE_VALUES + of];

		is_known |= v != NODE_UNKNOWN;
		json_array_append_new(a, v == NODE_UNKNOWN ? json_null() : json_integer(v));
	}
	if (is_known)
		return a;
	json_decref(a);
	return NULL;
}

json_t *node_rows__json(const struct node_rows *r)
{
	json_t *all = json_array();

	for (unsigned i = 0; i < r->n; i++) {
		const struct node_series *s = &r->v[i];
		json_t *o = json_object(), *kind = json_object();

		json__set(kind, "model", json__text(s->model));
		JSON_NUMBERS(kind, {"cores", s->cores}, {"cpus", s->cpus},
			     {"memory_mb", s->memory_mb});
		json__set(o, "node", json__text(s->node));
		json__set(o, "kind", kind);
		json__set(o, "from", json_integer((json_int_t)s->first * NODE_ROW_S));
		for (int of = 0; of < N_NODE_VALUES; of++) {
			json_t *values = values_json(s, of);

			if (values)
				json__set(o, node_value_names[of], values);
		}
		json_array_append_new(all, o);
	}
	return all;
}

static size_t longest_of(const json_t *o)
{
	size_t n = 0;

	for (int of = 0; of < N_NODE_VALUES; of++) {
		const size_t len = json_array_size(json_object_get(o, node_value_names[of]));

		n = len > n ? len : n;
	}
	return n;
}

static void take_values(struct node_series *s, enum node_value of, const json_t *a)
{
	const json_t *one;
	size_t i;

	json_array_foreach ((json_t *)a, i, one) {
		const double v = json_is_integer(one) ? (double)json_integer_value(one) : NAN;

		if (v >= 0 && v <= INT32_MAX)
			s->v[i * N_NODE_VALUES + of] = (int32_t)v;
	}
}

#define FROM_MAX 1e11

static const char *take_node(struct node_rows *r, const json_t *o)
{
	const char *name = json_string_value(json_object_get(o, "node"));
	const double from = json__number_of(o, "from");
	const json_t *kind = json_object_get(o, "kind");
	const size_t n = longest_of(o);
	struct node_series *s;

	if (!name || !*name || !(from >= 0 && from <= FROM_MAX))
		return "node_rows has something without a node or a time";
	if (n + rows_of(r) > NODE_ROW_MAX || r->n == NODES_MAX)
		return "node_rows is too long";
	s = add_node(r, name, json_string_value(json_object_get(kind, "model")));
	if (!s || make_rows(s, (int64_t)(from / NODE_ROW_S), (unsigned)n))
		return strerror(ENOMEM);
	s->cores = json__number_of(kind, "cores");
	s->cpus = json__number_of(kind, "cpus");
	s->memory_mb = json__number_of(kind, "memory_mb");
	for (int of = 0; of < N_NODE_VALUES; of++)
		take_values(s, of, json_object_get(o, node_value_names[of]));
	return NULL;
}

const char *node_rows__of_json(struct node_rows *r, const json_t *a)
{
	const char *wrong = a && !json_is_array(a) ? "node_rows is no list" : NULL;
	const json_t *one;
	size_t i;

	json_array_foreach ((json_t *)a, i, one) {
		if (!wrong)
			wrong = take_node(r, one);
	}
	return wrong;
}

/* ---- between processes */

int node_rows__put(const struct node_rows *r, struct message *m)
{
	message__put(m, &r->n, sizeof(r->n));
	for (unsigned i = 0; i < r->n; i++) {
		const struct node_series *s = &r->v[i];

		message__put(m, s, sizeof(*s));
		message__put_text(m, s->node);
		message__put_text(m, s->model);
		message__put(m, s->v, (size_t)s->n * N_NODE_VALUES * sizeof(*s->v));
	}
	return m->bad ? -ENOMEM : 0;
}

static int take_series(struct node_rows *r, struct message *m)
{
	const struct node_series *from = message__take(m, sizeof(*from));
	struct node_series copy, *s;
	const char *node, *model;
	const void *v;

	if (!from || from->n > NODE_ROW_MAX || rows_of(r) + from->n > NODE_ROW_MAX ||
	    !(from->first >= 0 && from->first <= (int64_t)(FROM_MAX / NODE_ROW_S)))
		return -EBADMSG;
	copy = *from;
	node = message__take_text(m);
	model = message__take_text(m);
	v = message__take(m, (size_t)copy.n * N_NODE_VALUES * sizeof(*copy.v));
	if (m->bad || (copy.n && !v))
		return -EBADMSG;
	s = add_node(r, node, model);
	if (!s || make_rows(s, copy.first, copy.n))
		return -ENOMEM;
	s->cores = copy.cores;
	s->cpus = copy.cpus;
	s->memory_mb = copy.memory_mb;
	if (copy.n)
		memcpy(s->v, v, (size_t)copy.n * N_NODE_VALUES * sizeof(*s->v));
	return 0;
}

int node_rows__take(struct node_rows *r, struct message *m)
{
	const unsigned *n = message__take(m, sizeof(*n));
	const unsigned nodes = n ? *n : 0;
	int err = n && nodes <= NODES_MAX ? 0 : -EBADMSG;

	for (unsigned i = 0; !err && i < nodes; i++)
		err = take_series(r, m);
	return err;
}
