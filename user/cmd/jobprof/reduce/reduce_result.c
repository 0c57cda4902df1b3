/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the reduction of all files: as text, as JSON, or with --store and -o as a group in a job
 * file. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analysis/fold/folded.h"
#include "base/json.h"
#include "base/log.h"
#include "base/utf8.h"
#include "cmd/jobprof/reduce/reduce.h"
#include "jobfile/store.h"
#include "view/fold/fold_view.h"
#include "view/fold/fold_view.h"
#include "view/reduce/reduce_print.h"
#include "view/report/report_text.h"

/* ---- the table of the clusters of all bursts */

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

/* RunTime is in seconds: its sum gives the share of a cluster. */
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

/* The table of clusters as JSON: an array of objects, the first of noise. */
static json_t *clusters_json(const struct reduce_result *r)
{
	json_t *rows = json_array();
	double all = all_run_time(r);

	for (unsigned label = 0; label <= r->model.k; label++)
		if (!label || moments_of(r, label, 0))
			json_array_append_new(rows, cluster_json(r, label, all));
	return rows;
}

/* How many bursts are in a line of the table, and how many others there were. */
static uint64_t clusters_used(const struct reduce_result *r)
{
	uint64_t n = 0;

	for (unsigned label = 0; label <= r->model.k; label++) {
		const struct moments *m = moments_of(r, label, 0);

		n += m ? m->n : 0;
	}
	return n;
}

