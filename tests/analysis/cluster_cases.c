/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cases of bursts and their clusters. */
#include "tests/analysis/case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cluster/burst.h"
#include "analysis/cluster/cluster.h"

static json_t *labels_array(const unsigned *labels, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(a, json_integer(labels[i]));
	return a;
}

static json_t *rows_array(const double *v, size_t n, size_t cols)
{
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(a, case_reals(v + i * cols, cols));
	return a;
}

/* Numbers of a case that may stand among its parameters or among its inputs. */
static double either_number(const json_t *params, const json_t *inputs, const char *name,
			    double other)
{
	return case_number(params, name, case_number(inputs, name, other));
}

static size_t min_pts(const json_t *params, const json_t *inputs, size_t n)
{
	double otherwise = n < CLUSTER_FEW ? CLUSTER_FEW_MIN_PTS : CLUSTER_MIN_PTS;
	double v = either_number(params, inputs, "min_pts", otherwise);

	return v >= 0 ? (size_t)v : 0;
}

/* The columns of burst.extract's events: time, kind and instructions. */
struct events {
	double *t, *ins;
	enum burst_event *kind;
	size_t n;
};

static bool read_events(const json_t *array, struct events *e)
{
	static const char *const kinds[] = {
		[BURST_IN] = "in", [BURST_PREEMPT] = "preempt", [BURST_BLOCK] = "block"};

	*e = (struct events){.n = json_array_size(array)};
	e->t = case_alloc(e->n, sizeof(*e->t));
	e->ins = case_alloc(e->n, sizeof(*e->ins));
	e->kind = case_alloc(e->n, sizeof(*e->kind));
	if (!json_is_array(array))
		return false;
	for (size_t i = 0; i < e->n; i++) {
		const json_t *event = json_array_get(array, i);
		const json_t *count = json_array_get(event, 2);
		const char *kind = json_string_value(json_array_get(event, 1));
		unsigned k = 0;

		while (kind && k <= BURST_BLOCK && strcmp(kind, kinds[k]))
			k++;
		if (!kind || k > BURST_BLOCK)
			return false;
		e->kind[i] = k;
		e->t[i] = json_number_value(json_array_get(event, 0));
		e->ins[i] = json_is_number(count) ? json_number_value(count) : NAN;
	}
	return true;
}

static json_t *extract(const json_t *params, const json_t *inputs)
{
	double least = either_number(params, inputs, "min_on_cpu_us", BURST_MIN_ON_CPU_US);
	struct events e;
	struct bursts b = {0};
	json_t *array = json_array();

	if (!read_events(json_object_get(inputs, "events"), &e))
		return NULL;
	burst__extract(&(struct burst_stream){e.t, e.kind, e.ins, e.n, 1}, least, &b);
	for (size_t i = 0; i < b.n; i++) {
		const struct burst *o = &b.bursts[i];

		json_array_append_new(
			array,
			json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "start", case_real(o->start),
				  "end", case_real(o->end), "wall", case_real(o->wall), "preempted",
				  case_real(o->preempted), "on_cpu", case_real(o->on_cpu), "ins",
				  case_real(b.counts[i])));
	}
	return json_pack("{s:o, s:I, s:o, s:b}", "bursts", array, "filtered_n",
			 (json_int_t)b.filtered_n, "filtered_time", case_real(b.filtered_time),
			 "open", b.is_open);
}

/* Points and their durations. */
struct cloud {
	double *v, *dur;
	unsigned *labels;
	size_t n;
	unsigned dims, k;
};

static bool read_cloud(const json_t *points, const json_t *dur, struct cloud *c)
{
	struct matrix m;
	size_t n;

	*c = (struct cloud){0};
	if (!case_matrix(points, &m))
		return false;
	c->v = (double *)m.v;
	c->n = m.units;
	c->dims = m.units ? m.bins : 2;
	c->labels = case_alloc(c->n, sizeof(*c->labels));
	c->dur = case_numbers(dur, &n);
	return c->dur && n == c->n && c->dims && c->dims <= CLUSTER_MAX_DIMS;
}

static void read_features(const json_t *inputs, unsigned dims, struct cluster_feature *f)
{
	const json_t *log = json_object_get(inputs, "log");

	for (unsigned d = 0; d < dims; d++) {
		f[d] = d ? CLUSTER_LINEAR : CLUSTER_LOG;
		if (log)
			f[d].log = json_is_true(json_array_get(log, d));
	}
}

/* Bursts that cannot be clustered are left out. */
static void drop_unusable(struct cloud *c, const struct cluster_feature *f, double min_dur)
{
	bool *used = case_alloc(c->n, sizeof(*used));
	size_t n = 0;

	cluster__filter(c->v, c->n, c->dims, f, c->dur, min_dur, used);
	for (size_t i = 0; i < c->n; i++) {
		if (!used[i])
			continue;
		memmove(c->v + n * c->dims, c->v + i * c->dims, c->dims * sizeof(*c->v));
		c->dur[n++] = c->dur[i];
	}
	c->n = n;
}

