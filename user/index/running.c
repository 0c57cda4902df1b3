/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of jobs that run or wait, each of what Slurm's queue and the files of its steps say. */
#include "index/running.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/log.h"
#include "base/room.h"

#define ASK_S	60.0  /* between two questions to Slurm */
#define KNOWN_S 600.0 /* so long after an answer the queue is known */
#define BEGUN_S 120.0 /* a job that began so short before the answer, or after it, may be new */

/* NULL for what is no time: others' files have any number. */
static struct db_value time_value(double s)
{
	return s > 0 && s < UINT32_MAX ? db_value__int((int64_t)s)
				       : (struct db_value){.type = DB_NULL};
}

static struct db_value whole(double v)
{
	return v >= 0 && v < 1e15 ? db_value__int((int64_t)v) : (struct db_value){.type = DB_NULL};
}

/* ---- whose turn it is to ask */

#define ASKED  "queue_asked"
#define READ   "queue_read"
#define LOOKED "running_looked"

static double note_of(struct index *ix, const char *key, int *err)
{
	const struct db_value arg = db_value__text(key);

	return db__number(ix->db, err, "SELECT CAST(value AS BIGINT) FROM meta WHERE key = ?", &arg,
			  1);
}

static int note(struct index *ix, const char *key, double at)
{
	char text[32];
	const struct db_value args[] = {db_value__text(key), db_value__text(text)};

	snprintf(text, sizeof(text), "%.0f", at);
	return db__run(ix->db,
		       "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE "
		       "SET value = excluded.value",
		       args, 2);
}

bool running__may_ask(struct index *ix, double now)
{
	int err = index__begin(ix);
	double last;
	bool may;

	if (err)
		return false;
	last = note_of(ix, ASKED, &err);
	may = !err && !(fabs(now - last) < ASK_S);
	if (may)
		err = note(ix, ASKED, now);
	err = index__end(ix, err);
	return may && !err;
}

double running__asked(struct index *ix, int *err)
{
	return note_of(ix, READ, err);
}

double running__looked(struct index *ix, int *err)
{
	return note_of(ix, LOOKED, err);
}

int running__note_look(struct index *ix, double at)
{
	return note(ix, LOOKED, at);
}

/* ---- the row of a job */

/* *id: 0: there is none. A feed that does not name the cluster is about the job of that number. */
static int find_row(struct index *ix, double job, const char *cluster, int64_t *id)
{
	const struct db_value args[] = {whole(job), db_value__text(cluster),
					db_value__text(cluster)};
	double n;
	int err;

	n = db__number(
		ix->db, &err,
		"SELECT id FROM running WHERE job_id = ? AND (cluster = ? OR cluster = '' OR "
		"? = '') ORDER BY cluster DESC LIMIT 1",
		args, 3);
	*id = n > 0 ? (int64_t)n : 0;
	return err;
}

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

static int make_row(struct index *ix, const struct row *r, const char *cluster, const char *user,
		    int64_t *id)
{
	const struct db_value args[] = {db_value__text(cluster), whole(r->number[INDEX_job_id]),
					db_value__text(user)};
	int err = find_row(ix, r->number[INDEX_job_id], cluster, id);

	if (err || *id)
		return err;
	err = db__run(ix->db,
		      "INSERT INTO running (cluster, job_id, \"user\", account, partition, state) "
		      "VALUES (?, ?, ?, '', '', 'RUNNING')",
		      args, 3);
	return err ? err : find_row(ix, r->number[INDEX_job_id], cluster, id);
}

/* Columns of the job that a feed sets, by the names of the index. */
static const enum index_column of_slurm[] = {
	INDEX_account,	INDEX_partition,  INDEX_name,	      INDEX_state,     INDEX_submit,
	INDEX_start,	INDEX_limit_s,	  INDEX_nodes,	      INDEX_node_list, INDEX_cpus,
	INDEX_array_id, INDEX_array_task, INDEX_mem_asked_mb,
};
static const enum index_column of_both[] = {INDEX_gpus};
static const enum index_column of_profile[] = {INDEX_cores, INDEX_program, INDEX_signature,
					       INDEX_sluid, INDEX_het_id};
#define N(array) (sizeof(array) / sizeof(*(array)))

struct update {
	FILE *out;
	char *sql;
	size_t len;
	struct db_value args[64];
	unsigned n;
};

