/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs are grouped, and what they have together is asked for and printed. */
#include "cmd/jobprof/site_groups.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/known.h"
#include "base/log.h"
#include "index/sums.h"

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
static void add_select(struct query *q, const char *of_jobs, const char *of_sums, const char *by,
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
	query__add(q, table ? of_sums : of_jobs);
	query__add(q, table ? " FROM " : " FROM job j");
	query__add(q, table ? table : "");
	query__add(q, table ? " s" : "");
}

/* The number of the column to sort by; 0: there is none, which has been said. */
static unsigned order_of(const struct site_groups *g, const char *sort)
{
	for (unsigned i = 0; i < g->nasked; i++)
		if (!strcmp(i ? g->columns[i].key : "key", sort))
			return i + 1;
	log_error("--sort %s: there is no such column; --json shows them", sort);
	return 0;
}

static void add_order(struct query *q, unsigned order, bool is_all)
{
	char text[64];

	snprintf(text, sizeof(text), " ORDER BY %u DESC NULLS LAST, 1", order);
	query__add(q, text);
	if (is_all)
		return;
	query__add(q, " LIMIT ?");
	query__arg(q, db_value__int(ROWS));
}

/* One of the keys of these rows; too many: all. */
static void add_keys(struct query *q, const char *of, const char *column,
		     const struct site_table *keys)
{
	bool has_unknown = false;

	if (keys->nrows > ROWS || keys->nrows + q->nargs > QUERY_ARGS)
		return;
	query__add(q, " AND (");
	query__add(q, of);
	query__add(q, column);
	query__add(q, " IN (''");
	for (unsigned i = 0; i < keys->nrows; i++) {
		const struct db_value *key = &keys->cells[(size_t)i * keys->ncolumns];

		query__add(q, ", ?");
		query__arg(q, *key);
		has_unknown |= key->type != DB_TEXT || !*key->text;
	}
	query__add(q, ")");
	if (has_unknown) {
		query__add(q, " OR ");
		query__add(q, of);
		query__add(q, column);
		query__add(q, " IS NULL");
	}
	query__add(q, ")");
}

/* What is asked. */
struct question {
	const struct site_groups *g;
	const struct site_groups_options *o;
	const struct viewer *v;
	const struct job_filter *filter;
	bool is_sum;
	const struct site_before *before; /* it is about the time before; else NULL */
	const struct site_table *keys;	  /* of that the rows that are wanted */
};

static bool is_from_sums(const struct question *of)
{
	return of->g->of_sums && (of->o->by->in_sums || of->is_sum);
}

static int add_where(struct query *q, const struct question *of, const char *table)
{
	int err = 0;

	if (table)
		query__where_sums(q, table, of->filter, of->v);
	else
		err = query__where(q, of->filter, of->v);
	query__add(q, of->g->and);
	return err;
}

/* What is asked for can be summed up again: all is read once, for the rows and their sum. */
static bool is_both(const struct question *of)
{
	return of->g->of_sums && !of->is_sum && !of->before;
}

/* The sum is the last row; it has 1 in one more column, and the others 0. */
static int write_both(struct query *q, const struct question *of, const char *table, unsigned order)
{
	const struct site_groups *g = of->g;
	char text[64];
	int err;

	query__add(q, "WITH g (k, ");
	query__add(q, sums__columns);
	query__add(q, ") AS (");
	add_select(q, g->of_jobs, g->of_sums, of->o->by->column, table);
	err = add_where(q, of, table);
	query__add(q, " GROUP BY 1) SELECT 'all', ");
	query__add(q, g->of_sums);
	query__add(q, ", 1 FROM g s UNION ALL SELECT * FROM (SELECT g.*, 0 FROM g");
	add_order(q, order, of->o->site.all);
	snprintf(text, sizeof(text), ") r ORDER BY %u, %u DESC NULLS LAST, 1", g->nasked + 1,
		 order);
	query__add(q, text);
	return err;
}

static int write_question(struct query *q, struct index *ix, const struct question *of)
{
	const struct site_groups *g = of->g;
	const struct site_groups_options *o = of->o;
	const bool from_sums = is_from_sums(of);
	const char *table = from_sums ? query__sums_for(ix, of->filter) : NULL;
	const unsigned order = order_of(g, o->sort ? o->sort : g->sort);
	int err;

	if (!order)
		return -EINVAL;
	if (is_both(of))
		return write_both(q, of, table, order);
	add_select(q, of->before ? of->before->of_jobs : g->of_jobs,
		   of->before ? of->before->of_sums : g->of_sums, of->is_sum ? NULL : o->by->column,
		   table);
	err = add_where(q, of, table);
	if (err || of->is_sum)
		return err;
	if (of->before) {
		if (!from_sums)
			add_keys(q, table ? "s." : "j.", o->by->column, of->keys);
		query__add(q, " GROUP BY 1");
		return 0;
	}
	query__add(q, " GROUP BY 1");
	add_order(q, order, o->site.all);
	return 0;
}

/* Adds the rows that answer, whose columns are those of t, or fewer. */
static int ask(struct index *ix, const struct question *of, struct site_table *t)
{
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	if (!err)
		err = write_question(&q, ix, of);
	if (!err)
		err = query__ask(&q, ix->db, &r);
	while (!err && db_rows__next(&r)) {
		struct db_value row[COLUMNS] = {0};

		memcpy(row, r.v, (r.n - is_both(of)) * sizeof(*row));
		err = site_table__add(t, row);
	}
	err = err ? err : r.err;
	db_rows__end(&r);
	query__free(&q);
	return err;
}

/* ---- the time before */

