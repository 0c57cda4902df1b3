/* SPDX-License-Identifier: GPL-2.0-only */
/* What becomes of the reduction of all files: text, JSON, a group in the job file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analysis/fold/folded.h"
#include "base/json.h"
#include "base/log.h"
#include "cmd/jobprof/reduce/reduce.h"
#include "view/fold/fold_view.h"
#include "view/reduce/reduce_print.h"
#include "view/report/report_text.h"

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

/* All that is printed of a job's files; the fold is process 0's, and NULL without one. */
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
		json__set(json, "clusters", reduce_clusters__json(r));
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
		fold_text__print(f, stdout, spark__width(stdout), spark__utf8());
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
