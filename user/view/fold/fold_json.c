// SPDX-License-Identifier: GPL-2.0-or-later
/* A folded region as JSON: for jobprof fold --json, for its page, and for --store in the job file:
 * figures and phases as a group, the curves as a table. */
#include "view/fold/fold_view.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"

static json_t *validity(const struct folded *f)
{
	const struct fold_validity *v = &f->of[f->shown].validity;
	char why[256];
	json_t *j = json_object();

	json__set(j, "status", json__text(fold_view__validity(f, why, sizeof(why))));
	json__set(j, "why", json__text(why));
	json__set(j, "samples", json_integer((json_int_t)v->n_samples));
	JSON_NUMBERS(j, {"kept_fraction", v->kept_fraction}, {"max_gap", v->max_gap},
		     {"rms", v->rms}, {"scatter", v->scatter}, {"misplaced", v->misplaced},
		     {"blurred", v->blurred}, {"unlike", v->unlike}, {"r2", v->r2},
		     {"ks_d", v->ks_d}, {"ks_limit", v->ks_limit}, {"bounds", folded__bounds(f)});
	json__set(j, "uniform", json_boolean(v->uniform));
	return j;
}

static json_t *phase(const struct folded *f, const struct fold_phase *p)
{
	json_t *j = json_object();
	char code[FOLD_TEXT];

	fold_view__code(f, p->code, code, sizeof(code));
	JSON_NUMBERS(j, {"from", p->from}, {"to", p->to}, {"to_low", p->low}, {"to_high", p->high});
	json__set(j, "code", json__text(code));
	fold_view__code(f, p->runs, code, sizeof(code));
	json__set(j, "runs", p->runs ? json__text(code) : json_null());
	json__set(j, "share", json__number(p->share));
	json__set(j, "samples", json_integer((json_int_t)p->samples));
	for (int c = 0; c < POINT_COUNTERS; c++)
		if (fold_view__counter(f, c))
			json__set(j, fold_view__counter(f, c),
				  json__number(folded__possible(c, folded__rate(f, c, p))));
	return j;
}

static json_t *counter(const struct folded *f, int c, bool curves)
{
	const struct fold_result *r = &f->of[c];
	json_t *j = json_object();

	const char *missing = fold_view__missing(f, c);

	json__set(j, "status",
		  json_string(!missing	     ? "OK"
			      : f->flawed[c] ? "UNSUITABLE"
					     : "INSUFFICIENT"));
	json__set(j, "reason", missing ? json_string(missing) : json_null());
	json__set(j, "unit", json__text(point_units[c]));
	json__set(j, "mean_rate", json__number(f->known[c] ? folded__possible(c, r->factor) : NAN));
	if (curves && f->known[c]) {
		json__set(j, "curve", json__numbers(r->curve, FOLD_CURVE));
		json__set(j, "rate", json__numbers(r->rate, FOLD_CURVE));
	}
	return j;
}

json_t *fold_json__of(const struct folded *f, bool curves)
{
	json_t *j = json_object(), *phases = json_array(), *counters = json_object();

	for (size_t i = 0; i < f->nphases; i++)
		json_array_append_new(phases, phase(f, &f->phases[i]));
	for (int c = 0; c < POINT_COUNTERS; c++)
		if (fold_view__counter(f, c))
			json__set(counters, fold_view__counter(f, c), counter(f, c, curves));
	json__set(j, "region", json__text(f->region));
	json__set(j, "executions", json_integer((json_int_t)f->instances));
	json__set(j, "folded", json_integer((json_int_t)f->of[f->shown].range.kept));
	json__set(j, "threads", json_integer((json_int_t)f->threads));
	JSON_NUMBERS(j, {"period_s", f->period_s}, {"wait_s", f->wait_s});
	json__set(j, "counter", json__text(fold_view__counter(f, f->shown)));
	JSON_NUMBERS(j, {"lost_samples", f->lost_points}, {"lost_instants", f->lost_regions});
	json__set(j, "validity", validity(f));
	json__set(j, "phases", phases);
	json__set(j, "counters", counters);
	return j;
}

