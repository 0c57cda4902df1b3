/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of nodes go to the table node_row, and names and sizes of nodes to the table node. */
#include "index/node_store.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

#define AT_ONCE	  16 /* rows of one statement */
#define COLUMNS	  (3 + N_NODE_VALUES)
#define CORES_MAX 4096.0
#define MB_MAX	  (1 << 26)

int64_t node_store__oldest(void)
{
	return ((int64_t)time(NULL) - NODE_ROW_DAYS * INT64_C(86400)) / NODE_ROW_S;
}

/* The first and the last row that a job may have. */
static void find_span(const struct row *r, int64_t *first, int64_t *last)
{
	const double start = r->number[INDEX_start], end = r->number[INDEX_end];

	*first = (int64_t)(start / NODE_ROW_S);
	*last = (int64_t)((end >= start ? end : start) / NODE_ROW_S);
}

/* ---- nodes */

/*
 * A node is what most of the last profiles say of it, for anybody can write a profile: one that
 * agrees with the index is a vote for that, another one a vote less, and replaces it where none is
 * left. Profiles of jobs that Slurm's accounting knows have more of them.
 */
#define VOTES_MAX  100
#define SURE_VOTES 10
#define ROUNDED	   0.05 /* of memory */

struct known_node {
	int64_t id; /* 0: none */
	double cores, cpus, memory_mb, votes;
	bool has_model; /* the same as that of the profile */
};

static int read_node(struct index *ix, const struct db_value key[static 3], struct known_node *n)
{
	struct db_rows r;
	int err = db__ask(&r, ix->db,
			  "SELECT id, cores, cpus, memory_mb, votes, COALESCE(model, '') FROM node "
			  "WHERE cluster = ? AND name = ?",
			  key, 2);

	*n = (struct known_node){0};
	if (!err && db_rows__next(&r))
		*n = (struct known_node){.id = r.v[0].i,
					 .cores = db_value__number(&r.v[1]),
					 .cpus = db_value__number(&r.v[2]),
					 .memory_mb = db_value__number(&r.v[3]),
					 .votes = db_value__number(&r.v[4]),
					 .has_model =
						 key[2].text && !strcmp(r.v[5].text, key[2].text)};
	return db_rows__end(&r, err);
}

static bool is_like(double a, double b, double part)
{
	return (isnan(a) && isnan(b)) || fabs(a - b) <= part * fabs(a);
}

static bool agrees(const struct known_node *n, const struct node_series *s)
{
	return n->has_model && is_like(n->cores, s->cores, 0) && is_like(n->cpus, s->cpus, 0) &&
	       is_like(n->memory_mb, s->memory_mb, ROUNDED);
}

/* What is possible. */
static struct node_series size_of(const struct node_series *s)
{
	struct node_series to = {.node = s->node, .model = s->model};
	const bool is_size = s->cores > 0 && s->cpus >= s->cores && s->cpus <= CORES_MAX;

	to.cores = is_size ? s->cores : NAN;
	to.cpus = is_size ? s->cpus : NAN;
	to.memory_mb = s->memory_mb > 0 && s->memory_mb <= MB_MAX ? s->memory_mb : NAN;
	return to;
}

static int vote(struct index *ix, const struct known_node *n, double votes)
{
	const struct db_value args[] = {db_value__int((int64_t)fmin(votes, VOTES_MAX)),
					db_value__int(n->id)};

	return votes == n->votes
		       ? 0
		       : db__run(ix->db, "UPDATE node SET votes = ? WHERE id = ?", args, 2);
}

/* Stores the node as the profile has it, new or in place of what was known. */
static int write_node(struct index *ix, const struct db_value key[static 3],
		      const struct node_series *s, double votes)
{
	const struct db_value args[] = {key[0],
					key[1],
					db_value__text(*s->model ? s->model : NULL),
					db_value__real(s->cores),
					db_value__real(s->cpus),
					db_value__real(s->memory_mb),
					db_value__int((int64_t)votes)};

	return db__run(ix->db,
		       "INSERT INTO node (cluster, name, model, cores, cpus, memory_mb, votes) "
		       "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (cluster, name) DO UPDATE SET "
		       "model = excluded.model, cores = excluded.cores, cpus = excluded.cpus, "
		       "memory_mb = excluded.memory_mb, votes = excluded.votes",
		       args, sizeof(args) / sizeof(*args));
}

/* The node as the index knows it after this profile. 0 or -errno. */
static int find_node(struct index *ix, const struct row *job, const struct node_series *claim,
		     struct known_node *n)
{
	const bool is_sure = row__is_slurms(job);
	const double votes = is_sure ? SURE_VOTES : 1;
	const struct node_series s = size_of(claim);
	const struct db_value key[] = {db_value__text(job->text[INDEX_cluster]),
				       db_value__text(s.node), db_value__text(s.model)};
	int err = read_node(ix, key, n);

	if (err)
		return err;
	if (n->id && agrees(n, &s))
		return vote(ix, n, fmin(n->votes + votes, VOTES_MAX));
	if (n->id && n->votes >= votes)
		return vote(ix, n, n->votes - votes);
	err = write_node(ix, key, &s, votes);
	return err ? err : read_node(ix, key, n);
}