/* DBSCAN of normalised points, and numbers by the durations. */
static void cluster_points(struct cloud *c, const double *v, double eps, size_t least)
{
	cluster__dbscan(v, c->n, c->dims, eps, least, c->labels, &c->k);
	cluster__relabel(c->labels, c->dur, c->n, c->k);
}

static json_t *stats_array(const struct cloud *c)
{
	struct cluster_row *rows = case_alloc(c->k, sizeof(*rows));
	double *means = case_alloc(((size_t)c->k + 1) * c->dims, sizeof(*means));
	json_t *a = json_array();

	if (cluster__table(c->labels, c->dur, c->v, c->n, c->dims, c->k, rows, means))
		abort();
	for (unsigned k = 0; k <= c->k; k++) {
		const struct cluster_row *r = &rows[k];
		double *mean = means + (size_t)k * c->dims;

		if (!r->n)
			continue;
		json_array_append_new(
			a, json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "cluster",
				     (json_int_t)k, "n", (json_int_t)r->n, "total_dur",
				     case_real(r->total_dur), "mean_dur", case_real(r->mean_dur),
				     "share", case_real(r->share), "std_dur", case_real(r->std_dur),
				     "mean_ins", case_real(mean[0]), "mean_ipc",
				     case_real(c->dims > 1 ? mean[1] : NAN)));
	}
	return a;
}

/* "auto": what the distances to near points suggest. */
static double find_eps(const json_t *params, const json_t *inputs, const struct cloud *c,
		       const double *v, size_t least)
{
	const char *text = json_string_value(json_object_get(params, "eps"));
	struct cluster_kdist r;
	double *distances;

	if (!text || strcmp(text, "auto"))
		return either_number(params, inputs, "eps", CLUSTER_EPS);
	distances = case_alloc(c->n, sizeof(*distances));
	cluster__kdist(v, c->n, c->dims, least, distances, &r);
	return r.eps;
}

static json_t *dbscan(const json_t *params, const json_t *inputs)
{
	double lo[CLUSTER_MAX_DIMS], hi[CLUSTER_MAX_DIMS], *scaled;
	struct cluster_feature f[CLUSTER_MAX_DIMS];
	struct cloud c;
	size_t least;

	if (!read_cloud(json_object_get(inputs, "points"), json_object_get(inputs, "dur_us"), &c))
		return NULL;
	read_features(inputs, c.dims, f);
	drop_unusable(&c, f, either_number(params, inputs, "min_dur_us", -INFINITY));
	scaled = case_alloc(c.n * c.dims, sizeof(*scaled));
	cluster__range(c.v, c.n, c.dims, f, lo, hi);
	cluster__normalise(c.v, c.n, c.dims, f, lo, hi, scaled);
	least = min_pts(params, inputs, c.n);
	cluster_points(&c, scaled, find_eps(params, inputs, &c, scaled, least), least);
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "normalised", rows_array(scaled, c.n, c.dims),
			 "lo", case_reals(lo, c.dims), "hi", case_reals(hi, c.dims), "labels",
			 labels_array(c.labels, c.n), "stats", stats_array(&c));
}

static json_t *kdist(const json_t *params, const json_t *inputs)
{
	struct cluster_kdist r;
	struct matrix m;
	double *d;
	bool ok;

	if (!case_matrix(json_object_get(inputs, "normalised"), &m))
		return NULL;
	d = case_alloc(m.units, sizeof(*d));
	ok = cluster__kdist(m.v, m.units, m.bins, min_pts(params, inputs, m.units), d, &r) ==
	     ANALYSIS_OK;
	return json_pack("{s:o, s:o, s:o}", "kdist", case_reals(d, m.units), "knee_index",
			 ok ? json_integer((json_int_t)r.knee) : json_null(), "eps",
			 case_real(r.eps));
}

/* The points of the subset in its order, and the others in theirs. false: no index of a point. */
static bool split_cloud(const struct cloud *all, const json_t *indices, struct cloud parts[2],
			size_t *at[2])
{
	bool *in = case_alloc(all->n, sizeof(*in));

	for (int p = 0; p < 2; p++) {
		parts[p] = (struct cloud){.v = case_alloc(all->n * all->dims, sizeof(double)),
					  .dur = case_alloc(all->n, sizeof(double)),
					  .labels = case_alloc(all->n, sizeof(unsigned)),
					  .dims = all->dims};
		at[p] = case_alloc(all->n, sizeof(*at[p]));
	}
	for (size_t i = 0; i < json_array_size(indices); i++) {
		size_t row = (size_t)json_integer_value(json_array_get(indices, i));

		if (row >= all->n || in[row])
			return false;
		in[row] = true;
		at[0][parts[0].n++] = row;
	}
	for (size_t row = 0; row < all->n; row++)
		if (!in[row])
			at[1][parts[1].n++] = row;
	for (int p = 0; p < 2; p++) {
		for (size_t i = 0; i < parts[p].n; i++) {
			memcpy(parts[p].v + i * all->dims, all->v + at[p][i] * all->dims,
			       all->dims * sizeof(double));
			parts[p].dur[i] = all->dur[at[p][i]];
		}
	}
	return true;
}

