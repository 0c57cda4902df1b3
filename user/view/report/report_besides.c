/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads clusters, a folded region and stacks of a job file, for its report. */
#include "view/report/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cluster/cluster_code.h"
#include "analysis/fold/folded.h"
#include "base/json.h"
#include "jobfile/stored.h"
#include "model/bursts.h"
#include "model/model.h"
#include "model/points.h"
#include "pool/pool.h"
#include "view/cluster/cluster_view.h"
#include "view/flame/flame.h"
#include "view/fold/fold_view.h"

#define BURSTS_MAX  1000000 /* more would take seconds: jobprof cluster reads them */
#define SAMPLES_MAX 50000   /* more would take seconds: jobprof fold reads them */
#define CURVE_MAX   250	    /* values of a curve in the report, of 1,000 stored ones */
#define FLAME_NODES 3000

static json_t *no(const char *status, const char *reason)
{
	return json_pack("{s:s, s:s}", "status", status, "reason", reason);
}

static json_t *unavailable(const char *reason)
{
	return no(analysis_status__name(ANALYSIS_UNAVAILABLE), reason);
}

static json_t *unsuitable(const char *reason)
{
	return no(analysis_status__name(ANALYSIS_UNSUITABLE), reason);
}

static struct selection steps_of(const struct job_input *input)
{
	return (struct selection){.steps = input->steps, .nsteps = input->nsteps};
}

json_t *report_besides__stored(const struct job_input *input, const char *name, const char *but)
{
	struct model_file f;
	json_t *v = NULL;

	if (!model_file__open(&f, input->path) && (!input->nsteps || f.nsteps == 1))
		v = stored__read(f.reader, name, but);

	model_file__close(&f);
	return v;
}

/* ---- clusters */

/* A cluster that jobprof reduce has stored, made from all files of the job. */
static json_t *stored_cluster(const json_t *row)
{
	const double number = json__number_of(row, "cluster");
	cluster_name name;

	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
			 cluster_name__of(number >= 0 ? (unsigned)number : 0, name), "bursts",
			 json__number(json__number_of(row, "n")), "share",
			 json__number(json__number_of(row, "share")), "run_s",
			 json__number(json__number_of(row, "RunTime_mean")), "least_run_s",
			 json__number(json__number_of(row, "RunTime_min")), "most_run_s",
			 json__number(json__number_of(row, "RunTime_max")), "spread",
			 json__number(json__number_of(row, "RunTime_std") /
				      json__number_of(row, "RunTime_mean")),
			 "gap_s", json__number(json__number_of(row, "Gap_mean")));
}

/* The clusters of the last window: of a job that has ended, the only or the latest one. */
static json_t *stored_clusters(const json_t *windows)
{
	json_t *window = NULL, *one, *list = json_array(), *rows;
	double bursts = 0;
	const char *key;
	long last = -1;
	int n = 0;

	json_object_foreach ((json_t *)windows, key, one) {
		if (!json_is_object(one))
			continue;
		n++;
		if (atol(key) > last) {
			last = atol(key);
			window = one;
		}
	}
	rows = json_object_get(window, "table");
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		bursts += json__number_of(row, "n");
		json_array_append_new(list, stored_cluster(row));
	}
	return json_pack("{s:s, s:o, s:s, s:o, s:i, s:o}", "status",
			 json__text_of(window, "status"), "reason", json_null(), "from", "stored",
			 "bursts", json__number(bursts), "windows", n, "clusters", list);
}

static json_t *computed_clusters(const struct model_bursts *b, const char *path)
{
	static const char *const left_out[] = {"file", "by", "lines", "threads", "min_pts", "eps"};
	const struct cluster_request request = CLUSTER_REQUEST;
	struct burst_clusters c = {0};
	struct cluster_view v = {.path = path, .bursts = b, .clusters = &c, .request = &request};
	struct cluster_code code = {0};
	json_t *o = NULL;

	if (!burst_clusters__of_file(&c, b, &request)) {
		if (c.verdict.status == ANALYSIS_OK && !cluster_code__of(&code, b, &c))
			v.codes = code.clusters;
		o = cluster_view__json(&v);
	}
	for (size_t i = 0; o && i < sizeof(left_out) / sizeof(*left_out); i++)
		json_object_del(o, left_out[i]);
	if (o)
		json__set(o, "from", json_string("bursts"));
	if (o && c.verdict.status == ANALYSIS_OK)
		json__set(o, "reason", json_null());
	cluster_code__free(&code);
	burst_clusters__free(&c);
	return o;
}

