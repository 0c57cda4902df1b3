/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups jobs, and asks for the sums of each group and prints them. */
#include "cmd/jobprof/site_groups.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/known.h"
#include "base/log.h"
#include "cmd/jobprof/site_points.h"
#include "cmd/jobprof/site_when.h"
#include "index/many.h"
#include "index/sums.h"

#define ROWS	25 /* without --all */
#define COLUMNS 64

static const struct site_group groups[] = {
	{"project", "account", "user", .in_sums = true},
	{"user", "\"user\"", "name", .in_sums = true},
	{"name", "name", NULL, .is_text = true},
	{"program", "program", NULL, .is_text = true},
	{"partition", "partition", "user", .in_sums = true},
	{"cluster", "cluster", "project", .in_sums = true},
	{"state", "state", .in_sums = false},
	{"node", "node", NULL, .is_node = true},
	{"signature", "signature", .in_sums = false},
	{"day", "day", .in_sums = true, .is_day = true},
};
#define N_GROUPS (sizeof(groups) / sizeof(*groups))

/* That nodes are of. */
static const struct site_column node_cluster = {"cluster", "cluster",	NULL,
						CELL_TEXT, SITE_HIDDEN, 24};

void site_groups__print_words(FILE *out)
{
	for (size_t i = 0; i < N_GROUPS; i++)
		fprintf(out, "%s ", groups[i].word);
}

bool site_groups__is_coarse(const struct site_groups_options *o)
{
	return !o->by || o->by->in_sums || !strcmp(o->by->word, "name");
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
		  "node, signature, day",
		  word);
	return 2;
}

/* ---- the query */

/* What is queried. */
struct question {
	const struct site_groups *g;
	const struct site_groups_options *o;
	const struct viewer *v;
	const struct job_filter *filter;
	bool is_sum;
	const struct site_part *part;  /* only the columns of this part; NULL: the table's */
	const struct site_table *keys; /* the rows of the part that are wanted; NULL: all */
	unsigned order;		       /* the column that rows are sorted by */
	bool is_up;		       /* the smallest first */
	double *count;		       /* of all rows, also where not all are wanted */
};

static const char *sort_of(const struct question *of)
{
	return of->o->sort ? of->o->sort : of->o->by->is_day ? "day" : of->g->sort;
}

/* False: there is no such column, which is logged. */
static bool find_order(struct question *q, const struct site_column *columns)
{
	const struct site_column *by =
		site_filter__sort(sort_of(q), columns, q->g->ncolumns + q->o->by->is_node);

	q->is_up = *sort_of(q) == '-';
	q->order = by ? (unsigned)(by - columns) : 0;
	return by;
}

/* Derived columns are sorted by this program, for the database does not know them. */
static bool is_sorted_here(const struct question *of)
{
	return of->order >= of->g->nasked;
}

static bool is_by_node(const struct question *of)
{
	return of->o->by->is_node && !of->is_sum;
}

/* Whether one query reads all once, for the rows and their sum: its columns can be added up. */
static bool is_both(const struct question *of)
{
	return of->g->of_sums && !of->is_sum && !of->part && !is_by_node(of);
}

/* The answer has one more column, which in the last row is how many rows there are. */
static bool has_count(const struct question *of)
{
	return !of->is_sum && !of->part;
}

#define OF_NODE(column) "j." column " / " SITE_PARTS("n.node") " AS " column ", "
/* A job's values in one of its nodes: an equal part, since nobody knows the true one; all of them
 * in no node where none is known. */
static const char of_nodes[] =
	" FROM (SELECT n.node, j.cluster, j.id, j.state, j.findings, j.elapsed_s, j.has_footprint, "
	"j.nodes, "
	"j.cores, j.cpus, j.start, j.submit, " OF_NODE("held_core_s") OF_NODE("held_cpu_s") OF_NODE(
		"held_gpu_s") OF_NODE("lost_core_s") OF_NODE("lost_gpu_s") OF_NODE("cpu_s")
		OF_NODE("energy_j") OF_NODE("energy_low_j") OF_NODE("energy_high_j")
			OF_NODE("read_bytes") OF_NODE("write_bytes") OF_NODE("idle_cpu_s")
				OF_NODE("idle_of_cpu_s") OF_NODE("idle_gpu_s") OF_NODE(
					"idle_of_gpu_s") "j.unused_ratio, j.cpu_imbalance, "
							 "j.io_blocking, j.io_congestion, "
							 "j.memory_leak, "
							 "j.unused_gpu_ratio, "
							 "j.gpu_imbalance, j.offloads "
							 "FROM job j LEFT JOIN job_node n ON "
							 "n.job = j.id";

static void add_from(struct query *q, const struct question *of, const char *table)
{
	if (!table) {
		query__add(q, is_by_node(of) ? of_nodes : " FROM job j");
		return;
	}
	query__add(q, " FROM ");
	query__add(q, table);
	query__add(q, " s");
}

