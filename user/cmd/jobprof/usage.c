/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof usage: what users, projects and programs held, what of that was lost. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "cmd/jobprof/site_args.h"
#include "cmd/jobprof/verbs.h"
#include "index/sums.h"

#define ROWS 25 /* without --all */

/* What rows have in common; in_sums: sums have it, too. */
static const struct group {
	const char *word, *column, *next;
	bool in_sums;
} groups[] = {
	{"project", "account", "user", true},
	{"user", "\"user\"", "name", true},
	{"name", "name", NULL, false},
	{"program", "program", NULL, false},
	{"partition", "partition", "user", true},
	{"cluster", "cluster", "project", true},
	{"state", "state", NULL, false},
	{"signature", "signature", NULL, false},
};
#define N_GROUPS (sizeof(groups) / sizeof(*groups))

struct options {
	struct site_args site;
	const char *sort;
	const struct group *by;
};

/* In the order of sums__columns, behind what the rows have in common; then what is made of them. */
static const struct site_column columns[] = {
	{"key", "", NULL, CELL_TEXT, 0, 24},
	{"jobs", "jobs", NULL, CELL_COUNT, 0, 0},
	{"profiled", "profiled", NULL, CELL_HIDDEN, 0, 0},
	{"held_core_s", "held core-h", NULL, CELL_HOURS, 0, 0},
	{"held_cpu_s", "held CPU-h", NULL, CELL_HIDDEN, 0, 0},
	{"held_gpu_s", "held GPU-h", NULL, CELL_HOURS, 8, 0},
	{"profiled_core_s", "profiled core-h", NULL, CELL_HIDDEN, 0, 0},
	{"lost_core_s", "lost core-h", NULL, CELL_HOURS, 0, 0},
	{"lost_gpu_s", "lost GPU-h", NULL, CELL_HOURS, 9, 0},
	{"cpu_s", "CPU s", NULL, CELL_HIDDEN, 0, 0},
	{"energy_j", "energy J", NULL, CELL_HIDDEN, 0, 0},
	{"energy_low_j", "energy J", NULL, CELL_HIDDEN, 0, 0},
	{"energy_high_j", "energy J", NULL, CELL_HIDDEN, 0, 0},
	{"findings", "findings", NULL, CELL_COUNT, 4, 0},
	{"run_s", "run time h", NULL, CELL_HOURS, 10, 0},
	{"footprints", "footprints", NULL, CELL_COUNT, 13, 0},
	{"max_nodes", "most nodes", NULL, CELL_COUNT, 11, 0},
	{"max_cores", "most cores", NULL, CELL_COUNT, 12, 0},
	{"max_pending_s", "longest pending", NULL, CELL_DURATION, 14, 0},
	{"cpu_share", "CPU%", NULL, CELL_SHARE, 3, 0},
	{"lost_share", "of held%", NULL, CELL_SHARE, 1, 0},
	{"of_all_lost", "of all lost%", NULL, CELL_SHARE, 2, 0},
	{"without_profile", "no profile%", NULL, CELL_SHARE, 5, 0},
	{"energy_kwh", "kWh", NULL, CELL_NUMBER, 6, 0},
};
#define N_COLUMNS (sizeof(columns) / sizeof(*columns))

enum {
	KEY,
	JOBS,
	PROFILED,
	HELD,
	HELD_CPU,
	HELD_GPU,
	PROFILED_S,
	LOST,
	LOST_GPU,
	CPU,
	ENERGY,
	N_SUMS = 19,
	CPU_SHARE = N_SUMS,
	LOST_SHARE,
	OF_ALL,
	WITHOUT,
	KWH
};

static void print_groups(FILE *out)
{
	for (size_t i = 0; i < N_GROUPS; i++)
		fprintf(out, "%s ", groups[i].word);
}

static int take_by(void *to, const struct opt *opt, const char *word)
{
	struct options *o = to;

	for (size_t i = 0; i < N_GROUPS; i++)
		if (!strcmp(groups[i].word, word)) {
			o->by = &groups[i];
			return 0;
		}
	log_error("--by %s: it is one of project, user, name, program, partition, cluster, state, "
		  "signature",
		  word);
	return 2;
}

static void print_sorts(FILE *out)
{
	for (size_t i = 0; i < N_SUMS; i++)
		fprintf(out, "%s ", columns[i].key);
}

static const struct opt opts[] = {
	{0, "by", "WORD",
	 "a row per project (the default), user, name, program, partition, cluster, "
	 "state or signature",
	 OPT_CALL(take_by), .values = print_groups},
	OPTS_FILTER(struct options),
	{0, "sort", "COLUMN", "by this column, the largest first (default lost_core_s)",
	 OPT_TEXT(struct options, sort), .values = print_sorts},
	OPTS_DATABASE(struct options),
	OPTS_FORM(struct options),
	{0},
};

const struct command cmd_usage = {
	.name = "jobprof usage",
	.usage = "[--by WORD] [OPTION]...",
	.about = "What projects, users or programs held, and what of that was lost; without "
		 "options of\n"
		 "the last 30 days. The last line says how to look into the first row.",
	.opts = opts,
};

/* ---- the question */