static void set(struct update *u, const char *column, struct db_value v, bool keeps)
{
	fprintf(u->out, keeps ? "%s\"%s\" = COALESCE(?, \"%s\")" : "%s\"%s\" = ?",
		u->n ? ", " : "UPDATE running SET ", column, column);
	u->args[u->n++] = v;
}

/* keeps: what this feed does not know stays. */
static void set_columns(struct update *u, const struct row *r, const enum index_column *of,
			size_t n, bool keeps)
{
	for (size_t i = 0; i < n; i++) {
		const struct index_info *info = &index_infos[of[i]];
		const double v = r->number[of[i]];
		struct db_value value = info->type == INDEX_TEXT   ? db_value__text(r->text[of[i]])
					: info->type == INDEX_REAL ? db_value__real(v)
								   : whole(v);

		if (of[i] == INDEX_start)
			value = time_value(v);
		if (value.type == DB_NULL && (of[i] == INDEX_account || of[i] == INDEX_partition))
			value = db_value__text("");
		if (value.type == DB_NULL && of[i] == INDEX_state)
			value = db_value__text("RUNNING");
		set(u, info->name, value, keeps);
	}
}

static int begin_update(struct update *u)
{
	*u = (struct update){0};
	u->out = open_memstream(&u->sql, &u->len);
	return u->out ? 0 : -ENOMEM;
}

static int end_update(struct update *u, struct index *ix, int64_t id)
{
	int err;

	fputs(" WHERE id = ?", u->out);
	u->args[u->n++] = db_value__int(id);
	err = fclose(u->out) ? -ENOMEM : db__run(ix->db, u->sql, u->args, u->n);
	free(u->sql);
	return err;
}

/* ---- what Slurm says */

#define NO_PROFILE                                                                               \
	"UPDATE running SET directory = NULL, mtime = NULL, files = NULL, last = NULL, "         \
	"cpu_share = NULL, spark = NULL, memory_share = NULL, gpu_share = NULL, io_bytes_s = "   \
	"NULL, findings = NULL, rule = NULL, severity = NULL, text = NULL, since = NULL, found " \
	"= NULL, losing_cores = NULL, full_at = NULL, finding_list = NULL WHERE id = ?"

int running__drop_profile(struct index *ix, int64_t id)
{
	const struct db_value arg = db_value__int(id);
	int err =
		db__run(ix->db, "DELETE FROM running WHERE id = ? AND queued_at IS NULL", &arg, 1);

	return err ? err : db__run(ix->db, NO_PROFILE, &arg, 1);
}

/* A profile of another user is none of this job, nor is one of an earlier run. */
static int drop_claim(struct index *ix, int64_t id, const char *user)
{
	const struct db_value args[] = {db_value__int(id), db_value__text(user)};
	int err;
	double other = db__number(ix->db, &err,
				  "SELECT 1 FROM running WHERE id = ? AND \"user\" <> ? AND "
				  "directory IS NOT NULL",
				  args, 2);

	return err || !(other > 0) ? err : db__run(ix->db, NO_PROFILE, args, 1);
}

int running__put_queued(struct index *ix, const struct queued_job *j, const char *cluster,
			double at)
{
	const char *user = or_empty(j->row.text[INDEX_user]);
	struct update u;
	int64_t id;
	int err = make_row(ix, &j->row, cluster, user, &id);

	if (!err)
		err = drop_claim(ix, id, user);
	if (!err)
		err = begin_update(&u);
	if (err)
		return err;
	set(&u, "user", db_value__text(user), false);
	set_columns(&u, &j->row, of_slurm, N(of_slurm), false);
	set_columns(&u, &j->row, of_both, N(of_both), true);
	set(&u, "array_tasks", db_value__text(j->array_tasks), false);
	set(&u, "reason", db_value__text(j->reason), false);
	set(&u, "estimated", time_value(j->estimated), false);
	set(&u, "queued_at", time_value(at), false);
	return end_update(&u, ix, id);
}

int running__end_queue(struct index *ix, const char *user, double at)
{
	const struct db_value args[] = {time_value(at), time_value(at - BEGUN_S),
					db_value__text(user)};
	const char *sql =
		user ? "DELETE FROM running WHERE (queued_at < ? OR (queued_at IS NULL AND "
		       "NOT start >= ?)) AND \"user\" = ?"
		     : "DELETE FROM running WHERE queued_at < ? OR (queued_at IS NULL AND "
		       "NOT start >= ?)";
	int err = db__run(ix->db, sql, args, user ? 3 : 2);

	return err ? err : note(ix, READ, at);
}

