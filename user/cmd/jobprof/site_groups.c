/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs are grouped, and what they have together is asked for and printed. */
#include "cmd/jobprof/site_groups.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"

#define ROWS	25 /* without --all */
#define COLUMNS 64

static const struct site_group groups[] = {
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

void site_groups__print_words(FILE *out)
{
	for (size_t i = 0; i < N_GROUPS; i++)
		fprintf(out, "%s ", groups[i].word);
}

int site_groups__take_by(void *to, const struct opt *opt, const char *word)
{
	struct site_groups_options *o = to;

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

/* ---- the question */

/* What rows are grouped by, and what is asked for; table NULL: rows of jobs. */
static void add_select(struct query *q, const struct site_groups *g, const char *by,
		       const char *table)
{
	query__add(q, "SELECT ");
	if (by) {
		query__add(q, table ? "COALESCE(s." : "COALESCE(j.");
		query__add(q, by);
		query__add(q, ", '')");
	} else {
		query__add(q, "'all'");
	}
	query__add(q, ", ");
	query__add(q, table ? g->of_sums : g->of_jobs);
	query__add(q, table ? " FROM " : " FROM job j");
	query__add(q, table ? table : "");
	query__add(q, table ? " s" : "");
}

static int add_order(struct query *q, const struct site_groups *g, const char *sort)
{
	char text[64];

	for (unsigned i = 0; i < g->nasked; i++) {
		if (strcmp(i ? g->columns[i].key : "key", sort))
			continue;
		snprintf(text, sizeof(text), " GROUP BY 1 ORDER BY %u DESC NULLS LAST, 1", i + 1);
		query__add(q, text);
		return 0;
	}
	log_error("--sort %s: there is no such column; --json shows them", sort);
	return -EINVAL;
}

static int write_question(struct query *q, struct index *ix, const struct site_groups *g,
			  const struct site_groups_options *o, const struct viewer *v, bool is_sum)
{
	const bool from_sums = g->of_sums && (o->by->in_sums || is_sum);
	const char *table = from_sums ? query__sums_for(ix, &o->site.filter) : NULL;
	int err = 0;

	add_select(q, g, is_sum ? NULL : o->by->column, table);
	if (table)
		query__where_sums(q, table, &o->site.filter, v);
	else
		err = query__where(q, &o->site.filter, v);
	query__add(q, g->and);
	if (!err && !is_sum)
		err = add_order(q, g, o->sort ? o->sort : g->sort);
	if (!err && !is_sum && !o->site.all) {
		query__add(q, " LIMIT ?");
		query__arg(q, db_value__int(ROWS));
	}
	return err;
}

/* Asks for the rows, or for their sum. all: the sum of all, NULL in that itself. */
static int ask(struct index *ix, const struct site_groups *g, const struct site_groups_options *o,
	       const struct viewer *v, const struct db_value *all, struct site_table *t)
{
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	if (!err)
		err = write_question(&q, ix, g, o, v, !all);
	if (!err)
		err = query__ask(&q, ix->db, &r);
	while (!err && db_rows__next(&r)) {
		struct db_value row[COLUMNS] = {0};

		memcpy(row, r.v, g->nasked * sizeof(*row));
		if (g->derive)
			g->derive(row, all ? all : row, &o->site);
		err = site_table__add(t, row);
	}
	err = err ? err : r.err;
	db_rows__end(&r);
	query__free(&q);
	return err;
}

/* The rows, and their sum as the last one. */
static int ask_all(struct index *ix, const struct site_groups *g,
		   const struct site_groups_options *o, const struct viewer *v,
		   struct site_table *t)
{
	struct site_table sum = {.columns = t->columns, .ncolumns = t->ncolumns};
	int err = ask(ix, g, o, v, NULL, &sum);

	if (!err && sum.nrows)
		err = ask(ix, g, o, v, sum.cells, t);
	if (!err && sum.nrows)
		err = site_table__add(t, sum.cells);
	t->has_sum = !err && sum.nrows;
	site_table__free(&sum);
	return err;
}

/* ---- the verb */

/* How to look into the first row. */
static void print_foot(const struct site_groups *g, const struct site_groups_options *o,
		       const struct site_table *t)
{
	const struct db_value *key = t->cells;

	if (g->note)
		printf("\n%s\n", g->note);
	if (t->nrows < 2 || key->type != DB_TEXT || !site_args__is_word(key->text))
		return;
	printf("\n%s --%s ", o->by->next ? g->command->name : "jobprof jobs", o->by->word);
	site_args__print_word(key->text);
	if (o->by->next)
		printf(" --by %s", o->by->next);
	if (o->site.since_word)
		printf(" --since %s", o->site.since_word);
	puts(" looks into the first.");
}

int site_groups__run(const struct site_groups *g, struct site_groups_options *o)
{
	struct site_column own[COLUMNS];
	struct site_table t = {.columns = own, .ncolumns = g->ncolumns};
	struct viewer viewer;
	struct index ix;
	int status, err;

	o->by = o->by ? o->by : &groups[0];
	memcpy(own, g->columns, g->ncolumns * sizeof(*own));
	own[0].head = own[0].key = o->by->word;
	status = site_args__open(&o->site, &ix, &viewer);
	if (status)
		return status;
	err = ask_all(&ix, g, o, &viewer, &t);
	status = err == -EINVAL ? 2 : err ? 1 : 0;
	if (!status)
		status = site_args__print(&o->site, &t, json_pack("{s:s}", "by", o->by->word));
	if (!status && !o->site.json && !o->site.csv)
		print_foot(g, o, &t);
	site_table__free(&t);
	index__close(&ix);
	return status;
}
