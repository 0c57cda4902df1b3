/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page about a node as JSON. */
#include <math.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/json.h"
#include "identity/stepname.h"
#include "view/view.h"

static const char *text_key(const char *name)
{
	/* jansson refuses keys that are not UTF-8. */
	for (const char *p = name; *p; p++)
		if ((unsigned char)*p >= 0x80)
			return "?";
	return name;
}

static json_t *attributes_json(const struct model_node *n)
{
	json_t *all = json_object();

	for (unsigned i = 0; i < n->nattrs; i++) {
		const struct model_attr *a = &n->attrs[i];
		json_t *v = a->text	    ? json__text(a->text)
			    : a->is_integer ? json_integer(a->integer)
					    : json__number(a->number);

		json_object_set_new(all, text_key(a->name), v);
	}
	return all;
}

/* Adds columns: the sum of per-interval ones, maximum and mean of gauges, the last value of
 * cumulative ones. */
static void add_columns(json_t *obj, const struct model_table *t)
{
	json_t *sum = json_object(), *max = json_object(), *mean = json_object();
	json_t *last = json_object();

	for (unsigned c = 0; c < t->ncols; c++) {
		const char *name = t->cols[c].name, *key = text_key(name);

		switch (t->cols[c].kind) {
		case COL_DELTA:
			json_object_set_new(sum, key, json__number(column_stats__sum(t, name)));
			break;
		case COL_GAUGE:
			json_object_set_new(max, key, json__number(column_stats__max(t, name)));
			json_object_set_new(mean, key, json__number(column_stats__mean(t, name)));
			break;
		case COL_CUMULATIVE:
			json_object_set_new(last, key, json__number(column_stats__last(t, name)));
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

static json_t *latency_json(double n, const double counts[JP_LAT_BUCKETS])
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "count", json__number(n), "p50_below_ns",
			 json__number(histogram__quantile_ns(counts, 0.5)), "p90_below_ns",
			 json__number(histogram__quantile_ns(counts, 0.9)), "p99_below_ns",
			 json__number(histogram__quantile_ns(counts, 0.99)), "max_below_ns",
			 json__number(histogram__quantile_ns(counts, 1)));
}

static const struct {
	const char *key, *series;
	char prefix, less;
} histograms[] = {
#define HISTOGRAM(label, key, series, prefix, less) {key, series, prefix, less},
#include "schemas/show.def"
};

static void add_latencies(json_t *obj, const struct model_task *t)
{
	double counts[JP_LAT_BUCKETS], n;

	for (size_t i = 0; i < sizeof(histograms) / sizeof(histograms[0]); i++) {
		n = histogram__sum(t, histograms[i].series, histograms[i].prefix,
				   histograms[i].less, counts);
		if (!isnan(n))
			json_object_set_new(obj, histograms[i].key, latency_json(n, counts));
	}
}

static json_t *task_json(const struct model_node *n, const struct model_task *t)
{
	json_t *obj = json_object();
	double percent = task_measure__value(n, t, MEASURE_OF_CPUS, "CPUTime", NULL);

	json_object_set_new(obj, "task", json__text(t->rows.name));
	json_object_set_new(obj, "rows", json_integer(t->rows.nrows));
	json_object_set_new(obj, "wall_s", json__number(task_measure__wall_s(t)));
	JSON_NUMBERS(obj, {"cpu_s", column_stats__sum(&t->rows, "CPUTime")},
		     {"cpu_efficiency", percent / 100});
	json_object_set_new(
		obj, "peak_mb",
		json__number(task_measure__value(n, t, MEASURE_HIGHEST, "PeakMB", "RSS")));
	add_latencies(obj, t);
	add_columns(obj, &t->rows);
	return obj;
}

static void add_table(json_t *all, const struct model_series *s, const struct model_table *t)
{
	json_t *obj = json_object(), *group;

	if (t->cols) {
		json_object_set_new(obj, "rows", json_integer(t->nrows));
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

/* Adds the other series table by table: together they may be too large for memory. */
static void add_other_series(json_t *obj, const struct model_node *n)
{
	json_t *all = json_object();

	for (unsigned i = 0; i < n->nothers; i++) {
		for (unsigned k = 0; k < n->others[i].ntables; k++) {
			struct model_table t;

			model_node__read_other(n, &n->others[i], k, &t);
			add_table(all, &n->others[i], &t);
			model_table__free(&t);
		}
	}
	if (json_object_size(all))
		json_object_set(obj, "other_series", all);
	json_decref(all);
}

json_t *page__json(const struct model_node *n)
{
	json_t *tasks = json_array(), *obj = json_object();

	for (unsigned i = 0; i < n->ntasks; i++)
		json_array_append_new(tasks, task_json(n, &n->tasks[i]));
	json_object_set_new(obj, "job", json__text(n->job));
	json_object_set_new(obj, "step", json__text(stepname__human(n->step)));
	json_object_set_new(obj, "node", json__text(n->name));
	JSON_NUMBERS(obj, {"wall_s", n->wall_s}, {"allocated_cpus", n->node_cpus},
		     {"memory_limit_mb", n->limit_mb});
	json_object_set_new(obj, "probe_s", json__number(collector_cost__of(n).probe_s));
	json_object_set_new(obj, "attributes", attributes_json(n));
	json_object_set_new(obj, "tasks", tasks);
	if (n->all.rows.cols) {
		json_t *step = task_json(n, &n->all);

		json_object_del(step, "task");
		json_object_set_new(obj, "step_table", step);
	}
	add_other_series(obj, n);
	return obj;
}