/* ---- rows */

static const char insert[] = "INSERT INTO node_row (node, t, job"
#define NODE_ROW(name, how, scale, of) ", " #name
#include "schemas/noderow.def"
			     ") VALUES ";

static const char one_row[] = "(?, ?, ?"
#define NODE_ROW(name, how, scale, of) ", ?"
#include "schemas/noderow.def"
			      ")";

/* Rows that are on their way into the table. */
struct batch {
	struct index *ix;
	struct db_value args[AT_ONCE * COLUMNS];
	unsigned rows;
};

static int flush(struct batch *b)
{
	char sql[sizeof(insert) + AT_ONCE * (sizeof(one_row) + 2) + 32];
	char *to = stpcpy(sql, insert);

	if (!b->rows)
		return 0;
	for (unsigned i = 0; i < b->rows; i++)
		to = stpcpy(stpcpy(to, i ? ", " : ""), one_row);
	strcpy(to, " ON CONFLICT DO NOTHING");
	to = sql;
	return db__run(b->ix->db, to, b->args, b->rows * COLUMNS);
}

static int add_row(struct batch *b, int64_t node, int64_t t, int64_t job, const int32_t *v,
		   double cpus)
{
	struct db_value *args = b->args + (size_t)b->rows * COLUMNS;
	bool is_known = false;
	int err = 0;

	args[0] = db_value__int(node);
	args[1] = db_value__int(t);
	args[2] = db_value__int(job);
	for (int of = 0; of < N_NODE_VALUES; of++) {
		const bool may_be = node_row__may_be(of, v[of], cpus);

		is_known |= may_be;
		args[3 + of] = may_be ? db_value__int(v[of]) : db_value__real(NAN);
	}
	if (!is_known || ++b->rows < AT_ONCE)
		return 0;
	err = flush(b);
	b->rows = 0;
	return err;
}

static int add_series(struct batch *b, const struct node_job *j, const struct node_series *s)
{
	struct known_node node;
	int64_t first, last;
	int err = find_node(b->ix, j->row, s, &node);

	find_span(j->row, &first, &last);
	if (first < node_store__oldest())
		first = node_store__oldest();
	for (unsigned i = 0; !err && i < s->n; i++)
		if (s->first + i >= first && s->first + i <= last)
			err = add_row(b, node.id, s->first + i, j->id,
				      s->v + (size_t)i * N_NODE_VALUES, node.cpus);
	return err;
}

/* The job's nodes, of whoever was asked last which these are. */
static int list_nodes(struct index *ix, int64_t id, struct string_list *names)
{
	const struct db_value job = db_value__int(id);
	struct db_rows r;
	int err = db__ask(&r, ix->db, "SELECT node FROM job_node WHERE job = ? ORDER BY node", &job,
			  1);

	while (!err && db_rows__next(&r))
		err = string_list__append(names, r.v[0].text);
	return db_rows__end(&r, err);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool has(const struct string_list *sorted, const char *name)
{
	return sorted->n && bsearch(&name, sorted->v, sorted->n, sizeof(char *), compare);
}

int node_store__add(struct index *ix, const struct node_job *j, const struct node_rows *rows)
{
	struct batch b = {.ix = ix};
	struct string_list nodes = {0};
	int err = rows->n ? list_nodes(ix, j->id, &nodes) : 0;

	for (unsigned i = 0; !err && i < rows->n; i++)
		if (has(&nodes, rows->v[i].node))
			err = add_series(&b, j, &rows->v[i]);
	string_list__free(&nodes);
	return err ? err : flush(&b);
}

/* ---- deleted */

static int drop_of_node(struct index *ix, const struct node_job *j, const char *name)
{
	int64_t first, last;
	struct db_value args[5];

	find_span(j->row, &first, &last);
	args[0] = db_value__int(j->id);
	args[1] = db_value__int(first);
	args[2] = db_value__int(last);
	args[3] = db_value__text(j->row->text[INDEX_cluster]);
	args[4] = db_value__text(name);
	return db__run(ix->db,
		       "DELETE FROM node_row WHERE job = ? AND t >= ? AND t <= ? AND node IN "
		       "(SELECT id FROM node WHERE cluster = ? AND name = ?)",
		       args, 5);
}

int node_store__drop(struct index *ix, const struct node_job *j, const struct string_list *but)
{
	struct string_list nodes = {0}, sorted = {0};
	int err = list_nodes(ix, j->id, &nodes);

	for (unsigned i = 0; !err && but && i < but->n; i++)
		err = string_list__append(&sorted, but->v[i]);
	if (sorted.n)
		qsort(sorted.v, sorted.n, sizeof(*sorted.v), compare);
	for (unsigned i = 0; !err && i < nodes.n; i++)
		if (!has(&sorted, nodes.v[i]))
			err = drop_of_node(ix, j, nodes.v[i]);
	string_list__free(&nodes);
	string_list__free(&sorted);
	return err;
}

int node_store__expire(struct index *ix)
{
	const struct db_value oldest = db_value__int(node_store__oldest());

	return db__run(ix->db, "DELETE FROM node_row WHERE t < ? AND node IN (SELECT id FROM node)",
		       &oldest, 1);
}