static int by_key(const void *a, const void *b)
{
	const struct db_value *x = a, *y = b;

	return strcmp(x->type == DB_TEXT ? x->text : "", y->type == DB_TEXT ? y->text : "");
}

/* Adds the sum of all rows as one more. 0 or -ENOMEM. */
static int add_up(struct site_table *t)
{
	struct db_value sum[COLUMNS] = {{0}};

	for (unsigned i = 1; i < t->ncolumns; i++) {
		double of = NAN;

		for (unsigned k = 0; k < t->nrows; k++)
			of = known__sum(of,
					db_value__number(&t->cells[(size_t)k * t->ncolumns + i]));
		sum[i] = db_value__real(of);
	}
	return site_table__add(t, sum);
}

/* Asks for the same rows of the time before, and their sum as the last one. *there: there is such a
 * time. */
static int ask_before(struct index *ix, const struct question *now, const struct site_table *keys,
		      struct site_table *t, bool *there)
{
	struct question q = *now;
	struct job_filter filter;
	int err;

	*there = now->g->before && site_args__before(now->filter, &filter);
	if (!*there)
		return 0;
	q.filter = &filter;
	q.before = now->g->before;
	q.keys = keys;
	err = ask(ix, &q, t);
	if (t->nrows)
		qsort(t->cells, t->nrows, t->ncolumns * sizeof(*t->cells), by_key);
	if (err || is_from_sums(&q)) /* of all groups */
		return err ? err : add_up(t);
	q.is_sum = true;
	return ask(ix, &q, t);
}

/* Fills what is made of other columns. */
static void derive(const struct question *q, struct site_table *t, const struct site_table *before)
{
	const size_t last = t->nrows - 1, row = t->ncolumns;

	/* The sum, of which the others take shares, is never changed by them. */
	for (size_t i = 0; q->g->derive && i < t->nrows; i++) {
		struct db_value *v = &t->cells[i * row];
		const struct db_value *was = NULL;

		if (before->nrows && i == last)
			was = &before->cells[(size_t)(before->nrows - 1) * before->ncolumns];
		else if (before->nrows)
			was = bsearch(v, before->cells, before->nrows - 1,
				      before->ncolumns * sizeof(*v), by_key);
		q->g->derive(v, &t->cells[last * row], was, &q->o->site);
	}
}

/* The rows, and their sum as the last one. *compared: there is a time before. */
static int ask_all(struct index *ix, const struct question *q, struct site_table *t, bool *compared)
{
	struct site_table before = {.columns = q->g->columns,
				    .ncolumns = q->g->before ? q->g->before->nasked : 1};
	struct question of_sum = *q;
	struct site_table keys;
	int err = ask(ix, q, t);

	of_sum.is_sum = true;
	keys = *t;
	keys.nrows -= keys.nrows && is_both(q);
	if (!err)
		err = ask_before(ix, q, &keys, &before, compared);
	if (!err && !is_both(q))
		err = ask(ix, &of_sum, t);
	t->has_sum = !err;
	if (!err)
		derive(q, t, &before);
	site_table__free(&before);
	return err;
}

/* ---- the verb */

/* How to look into the first row that has a name. */
static void print_next(const struct question *q, const struct site_table *t)
{
	const struct site_group *by = q->o->by;
	const struct db_value *key = t->cells;

	for (unsigned i = 0; i + 1 < t->nrows; i++, key += t->ncolumns) {
		if (key->type != DB_TEXT || !site_args__is_word(key->text))
			continue;
		printf("More of the %s:\n  %s --%s ", i ? "first with a name" : "first",
		       by->next ? q->g->command->name : "jobprof jobs", by->word);
		site_args__print_word(key->text);
		if (by->next)
			printf(" --by %s", by->next);
		site_args__print_options(&q->o->site, by->word);
		putchar('\n');
		return;
	}
}

static void print_foot(const struct question *q, const struct site_table *t, bool compared)
{
	if (t->nrows < 2) {
		if (!q->g->head)
			puts("no jobs");
		return;
	}
	putchar('\n');
	if (q->g->note && (compared || !q->g->before))
		printf("%s\n\n", q->g->note);
	if (t->nrows == ROWS + 1 && !q->o->site.all)
		printf("These are the first %d; --all prints all. ", ROWS);
	print_next(q, t);
}

int site_groups__run(const struct site_groups *g, struct site_groups_options *o)
{
	struct site_column own[COLUMNS];
	struct site_table t = {.columns = own, .ncolumns = g->ncolumns};
	struct viewer viewer;
	const struct question q = {.g = g, .o = o, .v = &viewer, .filter = &o->site.filter};
	struct index ix;
	bool is_text = !o->site.json && !o->site.csv, compared = false;
	int status, err;

	o->by = o->by ? o->by : &groups[0];
	memcpy(own, g->columns, g->ncolumns * sizeof(*own));
	own[0].head = own[0].key = o->by->word;
	status = site_args__open(&o->site, &ix, &viewer);
	if (status)
		return status;
	err = ask_all(&ix, &q, &t, &compared);
	status = err == -EINVAL ? 2 : err ? 1 : 0;
	if (!status && is_text && g->head)
		g->head(&t.cells[(size_t)(t.nrows - 1) * t.ncolumns], &o->site);
	if (!status && (!is_text || t.nrows > 1))
		status = site_args__print(&o->site, &t, json_pack("{s:s}", "by", o->by->word));
	if (!status && is_text)
		print_foot(&q, &t, compared);
	if (!status && t.nrows < 2)
		site_filter__hint(&o->site, &ix, &viewer);
	site_table__free(&t);
	index__close(&ix);
	return status;
}
