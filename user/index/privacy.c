/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replaces names and deletes rows that are old enough, and names of users to be forgotten. */
#include "index/privacy.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/log.h"
#include "base/room.h"
#include "base/str.h"
#include "base/string_list.h"
#include "index/node_store.h"
#include "index/sums.h"

#define FEW_USERS "5"  /* sums of fewer users reveal too much about each */
#define ALWAYS	  1e15 /* later than all rows */

/* Columns, apart from those of findings, that can contain names which a user chose. */
#define NAMELESS                                                                         \
	"name = NULL, program = NULL, signature = NULL, file = NULL, node_list = NULL, " \
	"worst_text = NULL, sluid = NULL"

/* Marks the sums of these rows. Callers do so before and after a change of names. */
static int mark(struct index *ix, const char *where, const struct db_value *args, unsigned n)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "INSERT INTO dirty (day, month, cluster, \"user\", account, partition) SELECT "
		 "DISTINCT day, month, cluster, \"user\", account, partition FROM job WHERE %s "
		 "ON CONFLICT DO NOTHING",
		 where);
	ix->has_dirty = true;
	return db__run(ix->db, sql, args, n);
}

/* ---- the table meta: what feeds must leave out, and the key of the words */

#define ROWS	  "rows_before"
#define NAMES	  "names_before"
#define FORGOTTEN "forgotten "
#define KEY	  "forgotten_key"
#define LEFT	  "names_left" /* names were deleted, and may still be in the files */

static int put_meta(struct index *ix, const char *key, const char *value)
{
	const struct db_value args[] = {db_value__text(key), db_value__text(value)};

	return db__run(ix->db,
		       "INSERT INTO meta (key, value) VALUES (?, ?) "
		       "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
		       args, 2);
}

static void read_key(struct pseudonyms *p, const char *value)
{
	if (sscanf(value, "%" SCNx64 " %" SCNx64, &p->key[0], &p->key[1]) != 2)
		*p = (struct pseudonyms){0};
}

/* Loads the index's key; makes one if there is none. */
static int load_key(struct index *ix, struct pseudonyms *p)
{
	char value[48];
	struct db_rows r;
	int err = db__ask(&r, ix->db, "SELECT value FROM meta WHERE key = '" KEY "'", NULL, 0);

	*p = (struct pseudonyms){0};
	if (!err && db_rows__next(&r) && r.v[0].type == DB_TEXT)
		read_key(p, r.v[0].text);
	err = db_rows__end(&r, err);
	if (err || p->key[0] || p->key[1])
		return err;
	err = pseudonyms__begin(p);
	snprintf(value, sizeof(value), "%016" PRIx64 " %016" PRIx64, p->key[0], p->key[1]);
	return err ? err : put_meta(ix, KEY, value);
}

/* Makes the word by which the index knows a user. */
static int word_of(struct index *ix, const char *user, char word[static PSEUDONYM_SIZE])
{
	struct pseudonyms key;
	int err = load_key(ix, &key);

	if (!err)
		pseudonyms__of(&key, 'u', user, word);
	return err;
}

/* ---- random names */

static int new_name(char name[static 24])
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -errno;
	snprintf(name, 24, "~%016" PRIx64, random);
	return 0;
}

/* Loads the user's random name; makes one if there is none. */
static int pseudonym_of(struct index *ix, const char *user, char name[static 24])
{
	char word[PSEUDONYM_SIZE];
	struct db_value args[] = {{0}, {0}};
	struct db_rows r;
	bool found = false;
	int err = word_of(ix, user, word);

	if (err)
		return err;
	args[0] = db_value__text(word);
	err = db__ask(&r, ix->db, "SELECT pseudonym FROM pseudonym WHERE word = ?", args, 1);
	if (!err && db_rows__next(&r)) {
		found = true;
		snprintf(name, 24, "%s", r.v[0].text);
	}
	err = db_rows__end(&r, err);
	if (err || found)
		return err;
	err = new_name(name);
	args[1] = db_value__text(name);
	return err ? err
		   : db__run(ix->db, "INSERT INTO pseudonym (word, pseudonym) VALUES (?, ?)", args,
			     2);
}