/* A node's name and its cluster, between which is a tab: no text of a row has one. */
#define NODE_KEY "COALESCE(j.node, '') || '\t' || j.cluster"
/* Of the sum: the cluster, where all jobs are of one. */
#define NODE_SUM(of)                                                                            \
	"'all\t' || CASE WHEN min(" of "cluster) = max(" of "cluster) THEN min(" of "cluster) " \
	"ELSE '' END"

/* What rows are grouped by. */
static void add_key(struct query *q, const struct question *of, const char *table)
{
	if (of->o->by->is_node) {
		query__add(q, NODE_KEY);
		return;
	}
	query__add(q, of->o->by->is_day ? "CAST(" : "");
	query__add(q, table ? "s." : "j.");
	query__add(q, of->o->by->column);
	query__add(q, of->o->by->is_day ? " AS VARCHAR(8))" : "");
}

/* Adds the group's name and the columns; table: a table of sums, NULL: rows of jobs. */
static void add_select(struct query *q, const struct question *of, const char *table)
{
	const char *of_jobs = of->part ? of->part->of_jobs : of->g->of_jobs;
	const char *of_sums = of->part ? of->part->of_sums : of->g->of_sums;

	query__add(q, "SELECT ");
	if (of->is_sum && of->o->by->is_node) {
		query__add(q, table ? NODE_SUM("s.") : NODE_SUM("j."));
	} else if (of->is_sum) {
		query__add(q, "'all'");
	} else {
		query__add(q, "COALESCE(");
		add_key(q, of, table);
		query__add(q, ", '')");
	}
	query__add(q, ", ");
	query__add(q, table ? of_sums : of_jobs);
	if (of->part && of->part->add)
		of->part->add(q, of->filter, is_by_node(of));
	if (has_count(of) && !is_both(of))
		query__add(q, ", count(*) OVER ()");
	add_from(q, of, table);
}

static void add_order(struct query *q, const struct question *of)
{
	const bool is_here = is_sorted_here(of);
	char text[64];

	snprintf(text, sizeof(text), " ORDER BY %u %s NULLS LAST, 1", is_here ? 1 : of->order + 1,
		 of->is_up ? "ASC" : "DESC");
	query__add(q, text);
	if (of->o->site.all || is_here)
		return;
	query__add(q, " LIMIT ?");
	query__arg(q, db_value__int(ROWS));
}

/* Adds a condition: the group is one of these rows. With too many rows there is no condition. */
static void add_keys(struct query *q, const struct question *of, const char *table)
{
	const struct site_table *keys = of->keys;
	bool has_unknown = false;

	if (keys->nrows > ROWS || keys->nrows + q->nargs > QUERY_ARGS)
		return;
	query__add(q, " AND (");
	add_key(q, of, table);
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
		add_key(q, of, table);
		query__add(q, " IS NULL");
	}
	query__add(q, ")");
}

static bool is_from_sums(const struct question *of)
{
	const char *of_sums = of->part ? of->part->of_sums : of->g->of_sums;

	return of_sums && (of->o->by->in_sums || of->is_sum);
}

static int add_where(struct query *q, const struct question *of, const char *table)
{
	int err = 0;

	q->of_nodes = is_by_node(of);
	if (table)
		query__where_sums(q, table, of->filter, of->v);
	else
		err = query__where(q, of->filter, of->v);
	query__add(q, of->g->and);
	if (!table && is_by_node(of))
		query__add(q, ") j WHERE true");
	return err;
}

/* The sum is the last row. One more column is the number of rows in the sum and 0 in the others. */
static int write_both(struct query *q, const struct question *of, const char *table)
{
	const struct site_groups *g = of->g;
	char text[64];
	int err;

	query__add(q, "WITH g (k, ");
	query__add(q, sums__columns);
	query__add(q, ") AS (");
	add_select(q, of, table);
	err = add_where(q, of, table);
	query__add(q, " GROUP BY 1) SELECT 'all', ");
	query__add(q, g->of_sums);
	query__add(q, ", count(*) FROM g s UNION ALL SELECT * FROM (SELECT g.*, 0 FROM g");
	add_order(q, of);
	snprintf(text, sizeof(text), ") r ORDER BY %u, %u %s NULLS LAST, 1", g->nasked + 1,
		 is_sorted_here(of) ? 1 : of->order + 1, of->is_up ? "ASC" : "DESC");
	query__add(q, text);
	return err;
}