/* ---- what files say */

void running_list__free(struct running_list *l)
{
	for (unsigned i = 0; i < l->n; i++)
		free(l->v[i].directory);
	free(l->v);
	*l = (struct running_list){0};
}

int running__known(struct index *ix, const char *path, struct running_list *out)
{
	const struct db_value args[] = {db_value__text(path), db_value__text(path),
					db_value__text(path)};
	struct db_rows r;
	int err = db__ask(
		&r, ix->db,
		"SELECT id, job_id, directory, mtime, files FROM running WHERE directory "
		"= ? OR (directory > ? || '/' AND directory < ? || '0') ORDER BY directory, "
		"job_id",
		args, 3);

	*out = (struct running_list){0};
	while (!err && db_rows__next(&r)) {
		struct running_known *k;

		err = room__grow(&out->v, out->n, 1, sizeof(*k));
		if (err)
			break;
		k = &out->v[out->n++];
		*k = (struct running_known){.id = r.v[0].i,
					    .job = (uint32_t)r.v[1].i,
					    .directory = strdup(r.v[2].text),
					    .mtime_s = db_value__number(&r.v[3]),
					    .files = (unsigned)r.v[4].i};
		err = k->directory ? 0 : -ENOMEM;
	}
	return db_rows__end(&r, err);
}

/* What the index has of a job before its files are read again. */
struct before {
	bool is_queued;
	char user[256];
	json_t *findings;
	double cpus;
};

static int read_before(struct index *ix, int64_t id, struct before *b)
{
	const struct db_value arg = db_value__int(id);
	struct db_rows r;
	int err =
		db__ask(&r, ix->db,
			"SELECT queued_at, \"user\", finding_list, cpus FROM running WHERE id = ?",
			&arg, 1);

	*b = (struct before){.cpus = NAN};
	if (!err && db_rows__next(&r)) {
		b->is_queued = r.v[0].type != DB_NULL;
		snprintf(b->user, sizeof(b->user), "%s", r.v[1].text);
		b->findings = r.v[2].type == DB_TEXT ? json_loads(r.v[2].text, 0, NULL) : NULL;
		b->cpus = b->is_queued ? db_value__number(&r.v[3]) : NAN;
	}
	return db_rows__end(&r, err);
}

/* The same finding when the job was judged last. */
static const json_t *same(const json_t *findings, const char *rule)
{
	size_t i;
	json_t *f;

	json_array_foreach ((json_t *)findings, i, f) {
		if (!strcmp(json__text_of(f, "rule"), rule))
			return f;
	}
	return NULL;
}

static double losing(const struct row_holds *h, const struct before *b, const struct row *r)
{
	const double most = isnan(b->cpus) ? r->number[INDEX_cpus] : b->cpus;

	return isnan(h->cores) ? NAN : fmin(fmax(h->cores, 0), most);
}

/* Findings of one look overlap in nothing; those of the last rows may, in what they cost. */
static double losing_in_all(const struct row *r, const struct before *b)
{
	struct row_holds all = {.cores = NAN};

	for (unsigned i = 0; i < r->nfindings; i++)
		if (!isnan(r->now->holds[i].cores))
			all.cores = (isnan(all.cores) ? 0 : all.cores) + r->now->holds[i].cores;
	return losing(&all, b, r);
}

static json_t *time_json(double s)
{
	return s > 0 && s < UINT32_MAX ? json_integer((json_int_t)s) : json_null();
}

/* A finding that held before holds since then. */
static json_t *finding_json(const struct row *r, unsigned i, const struct before *b)
{
	const struct row_finding *f = &r->findings[i];
	const struct row_holds *h = &r->now->holds[i];
	const json_t *old = same(b->findings, f->rule);
	const double since = old ? fmin(json__number_of(old, "since"), h->since) : h->since;
	const double found = old ? json__number_of(old, "found") : r->now->last;
	json_t *o = row_finding__json(f);

	json_object_del(o, "cost");
	json_object_del(o, "when");
	json_object_del(o, "where");
	json__set(o, "rule", json__text(f->rule));
	json_object_del(o, "id");
	json__set(o, "since", time_json(since));
	json__set(o, "found", time_json(found));
	json__set(o, "losing_cores", json__number(losing(h, b, r)));
	json__set(o, "full_at", time_json(h->full));
	json__set(o, "full_at_low", time_json(h->full_low));
	json__set(o, "full_at_high", time_json(h->full_high));
	return o;
}

