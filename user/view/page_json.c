/* SPDX-License-Identifier: GPL-2.0-only */
/* The JSON page of "jobprof show". */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "model/node.h"
#include "identity/stepname.h"

static const char *text_key(const char *name)
{
	/* jansson refuses keys that are not UTF-8. */
	for (const char *p = name; *p; p++)
		if ((unsigned char)*p >= 0x80)
			return "?";
	return name;
}

static json_t *attributes(const struct reader_node *n)
{
	json_t *all = json_object();

	for (unsigned i = 0; i < n->nattrs; i++) {
		const struct reader_attr *a = &n->attrs[i];
		json_t *v = a->type == ATTR_STR	  ? json__text(a->str)
			    : a->type == ATTR_F64 ? json__number(a->f)
						  : json_integer(a->i);

		json_object_set_new(all, text_key(a->name), v);
	}
	return all;
}

/* Per-interval columns by their sum, gauges by maximum and mean, cumulative ones by the last. */
static void add_columns(json_t *obj, const struct view_task *t)
{
	json_t *sum = json_object(), *max = json_object(), *mean = json_object();
	json_t *last = json_object();

	for (unsigned c = 0; c < t->t->ncols; c++) {
		const char *name = t->t->names[c], *key = text_key(name);

		switch (t->t->cols[c].kind) {
		case COL_DELTA:
			json_object_set_new(sum, key, json__number(calc__sum(t->t, name)));
			break;
		case COL_GAUGE:
			json_object_set_new(max, key, json__number(calc__max(t->t, name)));
			json_object_set_new(mean, key, json__number(calc__mean(t->t, name)));
			break;
		case COL_CUMULATIVE:
			json_object_set_new(last, key, json__number(calc__last(t->t, name)));
			break;
		case COL_TIME:
			break;
		}
	}
	json_object_set_new(obj, "sum", sum);
	json_object_set_new(obj, "max", max);
	json_object_set_new(obj, "mean", mean);
	json_object_set_new(obj, "last", last);
}

static json_t *latency(double n, const double counts[JP_LAT_BUCKETS])
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "count", json__number(n), "p50_below_ns",
			 json__number(calc__quantile(counts, 0.5)), "p90_below_ns",
			 json__number(calc__quantile(counts, 0.9)), "p99_below_ns",
			 json__number(calc__quantile(counts, 0.99)), "max_below_ns",
			 json__number(calc__quantile(counts, 1)));
}

static const struct {
	const char *key, *series;
	char prefix, less;
} histograms[] = {
#define HISTOGRAM(label, key, series, prefix, less) {key, series, prefix, less},
#include "schemas/show.def"
};

static void add_latencies(json_t *obj, const struct view_task *t)
{
	double counts[JP_LAT_BUCKETS], n;

	for (size_t i = 0; i < sizeof(histograms) / sizeof(histograms[0]); i++) {
		n = view__histogram(t, histograms[i].series, histograms[i].prefix,
				    histograms[i].less, counts);
		if (!isnan(n))
			json_object_set_new(obj, histograms[i].key, latency(n, counts));
	}
}

static json_t *task(const struct view *v, const struct view_task *t)
{
	json_t *obj = json_object();

	json_object_set_new(obj, "task", json__text(t->name));
	json_object_set_new(obj, "rows", json_integer(t->t->nrows));
	json_object_set_new(obj, "wall_s", json__number(t->wall));
	json_object_set_new(obj, "cpu_s", json__number(calc__sum(t->t, "CPUTime")));
	json_object_set_new(obj, "cpu_efficiency",
			    json__number(view__value(v, t, BY_OF_CPUS, "CPUTime", NULL) / 100));
	json_object_set_new(obj, "peak_mb",
			    json__number(view__value(v, t, BY_HIGHEST, "PeakMB", "RSS")));
	add_latencies(obj, t);
	add_columns(obj, t);
	return obj;
}

static void add_other(const struct reader_series *s, const struct view_task *t, void *arg)
{
	json_t *all = arg, *obj = json_object(), *group;

	if (t->t) {
		json_object_set_new(obj, "rows", json_integer(t->t->nrows));
		add_columns(obj, t);
	}
	if (!s->grouped) {
		json_object_set_new(all, text_key(s->name), obj);
		return;
	}
	group = json_object_get(all, text_key(s->name));
	if (!group) {
		group = json_object();
		json_object_set_new(all, text_key(s->name), group);
	}
	json_object_set_new(group, text_key(t->name), obj);
}

json_t *show__json(const struct view *v)
{
	json_t *tasks = json_array(), *others = json_object(), *obj = json_object();

	for (unsigned i = 0; i < v->ntasks; i++)
		json_array_append_new(tasks, task(v, &v->tasks[i]));
	json_object_set_new(obj, "job", json__text(v->r->job));
	json_object_set_new(obj, "step", json__text(stepname__human(v->n->step)));
	json_object_set_new(obj, "node", json__text(v->n->name));
	json_object_set_new(obj, "wall_s", json__number(v->wall));
	json_object_set_new(obj, "allocated_cpus", json__number(v->node_cpus));
	json_object_set_new(obj, "memory_limit_mb", json__number(v->limit_mb));
	json_object_set_new(obj, "probe_s", json__number(view__probe_s(v)));
	json_object_set_new(obj, "attributes", attributes(v->n));
	json_object_set_new(obj, "tasks", tasks);
	if (v->step.t) {
		json_t *step = task(v, &v->step);

		json_object_del(step, "task");
		json_object_set_new(obj, "step_table", step);
	}
	view__each_other(v, add_other, others);
	if (json_object_size(others))
		json_object_set(obj, "other_series", others);
	json_decref(others);
	return obj;
}
