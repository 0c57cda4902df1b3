/* SPDX-License-Identifier: GPL-2.0-only */
/* jobprof report --store: the report, its analyses and its findings go into the job file. */
#include "cmd/jobprof/report/report_store.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "jobfile/store.h"

static const struct store_column columns[] = {
	{"id", false},	  {"severity", false}, {"cost", true},	{"cost_unit", false},
	{"saving", true}, {"at_least", true},  {"text", false}, {"remedy", false},
	{"where", false}, {"from_s", true},    {"to_s", true},	{"source", false},
};

static json_t *row_of(const struct finding *f)
{
	const struct {
		const char *name;
		json_t *value;
	} all[] = {
		{"id", json__text(f->id)},
		{"severity", json__text(severity__name(f->severity))},
		{"cost", json__number(f->cost_core_s)},
		{"cost_unit", json__text(isnan(f->cost_core_s) ? "" : "core-s")},
		{"saving", json__number(f->saving)},
		{"at_least", json_integer(f->at_least)},
		{"text", json__text(f->text)},
		{"remedy", json__text(f->remedy)},
		{"where", json__text(f->where)},
		{"from_s", json__number(finding__from_s(f))},
		{"to_s", json__number(finding__to_s(f))},
		{"source", json__text(f->source)},
	};
	json_t *row = json_object();

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		json_object_set_new(row, all[i].name, all[i].value);
	return row;
}

static json_t *rows_of(const struct verdict *v)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < v->nfindings; i++)
		json_array_append_new(rows, row_of(&v->findings[i]));
	return rows;
}

int report_store__write(const struct report *r, const char *path)
{
	const struct time_grid *g = &r->job->grid;
	json_t *json = report__json(r), *rows = rows_of(r->verdict);
	char *text = json ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
	const struct store_group groups[] = {
		{"pika", json_object_get(json, "pika")},
		{"io", json_object_get(json, "io")},
	};
	json_t *common = json_pack("{s:i, s:f, s:f}", "version", 1, "source_begin", g->t0_ns / 1e9,
				   "source_end", g->t0_ns / 1e9 + g->end_s);
	const struct store_results results = {
		.groups = groups,
		.ngroups = sizeof(groups) / sizeof(*groups),
		.table = {"findings", columns, sizeof(columns) / sizeof(*columns), rows},
		.report = text,
		.common = common,
	};
	bool ok = text && rows && common;

	if (!ok)
		log_error("%s", strerror(ENOMEM));
	ok = ok && !store__analysis(path, &results);
	free(text);
	json_decref(rows);
	json_decref(common);
	json_decref(json);
	return ok ? 0 : 1;
}