static int drop_pseudonym(struct index *ix, const char *user)
{
	char word[PSEUDONYM_SIZE];
	const struct db_value arg = db_value__text(word);
	int err = word_of(ix, user, word);

	return err ? err : db__run(ix->db, "DELETE FROM pseudonym WHERE word = ?", &arg, 1);
}

/* Deletes rows of nodes: who knows when a job was there may know whose it was. The nodes are named
 * for the sake of the table's key. args: the user, a time. */
static int drop_node_rows(struct index *ix, const struct db_value args[static 2])
{
	const struct db_value twice[] = {args[0], args[1], args[0], args[1]};

	return db__run(ix->db,
		       "DELETE FROM node_row WHERE node IN (SELECT n.id FROM job j JOIN job_node o "
		       "ON o.job = j.id JOIN node n ON n.name = o.node AND n.cluster = j.cluster "
		       "WHERE j.\"user\" = ? AND j.start < ?) AND job IN (SELECT id FROM job WHERE "
		       "\"user\" = ? AND start < ?)",
		       twice, 4);
}

/* Deletes the names in rows of the user before that time. */
static int rename_user(struct index *ix, const char *user, double before)
{
	char name[24];
	int err = pseudonym_of(ix, user, name);
	const struct db_value old[] = {db_value__text(user), db_value__int((int64_t)before)};
	const struct db_value set[] = {db_value__text(name), old[0], old[1]};
	const struct db_value now[] = {set[0], old[1]};

	if (!err)
		err = mark(ix, "\"user\" = ? AND start < ?", old, 2);
	if (!err)
		err = drop_node_rows(ix, old);
	if (!err)
		err = db__run(ix->db,
			      "DELETE FROM job_node WHERE job IN (SELECT id FROM job WHERE "
			      "\"user\" = ? AND start < ?)",
			      old, 2);
	if (!err) /* mount points of homes contain the names of users */
		err = db__run(ix->db,
			      "DELETE FROM job_fs WHERE job IN (SELECT id FROM job WHERE "
			      "\"user\" = ? AND start < ?)",
			      old, 2);
	if (!err)
		err = db__run(ix->db,
			      "UPDATE finding SET text = NULL, remedy = NULL, place = NULL, code = "
			      "NULL WHERE "
			      "job IN (SELECT id FROM job WHERE \"user\" = ? AND start < ?)",
			      old, 2);
	if (!err)
		err = db__run(ix->db,
			      "UPDATE job SET " NAMELESS
			      ", \"user\" = ? WHERE \"user\" = ? AND start < ?",
			      set, 3);
	if (!err)
		err = db__run(ix->db,
			      "UPDATE contact SET \"user\" = ?, text = NULL WHERE \"user\" = ? AND "
			      "at < ?",
			      set, 3);
	if (!err)
		err = put_meta(ix, LEFT, "1");
	return err ? err : mark(ix, "\"user\" = ? AND start < ?", now, 2);
}

/* Lists the users whose names are in rows before that time. */
static int named_users(struct index *ix, double before, struct string_list *users)
{
	const struct db_value arg = db_value__int((int64_t)before);
	struct db_rows r;
	int err = db__ask(&r, ix->db,
			  "SELECT DISTINCT \"user\" FROM job WHERE start < ? "
			  "AND \"user\" NOT LIKE '~%' AND \"user\" <> ''",
			  &arg, 1);

	while (!err && db_rows__next(&r))
		err = string_list__append(users, r.v[0].text);
	return db_rows__end(&r, err);
}

/* ---- rows are deleted, and sums stay without users */

/* Sums by day are deleted with their rows. */
static const char *const delete_days[] = {
	"DELETE FROM day WHERE day < ?",
	"DELETE FROM day_rule WHERE day < ?",
	"DELETE FROM hist WHERE day < ?",
};

