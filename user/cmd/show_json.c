/* SPDX-License-Identifier: GPL-2.0-only */
/* The JSON page of "jobprof show". */
#include <math.h>
#include <string.h>

#include "cmd/show_view.h"
#include "store/series.h"

/* null for what is not known: JSON has no NaN. */
static json_t *real(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

/* Names need not be UTF-8. */
static json_t *string(const char *s)
{
	json_t *j = json_string(s);
	char *text = NULL;
	size_t len;
	FILE *f;

	if (j)
		return j;
	f = open_memstream(&text, &len);
	if (!f)
		return json_null();
	show__escaped(f, s);
	fclose(f);
	j = json_string(text);
	free(text);
	return j ? j : json_null();
}

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
		json_t *v = a->type == ATTR_STR	  ? string(a->str)
			    : a->type == ATTR_F64 ? real(a->f)
						  : json_integer(a->i);

		json_object_set_new(all, text_key(a->name), v);
	}
	return all;
}

/* What a column is by its name in the schema; Slurm's own tables have the same names. */
static enum col_kind kind_of(const char *name)
{
	for (unsigned s = 0; s < n_builtin_series; s++)
		for (unsigned c = 0; c < builtin_series[s].ncols; c++)
			if (!strcmp(builtin_series[s].cols[c].name, name))
				return builtin_series[s].cols[c].kind;
	return COL_GAUGE;
}

/* Per-interval columns by their sum, gauges by their maximum, cumulative ones by the last. */
static void add_columns(json_t *obj, const struct table *t)
{
	json_t *sum = json_object(), *max = json_object(), *last = json_object();

	for (unsigned c = 0; c < t->ncols; c++) {
		const char *name = t->names[c];

		switch (kind_of(name)) {
		case COL_DELTA:
			json_object_set_new(sum, text_key(name), real(calc__sum(t, name)));
			break;
		case COL_GAUGE:
			json_object_set_new(max, text_key(name), real(calc__max(t, name)));
			break;
		case COL_CUMULATIVE:
			json_object_set_new(last, text_key(name), real(calc__last(t, name)));
			break;
		case COL_TIME:
			break;
		}
	}
	json_object_set_new(obj, "sum", sum);
	json_object_set_new(obj, "max", max);
	json_object_set_new(obj, "last", last);
}

static json_t *latency(const struct table *t)
{
	double counts[JP_LAT_BUCKETS];
	double n = calc__histogram(t, counts);

	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "count", real(n), "p50_ns",
			 real(calc__quantile(counts, 0.5)), "p90_ns",
			 real(calc__quantile(counts, 0.9)), "p99_ns",
			 real(calc__quantile(counts, 0.99)), "max_ns",
			 real(calc__quantile(counts, 1)));
}

static json_t *task(const struct view_task *t, double cpus)
{
	json_t *obj = json_object();

	json_object_set_new(obj, "task", string(t->name));
	json_object_set_new(obj, "rows", json_integer(t->t->nrows));
	json_object_set_new(obj, "wall_s", real(t->wall));
	json_object_set_new(obj, "cpu_s", real(calc__sum(t->t, "CPUTime")));
	json_object_set_new(obj, "cpu_efficiency", real(view__efficiency(t, cpus)));
	json_object_set_new(obj, "peak_mb", real(view__peak_mb(t->t)));
	if (t->latency)
		json_object_set_new(obj, "run_latency", latency(t->latency));
	add_columns(obj, t->t);
	return obj;
}

json_t *show__json(const struct view *v)
{
	json_t *tasks = json_array(), *obj = json_object();

	for (unsigned i = 0; i < v->ntasks; i++)
		json_array_append_new(tasks, task(&v->tasks[i], v->task_cpus));
	json_object_set_new(obj, "job", string(v->r->job));
	json_object_set_new(obj, "step", string(view__step_name(v->n->step)));
	json_object_set_new(obj, "node", string(v->n->name));
	json_object_set_new(obj, "wall_s", real(v->wall));
	json_object_set_new(obj, "allocated_cpus", real(v->node_cpus));
	json_object_set_new(obj, "memory_limit_mb", real(v->limit_mb));
	json_object_set_new(obj, "probe_s", real(view__probe_s(v)));
	json_object_set_new(obj, "attributes", attributes(v->n));
	json_object_set_new(obj, "tasks", tasks);
	if (v->step.t) {
		json_t *step = task(&v->step, v->node_cpus);

		json_object_del(step, "task");
		json_object_set_new(obj, "step_table", step);
	}
	return obj;
}
