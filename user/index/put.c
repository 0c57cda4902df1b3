/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores rows: what two sources report about a job becomes one row. */
#include "index/index.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/room.h"
#include "index/get.h"
#include "index/node_store.h"
#include "index/sums.h"

/* Slurm and a profile may round the begin of a job differently. */
#define ROUND_S 1

/* A row as it is stored. */
struct stored {
	int64_t id; /* 0: it is not stored */
	struct row row;
};

/* The stored rows of a job, of which one is to be written. */
struct of_job {
	struct stored same;   /* the row of this run */
	struct stored *other; /* rows of this run, from files of users other than Slurm's */
	unsigned nother;
	bool is_other; /* the row to be written is such a one */
};

/* ---- which run of a job it is */

static double end_of(const struct row *r)
{
	return isnan(r->number[INDEX_end]) ? r->number[INDEX_start] : r->number[INDEX_end];
}

static bool is_number(const char *text)
{
	return text[strspn(text, "0123456789")] == '\0';
}

/* Whether the row has lost its names (privacy.h). */
static bool is_nameless(const struct row *r)
{
	return r->text[INDEX_user] && *r->text[INDEX_user] == '~';
}

/* Whether the rows have different users, so that one is of a file that only claims the job. A
 * number stands for a user whom this machine does not know. */
static bool users_differ(const struct row *old, const struct row *r,
			 const struct index_source *from)
{
	const char *a = old->text[INDEX_user];
	const char *b = r->text[INDEX_user] ? r->text[INDEX_user] : from->user;

	return a && b && !is_nameless(old) && !is_number(a) && !is_number(b) && strcmp(a, b) != 0;
}

static bool is_in(double time, const struct row *of_slurm, double late_s)
{
	return time >= of_slurm->number[INDEX_start] - ROUND_S && time <= end_of(of_slurm) + late_s;
}

/* How surely the profile is of Slurm's run. The middle of what it saw is in one run only, however
 * soon the next one follows. But the profile of a job that ended while there was no jobprofd ends
 * when there was one again: it is of the run that it began in. */
static int covers(const struct row *of_slurm, const struct row *of_profile)
{
	const double start = of_profile->number[INDEX_start];

	if (is_in((start + end_of(of_profile)) / 2, of_slurm, ROUND_S))
		return 2;
	return is_in(start, of_slurm, 0);
}

static bool has(const struct row *r, enum index_column i)
{
	return r->text[i] && *r->text[i];
}

/* NaN: not known. Slurm names no count in the first run: what else it says of the job tells. */
static double restart_of(const struct row *r)
{
	const bool is_first =
		isnan(r->number[INDEX_restart]) && (has(r, INDEX_name) || has(r, INDEX_partition));

	return is_first ? 0 : r->number[INDEX_restart];
}

static bool is_other_restart(const struct row *a, const struct row *b)
{
	return fabs(restart_of(a) - restart_of(b)) > 0;
}

/*
 * Whether both are the same run of a job, whoever its user is: 3: surely; 2, 1: by their times; 0:
 * no. A job that is requeued keeps its number, and so does one that changes its size, for which
 * Slurm has a row per size.
 */
static int likeness(const struct row *old, const struct row *r, const struct index_source *from)
{
	const bool was_slurm = row__is_slurms(old), is_slurm = from->source & ROW_SOURCE_SLURM;

	if (old->number[INDEX_start] == r->number[INDEX_start])
		return 3;
	if (was_slurm && is_slurm)
		return 0;
	if (was_slurm || is_slurm)
		return covers(was_slurm ? old : r, was_slurm ? r : old);
	if (is_other_restart(old, r) || old->number[INDEX_start] > end_of(r) ||
	    r->number[INDEX_start] > end_of(old))
		return 0;
	return 2;
}

enum { INSERT, UPDATE, FIND };

static void write_statement(FILE *f, bool insert)
{
	fputs(insert ? "INSERT INTO job (" : "UPDATE job SET ", f);
	for (int i = 0; i < N_INDEX; i++)
		fprintf(f, "%s\"%s\"%s", i ? ", " : "", index_infos[i].name, insert ? "" : " = ?");
	fputs(insert ? ") VALUES (" : " WHERE id = ?", f);
	for (int i = 0; insert && i < N_INDEX; i++)
		fputs(i ? ", ?" : "?", f);
	fputs(insert ? ")" : "", f);
}