static json_t *clusters_of(const struct job_input *input)
{
	json_t *windows = report_besides__stored(input, "clusters", "model"), *o;
	const struct selection steps = steps_of(input);
	struct model_bursts b;
	int err;

	if (json_object_size(windows)) {
		o = stored_clusters(windows);
		json_decref(windows);
		return o;
	}
	json_decref(windows);
	err = model_bursts__read(&b, input->path, &steps);
	if (err == -ENODATA)
		o = unavailable("the file has no bursts, as --series all,burst records them");
	else if (err == -ERANGE)
		o = unavailable("no burst was long enough for a row");
	else if (err)
		o = unavailable(model_file__strerror(err));
	else if (b.n > BURSTS_MAX)
		o = unavailable("there are more than 1,000,000 bursts: jobprof cluster");
	else
		o = computed_clusters(&b, input->path);
	model_bursts__free(&b);
	return o;
}

/* ---- a folded region */

static json_t *thinned(const json_t *rows, const char *column)
{
	size_t n = json_array_size(rows), most = n < CURVE_MAX ? n : CURVE_MAX;
	json_t *a = json_array();
	bool is_known = false;

	for (size_t i = 0; i < most && most > 1; i++) {
		double v = json__number_of(json_array_get(rows, i * (n - 1) / (most - 1)), column);

		is_known |= !isnan(v);
		json_array_append_new(a, json__number(v));
	}
	if (is_known)
		return a;
	json_decref(a);
	return NULL;
}

/* The phases of a fold as a list; their names are numbers. */
static json_t *phases_of(const json_t *fold)
{
	json_t *named = json_object_get(fold, "phases"), *list = json_array(), *one;
	char key[24];

	for (size_t i = 1; i <= json_object_size(named); i++) {
		snprintf(key, sizeof(key), "%zu", i);
		one = json_object_get(named, key);
		json_object_del(one, "version");
		if (json_is_object(one))
			json_array_append(list, one);
	}
	return list;
}

static json_t *curves_of(const json_t *fold, const json_t *rows)
{
	json_t *counters = json_object_get(fold, "counters"), *curves = json_object(), *of;
	const char *key;

	json_object_foreach (counters, key, of) {
		char rate[64];
		json_t *curve = thinned(rows, key), *slope;

		snprintf(rate, sizeof(rate), "%.40s_rate", key);
		slope = thinned(rows, rate);
		if (curve && slope)
			json__set(curves, key,
				  json_pack("{s:O, s:O, s:s}", "curve", curve, "rate", slope,
					    "unit", json__text_of(of, "unit")));
		json_decref(curve);
		json_decref(slope);
	}
	return curves;
}

static void finish_fold(json_t *fold, const json_t *rows, const char *from)
{
	json__set(fold, "phases", phases_of(fold));
	json__set(fold, "curves", curves_of(fold, rows));
	json__set(fold, "status", json_string("OK"));
	json__set(fold, "reason", json_null());
	json__set(fold, "from", json_string(from));
	json_object_del(fold, "counters");
	json_object_del(json_object_get(fold, "validity"), "version");
}

static json_t *folded_samples(const struct points *p)
{
	const struct fold_query query = {.nugget = FOLD_NUGGET};
	struct folded f = {0};
	struct fold_stored s = {0};
	json_t *fold;

	if (!folded__of(&f, p, &query) && !f.locked)
		s = fold_store__of(&f);
	fold = json_incref(s.figures);
	if (fold)
		finish_fold(fold, s.curve.rows, "samples");
	fold_stored__free(&s);
	folded__free(&f);
	return fold ? fold : unsuitable("nothing: jobprof fold says why");
}

