/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads rows with their findings and nodes. */
#include "index/get.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"

void row_list__free(struct row_list *l)
{
	for (unsigned i = 0; i < l->n; i++)
		row__free(&l->v[i]);
	free(l->v);
	*l = (struct row_list){0};
}

char *stored_row__select(const char *rest)
{
	char *sql = NULL;
	size_t len;
	FILE *f = open_memstream(&sql, &len);

	if (!f)
		return NULL;
	fputs("SELECT ", f);
	for (int i = 0; i < N_INDEX; i++)
		fprintf(f, "j.\"%s\", ", index_infos[i].name);
	fprintf(f, "j.id FROM job j%s%s", *rest ? " " : "", rest);
	return fclose(f) ? NULL : sql;
}

int stored_row__take(struct row *r, const struct db_value *v)
{
	int err = 0;

	for (int i = 0; !err && i < N_INDEX; i++) {
		if (index_infos[i].type != INDEX_TEXT)
			r->number[i] = db_value__number(&v[i]);
		else if (v[i].type == DB_TEXT)
			err = row__set_text(r, i, v[i].text);
	}
	return err;
}

/* ---- what belongs to a row */

static char *copy_of(const struct db_value *v)
{
	return strdup(v->type == DB_TEXT ? v->text : "");
}

static int take_finding(struct row *r, const struct db_value *v)
{
	struct row_finding *f;

	if (room__grow(&r->findings, r->nfindings, 1, sizeof(*f)))
		return -ENOMEM;
	f = &r->findings[r->nfindings++];
	*f = (struct row_finding){
		.rule = copy_of(&v[0]),
		.text = copy_of(&v[1]),
		.remedy = copy_of(&v[2]),
		.where = copy_of(&v[3]),
		.severity = (int)v[4].i,
		.cost_core_s = db_value__number(&v[5]),
		.saving = db_value__number(&v[6]),
		.at_least = v[7].i != 0,
		.from_s = db_value__number(&v[8]),
		.to_s = db_value__number(&v[9]),
		.kind = (int)v[10].i,
		.code = copy_of(&v[11]),
		.needs = db_value__number(&v[12]),
		.used = db_value__number(&v[13]),
		.asked = db_value__number(&v[14]),
	};
	return f->rule && f->text && f->remedy && f->where && f->code ? 0 : -ENOMEM;
}

static int read_findings(struct index *ix, int64_t id, struct row *r)
{
	const struct db_value job = db_value__int(id);
	struct db_rows rows;
	int err = db__ask(&rows, ix->db,
			  "SELECT rule, text, remedy, place, severity, cost_core_s, saving, "
			  "at_least, from_s, to_s, kind, code, needs, used, asked FROM finding "
			  "WHERE job = ? ORDER BY n",
			  &job, 1);

	while (!err && db_rows__next(&rows))
		err = take_finding(r, rows.v);
	return db_rows__end(&rows, err);
}

static int read_nodes(struct index *ix, int64_t id, struct row *r)
{
	const struct db_value job = db_value__int(id);
	struct db_rows rows;
	int err = db__ask(&rows, ix->db, "SELECT node FROM job_node WHERE job = ?", &job, 1);

	while (!err && db_rows__next(&rows))
		err = string_list__take(&r->nodes, copy_of(&rows.v[0]));
	err = db_rows__end(&rows, err);
	string_list__sort(&r->nodes, 0);
	return err;
}

/* ---- questions */

static int ask_rows(struct index *ix, struct query *q, bool whole, struct row_list *out)
{
	struct db_rows rows = {0};
	int err = query__ask(q, ix->db, &rows);

	while (!err && db_rows__next(&rows)) {
		struct row *r;

		if (room__grow(&out->v, out->n, 1, sizeof(*out->v))) {
			err = -ENOMEM;
			break;
		}
		r = &out->v[out->n++];
		row__init(r);
		err = stored_row__take(r, rows.v);
		if (!err && whole)
			err = read_findings(ix, rows.v[N_INDEX].i, r);
		if (!err && whole)
			err = read_nodes(ix, rows.v[N_INDEX].i, r);
	}
	return db_rows__end(&rows, err);
}

struct condition {
	const char *sql;
	struct db_value args[2];
	unsigned nargs;
	bool whole; /* findings and nodes are read, too */
	const char *order;
};

static int find(struct index *ix, const struct condition *c, const char *cluster,
		const struct viewer *v, struct row_list *out)
{
	char *select = stored_row__select("");
	struct job_filter filter;
	struct query q;
	int err = query__init(&q);

	*out = (struct row_list){0};
	job_filter__init(&filter);
	filter.cluster = cluster;
	if (!select)
		err = -ENOMEM;
	if (!err) {
		query__add(&q, select);
		err = query__where(&q, &filter, v);
	}
	query__add(&q, c->sql);
	for (unsigned i = 0; i < c->nargs; i++)
		query__arg(&q, c->args[i]);
	query__add(&q, c->order);
	if (!err)
		err = ask_rows(ix, &q, c->whole, out);
	query__free(&q);
	free(select);
	return err;
}

static bool are_equal(const struct row *a, const struct row *b, enum index_column c)
{
	return a->text[c] && b->text[c] && !strcmp(a->text[c], b->text[c]);
}

/* What Slurm reports of a row's job on this cluster: 2: the same user; 0: another user; 1:
 * nothing. */
