// SPDX-License-Identifier: GPL-2.0-or-later
/* Clusters of bursts as JSON. */
#include <math.h>
#include <stdlib.h>

#include "base/json.h"
#include "view/cluster/cluster_view.h"

#define LINE_CELLS 200

static json_t *code_json(const struct burst_code *c)
{
	return c->name ? json_pack("{s:o, s:I, s:I}", "name", json__text(c->name), "samples",
				   (json_int_t)c->samples, "of", (json_int_t)c->all)
		       : json_null();
}

/* The number of bursts of the cluster per burst in the table, which may have a sample of them. */
static double bursts_per_kept(const struct cluster_view *v, unsigned cluster)
{
	size_t kept = 0;

	for (size_t i = 0; i < v->bursts->n; i++)
		kept += v->clusters->labels[i] == cluster;
	return kept ? (double)v->clusters->clusters[cluster].n / (double)kept : NAN;
}

static json_t *counters_json(const struct cluster_view *v, unsigned cluster)
{
	json_t *all = json_object();
	double scale = bursts_per_kept(v, cluster);

	for (unsigned e = 0; e < v->bursts->nevents; e++) {
		const struct burst_counter *c = cluster_counters__of(v, cluster, e);
		json_t *o = json_object();

		json__set(o, "bursts", json_integer((json_int_t)c->n));
		json__set(o, "counted", json__number(c->part));
		json__set(o, "per_s", json__number(c->per_s));
		json__set(o, "per_instruction", json__number(c->per_ins));
		json__set(o, "total", json__number(scale * c->total));
		json__set(o, "low_confidence", json_boolean(c->is_low_confidence));
		json__set(all, v->bursts->events[e], o);
	}
	return all;
}

static json_t *metrics_json(const struct cluster_view *v, unsigned cluster)
{
	struct counter_metrics m;
	json_t *o = json_object(), *stack;

	cluster_counters__metrics(v, cluster, &m);
	stack = m.status == ANALYSIS_OK ? json_object() : json_null();
	for (unsigned i = 0; i < m.n; i++)
		json__set(o, m.v[i].name, json__number(m.v[i].value));
	for (int p = 0; m.status == ANALYSIS_OK && p < N_CPI_PARTS; p++)
		json__set(stack, cpi_part_names[p], json__number(m.stack.stack[p]));
	json__set(o, "cpi_stack", stack);
	return o;
}

static json_t *cluster_json(const struct cluster_view *v, unsigned k)
{
	const struct burst_cluster *c = &v->clusters->clusters[k];
	json_t *o = json_object();
	cluster_name name;

	json__set(o, "name", json__text(k || !v->regions ? cluster_name__of(k, name) : "none"));
	if (v->regions)
		json__set(o, v->of, k ? json__text(v->regions[k - 1]) : json_null());
	json__set(o, "bursts", json_integer((json_int_t)c->n));
	JSON_NUMBERS(o, {"share", c->share}, {"run_s", c->run}, {"least_run_s", c->low_run},
		     {"most_run_s", c->high_run}, {"spread", c->spread}, {"gap_s", c->gap},
		     {"on_cpu", c->on_cpu});
	if (v->codes)
		json__set(o, "most_samples", code_json(&v->codes[k]));
	if (v->counters) {
		json__set(o, "counters", counters_json(v, k));
		json__set(o, "metrics", metrics_json(v, k));
	}
	return o;
}

static json_t *lines_json(const struct cluster_view *v)
{
	const struct model_bursts *b = v->bursts;
	json_t *list = json_array();
	struct cluster_lines l;
	bool ok = cluster_lines__open(&l, v, LINE_CELLS);

	for (unsigned p = 0; ok && p < b->nplaces; p++) {
		char name[64];
		json_t *o = json_object();

		model_bursts__name(b, p, name, sizeof(name));
		json__set(o, "of", json__text(name));
		json__set(o, "to_s", json__number(l.end));
		json__set(o, "line", json__text(cluster_lines__of(&l, p)));
		json_array_append_new(list, o);
	}
	cluster_lines__close(&l);
	return list;
}

json_t *cluster_view__json(const struct cluster_view *v)
{
	const struct burst_clusters *c = v->clusters;
	json_t *o = json_object(), *list = json_array(), *by = json_array();

	json__set(o, "file", json__text(v->path));
	json__set(o, "status", json__text(analysis_status__name(c->verdict.status)));
	json__set(o, "reason", json__text(c->verdict.reason));
	json__set(o, "bursts", json_integer((json_int_t)v->bursts->all));
	json__set(o, "used", json_integer((json_int_t)(v->bursts->all - c->unused)));
	json__set(o, "kept", json_integer((json_int_t)v->bursts->n));
	json__set(o, "lost", json__number(v->bursts->lost));
	json__set(o, "paused", json__text(v->bursts->paused));
	json__set(o, "threads", json_integer(v->bursts->nthreads));
	if (!v->regions) {
		json__set(o, "subset", json_integer((json_int_t)c->model.n));
		json__set(o, "eps", json__number(c->model.eps));
		json__set(o, "min_pts", json_integer((json_int_t)c->model.min_pts));
	}
	for (unsigned d = 0; !v->regions && d < v->request->dims; d++)
		json_array_append_new(by, json__text(burst_features[v->request->by[d]].word));
	json__set(o, "by", v->regions ? json__text(v->of) : json_incref(by));
	json_decref(by);
	for (unsigned k = 0; c->clusters && k <= c->k; k++)
		json_array_append_new(list, cluster_json(v, k));
	json__set(o, "clusters", list);
	json__set(o, "hint", json__text(cluster_view__hint(v)));
	if (c->verdict.status == ANALYSIS_OK)
		json__set(o, "lines", lines_json(v));
	return o;
}
