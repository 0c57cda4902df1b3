/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies Slurm's coordinators into the index. */
#include "index/coordinators.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"

#define AGAIN_S	 3600
#define FAILED_S 600 /* after an error of this process */
#define WAIT_S	 60.0
#define MARK	 "coordinators_at"
#define WORD_MAX 256

/* What sacctmgr printed: user, account, user, account ... */
static int take_line(void *arg, const char *line)
{
	struct string_list *pairs = arg;
	const char *bar = strchr(line, '|');
	int err = 0;

	if (!bar || bar == line || bar - line > WORD_MAX)
		return 0;
	for (const char *p = bar + 1; !err && *p; p += *p == ',') {
		const size_t n = strcspn(p, ",");

		if (n && n <= WORD_MAX) {
			err = string_list__take(pairs, strndup(line, (size_t)(bar - line)));
			err = err ? err : string_list__take(pairs, strndup(p, n));
		}
		p += n;
	}
	return err;
}

static int ask(const struct accounting_options *o, struct string_list *pairs)
{
	char *const argv[] = {"sacctmgr",
			      "-n",
			      "-P",
			      "-r",
			      "list",
			      "user",
			      "WithCoordinator",
			      "format=User,Coordinators",
			      NULL};
	struct accounting_options how = *o;

	how.wait_s = o->wait_s > 0 ? o->wait_s : WAIT_S;
	return accounting_ask(&how, argv, take_line, pairs);
}

/* Stores the pairs for one cluster, "" for all, in place of those that are there. */
static int put(struct index *ix, const struct string_list *pairs, const char *cluster, double now)
{
	struct db_value args[] = {db_value__text(cluster), {0}, {0}, db_value__int((int64_t)now)};
	int err = db__run(ix->db, "DELETE FROM coordinator WHERE cluster = ?", args, 1);

	for (unsigned i = 0; !err && i + 1 < pairs->n; i += 2) {
		args[1] = db_value__text(pairs->v[i]);
		args[2] = db_value__text(pairs->v[i + 1]);
		err = db__run(ix->db,
			      "INSERT INTO coordinator (cluster, \"user\", account, at) VALUES (?, "
			      "?, ?, ?) ON CONFLICT DO NOTHING",
			      args, 4);
	}
	return err;
}

static int put_clusters(struct index *ix, const struct string_list *pairs, const char *clusters,
			double now)
{
	char name[WORD_MAX];
	int err = 0;

	if (!clusters)
		return put(ix, pairs, "", now);
	for (const char *p = clusters; !err && *p; p += *p == ',') {
		const size_t n = strcspn(p, ",");

		snprintf(name, sizeof(name), "%.*s", (int)n, p);
		if (n && n < sizeof(name))
			err = put(ix, pairs, name, now);
		p += n;
	}
	return err;
}

static void name_mark(const struct accounting_options *o, char *to, size_t size)
{
	snprintf(to, size, MARK "%s%.200s", o->clusters ? " " : "", o->clusters ? o->clusters : "");
}

static int store(struct index *ix, const struct accounting_options *o,
		 const struct string_list *pairs, double now)
{
	char key[256], value[32];
	const struct db_value args[] = {db_value__text(key), db_value__text(value)};
	int err = index__begin(ix);

	if (err)
		return err;
	name_mark(o, key, sizeof(key));
	snprintf(value, sizeof(value), "%.0f", now);
	err = put_clusters(ix, pairs, o->clusters, now);
	if (!err)
		err = db__run(ix->db,
			      "INSERT INTO meta (key, value) VALUES (?, ?) "
			      "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
			      args, 2);
	return index__end(ix, err);
}

int coordinators__sync(struct index *ix, const struct accounting_options *o)
{
	const double now = (double)time(NULL);
	struct string_list pairs = {0};
	static double failed_at;
	char key[256];
	const struct db_value arg = db_value__text(key);
	double last;
	int err;

	name_mark(o, key, sizeof(key));
	last = db__number(ix->db, &err, "SELECT CAST(value AS BIGINT) FROM meta WHERE key = ?",
			  &arg, 1);
	/* a time of the future: the clock was set back */
	if (err || (last <= now && now - last < AGAIN_S) ||
	    (failed_at <= now && now - failed_at < FAILED_S))
		return err;
	err = ask(o, &pairs);
	err = err == -ENOENT ? 0 : err;
	if (!err)
		err = store(ix, o, &pairs, now);
	failed_at = err ? now : 0;
	string_list__free(&pairs);
	return err;
}

/* ---- asked by a viewer */

int coordinators__accounts(struct index *ix, const char *user, unsigned most,
			   struct string_list *accounts)
{
	const struct db_value args[] = {
		db_value__text(user),
		db_value__int((int64_t)((double)time(NULL) - COORDINATORS_LAST_S)),
		db_value__int(most)};
	struct db_rows r;
	int err = db__ask(&r, ix->db,
			  "SELECT DISTINCT account FROM coordinator WHERE \"user\" = ? AND at >= ? "
			  "ORDER BY account LIMIT ?",
			  args, 3);

	while (!err && db_rows__next(&r))
		err = string_list__append(accounts, r.v[0].text);
	return db_rows__end(&r, err);
}

bool coordinators__has(struct index *ix, const char *user, int *err)
{
	struct string_list accounts = {0};
	bool has;

	*err = coordinators__accounts(ix, user, 1, &accounts);
	has = accounts.n > 0;
	string_list__free(&accounts);
	return has;
}
