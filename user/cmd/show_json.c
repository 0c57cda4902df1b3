/* SPDX-License-Identifier: GPL-2.0-only */
/* The JSON page of "jobprof show". */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "cmd/show_view.h"
#include "job/stepname.h"

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

		switch (view__kind(t, name)) {
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
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "count", json__number(n), "p50_ns",
			 json__number(calc__quantile(counts, 0.5)), "p90_ns",
			 json__number(calc__quantile(counts, 0.9)), "p99_ns",
			 json__number(calc__quantile(counts, 0.99)), "max_ns",
			 json__number(calc__quantile(counts, 1)));
}

static void add_latencies(json_t *obj, const struct view_task *t)
{
	static const struct {
		const char *key;
		char what;
	} requests[] = {
		{"blk_latency", 'B'}, {"blk_read_latency", 'R'}, {"blk_write_latency", 'W'}};
	double counts[JP_LAT_BUCKETS], n;

	if (t->latency) {
		n = calc__histogram(t->latency, 'B', counts);
		json_object_set_new(obj, "run_latency", latency(n, counts));
	}
	for (size_t i = 0; t->blk && i < sizeof(requests) / sizeof(requests[0]); i++) {
		n = view__requests(t->blk, requests[i].what, counts);
		json_object_set_new(obj, requests[i].key, latency(n, counts));
	}
}

static json_t *task(const struct view_task *t, double cpus)
{
	json_t *obj = json_object();

	json_object_set_new(obj, "task", json__text(t->name));
	json_object_set_new(obj, "rows", json_integer(t->t->nrows));
	json_object_set_new(obj, "wall_s", json__number(t->wall));
	json_object_set_new(obj, "cpu_s", json__number(calc__sum(t->t, "CPUTime")));
	json_object_set_new(obj, "cpu_efficiency", json__number(view__efficiency(t, cpus)));
	json_object_set_new(obj, "peak_mb", json__number(view__peak_mb(t->t)));
	add_latencies(obj, t);
	add_columns(obj, t);
	return obj;
}

json_t *show__json(const struct view *v)
{
	json_t *tasks = json_array(), *obj = json_object();

	for (unsigned i = 0; i < v->ntasks; i++)
		json_array_append_new(tasks, task(&v->tasks[i], v->task_cpus));
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
		json_t *step = task(&v->step, v->node_cpus);

		json_object_del(step, "task");
		json_object_set_new(obj, "step_table", step);
	}
	return obj;
}