static int rank(const struct row_list *l, const struct row *r)
{
	int rank = row__is_slurms(r) ? 2 : 1;

	for (unsigned i = 0; i < l->n && rank < 2; i++)
		if (row__is_slurms(&l->v[i]) && are_equal(&l->v[i], r, INDEX_cluster))
			rank = are_equal(&l->v[i], r, INDEX_user) ? 2 : 0;
	return rank;
}

/* Deletes the rows of files that claim a job of which Slurm reports another user. Jobs that Slurm
 * knows come before those of that id which only files know. 0 or -ENOMEM. */
static int drop_claims(struct row_list *l)
{
	struct row *v = l->n ? calloc(l->n, sizeof(*v)) : NULL;
	unsigned n = 0;

	if (!v)
		return l->n ? -ENOMEM : 0;
	for (int wanted = 2; wanted; wanted--)
		for (unsigned i = 0; i < l->n; i++)
			if (rank(l, &l->v[i]) == wanted)
				v[n++] = l->v[i];
	for (unsigned i = 0; i < l->n; i++)
		if (!rank(l, &l->v[i]))
			row__free(&l->v[i]);
	free(l->v);
	l->v = v;
	l->n = n;
	return 0;
}

int index__find(struct index *ix, const struct jobspec *job, const char *cluster,
		const struct viewer *v, struct row_list *out)
{
	static const char *const sql[] = {
		[JOBSPEC_JOB] = " AND j.job_id = ?",
		[JOBSPEC_ARRAY] = " AND j.array_id = ? AND j.array_task = ?",
		[JOBSPEC_HET] = " AND j.het_id = ? AND j.job_id = ?",
		[JOBSPEC_SLUID] = " AND j.sluid = ?",
	};
	const bool by_id = job->kind != JOBSPEC_SLUID;
	/* components have consecutive ids */
	const int64_t part = job->part + (job->kind == JOBSPEC_HET ? (int64_t)job->job : 0);
	const struct condition c = {
		.sql = sql[job->kind],
		.args = {by_id ? db_value__int(job->job) : db_value__text(job->sluid),
			 db_value__int(part)},
		.nargs = by_id && job->kind != JOBSPEC_JOB ? 2 : 1,
		.whole = true,
		.order = " ORDER BY j.start DESC",
	};
	int err = find(ix, &c, cluster, v, out);

	return err ? err : drop_claims(out);
}

/* ---- whose it is */

/* A user whose name is gone (privacy.h) had a job of long ago. */
static bool is_named(const struct row *r)
{
	return r->text[INDEX_user] && *r->text[INDEX_user] != '~';
}

const struct row *row_list__other_user(const struct row_list *l, bool is_array)
{
	const struct row *first = NULL;

	if (!is_array && l->n && rank(l, l->v) > 1)
		return NULL;
	for (unsigned i = 0; i < l->n; i++) {
		const struct row *r = &l->v[i];

		if (!is_named(r))
			continue;
		if (!first || (is_array && !are_equal(first, r, INDEX_cluster)))
			first = r;
		else if (!are_equal(first, r, INDEX_user))
			return r;
	}
	return NULL;
}

/* As drop_claims(), of many rows that are sorted by cluster. 0 or -ENOMEM. */
static int drop_claimed_tasks(struct row_list *l)
{
	unsigned n = 0, end;
	int err = 0;

	for (unsigned i = 0; i < l->n; i = end) {
		struct row by_slurm;

		row__init(&by_slurm);
		for (end = i + 1; end < l->n && are_equal(&l->v[i], &l->v[end], INDEX_cluster);)
			end++;
		for (unsigned k = i; !err && k < end && !by_slurm.text[INDEX_user]; k++)
			if (row__is_slurms(&l->v[k]))
				err = row__set_text(&by_slurm, INDEX_user,
						    l->v[k].text[INDEX_user]);
		for (unsigned k = i; k < end; k++)
			if (by_slurm.text[INDEX_user] && !row__is_slurms(&l->v[k]) &&
			    !are_equal(&by_slurm, &l->v[k], INDEX_user))
				row__free(&l->v[k]);
			else
				l->v[n++] = l->v[k];
		row__free(&by_slurm);
	}
	l->n = n;
	return err;
}

static bool is_same_task(const struct row *a, const struct row *b)
{
	return a->number[INDEX_array_task] == b->number[INDEX_array_task] &&
	       are_equal(a, b, INDEX_cluster) && are_equal(a, b, INDEX_user);
}

/* Deletes all runs of a task but the first in the list, which is the last in time. */
static void drop_earlier_runs(struct row_list *l)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->n; i++)
		if (n && is_same_task(&l->v[n - 1], &l->v[i]))
			row__free(&l->v[i]);
		else
			l->v[n++] = l->v[i];
	l->n = n;
}

int index__find_array(struct index *ix, uint32_t array, const char *cluster, const struct viewer *v,
		      struct row_list *out)
{
	const struct condition c = {" AND j.array_id = ?",
				    {db_value__int(array)},
				    1,
				    false,
				    " ORDER BY j.cluster, j.array_task, j.\"user\", "
				    "j.start DESC"};
	int err = find(ix, &c, cluster, v, out);

	if (!err)
		err = drop_claimed_tasks(out);
	if (!err)
		drop_earlier_runs(out);
	return err;
}