/* Sums by month before that one lose their users, and their account where it had few users. */
static int thin_months(struct index *ix, double month)
{
	const struct db_value arg = db_value__int((int64_t)month);
	char sql[2048];
	int err;

	snprintf(
		sql, sizeof(sql),
		"INSERT INTO month (month, cluster, \"user\", account, partition, %s) SELECT "
		"s.month, s.cluster, '', CASE WHEN (SELECT count(DISTINCT m.\"user\") FROM month m "
		"WHERE m.month = s.month AND m.cluster = s.cluster AND m.account = s.account) "
		"< " FEW_USERS " THEN 'others' ELSE s.account END AS of, s.partition, %s "
		"FROM month s WHERE s.month < ? AND s.\"user\" <> '' "
		"GROUP BY s.month, s.cluster, of, s.partition ON CONFLICT DO NOTHING",
		sums__columns, sums__of_sums);
	err = db__run(ix->db, sql, &arg, 1);
	return err ? err
		   : db__run(ix->db, "DELETE FROM month WHERE month < ? AND \"user\" <> ''", &arg,
			     1);
}

/* The month as rows have it; NaN: earlier than any row. */
static double month_of(double t)
{
	const time_t seconds = (time_t)t;
	struct tm tm;

	return t > 0 && localtime_r(&seconds, &tm) ? (tm.tm_year + 1900) * 12 + tm.tm_mon : NAN;
}

/* Deletes the rows of whole months that ended before that time. */
static int delete_rows(struct index *ix, double before, struct privacy_result *res)
{
	const double last = month_of(before);
	struct db_value month, day;
	int err;

	if (isnan(last))
		return 0;
	month = db_value__int((int64_t)last);
	res->deleted =
		db__number(ix->db, &err, "SELECT count(*) FROM job WHERE month < ?", &month, 1);
	if (!err)
		day = db_value__int((int64_t)db__number(
			ix->db, &err, "SELECT COALESCE(max(day), 0) + 1 FROM job WHERE month < ?",
			&month, 1));
	if (!err)
		err = db__run(
			ix->db,
			"DELETE FROM finding WHERE job IN (SELECT id FROM job WHERE month < ?)",
			&month, 1);
	if (!err)
		err = db__run(
			ix->db,
			"DELETE FROM job_node WHERE job IN (SELECT id FROM job WHERE month < ?)",
			&month, 1);
	if (!err)
		err = db__run(
			ix->db,
			"DELETE FROM job_fs WHERE job IN (SELECT id FROM job WHERE month < ?)",
			&month, 1);
	if (!err)
		err = node_store__expire(ix);
	if (!err)
		err = db__run(ix->db, "DELETE FROM job WHERE month < ?", &month, 1);
	for (size_t i = 0; !err && i < sizeof(delete_days) / sizeof(char *); i++)
		err = db__run(ix->db, delete_days[i], &day, 1);
	return err ? err : thin_months(ix, last);
}

/* ---- what feeds must leave out */

static int note_pruned(struct index *ix, const char *key, double before)
{
	char value[32];

	snprintf(value, sizeof(value), "%.0f", before);
	return put_meta(ix, key, value);
}

static int add_forgotten(struct privacy_past *p, const char *word, double before)
{
	struct privacy_forgotten *f;

	if (strlen(word) >= PSEUDONYM_SIZE)
		return 0;
	if (room__grow(&p->forgotten, p->n, 1, sizeof(*p->forgotten)))
		return -ENOMEM;
	f = &p->forgotten[p->n++];
	strcpy(f->word, word);
	f->before = before;
	return 0;
}

static int take_meta(struct privacy_past *p, const char *key, const char *value)
{
	if (!strcmp(key, ROWS))
		p->rows_before = strtod(value, NULL);
	else if (!strcmp(key, NAMES))
		p->names_before = strtod(value, NULL);
	else if (!strcmp(key, KEY))
		read_key(&p->key, value);
	else if (str__starts(key, FORGOTTEN))
		return add_forgotten(p, key + strlen(FORGOTTEN), strtod(value, NULL));
	return 0;
}

