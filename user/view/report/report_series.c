/* SPDX-License-Identifier: GPL-2.0-only */
/* The series of the page in a browser, put together, and its histograms. */
#include "view/report/report_series.h"

#include "base/json.h"
#include "view/report/report_page.h"

static json_t *histogram_json(const struct job_histogram *h)
{
	json_t *a = json_array();

	for (int k = 0; h->is_known && k < JP_LAT_BUCKETS; k++)
		json_array_append_new(a, json__number(h->counts[k]));
	return a;
}

/* The first and the last. */
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
	json_object_set_new(o, "lines", report_lines__json(r));
	json_object_set_new(o, "rows", report_rows__json(r));
	json_object_set_new(o, "gpu_rows", report_rows__gpus_json(r));
	json_object_set_new(o, "spread", report_spread__json(r));
	json_object_set_new(o, "run_latency", histogram_json(&r->job->run_latency));
	json_object_set_new(o, "blk_latency", histogram_json(&r->job->blk_latency));
	if (r->besides && r->besides->flame)
		json_object_set(o, "flame", r->besides->flame);
	if (r->besides && r->besides->blocked)
		json_object_set(o, "flame_blocked", r->besides->blocked);
	return o;
}