/* What rows are grouped by, and their sums; table NULL: rows of jobs. */
static void add_select(struct query *q, const struct options *o, const char *table, bool is_sum)
{
	const char *of = table ? "s." : "j.";

	query__add(q, "SELECT ");
	if (is_sum) {
		query__add(q, "'all'");
	} else {
		query__add(q, "COALESCE(");
		query__add(q, of);
		query__add(q, o->by->column);
		query__add(q, ", '')");
	}
	query__add(q, ", ");
	query__add(q, table ? sums__of_sums : sums__of_jobs);
	query__add(q, table ? " FROM " : " FROM job j");
	query__add(q, table ? table : "");
	query__add(q, table ? " s" : "");
}

/* Column 1 is the first of the sums. */
static int add_order(struct query *q, const struct options *o)
{
	const char *sort = o->sort ? o->sort : "lost_core_s";
	char text[64];

	for (unsigned i = 0; i < N_SUMS; i++) {
		if (strcmp(columns[i].key, sort))
			continue;
		snprintf(text, sizeof(text), " GROUP BY 1 ORDER BY %u DESC NULLS LAST, 1", i + 1);
		query__add(q, text);
		return 0;
	}
	log_error("--sort %s: there is no such column; --json shows them", sort);
	return -EINVAL;
}

static int write_question(struct query *q, const struct options *o, const struct viewer *v,
			  bool is_sum)
{
	const char *table = o->by->in_sums || is_sum ? query__sums_for(&o->site.filter) : NULL;
	int err = 0;

	add_select(q, o, table, is_sum);
	if (table)
		query__where_sums(q, table, &o->site.filter, v);
	else
		err = query__where(q, &o->site.filter, v);
	if (!err && !is_sum)
		err = add_order(q, o);
	if (!err && !is_sum && !o->site.all) {
		query__add(q, " LIMIT ?");
		query__arg(q, db_value__int(ROWS));
	}
	return err;
}

static double number(const struct db_value *v, unsigned i)
{
	return db_value__number(&v[i]);
}

/* Adds the row with what is made of its sums. */
static int add_row(struct site_table *t, const struct db_value *sums, double all_lost)
{
	struct db_value v[N_COLUMNS];

	memcpy(v, sums, N_SUMS * sizeof(*v));
	/* CPU time is of profiles alone. */
	v[CPU_SHARE] = db_value__real(number(v, CPU) / number(v, PROFILED_S));
	v[LOST_SHARE] = db_value__real(number(v, LOST) / number(v, HELD));
	v[OF_ALL] = db_value__real(number(v, LOST) / all_lost);
	v[WITHOUT] = db_value__real(1 - number(v, PROFILED_S) / number(v, HELD));
	v[KWH] = db_value__real(number(v, ENERGY) / 3.6e6);
	return site_table__add(t, v);
}

/* Asks for the rows, or for their sum. all_lost: of all; set by the sum. */
static int ask(struct index *ix, const struct options *o, const struct viewer *v, bool is_sum,
	       double *all_lost, struct site_table *t)
{
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	if (!err)
		err = write_question(&q, o, v, is_sum);
	if (!err)
		err = query__ask(&q, ix->db, &r);
	while (!err && db_rows__next(&r)) {
		if (is_sum)
			*all_lost = number(r.v, LOST);
		err = add_row(t, r.v, *all_lost);
	}
	err = err ? err : r.err;
	db_rows__end(&r);
	query__free(&q);
	return err;
}

/* The rows, and their sum as the last one. */
static int ask_all(struct index *ix, const struct options *o, const struct viewer *v,
		   struct site_table *t)
{
	struct site_table sum = {.columns = t->columns, .ncolumns = t->ncolumns};
	double all_lost = NAN;
	int err = ask(ix, o, v, true, &all_lost, &sum);

	if (!err)
		err = ask(ix, o, v, false, &all_lost, t);
	if (!err && sum.nrows)
		err = site_table__add(t, sum.cells);
	t->has_sum = !err && sum.nrows;
	site_table__free(&sum);
	return err;
}

/* How to look into the first row. */
static void print_foot(const struct options *o, const struct site_table *t)
{
	const struct db_value *key = t->cells;

	if (t->nrows < 2 || key->type != DB_TEXT || !*key->text)
		return;
	printf("\njobprof %s --%s %s%s%s", o->by->next ? "usage" : "jobs", o->by->word, key->text,
	       o->by->next ? " --by " : "", o->by->next ? o->by->next : "");
	if (o->site.since_word)
		printf(" --since %s", o->site.since_word);
	puts(" looks into the first.");
}

int verb_usage(int argc, char **argv)
{
	struct options o = {.by = &groups[0]};
	struct site_column own[N_COLUMNS];
	struct site_table t = {.columns = own, .ncolumns = N_COLUMNS};
	struct viewer viewer;
	struct index ix;
	int status, err;

	site_args__init(&o.site, "30d");
	status = options__read(&cmd_usage, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	if (optind < argc)
		return options__wrong(&cmd_usage, "\"%s\": whose usage is said by options",
				      argv[optind]);
	memcpy(own, columns, sizeof(columns));
	own[KEY].head = own[KEY].key = o.by->word;
	status = site_args__open(&o.site, &ix, &viewer);
	if (status)
		return status;
	err = ask_all(&ix, &o, &viewer, &t);
	status = err == -EINVAL ? 2 : err ? 1 : 0;
	if (!status)
		status = site_args__print(&o.site, &t, json_pack("{s:s}", "by", o.by->word));
	if (!status && !o.site.json && !o.site.csv)
		print_foot(&o, &t);
	site_table__free(&t);
	index__close(&ix);
	return status;
}