/* Folds the region, or period, that took most time. */
static json_t *computed_fold(const struct job_input *input)
{
	const struct selection steps = steps_of(input);
	struct points p = {.rows_max = SAMPLES_MAX};
	int err = points__read_file(&p, input->path, &steps);
	json_t *o;

	if (err == -ENODATA || (!err && !p.npoints))
		o = unavailable("the file has no samples, as --series all,fold records them");
	else if (err == -EMSGSIZE)
		o = unsuitable("not here, of more than 50,000 samples: jobprof fold");
	else if (err)
		o = unavailable(model_file__strerror(err));
	else
		o = folded_samples(&p);
	points__free(&p);
	return o;
}

/* The fold that jobprof fold --store or jobprof reduce --fold has stored; else it is computed. */
static json_t *fold_of(const struct job_input *input)
{
	json_t *fold = report_besides__stored(input, "fold", NULL);
	json_t *rows = report_besides__stored(input, "fold_curve", NULL);

	if (json_is_object(fold) && json_is_array(rows)) {
		finish_fold(fold, rows, "stored");
	} else {
		json_decref(fold);
		fold = computed_fold(input);
	}
	json_decref(rows);
	return fold;
}

/* ---- stacks */

static int read_flame(struct flame *f, struct stacks *s, struct symbols *symbols,
		      const struct job_input *input)
{
	const struct selection steps = steps_of(input);
	int err = stacks__read_file(s, input->path, &steps);

	return err ? err : flame__add(f, s, symbols, "");
}

static json_t *flame_of(const struct job_input *input, bool off_cpu)
{
	struct flame f = {.from_s = NAN, .to_s = NAN, .off_cpu = off_cpu};
	struct symbols *symbols = symbols__new();
	struct stacks s = {};
	json_t *o = NULL;
	int err = symbols ? read_flame(&f, &s, symbols, input) : -ENOMEM;

	if (!err) {
		flame__finish(&f);
		o = flame__hottest_json(&f, FLAME_NODES);
	} else if (err == -ENODATA) {
		o = unavailable("the file has no stacks, as --series all,stack records them");
	} else {
		o = unavailable(model_file__strerror(err));
	}
	flame__free(&f);
	stacks__free(&s);
	symbols__free(symbols);
	return o;
}

static json_t *running_of(const struct job_input *input)
{
	return flame_of(input, false);
}

static json_t *blocked_of(const struct job_input *input)
{
	return flame_of(input, true);
}

/* ---- all of them */

static json_t *(*const makers[])(const struct job_input *input) = {clusters_of, fold_of, running_of,
								   blocked_of};
#define FLAMES 2 /* the last makers read stacks */
#define MAKERS (sizeof(makers) / sizeof(makers[0]))

static int work(void *arg, unsigned item, struct message *m)
{
	json_t *o = makers[item](arg);
	char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;

	json_decref(o);
	if (!text)
		return -ENOMEM;
	message__put_text(m, text);
	free(text);
	return 0;
}

static json_t *take_answer(struct pool *pool, int *err)
{
	struct message *m;

	*err = pool__next(pool, &m);
	if (*err == -EBADMSG || *err == -ETIME || *err == -EOWNERDEAD) {
		const char *why = *err == -ETIME ? "it took too long to compute" : "it is damaged";

		*err = 0;
		return unavailable(why);
	}
	return *err ? NULL : json_loads(message__take_text(m), 0, NULL);
}

int report_besides__read(struct report_besides *out, const struct job_input *inputs, unsigned n,
			 bool with_stacks)
{
	json_t **const parts[MAKERS] = {&out->clusters, &out->fold, &out->flame, &out->blocked};
	const unsigned wanted = with_stacks ? MAKERS : MAKERS - FLAMES;
	struct pool_work w = {.work = work, .arg = (void *)inputs, .nitems = wanted};
	struct pool *pool = NULL;
	int err;

	*out = (struct report_besides){0};
	for (unsigned i = 0; n != 1 && i < wanted; i++)
		*parts[i] = unavailable("the job is in several files: jobprof merge makes one");
	if (n != 1)
		return 0;
	err = pool__start(&pool, &w, 1, &POOL_STREAM);
	for (unsigned i = 0; !err && i < wanted; i++)
		*parts[i] = take_answer(pool, &err);
	pool__free(pool);
	return err;
}

void report_besides__free(struct report_besides *b)
{
	json_decref(b->clusters);
	json_decref(b->fold);
	json_decref(b->flame);
	json_decref(b->blocked);
	*b = (struct report_besides){0};
}