/* Takes a stored row of another user. 0 or -ENOMEM. */
static int take_other(struct of_job *s, struct stored *one, const struct index_source *from)
{
	const bool was_slurm = row__is_slurms(&one->row),
		   is_slurm = from->source & ROW_SOURCE_SLURM;

	s->is_other |= was_slurm && !is_slurm;
	if (was_slurm || !is_slurm)
		return 0;
	if (room__grow(&s->other, s->nother, 1, sizeof(*s->other)))
		return -ENOMEM;
	s->other[s->nother++] = *one;
	row__init(&one->row);
	return 0;
}

/* Takes a stored row if it is more like r than the one so far. 0 or -ENOMEM. */
static int choose(struct of_job *s, int *best, const struct db_value *cells, const struct row *r,
		  const struct index_source *from)
{
	struct stored one = {.id = cells[N_INDEX].i};
	int like, err;

	row__init(&one.row);
	err = stored_row__take(&one.row, cells);
	like = err ? 0 : likeness(&one.row, r, from);
	if (like && users_differ(&one.row, r, from)) {
		err = take_other(s, &one, from);
	} else if (like > *best) {
		*best = like;
		row__free(&s->same.row);
		s->same = one;
		return 0;
	}
	row__free(&one.row);
	return err;
}

/* Makes a statement with all columns, in the order of index_infos. NULL: no memory. */
static const char *statement(struct index *ix, int which)
{
	size_t len;
	FILE *f;

	if (ix->put[which])
		return ix->put[which];
	if (which == FIND)
		return ix->put[which] = stored_row__select("WHERE j.cluster = ? AND j.job_id = ? "
							   "ORDER BY j.id");
	f = open_memstream(&ix->put[which], &len);
	if (!f)
		return NULL;
	write_statement(f, which == INSERT);
	return fclose(f) ? NULL : ix->put[which];
}

/* Finds the stored rows of this run of the job. 0 or -errno. */
static int find_stored(struct index *ix, struct of_job *s, const struct row *r,
		       const struct index_source *from)
{
	const struct db_value args[] = {db_value__text(r->text[INDEX_cluster]),
					db_value__int((int64_t)r->number[INDEX_job_id])};
	const char *sql = statement(ix, FIND);
	struct db_rows rows;
	int err, best = 0;

	*s = (struct of_job){0};
	row__init(&s->same.row);
	if (!sql)
		return -ENOMEM;
	err = db__ask(&rows, ix->db, sql, args, 2);
	while (!err && db_rows__next(&rows))
		err = choose(s, &best, rows.v, r, from);
	return db_rows__end(&rows, err);
}

/* ---- what is written */

/* Whether the source's value replaces the stored one. */
static bool replaces(const struct row *old, const struct row *r, int i, unsigned source)
{
	const bool is_known = index_infos[i].type == INDEX_TEXT ? r->text[i] && *r->text[i]
								: !isnan(r->number[i]);
	const bool slurm_said = row__is_slurms(old);

	switch (index_infos[i].from) {
	case FROM_SLURM:
		return source & ROW_SOURCE_SLURM;
	case FROM_ANY:
		return is_known &&
		       (source & ROW_SOURCE_SLURM || !slurm_said ||
			(index_infos[i].type == INDEX_TEXT ? !old->text[i] || !*old->text[i]
							   : isnan(old->number[i])));
	default: /* columns of the index are of the profile, or derived later */
		return source & ROW_SOURCE_PROFILE;
	}
}

/* Returns NaN for a number that sums or databases cannot take: PostgreSQL fails for all rows if one
 * of its sums or quotients is out of range. */
static double bounded(double v, enum index_type type)
{
	const double most = type == INDEX_INT ? 1e12 : 1e18;

	if (!(fabs(v) <= most) || (type == INDEX_INT && v < 0))
		return NAN;
	return type == INDEX_REAL && fabs(v) < 1e-18 ? 0 : v;
}

/* As bounded(), for an amount: a negative one would reduce the sums of others. */
static double amount(double v)
{
	return v < 0 ? NAN : bounded(v, INDEX_REAL);
}

static double up_to(double most, double v)
{
	return v <= most ? amount(v) : NAN;
}

/* As bounded(), for a column: numbers with a unit are amounts. */
static double of_column(double v, const struct index_info *info)
{
	return *info->unit && info->type == INDEX_REAL ? amount(v) : bounded(v, info->type);
}

