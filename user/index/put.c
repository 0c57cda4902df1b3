/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows are written: what two sources say of a job becomes one row. */
#include "index/index.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "index/get.h"
#include "index/sums.h"

/* Slurm and a profile may round the begin of a job differently. */
#define NEAR_S 5

/* A row as it is stored. */
struct stored {
	int64_t id; /* 0: it is not */
	struct row row;
};

static bool overlap(const struct row *a, const struct row *b)
{
	double end_a = a->number[INDEX_end], end_b = b->number[INDEX_end];

	if (isnan(end_a))
		end_a = a->number[INDEX_start];
	if (isnan(end_b))
		end_b = b->number[INDEX_start];
	return a->number[INDEX_start] <= end_b + NEAR_S && b->number[INDEX_start] <= end_a + NEAR_S;
}

/* The stored row of the job. 0 or -errno. */
static int find_stored(struct index *ix, struct stored *s, const struct row *r)
{
	const struct db_value args[] = {db_value__text(r->text[INDEX_cluster]),
					db_value__int((int64_t)r->number[INDEX_job_id])};
	char *sql = stored_row__select("WHERE j.cluster = ? AND j.job_id = ?");
	struct db_rows rows;
	int err;

	*s = (struct stored){0};
	row__init(&s->row);
	if (!sql)
		return -ENOMEM;
	err = db__ask(&rows, ix->db, sql, args, 2);
	while (!err && !s->id && db_rows__next(&rows)) {
		stored_row__take(&s->row, rows.v);
		if (overlap(&s->row, r))
			s->id = rows.v[N_INDEX].i;
		else
			row__free(&s->row);
	}
	err = err ? err : rows.err;
	db_rows__end(&rows);
	free(sql);
	return err;
}

/* ---- what is written */

/* Whether the source's word takes the place of what is there. */
static bool counts(const struct row *old, const struct row *r, int i, unsigned source)
{
	const bool is_known = index_infos[i].type == INDEX_TEXT ? r->text[i] && *r->text[i]
								: !isnan(r->number[i]);
	const bool slurm_said = (int)old->number[INDEX_sources] & ROW_SOURCE_SLURM;

	switch (index_infos[i].from) {
	case FROM_SLURM:
		return source == ROW_SOURCE_SLURM;
	case FROM_ANY:
		return is_known &&
		       (source == ROW_SOURCE_SLURM || !slurm_said ||
			(index_infos[i].type == INDEX_TEXT ? !old->text[i] || !*old->text[i]
							   : isnan(old->number[i])));
	default: /* what the index makes is of the profile, or follows from all */
		return source == ROW_SOURCE_PROFILE;
	}
}

/* The stored row with what the source says. 0 or -ENOMEM. */
static int add(struct row *to, const struct row *r, const struct index_source *from)
{
	int err = 0;

	for (int i = 0; !err && i < N_INDEX; i++) {
		if (i == INDEX_sources || !counts(to, r, i, from->source))
			continue;
		if (index_infos[i].type == INDEX_TEXT)
			err = row__set_text(to, i, r->text[i]);
		else
			to->number[i] = r->number[i];
	}
	to->number[INDEX_sources] =
		(isnan(to->number[INDEX_sources]) ? 0 : (int)to->number[INDEX_sources]) |
		(int)from->source;
	if (from->source != ROW_SOURCE_PROFILE || err)
		return err;
	to->number[INDEX_file_mtime] = from->mtime_s;
	to->number[INDEX_changed] = from->changed;
	return row__set_text(to, INDEX_file, from->file);
}

/* What is in keys of sums is never unknown. */
static int complete(struct row *r)
{
	static const enum index_column texts[] = {INDEX_cluster, INDEX_user, INDEX_account,
						  INDEX_partition};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(texts) / sizeof(*texts); i++)
		if (!r->text[texts[i]])
			err = row__set_text(r, texts[i], "");
	return err;
}

static struct db_value value_of(const struct row *r, int i)
{
	if (index_infos[i].type == INDEX_TEXT)
		return db_value__text(r->text[i]);
	if (index_infos[i].type == INDEX_INT && !isnan(r->number[i]))
		return db_value__int((int64_t)r->number[i]);
	return db_value__real(r->number[i]);
}