static json_t *classified(struct cloud *all, struct cloud parts[2], size_t *const at[2], double eps,
			  size_t least)
{
	unsigned *labels = case_alloc(all->n, sizeof(*labels));

	cluster_points(all, all->v, eps, least);
	cluster_points(&parts[0], parts[0].v, eps, least);
	cluster__classify(parts[0].v, parts[0].labels, parts[0].n, parts[1].v, parts[1].n,
			  all->dims, eps, parts[1].labels);
	for (int p = 0; p < 2; p++) {
		for (size_t i = 0; i < parts[p].n; i++)
			labels[at[p][i]] = parts[p].labels[i];
	}
	return json_pack("{s:o, s:o, s:o, s:o}", "subset_labels",
			 labels_array(parts[0].labels, parts[0].n), "rest_labels",
			 labels_array(parts[1].labels, parts[1].n), "labels",
			 labels_array(labels, all->n), "agree_with_full",
			 case_real(cluster__agreement(labels, all->labels, all->n)));
}

static json_t *classify(const json_t *params, const json_t *inputs)
{
	struct cloud all, parts[2];
	size_t *at[2];

	if (!read_cloud(json_object_get(inputs, "normalised"), json_object_get(inputs, "dur_us"),
			&all) ||
	    !split_cloud(&all, json_object_get(inputs, "subset"), parts, at))
		return NULL;
	return classified(&all, parts, at, either_number(params, inputs, "eps", CLUSTER_EPS),
			  min_pts(params, inputs, all.n));
}

static bool read_window(const json_t *o, struct cloud *c)
{
	const json_t *labels = json_object_get(o, "labels");

	if (!read_cloud(json_object_get(o, "points"), json_object_get(o, "dur"), c))
		return false;
	for (size_t i = 0; i < c->n; i++) {
		json_int_t label = json_integer_value(json_array_get(labels, i));

		if (label < 0 || label > 1000000)
			return false;
		c->labels[i] = (unsigned)label;
		c->k = c->labels[i] > c->k ? c->labels[i] : c->k;
	}
	return true;
}

static json_t *comparison_object(const struct cluster_comparison *c)
{
	json_t *pairs = json_array();

	for (size_t i = 0; i < c->npairs; i++)
		json_array_append_new(pairs,
				      json_pack("[i, i]", (int)c->pairs[i].a, (int)c->pairs[i].b));
	return json_pack("{s:o, s:o, s:o, s:b}", "pairs", pairs, "share_a", case_real(c->share_a),
			 "share_b", case_real(c->share_b), "equivalent", c->equivalent);
}

/* Compares windows i and i + 1. One without points has the dimensions of the other. */
static json_t *compare_windows(const struct cloud *c, struct cluster_level level, bool *equivalent)
{
	struct cluster_window w[2];
	struct cluster_comparison r;

	for (int i = 0; i < 2; i++)
		w[i] = (struct cluster_window){
			c[i].v, c[i].labels, c[i].dur, c[i].n, c[i].n ? c[i].dims : c[!i].dims,
			c[i].k};
	cluster__compare(&w[0], &w[1], level, &r);
	*equivalent = r.equivalent;
	return comparison_object(&r);
}

static json_t *tracked(const json_t *params, const struct cloud *c, size_t n)
{
	struct cluster_level level = {
		case_number(params, "margin", CLUSTER_LEVEL.margin),
		case_number(params, "threshold", CLUSTER_LEVEL.threshold),
	};
	unsigned in_a_row = (unsigned)case_number(params, "in_a_row", CLUSTER_IN_A_ROW);
	bool *equivalent = case_alloc(n, sizeof(*equivalent));
	unsigned *streak = case_alloc(n, sizeof(*streak));
	json_t *comparisons = json_array();
	size_t stable;

	for (size_t i = 0; i + 1 < n; i++)
		json_array_append_new(comparisons, compare_windows(c + i, level, &equivalent[i]));
	stable = cluster__streaks(equivalent, n, in_a_row, streak);
	return json_pack("{s:o, s:o, s:o}", "comparisons", comparisons, "streak",
			 labels_array(streak, n), "stable_at",
			 stable < n ? json_integer((json_int_t)stable) : json_null());
}

static json_t *track(const json_t *params, const json_t *inputs)
{
	const json_t *windows = json_object_get(inputs, "windows");
	size_t n = json_array_size(windows);
	struct cloud *c = case_alloc(n, sizeof(*c));

	if (!json_is_array(windows))
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (!read_window(json_array_get(windows, i), &c[i]))
			return NULL;
	return tracked(params, c, n);
}

const struct case_entry cluster_cases[] = {
	{"burst.extract", extract},	{"cluster.dbscan", dbscan}, {"cluster.kdist", kdist},
	{"cluster.classify", classify}, {"cluster.track", track},   {NULL, NULL},
};
