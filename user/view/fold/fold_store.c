// SPDX-License-Identifier: GPL-2.0-only
/* Stores a folded region in the job file: its figures and phases as a group, its curves as a table.
 */
#include "view/fold/fold_store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"

static const struct store_column columns[] = {
	{"x", true},	      {"CPUTime", true},	 {"CPUTime_rate", true},
	{"PageFaults", true}, {"PageFaults_rate", true}, {"Event", true},
	{"Event_rate", true},
};

#define COLUMNS (sizeof(columns) / sizeof(*columns))

/* counter of the figures says which event it is */
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

/* A group has objects: the phases get numbers as names. */
static void name_phases(json_t *j)
{
	json_t *list = json_object_get(j, "phases"), *named = json_object(), *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
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
		log_error("%s", strerror(ENOMEM));
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