static int write_question(struct query *q, struct index *ix, const struct question *of)
{
	const bool from_sums = is_from_sums(of);
	const char *table = !from_sums				? NULL
			    : !of->o->by->is_day || of->is_sum	? query__sums_for(ix, of->filter)
			    : query__is_of_days(ix, of->filter) ? "day"
								: NULL;
	int err;

	if (is_both(of))
		return write_both(q, of, table);
	add_select(q, of, table);
	err = add_where(q, of, table);
	if (err || of->is_sum)
		return err;
	if (of->keys && !from_sums)
		add_keys(q, of, table);
	query__add(q, " GROUP BY 1");
	if (!of->part)
		add_order(q, of);
	return 0;
}

/* Adds the rows of the answer to t, which has as many columns or more. */
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

		memcpy(row, r.v, (r.n - has_count(of)) * sizeof(*row));
		if (has_count(of))
			*of->count = db_value__number(&r.v[r.n - 1]);
		err = site_table__add(t, row);
	}
	err = db_rows__end(&r, err);
	query__free(&q);
	return err;
}

/* ---- further questions */

static int by_key(const void *a, const void *b)
{
	const struct db_value *x = a, *y = b;

	return strcmp(x->type == DB_TEXT ? x->text : "", y->type == DB_TEXT ? y->text : "");
}

/* Adds a row, the sum of all rows. 0 or -ENOMEM. */
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

/* Queries q->part: rows sorted by name, and their sum as the last one. */
static int ask_part(struct index *ix, struct question *q, struct site_table *t)
{
	const bool of_all = (is_from_sums(q) || !q->keys) && !is_by_node(q);
	int err = ask(ix, q, t);

	if (t->nrows)
		qsort(t->cells, t->nrows, t->ncolumns * sizeof(*t->cells), by_key);
	if (err || of_all)
		return err ? err : add_up(t);
	q->is_sum = true;
	return ask(ix, q, t);
}

/* Queries the same rows of the time before, if there is such a time. */
static int ask_before(struct index *ix, const struct question *now, const struct site_table *keys,
		      struct site_table *t)
{
	struct question q = *now;
	struct job_filter filter;

	if (!now->g->before || now->o->by->is_day || !site_when__before(now->filter, &filter))
		return 0;
	q.filter = &filter;
	q.part = now->g->before;
	q.keys = keys;
	return ask_part(ix, &q, t);
}

static int ask_more(struct index *ix, const struct question *now, struct site_table *t)
{
	struct question q = *now;

	if (!now->g->more || !job_filter__has_rule(now->filter))
		return 0;
	q.part = now->g->more;
	return ask_part(ix, &q, t);
}

/* ---- over time */

#define POINTS 10

/* What each row lost, and held with a profile, in each part of the time. table: of sums, NULL: rows
 * of jobs. */
static int write_points(struct query *q, const struct question *of, const struct site_points *p,
			const struct site_table *t, const char *table)
{
	struct site_table named = *t; /* without the sum */
	struct question keyed = *of;
	int err;

	query__add(q, "SELECT COALESCE(");
	add_key(q, of, table);
	query__add(q, ", ''), ");
	site_points__add(p, q, table);
	query__add(q, table ? ", sum(s.lost_core_s), sum(s.profiled_core_s)"
			    : ", sum(j.lost_core_s), sum(CASE WHEN j.findings IS NULL THEN 0.0 "
			      "ELSE j.held_core_s END)");
	add_from(q, of, table);
	err = add_where(q, of, table);
	named.nrows--;
	keyed.keys = &named;
	if (!err)
		add_keys(q, &keyed, table);
	query__add(q, " GROUP BY 1, 2 ORDER BY 1, 2");
	return err;
}

/* The table of sums that has these parts; NULL: rows of jobs must be asked. */
static const char *points_from(struct index *ix, const struct question *of,
			       const struct site_points *p)
{
	if (!of->o->by->in_sums)
		return NULL;
	if (p->of == PARTS_OF_MONTHS)
		return query__sums_for(ix, of->filter);
	return query__is_of_days(ix, of->filter) ? "day" : NULL;
}

static int ask_points(struct index *ix, const struct question *of, struct site_table *t)
{
	const bool is_wanted = of->g->points_at && (of->o->site.json || of->o->site.csv);
	struct site_points p;
	struct db_rows r = {0};
	struct query q;
	int err;

	if (!is_wanted || of->o->by->is_node || of->o->by->is_day || t->nrows < 2)
		return 0;
	site_points__init(&p, ix, of->filter, POINTS);
	site_points__use_months(&p);
	if (!p.n)
		return 0;
	err = query__init(&q);
	if (!err)
		err = write_points(&q, of, &p, t, points_from(ix, of, &p));
	if (!err)
		err = query__ask(&q, ix->db, &r);
	if (!err)
		err = site_points__take(&p, &r, t, of->g->points_at);
	err = db_rows__end(&r, err);
	query__free(&q);
	return err;
}

