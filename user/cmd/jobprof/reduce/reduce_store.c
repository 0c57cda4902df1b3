/* SPDX-License-Identifier: GPL-2.0-only */
/* jobprof reduce --store and -o: the result goes into a job file. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "cmd/jobprof/reduce/reduce.h"
#include "jobfile/store.h"
#include "view/fold/fold_store.h"
#include "view/reduce/reduce_print.h"

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

	json_object_foreach((json_t *)column, key, v)
	{
		if (!json_is_object(v) && !json_is_array(v))
			json_object_set(row, key, v);
	}
	json_object_foreach(json_object_get(column, "quantiles"), key, v)
	{
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

/* Names of columns are names of the table's, but for those that it has already. */
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
	json_t *window = json_pack("{s:o, s:{s:i, s:I, s:o}, s:I, s:I, s:s}", "table",
				   reduce_clusters__json(r), "params", "sample", (int)r->rows.k,
				   "min_pts", (json_int_t)m->min_pts, "eps", json__number(m->eps),
				   "n_used", (json_int_t)reduce_clusters__used(r), "n_missing",
				   (json_int_t)reduce_clusters__missing(r), "status",
				   analysis_status__name(r->clustered));
	if (m->n) {
		json__set(window, "model", points_of(r));
		json__set(window, "range", json_object());
		JSON_NUMBERS(json_object_get(window, "range"), {"run_lo", m->lo[0]},
			     {"run_hi", m->hi[0]}, {"gap_lo", m->lo[1]}, {"gap_hi", m->hi[1]});
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
	JSON_NUMBERS(window, {"source_begin", w->begin_s}, {"source_end", w->end_s});
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