/* Adds what the source reports to the stored row. 0 or -ENOMEM. */
static int add(struct row *to, const struct row *r, const struct index_source *from)
{
	int err = 0;

	for (int i = 0; !err && i < N_INDEX; i++) {
		if (i == INDEX_sources || !replaces(to, r, i, from->source))
			continue;
		if (index_infos[i].type == INDEX_TEXT)
			err = row__set_text(to, i, r->text[i]);
		else
			to->number[i] = of_column(r->number[i], &index_infos[i]);
	}
	to->number[INDEX_sources] =
		(isnan(to->number[INDEX_sources]) ? 0 : (int)to->number[INDEX_sources]) |
		(int)from->source;
	if (!(from->source & ROW_SOURCE_PROFILE) || err)
		return err;
	to->number[INDEX_file_mtime] = from->mtime_s;
	to->number[INDEX_changed] = from->changed;
	return row__set_text(to, INDEX_file, from->file);
}

/* Completes the texts that are in keys of sums, which are never NULL. */
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

static int write_row(struct index *ix, struct stored *s)
{
	struct db_value args[N_INDEX + 1];
	const char *sql = statement(ix, s->id ? UPDATE : INSERT);
	int err;

	if (!sql)
		return -ENOMEM;
	for (int i = 0; i < N_INDEX; i++)
		args[i] = value_of(&s->row, i);
	args[N_INDEX] = db_value__int(s->id);
	err = db__run(ix->db, sql, args, s->id ? N_INDEX + 1 : N_INDEX);
	if (!err && !s->id) /* no other process writes before the end of the transaction */
		s->id = (int64_t)db__number(ix->db, &err, "SELECT max(id) FROM job", NULL, 0);
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
			db_value__real(amount(f->cost_core_s)),
			db_value__real(bounded(f->saving, INDEX_REAL)),
			db_value__int(f->at_least),
			db_value__text(f->text),
			db_value__text(f->remedy),
			db_value__text(f->where),
			db_value__real(bounded(f->from_s, INDEX_REAL)),
			db_value__real(bounded(f->to_s, INDEX_REAL)),
			db_value__int(f->kind),
			db_value__text(*f->code ? f->code : NULL),
			db_value__real(bounded(f->needs, INDEX_REAL)),
			db_value__real(bounded(f->used, INDEX_REAL)),
			db_value__real(bounded(f->asked, INDEX_REAL)),
		};

		err = db__run(ix->db,
			      "INSERT INTO finding (job, n, rule, severity, cost_core_s, saving, "
			      "at_least, text, remedy, place, from_s, to_s, kind, code, needs, "
			      "used, asked) "
			      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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

#define ROUNDED 1e-9 /* of a sum */

/* Findings cost no more than the job held, so that no sum of theirs does: by what profiles say, and
 * where Slurm says later that it held less. Whether they cost more. */
static bool limit_cost(struct row *r)
{
	const double held = r->number[INDEX_held_core_s], cost = r->number[INDEX_cost_core_s];

	if (isnan(r->number[INDEX_findings]) || cost == 0 || cost <= held * (1 + ROUNDED))
		return false;
	r->number[INDEX_cost_core_s] = held;
	return true;
}

/* The same of each: a part of what it held; unknown, where that is. */
static int limit_findings(struct index *ix, const struct stored *s)
{
	const struct db_value job = db_value__int(s->id);
	struct db_value args[] = {{0}, job};
	int err;
	const double sum = db__number(
		ix->db, &err, "SELECT sum(cost_core_s) FROM finding WHERE job = ?", &job, 1);

	args[0] = db_value__real(s->row.number[INDEX_held_core_s] / sum);
	if (err || !(sum > 0) || args[0].real >= 1)
		return err;
	return db__run(ix->db, "UPDATE finding SET cost_core_s = cost_core_s * ? WHERE job = ?",
		       args, 2);
}

/* was_stored: the job may already have some. */
static int write_fs(struct index *ix, const struct stored *s, const struct row *r, bool was_stored)
{
	const struct db_value job = db_value__int(s->id);
	const double most = row__most_bytes(&s->row), most_bw = row__most_bw(&s->row);
	int err = was_stored ? db__run(ix->db, "DELETE FROM job_fs WHERE job = ?", &job, 1) : 0;

	for (unsigned i = 0; !err && i < r->nfs; i++) {
		const struct row_fs *f = &r->fs[i];
		const struct db_value args[] = {
			job,
			db_value__text(f->name),
			db_value__real(up_to(most, f->read_bytes)),
			db_value__real(up_to(most, f->write_bytes)),
			db_value__real(up_to(most_bw, f->read_bw_max)),
			db_value__real(up_to(most_bw, f->write_bw_max)),
		};

		err = db__run(ix->db,
			      "INSERT INTO job_fs (job, fs, read_bytes, write_bytes, read_bw_max, "
			      "write_bw_max) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
			      args, sizeof(args) / sizeof(*args));
	}
	return err;
}

/* A profile brings its rows again; Slurm may say that the job was not on all of these nodes. */
static int drop_node_rows(struct index *ix, const struct stored *s, const struct row *r,
			  const struct index_source *from)
{
	const struct node_job j = {s->id, &s->row};

	return node_store__drop(ix, &j, from->source & ROW_SOURCE_PROFILE ? NULL : &r->nodes);
}

static int put_stored(struct index *ix, struct stored *s, const struct row *r,
		      const struct index_source *from)
{
	const bool slurm_said =
		from->source == ROW_SOURCE_PROFILE && s->id && row__is_slurms(&s->row);
	const bool was_stored = s->id;
	bool is_dear;
	int err = was_stored ? sums__mark(ix, &s->row) : 0;

	if (!err && was_stored)
		err = drop_node_rows(ix, s, r, from);
	if (!err)
		err = add(&s->row, r, from);
	if (!err && !s->row.text[INDEX_user] && from->user)
		err = row__set_text(&s->row, INDEX_user, from->user);
	if (!err)
		err = complete(&s->row);
	if (!err)
		err = row__derive(&s->row);
	is_dear = limit_cost(&s->row);
	if (!err)
		err = write_row(ix, s);
	if (!err && from->source & ROW_SOURCE_PROFILE)
		err = write_findings(ix, s->id, r);
	if (!err && from->source & ROW_SOURCE_PROFILE)
		err = write_fs(ix, s, r, was_stored);
	if (!err && is_dear)
		err = limit_findings(ix, s);
	if (!err && !slurm_said)
		err = write_nodes(ix, s, &r->nodes);
	if (!err && from->source & ROW_SOURCE_PROFILE)
		err = node_store__add(ix, &(struct node_job){s->id, &s->row}, &r->node_rows);
	return err ? err : sums__mark(ix, &s->row);
}

static void free_of_job(struct of_job *s)
{
	row__free(&s->same.row);
	for (unsigned i = 0; i < s->nother; i++)
		row__free(&s->other[i].row);
	free(s->other);
}

/* Deletes a row of another user than Slurm's; the file is refused, as if it had come later. */
static int drop_other(struct index *ix, const struct stored *s, const char *user)
{
	static const char *const sql[] = {
		"DELETE FROM finding WHERE job = ?", "DELETE FROM job_node WHERE job = ?",
		"DELETE FROM job_fs WHERE job = ?",  "DELETE FROM admin_comment WHERE job = ?",
		"DELETE FROM job WHERE id = ?",
	};
	const char *file = s->row.text[INDEX_file];
	const struct db_value job = db_value__int(s->id);
	const struct db_value args[] = {db_value__text(INDEX_OTHERS), db_value__text(file)};
	int err = sums__mark(ix, &s->row);

	if (!err)
		err = node_store__drop(ix, &(struct node_job){s->id, &s->row}, NULL);
	for (size_t i = 0; !err && i < sizeof(sql) / sizeof(*sql); i++)
		err = db__run(ix->db, sql[i], &job, 1);
	if (err || !file)
		return err;
	log_error("%s: job %.0f is of %s by Slurm's accounting, and the file belongs to %s: it is "
		  "refused",
		  file, s->row.number[INDEX_job_id], user, s->row.text[INDEX_user]);
	return db__run(ix->db, "UPDATE file SET state = 'refused', why = ? WHERE path = ?", args,
		       2);
}

int index__put(struct index *ix, const struct row *r, const struct index_source *from)
{
	struct row copy = *r; /* its texts are those of r, but for the cluster */
	char empty[] = "";
	struct of_job s;
	int err;

	if (!row__has_key(r))
		return -EINVAL;
	if (!copy.text[INDEX_cluster] || !*copy.text[INDEX_cluster])
		copy.text[INDEX_cluster] = from->cluster ? (char *)from->cluster : empty;
	if (from->source == ROW_SOURCE_PROFILE) /* else it might say that it ran at other times */
		copy.number[INDEX_end] = r->number[INDEX_start] + r->number[INDEX_elapsed_s];
	err = find_stored(ix, &s, &copy, from);
	if (!err && !s.same.id && s.is_other)
		err = -EPERM;
	if (!err && !is_nameless(&s.same.row)) /* names that were deleted do not come back */
		err = put_stored(ix, &s.same, &copy, from);
	for (unsigned i = 0; !err && i < s.nother; i++)
		err = drop_other(ix, &s.other[i], copy.text[INDEX_user]);
	free_of_job(&s);
	return err;
}
