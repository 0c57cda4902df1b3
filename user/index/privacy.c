/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names are replaced, and rows deleted, when they are old enough or somebody asks for that. */
#include "index/privacy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "base/string_list.h"
#include "index/sums.h"

#define FEW_USERS "5" /* sums of fewer say too much of each */

/* Names that a user may have given stand in these columns, and in texts of findings. */
#define NAMELESS                                                                         \
	"name = NULL, program = NULL, signature = NULL, file = NULL, node_list = NULL, " \
	"worst_text = NULL, sluid = NULL"

/* Sums of these rows are to be made again; before and after they have another name. */
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

/* ---- random names */

static int new_name(char name[static 24])
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -errno;
	snprintf(name, 24, "~%016" PRIx64, random);
	return 0;
}

/* The user's random name, made where there is none. */
static int pseudonym_of(struct index *ix, const char *user, char name[static 24])
{
	const struct db_value key = db_value__text(user);
	struct db_value args[] = {key, {0}};
	struct db_rows r;
	bool found = false;
	int err = db__ask(&r, ix->db, "SELECT pseudonym FROM pseudonym WHERE name = ?", &key, 1);

	if (!err && db_rows__next(&r)) {
		found = true;
		snprintf(name, 24, "%s", r.v[0].text);
	}
	err = err ? err : r.err;
	db_rows__end(&r);
	if (err || found)
		return err;
	err = new_name(name);
	args[1] = db_value__text(name);
	return err ? err
		   : db__run(ix->db, "INSERT INTO pseudonym (name, pseudonym) VALUES (?, ?)", args,
			     2);
}

/* Rows of the user before that time lose their names. */
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
		err = db__run(ix->db,
			      "DELETE FROM job_node WHERE job IN (SELECT id FROM job WHERE "
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
	return err ? err : mark(ix, "\"user\" = ? AND start < ?", now, 2);
}

/* Users with a name in rows before that time. */
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
	err = err ? err : r.err;
	db_rows__end(&r);
	return err;
}

/* ---- rows go, and sums stay without users */

/* Sums before a day lose their users, and their project where it had few users. */
static const char *const sums_without_users[] = {
	"DELETE FROM day WHERE day < ?",
	"DELETE FROM day_rule WHERE day < ?",
	"DELETE FROM hist WHERE day < ?",
};

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

/* Rows of whole months that ended before that time. */
static int delete_rows(struct index *ix, double before, struct privacy_result *res)
{
	const struct db_value arg = db_value__int((int64_t)before);
	struct db_value month, day;
	int err;
	double last =
		db__number(ix->db, &err, "SELECT max(month) FROM job WHERE start < ?", &arg, 1);

	if (err || !(last > 0))
		return err;
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
		err = db__run(ix->db, "DELETE FROM job WHERE month < ?", &month, 1);
	for (size_t i = 0; !err && i < sizeof(sums_without_users) / sizeof(char *); i++)
		err = db__run(ix->db, sums_without_users[i], &day, 1);
	return err ? err : thin_months(ix, last);
}

/* A random name that no row has any more need not be known. */
static int drop_pseudonyms(struct index *ix)
{
	return db__run(ix->db,
		       "DELETE FROM pseudonym WHERE NOT EXISTS (SELECT 1 FROM job j WHERE "
		       "j.\"user\" = pseudonym.name) OR NOT EXISTS (SELECT 1 FROM job j WHERE "
		       "j.\"user\" = pseudonym.pseudonym)",
		       NULL, 0);
}

int privacy__prune(struct index *ix, double detail, double pseudonymous, struct privacy_result *res)
{
	const struct db_value arg = db_value__int((int64_t)detail);
	struct string_list users = {0};
	int err = index__begin(ix);

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
	if (!err && users.n)
		err = sums__make(ix);
	if (!err)
		err = delete_rows(ix, pseudonymous, res);
	if (!err)
		err = drop_pseudonyms(ix);
	string_list__free(&users);
	if (!err)
		return index__commit(ix);
	index__rollback(ix);
	return err;
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
		err = rename_user(ix, user, 1e15);
	if (!err)
		err = db__run(ix->db, "DELETE FROM pseudonym WHERE name = ?", &name, 1);
	if (!err)
		err = db__run(ix->db, "DELETE FROM contact WHERE \"user\" = ?", &name, 1);
	if (!err)
		return index__commit(ix);
	index__rollback(ix);
	return err;
}