int privacy_past__load(struct privacy_past *p, struct index *ix)
{
	struct db_rows r;
	int err = db__ask(&r, ix->db,
			  "SELECT key, value FROM meta WHERE key IN ('" ROWS "', '" NAMES "', '" KEY
			  "') OR key LIKE '" FORGOTTEN "%'",
			  NULL, 0);

	*p = (struct privacy_past){.rows_before = NAN, .names_before = NAN};
	while (!err && db_rows__next(&r))
		if (r.v[0].type == DB_TEXT && r.v[1].type == DB_TEXT)
			err = take_meta(p, r.v[0].text, r.v[1].text);
	return db_rows__end(&r, err);
}

void privacy_past__free(struct privacy_past *p)
{
	free(p->forgotten);
	string_list__free(&p->old);
	string_list__free(&p->hidden);
	*p = (struct privacy_past){0};
}

/* When the user was forgotten; NaN: never. */
static double forgotten_before(const struct privacy_past *p, const char *user)
{
	char word[PSEUDONYM_SIZE];

	if (!p->n)
		return NAN;
	pseudonyms__of(&p->key, 'u', user, word);
	for (unsigned i = 0; i < p->n; i++)
		if (!strcmp(p->forgotten[i].word, word))
			return p->forgotten[i].before;
	return NAN;
}

static int add_once(struct string_list *users, const char *user)
{
	for (unsigned i = 0; i < users->n; i++)
		if (!strcmp(users->v[i], user))
			return 0;
	return string_list__append(users, user);
}

bool privacy_past__has(struct privacy_past *p, const char *user, double start,
		       struct privacy_left *left)
{
	const bool has_name = user && *user && *user != '~';

	if (start < p->rows_before) {
		left->gone++;
		left->rows_before = p->rows_before;
		return true;
	}
	if (has_name && start < forgotten_before(p, user))
		p->err = add_once(&p->hidden, user) ?: p->err;
	else if (has_name && start < p->names_before)
		p->err = add_once(&p->old, user) ?: p->err;
	else
		return false;
	left->nameless++;
	return false;
}

int privacy_past__rename(const struct privacy_past *p, struct index *ix)
{
	int err = p->err;

	for (unsigned i = 0; !err && i < p->old.n; i++)
		err = rename_user(ix, p->old.v[i], p->names_before);
	for (unsigned i = 0; !err && i < p->hidden.n; i++) {
		err = rename_user(ix, p->hidden.v[i], forgotten_before(p, p->hidden.v[i]));
		if (!err)
			err = drop_pseudonym(ix, p->hidden.v[i]);
	}
	return err;
}

/* Notes that the user is forgotten, for all jobs until now. */
static int note_forgotten(struct index *ix, const char *user)
{
	char key[64] = FORGOTTEN, value[48];
	int err = word_of(ix, user, key + strlen(FORGOTTEN));

	snprintf(value, sizeof(value), "%lld", (long long)time(NULL));
	return err ? err : put_meta(ix, key, value);
}

/* ---- prune, forget */

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lists the words of users with a name in any row, sorted for bsearch(). */
static int named_words(struct index *ix, struct string_list *words)
{
	struct string_list users = {0};
	struct pseudonyms key;
	char word[PSEUDONYM_SIZE];
	int err = load_key(ix, &key);

	if (!err)
		err = named_users(ix, ALWAYS, &users);
	for (unsigned i = 0; !err && i < users.n; i++) {
		pseudonyms__of(&key, 'u', users.v[i], word);
		err = string_list__append(words, word);
	}
	if (words->n)
		qsort(words->v, words->n, sizeof(*words->v), compare);
	string_list__free(&users);
	return err;
}

/* Deletes the entries of random names that no row has any more, or whose user has no other rows:
 * nobody needs them. */
