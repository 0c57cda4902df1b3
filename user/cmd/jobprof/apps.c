/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof apps: the applications of users, how long they run, and whether that has changed. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "cmd/jobprof/site_args.h"
#include "cmd/jobprof/verbs.h"
#include "index/apps.h"

#define ROWS 25 /* without --all */

struct options {
	struct site_args site;
	const char *sort;
};

static const struct site_column columns[] = {
	{"user", "user", NULL, CELL_TEXT, 4, 10},
	{"account", "project", NULL, CELL_TEXT, 12, 12},
	{"name", "name", NULL, CELL_TEXT, 0, 20},
	{"program", "program", NULL, CELL_TEXT, 13, 24},
	{"signature", "signature", NULL, CELL_TEXT, SITE_HIDDEN, 0},
	{"nodes", "nodes", NULL, CELL_COUNT, 9, 0},
	{"cores", "cores", NULL, CELL_COUNT, 5, 0},
	{"gpus", "GPUs", NULL, CELL_COUNT, 14, 0},
	{"jobs", "runs", NULL, CELL_COUNT, 0, 0},
	{"completed", "completed", NULL, CELL_COUNT, 15, 0},
	{"median_s", "median", NULL, CELL_DURATION, 1, 0},
	{"recent_s", "last 8", NULL, CELL_DURATION, 1, 0},
	{"change", "change%", NULL, CELL_POINTS, 3, 0},
	{"trend", "trend", NULL, CELL_TEXT, 2, 0},
	{"why", "mostly", NULL, CELL_TEXT, 8, 14},
	{"why_s", "of which", NULL, CELL_DURATION, SITE_HIDDEN, 0},
	{"p95_s", "95% ran", NULL, CELL_DURATION, 6, 0},
	{"limit_s", "limit", NULL, CELL_DURATION, 6, 0},
	{"peak_mb", "peak MiB", NULL, CELL_NUMBER, 7, 0},
	{"mem_asked_mb", "asked MiB", NULL, CELL_NUMBER, 7, 0},
	{"held_core_s", "held core-h", NULL, CELL_HOURS, 10, 0},
	{"lost_core_s", "lost core-h", NULL, CELL_HOURS, 2, 0},
	{"lost_share", "lost%", NULL, CELL_SHARE, 11, 0},
	{"last", "last", NULL, CELL_TIME, 16, 0},
	{"before_job", "job before", NULL, CELL_ID, SITE_HIDDEN, 0},
	{"recent_job", "recent job", NULL, CELL_ID, SITE_HIDDEN, 0},
};
#define N_COLUMNS (sizeof(columns) / sizeof(*columns))

static void print_sorts(FILE *out)
{
	site_filter__print_sorts(out, columns, N_COLUMNS);
}

static const struct opt opts[] = {
	OPTS_FILTER(struct options),
	OPT_SORT(struct options, "held_core_s"),
	OPTS_DATABASE(struct options),
	OPTS_FORM(struct options),
	{0},
};

const struct command cmd_apps = {
	.name = "jobprof apps",
	.usage = "[OPTION]...",
	.about = "A row per application, the jobs of one user, program, size and name but for\n"
		 "digits: how long they ran, whether the last 8 took longer, by what, and what\n"
		 "would have been enough. Without options those that held most in 30 days.",
	.opts = opts,
};

/* ---- rows */

/* With the runs of each, which only JSON has. */
struct apps {
	struct site_table t;
	json_t *points;
	const struct site_column *by;
	bool is_up;
};

static const char *trend(const struct app *a)
{
	if (isnan(a->median_s))
		return "too few runs";
	return !a->has_changed ? "steady" : a->recent_s > a->median_s ? "slower" : "faster";
}

static struct db_value id(int64_t job)
{
	return job ? db_value__int(job) : (struct db_value){0};
}

static json_t *points_of(const struct app *a)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < a->npoints; i++) {
		json_t *one = json_array();

		json_array_append_new(one, json__whole(a->points[i].start));
		json_array_append_new(one, json__whole(a->points[i].elapsed_s));
		json_array_append_new(one, json_integer(a->points[i].job));
		json_array_append_new(list, one);
	}
	return list;
}

