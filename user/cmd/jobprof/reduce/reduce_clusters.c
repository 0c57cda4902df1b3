/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of the clusters of all bursts. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cmd/jobprof/reduce/reduce.h"

/* NULL: no burst is in the cluster. */
static const struct moments *moments_of(const struct reduce_result *r, unsigned label,
					unsigned feature)
{
	char name[40];
	int at;

	reduce_model__column(name, sizeof(name), label, feature);
	at = reduction__find(&r->clusters, name);
	return at < 0 ? NULL : &r->clusters.columns[at]->moments;
}

/* RunTime is in seconds: its sum is what a cluster is of all. */
static double run_time(const struct reduce_result *r, unsigned label)
{
	const struct moments *m = moments_of(r, label, 0);

	return m ? m->sum.hi : 0;
}

static double all_run_time(const struct reduce_result *r)
{
	double all = 0;

	for (unsigned label = 0; label <= r->model.k; label++)
		all += run_time(r, label);
	return all;
}

static json_t *cluster_json(const struct reduce_result *r, unsigned label, double all)
{
	const struct moments *run = moments_of(r, label, 0);
	json_t *j = json_pack("{s:i, s:I, s:o}", "cluster", (int)label, "n",
			      (json_int_t)(run ? run->n : 0), "share",
			      json__number(all > 0 ? run_time(r, label) / all : NAN));

	for (unsigned f = 0; f < MODEL_DIMS; f++) {
		static const struct moments none = {0, {0, 0}, {0, 0}, NAN, NAN};
		const struct moments *m = moments_of(r, label, f);
		const struct {
			const char *what;
			double v;
		} numbers[] = {{"mean", moments__mean(m ? m : &none)},
			       {"std", moments__std(m ? m : &none)},
			       {"min", m ? m->min : NAN},
			       {"max", m ? m->max : NAN}};

		for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
			char key[64];

			snprintf(key, sizeof(key), "%s_%s", model_features[f], numbers[i].what);
			json__set(j, key, json__number(numbers[i].v));
		}
	}
	return j;
}

json_t *reduce_clusters__json(const struct reduce_result *r)
{
	json_t *rows = json_array();
	double all = all_run_time(r);

	for (unsigned label = 0; label <= r->model.k; label++)
		if (!label || moments_of(r, label, 0))
			json_array_append_new(rows, cluster_json(r, label, all));
	return rows;
}

uint64_t reduce_clusters__used(const struct reduce_result *r)
{
	uint64_t n = 0;

	for (unsigned label = 0; label <= r->model.k; label++) {
		const struct moments *m = moments_of(r, label, 0);

		n += m ? m->n : 0;
	}
	return n;
}

uint64_t reduce_clusters__missing(const struct reduce_result *r)
{
	int at = reduction__find(&r->clusters, REDUCE_LOST);
	double lost = at < 0 ? 0 : r->clusters.columns[at]->moments.sum.hi;

	return r->rows.rows - reduce_clusters__used(r) + (uint64_t)lost;
}

/* In `width` columns; what is not known is "-". */
static void print_number(double v, int width, FILE *out)
{
	if (isnan(v))
		fprintf(out, " %*s", width, "-");
	else
		fprintf(out, " %*.3g", width, v);
}

void reduce_clusters__print(const struct reduce_result *r, FILE *out)
{
	double all = all_run_time(r);

	fprintf(out, "Clusters of bursts by %s and %s: %s, from a sample of %" PRIu64 "\n\n",
		model_features[0], model_features[1], analysis_status__name(r->clustered),
		r->model.n);
	fprintf(out, "Cluster      bursts  run time  mean run s  std run s  mean gap s\n");
	for (unsigned label = 0; label <= r->model.k; label++) {
		const struct moments *run = moments_of(r, label, 0), *gap = moments_of(r, label, 1);
		char name[16] = "noise";

		if (!run)
			continue;
		if (label)
			snprintf(name, sizeof(name), "%u", label);
		fprintf(out, "%-8s %10" PRIu64 " %7.1f %%", name, run->n,
			100 * run_time(r, label) / all);
		print_number(moments__mean(run), 11, out);
		print_number(moments__std(run), 10, out);
		print_number(moments__mean(gap), 11, out);
		fputc('\n', out);
	}
	fputc('\n', out);
}