json_t *fold_json__page(const struct folded *f, const char *title)
{
	json_t *j = fold_json__of(f, true);

	json__set(j, "version", json_string(JOBPROF_VERSION));
	json__set(j, "title", json__text(title));
	return j;
}

/* ---- in the job file */

static const struct store_column columns[] = {
	{"x", true},	      {"CPUTime", true},	 {"CPUTime_rate", true},
	{"PageFaults", true}, {"PageFaults_rate", true}, {"Event", true},
	{"Event_rate", true},
};

#define COLUMNS (sizeof(columns) / sizeof(*columns))

/* which event this is, is in the figures' "counter" */
#define OF_EVENT 2

static json_t *rows_of(const struct folded *f)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < FOLD_CURVE; i++) {
		json_t *row = json_object();

		json__set(row, "x", json__number((double)i / (FOLD_CURVE - 1)));
		for (int c = 0; c < POINT_COUNTERS; c++) {
			const char *name = c == POINT_EVENT ? "Event" : point_counters[c];
			char rate[32];

			if (!f->known[c])
				continue;
			snprintf(rate, sizeof(rate), "%s_rate", name);
			json__set(row, name, json__number(f->of[c].curve[i]));
			json__set(row, rate, json__number(f->of[c].rate[i]));
		}
		json_array_append_new(rows, row);
	}
	return rows;
}

/* Turns the list of phases into an object, for a group of the file: their names are numbers. */
static void name_phases(json_t *j)
{
	json_t *list = json_object_get(j, "phases"), *named = json_object(), *one;
	size_t i;

	json_array_foreach (list, i, one) {
		char name[24];

		snprintf(name, sizeof(name), "%zu", i + 1);
		json_object_set(named, name, one);
	}
	json__set(j, "phases", named);
}

struct fold_stored fold_store__of(const struct folded *f)
{
	json_t *figures = fold_json__of(f, false), *rows = rows_of(f);

	if (figures && rows) {
		name_phases(figures);
	} else {
		json_decref(figures);
		figures = NULL;
	}
	return (struct fold_stored){
		figures, {"fold_curve", columns, COLUMNS - (f->event ? 0 : OF_EVENT), rows}};
}

void fold_stored__free(const struct fold_stored *s)
{
	json_decref(s->figures);
	json_decref((json_t *)s->curve.rows);
}

int fold_store__put(const struct folded *f, int fd)
{
	const struct fold_stored s = fold_store__of(f);
	json_t *json = s.figures ? json_pack("{s:O, s:O, s:i}", "figures", s.figures, "rows",
					     s.curve.rows, "columns", (int)s.curve.ncols)
				 : NULL;
	bool ok = json && !json_dumpfd(json, fd, JSON_COMPACT);

	if (!ok)
		log_error("the folded region cannot be stored: %s", strerror(ENOMEM));
	json_decref(json);
	fold_stored__free(&s);
	return ok ? 0 : 1;
}

int fold_store__write(int fd, const char *path)
{
	json_t *json = lseek(fd, 0, SEEK_SET) ? NULL : json_loadfd(fd, 0, NULL);
	json_t *common = json_pack("{s:i}", "version", 1);
	const json_int_t ncols = json_integer_value(json_object_get(json, "columns"));
	const struct store_group group = {"fold", json_object_get(json, "figures")};
	const struct store_results results = {
		.groups = &group,
		.ngroups = 1,
		.table = {"fold_curve", columns,
			  ncols > 0 && ncols < (json_int_t)COLUMNS ? (unsigned)ncols : COLUMNS,
			  json_object_get(json, "rows")},
		.common = common,
	};
	bool ok = json_is_object(group.object) && json_is_array(results.table.rows) && common;

	if (!ok)
		log_error("%s: the folded region cannot be stored: %s", path, strerror(ENOMEM));
	ok = ok && !store__analysis(path, &results);
	json_decref(json);
	json_decref(common);
	return ok ? 0 : 1;
}