/* The row of a part for a row of the table; NULL: none. */
static const struct db_value *row_of(const struct site_table *part, const struct db_value *key,
				     bool is_sum)
{
	if (!part->nrows)
		return NULL;
	if (is_sum)
		return &part->cells[(size_t)(part->nrows - 1) * part->ncolumns];
	return bsearch(key, part->cells, part->nrows - 1, part->ncolumns * sizeof(*key), by_key);
}

/* Fills the columns that come from the parts and from other columns. */
static void derive(const struct question *q, struct site_table *t, const struct site_table *before,
		   const struct site_table *more)
{
	const size_t last = t->nrows - 1, row = t->ncolumns;

	/* shares are of columns of the sum that derive() does not change */
	for (size_t i = 0; q->g->derive && i < t->nrows; i++) {
		struct db_value *v = &t->cells[i * row];
		const struct db_value *of = row_of(more, v, i == last);

		if (of)
			memcpy(v + q->g->more_at, of + 1, (more->ncolumns - 1) * sizeof(*v));
		q->g->derive(v, &t->cells[last * row], row_of(before, v, i == last), &q->o->site);
	}
}

/* By the column of the question arg, which may be the clusters of nodes, behind all others. */
static int by_column(const void *a, const void *b, void *arg)
{
	const struct db_value *x = a, *y = b;
	const struct question *of = arg;
	const unsigned column = of->order;
	const bool is_cluster = column == of->g->ncolumns;
	const int by_cluster =
		is_cluster ? strcmp(site_group__cluster(x), site_group__cluster(y)) : 0;
	const double p = is_cluster ? by_cluster : db_value__number(&x[column]),
		     q = is_cluster ? 0 : db_value__number(&y[column]);

	if (isnan(p) || isnan(q) || p == q)
		return isnan(p) == isnan(q) ? by_key(a, b) : isnan(p) - isnan(q);
	return (p < q) != of->is_up ? 1 : -1;
}

/* Sorts all rows but the sum by a derived column, and removes those that are too many. */
static void sort_here(const struct question *q, struct site_table *t)
{
	const size_t row = t->ncolumns, last = t->nrows - 1;

	if (!t->cells)
		return;
	qsort_r(t->cells, last, row * sizeof(*t->cells), by_column, (void *)q);
	if (q->o->site.all || last <= ROWS)
		return;
	for (size_t i = ROWS * row; i < last * row; i++)
		if (t->cells[i].type == DB_TEXT)
			free((char *)t->cells[i].text);
	memcpy(&t->cells[ROWS * row], &t->cells[last * row], row * sizeof(*t->cells));
	t->nrows = ROWS + 1;
}

/* Queries the rows, and their sum as the last one. */
static int ask_all(struct index *ix, const struct question *q, struct site_table *t)
{
	struct site_table before = {.ncolumns = q->g->before ? q->g->before->nasked : 1};
	struct site_table more = {.ncolumns = q->g->more ? q->g->more->nasked : 1};
	struct question of_sum = *q;
	struct site_table keys;
	int err = ask(ix, q, t);

	of_sum.is_sum = true;
	keys = *t;
	keys.nrows -= keys.nrows && is_both(q);
	if (!err)
		err = ask_before(ix, q, &keys, &before);
	if (!err)
		err = ask_more(ix, q, &more);
	if (!err && !is_both(q))
		err = ask(ix, &of_sum, t);
	t->has_sum = !err;
	if (!err)
		derive(q, t, &before, &more);
	if (!err && is_sorted_here(q))
		sort_here(q, t);
	if (!err)
		err = ask_points(ix, q, t);
	site_table__free(&before);
	site_table__free(&more);
	return err;
}

/* ---- the verb */

int site_groups__run(const struct site_groups *g, struct site_groups_options *o)
{
	struct site_column own[COLUMNS];
	struct site_table t = {.columns = own, .ncolumns = g->ncolumns, .unknown = "not known"};
	struct viewer viewer;
	double count = 0;
	struct question q = {
		.g = g, .o = o, .v = &viewer, .filter = &o->site.filter, .count = &count};
	struct index ix;
	double without = NAN;
	int status, err;

	o->by = o->by ? o->by : &groups[0];
	memcpy(own, g->columns, g->ncolumns * sizeof(*own));
	own[0].head = own[0].key = o->by->word;
	own[g->ncolumns] = node_cluster;
	if (!find_order(&q, own))
		return 2;
	t.sorted_by = sort_of(&q) + q.is_up;
	status = site_args__open(&o->site, &ix, &viewer);
	if (status)
		return status;
	err = ask_all(&ix, &q, &t);
	if (!err && g->and_unknown)
		err = many__without_profile(&ix, q.filter, &viewer, g->and_unknown, &without);
	status = err ? site_args__status(err) : site_groups__print(g, o, &t, own, count, without);
	if (!status && t.nrows < 2)
		site_filter__hint(&o->site, &ix, &viewer);
	site_table__free(&t);
	index__close(&ix);
	return status;
}