static uint64_t clusters_missing(const struct reduce_result *r)
{
	int at = reduction__find(&r->clusters, REDUCE_LOST);
	double lost = at < 0 ? 0 : r->clusters.columns[at]->moments.sum.hi;

	return r->rows.rows - clusters_used(r) + (uint64_t)lost;
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

static double number_at(const json_t *array, size_t i)
{
	return json_is_number(json_array_get(array, i))
		       ? json_number_value(json_array_get(array, i))
		       : NAN;
}

/* A column without its lists, and with the quantiles' upper bounds. */
static json_t *column_row(const json_t *column)
{
	json_t *row = json_object(), *v;
	const char *key;

	json_object_foreach ((json_t *)column, key, v) {
		if (!json_is_object(v) && !json_is_array(v))
			json_object_set(row, key, v);
	}
	json_object_foreach (json_object_get(column, "quantiles"), key, v) {
		json__set(row, key, json__number(number_at(v, 1)));
	}
	return row;
}

static void add_bins(json_t *rows, const json_t *column)
{
	const json_t *bins = json_object_get(column, "histogram");

	for (size_t i = 0; i < json_array_size(bins); i++) {
		const json_t *b = json_array_get(bins, i);

		json_array_append_new(rows, json_pack("{s:O, s:o, s:o, s:o}", "column",
						      json_object_get(column, "name"), "low",
						      json__number(number_at(b, 0)), "high",
						      json__number(number_at(b, 1)), "n",
						      json__number(number_at(b, 2))));
	}
}

/* Columns have their own names in the table, except where the table has a column of that name
 * already. */
static json_t *sample_row(const json_t *item, const json_t *columns)
{
	json_t *row = json_pack("{s:O, s:O, s:O, s:O}", "node", json_object_get(item, "node"),
				"table", json_object_get(item, "table"), "row",
				json_object_get(item, "row"), "key", json_object_get(item, "key"));
	const json_t *values = json_object_get(item, "values");

	for (size_t i = 0; i < json_array_size(columns); i++) {
		const char *name = json__text_of(json_array_get(columns, i), "name");

		if (!json_object_get(row, name))
			json__set(row, name, json__number(number_at(values, i)));
	}
	return row;
}

static json_t *group_of(const struct reduction *r)
{
	json_t *json = reduce_print__json(r), *columns = json_object_get(json, "columns");
	json_t *rows = json_array(), *bins = json_array(), *sample = json_array();
	json_t *group;

	for (size_t i = 0; i < json_array_size(columns); i++) {
		json_array_append_new(rows, column_row(json_array_get(columns, i)));
		add_bins(bins, json_array_get(columns, i));
	}
	for (size_t i = 0; i < json_array_size(json_object_get(json, "sample")); i++)
		json_array_append_new(
			sample,
			sample_row(json_array_get(json_object_get(json, "sample"), i), columns));
	group = json ? json_pack("{s:O, s:O, s:o, s:o, s:o}", "coverage",
				 json_object_get(json, "coverage"), "cost",
				 json_object_get(json, "cost"), "columns", rows, "histograms", bins,
				 "sample", sample)
		     : NULL;
	json_decref(json);
	return group;
}

static json_t *points_of(const struct reduce_result *r)
{
	json_t *points = json_array();

	for (uint64_t i = 0; i < r->model.n; i++) {
		json_t *row = json_object();

		for (unsigned d = 0; d < MODEL_DIMS; d++)
			json__set(row, model_features[d],
				  json__number(r->model.points[MODEL_DIMS * i + d]));
		json__set(row, "label", json_integer(r->model.labels[i]));
		json_array_append_new(points, row);
	}
	return points;
}

/* The model, and the table of clusters: of the one window that a whole job is. */
static json_t *window_of(const struct reduce_result *r)
{
	const struct burst_model *m = &r->model;
	json_t *window = json_pack(
		"{s:o, s:{s:i, s:I, s:o}, s:I, s:I, s:s}", "table", clusters_json(r), "params",
		"sample", (int)r->rows.k, "min_pts", (json_int_t)m->min_pts, "eps",
		json__number(m->eps), "n_used", (json_int_t)clusters_used(r), "n_missing",
		(json_int_t)clusters_missing(r), "status", analysis_status__name(r->clustered));
	const struct json_pair range[] = {{"run_lo", m->lo[0]},
					  {"run_hi", m->hi[0]},
					  {"gap_lo", m->lo[1]},
					  {"gap_hi", m->hi[1]}};

	if (m->n) {
		json__set(window, "model", points_of(r));
		json__set(window, "range", json_object());
		json__set_numbers(json_object_get(window, "range"), range,
				  sizeof(range) / sizeof(*range));
	}
	return window;
}

int reduce_store__begin(const char *path)
{
	const struct store_results nothing = {.may_create = true};

	return store__analysis(path, &nothing);
}

int reduce_store__window(const struct reduce_result *r, const struct reduce_window *w,
			 const char *path)
{
	char name[48];
	json_t *window = window_of(r), *about = reduce_print__about(&r->rows);
	json_t *common = json_pack("{s:i, s:I}", "version", 1, "seed", (json_int_t)r->rows.seed);
	const struct store_group group = {name, window};
	const struct store_results results = {
		.groups = &group, .ngroups = 1, .common = common, .may_create = true};
	int err = window && common ? 0 : -ENOMEM;

	snprintf(name, sizeof(name), "clusters/%" PRIu64, w->number);
	json_object_update(window, about);
	json_decref(about);
	json__set(window, "source_begin", json__number(w->begin_s));
	json__set(window, "source_end", json__number(w->end_s));
	json__set(window, "track", reduce_track__json(w->track));
	if (w->track->same)
		json_object_del(window, "model");
	if (err)
		log_error("%s", strerror(-err));
	else
		err = store__analysis(path, &results);
	json_decref(window);
	json_decref(common);
	return err ? 1 : 0;
}

int reduce_store__write(const struct reduce_result *r, const struct folded *f, const char *path,
			bool may_create)
{
	char name[128];
	json_t *series = json_object(), *windows = json_object();
	const struct fold_stored fold = f ? fold_store__of(f) : (struct fold_stored){0};
	struct store_group groups[3] = {{"reduce", series}};
	json_t *common = json_pack("{s:i, s:I}", "version", 1, "seed", (json_int_t)r->rows.seed);
	struct store_results results = {.groups = groups,
					.ngroups = 1,
					.table = fold.curve,
					.common = common,
					.may_create = may_create};
	int err;

	snprintf(name, sizeof(name), "%s", r->rows.series);
	for (char *slash = name; (slash = strchr(slash, '/'));)
		*slash = '.';
	json__set(series, name, group_of(&r->rows));
	if (r->clusters.series)
		json__set(windows, "0", window_of(r));
	if (r->clusters.series)
		groups[results.ngroups++] = (struct store_group){"clusters", windows};
	if (f)
		groups[results.ngroups++] = (struct store_group){"fold", fold.figures};
	if (!common || (f && !fold.figures) || !json_object_get(series, name)) {
		log_error("%s", strerror(ENOMEM));
		err = -ENOMEM;
	} else {
		err = store__analysis(path, &results);
	}
	json_decref(common);
	json_decref(series);
	json_decref(windows);
	fold_stored__free(&fold);
	return err ? 1 : 0;
}
/* ---- the result as text, as JSON and as attributes */

static bool has_column(const struct reduction *r, const char *name)
{
	for (unsigned i = 0; i < r->ncolumns; i++)
		if (!strcasecmp(r->columns[i]->name, name))
			return true;
	return false;
}

/* Whether all that was asked for is there. */
static bool is_there(const struct reduce_work *w, const struct reduction *r)
{
	bool all = r->tables > 0;

	if (!all && !w->o->fold && reduction__coverage(r).read)
		log_error("no file has a table of %s; \"jobprof list -i FILE\" shows what is there",
			  w->o->series);
	for (unsigned i = 0; r->tables && i < w->columns.n; i++) {
		if (has_column(r, w->columns.v[i]))
			continue;
		log_error("no table of %s has a column %s; \"jobprof list -i FILE\" shows what is "
			  "there",
			  w->o->series, w->columns.v[i]);
		all = false;
	}
	return all;
}

/* Prints everything about a job's files. Process 0 has the fold; NULL: there is none. */
static json_t *json_of(const struct reduce_work *w, const struct reduce_result *r,
		       const struct folded *f)
{
	json_t *json = reduce_result__json(w, r);

	if (json && f) {
		json_object_del(json, "sample"); /* lengths */
		json__set(json, "fold", fold_json__of(f, true));
	}
	return json;
}

json_t *reduce_result__json(const struct reduce_work *w, const struct reduce_result *r)
{
	json_t *json = reduce_print__json(&r->rows);

	if (json && w->o->clusters) {
		json_object_del(json, "sample"); /* the model's points */
		json__set(json, "model",
			  json_pack("{s:s, s:[s, s], s:o, s:I, s:I}", "status",
				    analysis_status__name(r->clustered), "by", model_features[0],
				    model_features[1], "eps", json__number(r->model.eps), "min_pts",
				    (json_int_t)r->model.min_pts, "points",
				    (json_int_t)r->model.n));
		json__set(json, "clusters", clusters_json(r));
	}
	return json;
}

static int print_result(const struct reduce_work *w, const struct reduce_result *r,
			const struct folded *f)
{
	json_t *json;
	int err;

	if (!w->o->json && w->o->clusters)
		reduce_clusters__print(r, stdout);
	if (!w->o->json && f) {
		fold_text__print(f, stdout, spark__width(stdout), utf8__is_locale());
		putchar('\n');
	}
	if (!w->o->json) {
		reduce_print__text(&r->rows, stdout);
		return 0;
	}
	json = json_of(w, r, f);
	err = json ? json__dump(json, stdout, JSON_INDENT(1)) : -1;
	putchar('\n');
	json_decref(json);
	if (!json)
		log_error("%s", strerror(ENOMEM));
	return err ? 1 : 0;
}

int reduce_result__put(const struct reduce_work *w, struct reduce_result *r)
{
	const struct reduce_options *o = w->o;
	const bool stores = o->store || o->output;
	struct reduction_coverage c;
	struct folded f = {0};
	bool all, folds = false;
	int status;

	reduction__order(&r->rows);
	c = reduction__coverage(&r->rows);
	all = is_there(w, &r->rows);
	if (!r->rows.tables)
		return 1;
	r->rows.cpu_s += r->clusters.cpu_s + r->points.cpu_s;
	if (*r->fold.region) {
		reduction__order(&r->points);
		folds = !reduce_fold__result(&f, &r->fold, &r->points);
	}
	if (stores)
		status =
			reduce_store__write(r, folds ? &f : NULL,
					    o->output ? o->output : w->in.files[0].path, o->output);
	else
		status = print_result(w, r, folds ? &f : NULL);
	if ((stores || o->json) && c.part < 1)
		reduce_print__coverage(&r->rows, stderr);
	reduce_fold__free(&f);
	return status || !all || w->failed || c.part < 1 || folds != o->fold ? 1 : 0;
}

bool reduce_result__is_whole(const struct reduce_result *r, unsigned size)
{
	return r->rows.processes == size &&
	       (!r->clusters.series || r->clusters.processes == size) &&
	       (!r->points.series || r->points.processes == size);
}

void reduce_result__free(struct reduce_result *r)
{
	reduction__free(&r->rows);
	reduction__free(&r->clusters);
	reduction__free(&r->points);
	burst_model__free(&r->model);
}