static int drop_pseudonyms(struct index *ix)
{
	struct string_list words = {0}, known = {0};
	struct db_rows r = {0};
	int err = db__run(ix->db,
			  "DELETE FROM pseudonym WHERE NOT EXISTS (SELECT 1 FROM job j WHERE "
			  "j.\"user\" = pseudonym.pseudonym)",
			  NULL, 0);

	if (!err)
		err = named_words(ix, &words);
	if (!err)
		err = db__ask(&r, ix->db, "SELECT word FROM pseudonym", NULL, 0);
	while (!err && db_rows__next(&r))
		err = string_list__append(&known, r.v[0].text);
	err = db_rows__end(&r, err);
	for (unsigned i = 0; !err && i < known.n; i++) {
		const struct db_value arg = db_value__text(known.v[i]);

		if (!words.n || !bsearch(&known.v[i], words.v, words.n, sizeof(char *), compare))
			err = db__run(ix->db, "DELETE FROM pseudonym WHERE word = ?", &arg, 1);
	}
	string_list__free(&words);
	string_list__free(&known);
	return err;
}

/* Removes deleted names from the database's files; if it fails, LEFT makes a later call try
 * again. */
static int scrub(struct index *ix)
{
	int err;
	const bool is_left =
		db__number(ix->db, &err, "SELECT count(*) FROM meta WHERE key = '" LEFT "'", NULL,
			   0) > 0;

	if (err || !is_left)
		return err;
	err = db__scrub(ix->db);
	if (!err)
		return db__run(ix->db, "DELETE FROM meta WHERE key = '" LEFT "'", NULL, 0);
	log_error("%s: no row has the names any more, but they may still be in its file%s: with "
		  "space for two copies of the index, and nobody reading it, the next jobprof "
		  "index prune removes them",
		  db__name(ix->db), db__is_postgresql(ix->db) ? "s" : " and its log");
	return err;
}

/* Ends the transaction, and scrubs after a commit. */
static int end(struct index *ix, int err)
{
	err = index__end(ix, err);
	return err ? err : scrub(ix);
}

int privacy__prune(struct index *ix, double detail, double pseudonymous, struct privacy_result *res)
{
	const struct db_value arg = db_value__int(detail > 0 ? (int64_t)detail : 0);
	struct string_list users = {0};
	int err = index__begin(ix);

	detail = detail > 0 ? detail : 0; /* NaN: no rows */
	pseudonymous = pseudonymous > 0 ? pseudonymous : 0;

	if (err)
		return err;
	err = named_users(ix, detail, &users);
	if (!err)
		res->renamed = db__number(ix->db, &err,
					  "SELECT count(*) FROM job WHERE start < ? "
					  "AND \"user\" NOT LIKE '~%' AND \"user\" <> ''",
					  &arg, 1);
	for (unsigned i = 0; !err && i < users.n; i++)
		err = rename_user(ix, users.v[i], detail);
	if (!err) /* while their rows still exist */
		err = sums__make(ix);
	if (!err)
		err = delete_rows(ix, pseudonymous, res);
	if (!err)
		err = drop_pseudonyms(ix);
	if (!err)
		err = note_pruned(ix, NAMES, detail);
	if (!err)
		err = note_pruned(ix, ROWS, pseudonymous);
	if (!err && res->deleted > 0)
		err = put_meta(ix, LEFT, "1");
	string_list__free(&users);
	return end(ix, err);
}

int privacy__forget(struct index *ix, const char *user, struct privacy_result *res)
{
	const struct db_value name = db_value__text(user);
	int err = index__begin(ix);

	if (err)
		return err;
	res->renamed =
		db__number(ix->db, &err, "SELECT count(*) FROM job WHERE \"user\" = ?", &name, 1);
	if (!err)
		err = db__run(ix->db, "DELETE FROM contact WHERE \"user\" = ?", &name, 1);
	if (!err)
		err = db__run(ix->db, "DELETE FROM coordinator WHERE \"user\" = ?", &name, 1);
	if (!err)
		err = db__run(ix->db, "DELETE FROM running WHERE \"user\" = ?", &name, 1);
	if (!err)
		err = rename_user(ix, user, ALWAYS);
	if (!err)
		err = drop_pseudonym(ix, user);
	if (!err)
		err = note_forgotten(ix, user);
	if (!err)
		err = sums__make(ix);
	return end(ix, err);
}