static int add(void *arg, const struct app *a)
{
	struct apps *w = arg;
	const struct db_value row[N_COLUMNS] = {
		db_value__text(a->user),
		db_value__text(a->account),
		db_value__text(*a->name ? a->name : NULL),
		db_value__text(*a->program ? a->program : NULL),
		db_value__text(a->signature),
		db_value__real(a->nodes),
		db_value__real(a->cores),
		db_value__real(a->gpus),
		db_value__int(a->jobs),
		db_value__int(a->completed),
		db_value__real(a->median_s),
		db_value__real(a->recent_s),
		db_value__real(a->recent_s / a->median_s - 1),
		db_value__text(trend(a)),
		db_value__text(a->why),
		db_value__real(a->why_s),
		db_value__real(a->p95_s),
		db_value__real(a->limit_s),
		db_value__real(a->peak_mb),
		db_value__real(a->mem_asked_mb),
		db_value__real(a->held_core_s),
		db_value__real(a->lost_core_s),
		db_value__real(a->lost_core_s / a->lost_of_core_s),
		db_value__real(a->last),
		id(a->before_job),
		id(a->recent_job),
	};

	json_object_set_new(w->points, a->signature, points_of(a));
	return site_table__add(&w->t, row);
}

/* ---- the order */

static int by_column(const void *a, const void *b, void *arg)
{
	const struct apps *w = arg;
	const size_t i = (size_t)(w->by - columns);
	const struct db_value *x = (const struct db_value *)a + i,
			      *y = (const struct db_value *)b + i;
	const double p = db_value__number(x), q = db_value__number(y);
	int order;

	if (x->type == DB_TEXT && y->type == DB_TEXT)
		order = strcmp(y->text, x->text);
	else if (x->type == DB_TEXT || y->type == DB_TEXT)
		return x->type == DB_TEXT ? -1 : 1;
	else if (isnan(p) || isnan(q))
		return isnan(p) - isnan(q);
	else
		order = (p < q) - (p > q);
	return w->is_up ? -order : order;
}

/* Signatures came in their order, which equal ones keep: qsort of glibc is stable. */
static void sort(struct apps *w, bool all)
{
	struct site_table *t = &w->t;

	if (!t->nrows)
		return;
	qsort_r(t->cells, t->nrows, N_COLUMNS * sizeof(*t->cells), by_column, w);
	for (size_t i = ROWS * N_COLUMNS; !all && i < (size_t)t->nrows * N_COLUMNS; i++)
		if (t->cells[i].type == DB_TEXT)
			free((char *)t->cells[i].text);
	if (!all && t->nrows > ROWS)
		t->nrows = ROWS;
}

/* ---- output */

static int print_json(const struct apps *w, unsigned matching)
{
	json_t *o = json_object(), *rows = site_table__json(&w->t), *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		const char *program = json__text_of(row, "signature");

		json_object_set(row, "points", json_object_get(w->points, program));
	}
	json__set(o, "matching", json_integer(matching));
	json__set(o, "rows", rows);
	return json__print(o, stdout, JSON_COMPACT) ? 1 : 0;
}

static void print_head(const struct options *o, unsigned matching)
{
	char count[SITE_CELL];

	site_cell__put(count, CELL_COUNT, matching);
	printf("%s application%s", count, matching == 1 ? "" : "s");
	site_args__print_times(stdout, &o->site);
	puts("; runs that completed: the median before the last 8, and theirs\n");
}

static int print(const struct apps *w, const struct options *o, unsigned matching)
{
	const bool is_text = !o->site.json && !o->site.csv;
	int status = 0;

	if (o->site.json)
		return print_json(w, matching);
	if (is_text && !matching)
		puts("no such job has a signature, which needs a profile");
	else if (is_text)
		print_head(o, matching);
	if (!is_text || matching)
		status = site_args__print(&o->site, &w->t, NULL);
	if (is_text && matching > w->t.nrows)
		printf("\n%u of %u; --all prints all.\n", w->t.nrows, matching);
	return status;
}

int verb_apps(int argc, char **argv)
{
	struct options o = {.sort = "held_core_s"};
	struct apps w = {.t = {.columns = columns, .ncolumns = N_COLUMNS}};
	struct viewer viewer;
	struct index ix;
	unsigned matching;
	int status;

	site_args__init(&o.site, "30d");
	status = options__read(&cmd_apps, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	if (optind < argc)
		return options__wrong(&cmd_apps, "\"%s\": jobs are selected by options",
				      argv[optind]);
	w.by = site_filter__sort(o.sort, columns, N_COLUMNS);
	w.is_up = *o.sort == '-';
	w.t.sorted_by = o.sort + w.is_up;
	status = !w.by ? 2 : site_args__open(&o.site, &ix, &viewer);
	if (status)
		return status;
	w.points = json_object();
	status = apps__each(&ix, &o.site.filter, &viewer, add, &w);
	matching = w.t.nrows;
	sort(&w, o.site.all);
	status = status ? site_args__status(status) : print(&w, &o, matching);
	if (!status && !matching)
		site_filter__hint(&o.site, &ix, &viewer);
	json_decref(w.points);
	site_table__free(&w.t);
	index__close(&ix);
	return status;
}