static char *insert_or_update(bool is_new)
{
	char *sql = NULL;
	size_t len;
	FILE *f = open_memstream(&sql, &len);

	if (!f)
		return NULL;
	fputs(is_new ? "INSERT INTO job (" : "UPDATE job SET ", f);
	for (int i = 0; i < N_INDEX; i++)
		fprintf(f, is_new ? "%s\"%s\"" : "%s\"%s\" = ?", i ? ", " : "",
			index_infos[i].name);
	fputs(is_new ? ") VALUES (" : " WHERE id = ? RETURNING id", f);
	for (int i = 0; is_new && i < N_INDEX; i++)
		fputs(i ? ", ?" : "?", f);
	fputs(is_new ? ") RETURNING id" : "", f);
	return fclose(f) ? NULL : sql;
}

static int write_row(struct index *ix, struct stored *s)
{
	struct db_value args[N_INDEX + 1];
	char *sql = insert_or_update(!s->id);
	struct db_rows rows;
	int err;

	if (!sql)
		return -ENOMEM;
	for (int i = 0; i < N_INDEX; i++)
		args[i] = value_of(&s->row, i);
	args[N_INDEX] = db_value__int(s->id);
	err = db__ask(&rows, ix->db, sql, args, s->id ? N_INDEX + 1 : N_INDEX);
	if (!err && db_rows__next(&rows))
		s->id = rows.v[0].i;
	while (!err && db_rows__next(&rows))
		;
	err = err ? err : rows.err;
	db_rows__end(&rows);
	free(sql);
	return err;
}

static int write_findings(struct index *ix, int64_t id, const struct row *r)
{
	const struct db_value job = db_value__int(id);
	int err = db__run(ix->db, "DELETE FROM finding WHERE job = ?", &job, 1);

	for (unsigned i = 0; !err && i < r->nfindings; i++) {
		const struct row_finding *f = &r->findings[i];
		const struct db_value args[] = {
			job,
			db_value__int(i),
			db_value__text(f->rule),
			db_value__int(f->severity),
			db_value__real(f->cost_core_s),
			db_value__real(f->saving),
			db_value__int(f->at_least),
			db_value__text(f->text),
			db_value__text(f->remedy),
			db_value__text(f->where),
			db_value__real(f->from_s),
			db_value__real(f->to_s),
		};

		err = db__run(ix->db,
			      "INSERT INTO finding (job, n, rule, severity, cost_core_s, saving, "
			      "at_least, text, remedy, place, from_s, to_s) "
			      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			      args, sizeof(args) / sizeof(*args));
	}
	return err;
}

static int write_nodes(struct index *ix, const struct stored *s, const struct string_list *nodes)
{
	const struct db_value job = db_value__int(s->id);
	int err = db__run(ix->db, "DELETE FROM job_node WHERE job = ?", &job, 1);

	for (unsigned i = 0; !err && i < nodes->n; i++) {
		const struct db_value args[] = {db_value__text(nodes->v[i]),
						value_of(&s->row, INDEX_start),
						value_of(&s->row, INDEX_end), job};

		err = db__run(ix->db,
			      "INSERT INTO job_node (node, start, \"end\", job) "
			      "VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
			      args, 4);
	}
	return err;
}

static int put_stored(struct index *ix, struct stored *s, const struct row *r,
		      const struct index_source *from)
{
	int err = s->id ? sums__mark(ix, &s->row) : 0;

	if (!err)
		err = add(&s->row, r, from);
	if (!err && !s->row.text[INDEX_user] && from->user)
		err = row__set_text(&s->row, INDEX_user, from->user);
	if (!err)
		err = complete(&s->row);
	if (!err)
		err = row__derive(&s->row);
	if (!err)
		err = write_row(ix, s);
	if (!err && from->source == ROW_SOURCE_PROFILE)
		err = write_findings(ix, s->id, r);
	if (!err && r->nodes.n)
		err = write_nodes(ix, s, &r->nodes);
	return err ? err : sums__mark(ix, &s->row);
}

int index__put(struct index *ix, const struct row *r, const struct index_source *from)
{
	struct row copy = *r; /* its texts are r's, but for the cluster */
	char empty[] = "";
	struct stored s;
	int err;

	if (isnan(r->number[INDEX_job_id]) || isnan(r->number[INDEX_start]))
		return -EINVAL;
	if (!copy.text[INDEX_cluster] || !*copy.text[INDEX_cluster])
		copy.text[INDEX_cluster] = from->cluster ? (char *)from->cluster : empty;
	err = find_stored(ix, &s, &copy);
	if (!err)
		err = put_stored(ix, &s, &copy, from);
	row__free(&s.row);
	return err;
}