static char *list_text(const struct row *r, const struct before *b, json_t **first)
{
	json_t *list = json_array();
	char *text;

	for (unsigned i = 0; i < r->nfindings; i++)
		json_array_append_new(list, finding_json(r, i, b));
	text = json_dumps(list, JSON_COMPACT);
	*first = json_incref(json_array_get(list, 0));
	json_decref(list);
	return text;
}

/* Percent, with commas between; nothing for what is not known. */
static void spark_text(const struct row_now *now, char *to, size_t size)
{
	size_t n = 0;

	*to = '\0';
	for (int i = 0; i < ROW_SPARK && n < size; i++) {
		const double v = 100 * fmin(fmax(now->spark[i], 0), 1);

		n += (size_t)snprintf(to + n, size - n, isnan(now->spark[i]) ? "%s" : "%s%.0f",
				      i ? "," : "", v);
	}
}

static struct db_value share_value(double v)
{
	return db_value__real(v >= 0 && v <= 1e6 ? v : NAN);
}

static void set_now(struct update *u, const struct row *r, const struct running_files *f,
		    const char *spark)
{
	set(u, "directory", db_value__text(f->directory), false);
	set(u, "mtime", db_value__real(f->mtime_s), false);
	set(u, "files", db_value__int(f->n), false);
	set(u, "last", time_value(r->now->last), false);
	set(u, "cpu_share", share_value(r->now->cpu_share), false);
	set(u, "spark", db_value__text(spark), false);
	set(u, "memory_share", share_value(r->now->memory_share), false);
	set(u, "gpu_share", share_value(r->now->gpu_share), false);
	set(u, "io_bytes_s",
	    db_value__real(r->now->io_bytes_s <= row__most_bw(r) ? r->now->io_bytes_s : NAN),
	    false);
	set(u, "findings", db_value__int(r->nfindings), false);
}

/* The first finding, and what all of them cost. */
static void set_first(struct update *u, const json_t *first, const struct row *r, double all,
		      const char *list)
{
	const struct row_finding *f = r->nfindings ? r->findings : NULL;

	set(u, "rule", db_value__text(f ? f->rule : ""), false);
	set(u, "severity", f ? db_value__int(f->severity) : db_value__text(NULL), false);
	set(u, "text", db_value__text(f ? f->text : NULL), false);
	set(u, "since", time_value(json__number_of(first, "since")), false);
	set(u, "found", time_value(json__number_of(first, "found")), false);
	set(u, "losing_cores", db_value__real(all), false);
	set(u, "full_at", time_value(json__number_of(first, "full_at")), false);
	set(u, "finding_list", db_value__text(list), false);
}

static int store(struct index *ix, const struct row *r, const struct running_files *f, int64_t id,
		 const struct before *b)
{
	char spark[ROW_SPARK * 8];
	json_t *first = NULL;
	char *list = list_text(r, b, &first);
	struct update u;
	int err = list ? begin_update(&u) : -ENOMEM;

	if (!err) {
		spark_text(r->now, spark, sizeof(spark));
		set_now(&u, r, f, spark);
		set_first(&u, first, r, losing_in_all(r, b), list);
		set_columns(&u, r, of_profile, N(of_profile), true);
		set_columns(&u, r, of_both, N(of_both), true);
		if (!b->is_queued)
			set_columns(&u, r, of_slurm, N(of_slurm), false);
		err = end_update(&u, ix, id);
	}
	json_decref(first);
	free(list);
	return err;
}

/* Whether Slurm's queue, which is known, must have a job that began then. */
static bool is_denied(struct index *ix, double start)
{
	int err;
	const double read = note_of(ix, READ, &err);

	return !err && fabs((double)time(NULL) - read) < KNOWN_S && !(start >= read - BEGUN_S);
}

int running__put_profile(struct index *ix, const struct row *r, const struct running_files *f)
{
	const char *cluster = r->text[INDEX_cluster] ? r->text[INDEX_cluster] : f->cluster;
	struct before b = {.cpus = NAN};
	int64_t id;
	int err = find_row(ix, r->number[INDEX_job_id], or_empty(cluster), &id);

	if (!err && !id && is_denied(ix, r->number[INDEX_start]))
		return 0;
	if (!err)
		err = make_row(ix, r, or_empty(cluster), f->user, &id);
	if (!err)
		err = read_before(ix, id, &b);
	if (!err && !strcmp(b.user, f->user))
		err = store(ix, r, f, id, &b);
	json_decref(b.findings);
	return err;
}
