/* SPDX-License-Identifier: GPL-2.0-only */
/* Who differs from whom, for the page in a browser: extremes with names, and a sample of all. */
#include <math.h>
#include <stdlib.h>

#include "base/json.h"
#include "view/report/report_series.h"

#define SAMPLE 128 /* values that stand for all units */

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
			sample,
			report_series__rounded(v[points > 1 ? i * (n - 1) / (points - 1) : 0].v));
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

json_t *report_spread__json(const struct report *r)
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
