/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes sums by day and month, always anew from all their rows, so that they cannot drift. A commit
 * that does not make them notes in the table dirty which ones differ from the rows. For these days
 * readers ask rows (query__sums_for()), until the end of the feed, or of the next one after a kill,
 * makes the sums.
 */
#include "index/sums.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "index/node_store.h"

/* The columns of day and month after their keys. */
#define COLUMNS                                                                               \
	"jobs, profiled, held_core_s, held_cpu_s, held_gpu_s, profiled_core_s, lost_core_s, " \
	"lost_gpu_s, cpu_s, energy_j, energy_low_j, energy_high_j, findings, run_s, "         \
	"footprints, max_nodes, max_cores, max_pending_s, failed, read_bytes, write_bytes"
#define OF_JOBS                                                                                   \
	"count(*), CAST(sum(CASE WHEN j.findings IS NULL THEN 0 ELSE 1 END) AS BIGINT), "         \
	"sum(j.held_core_s), sum(j.held_cpu_s), sum(j.held_gpu_s), "                              \
	"sum(CASE WHEN j.findings IS NULL THEN 0.0 ELSE j.held_core_s END), sum(j.lost_core_s), " \
	"sum(j.lost_gpu_s), sum(j.cpu_s), sum(j.energy_j), sum(j.energy_low_j), "                 \
	"sum(j.energy_high_j), CAST(sum(COALESCE(j.findings, 0)) AS BIGINT), "                    \
	"CAST(sum(j.elapsed_s) AS BIGINT), CAST(sum(COALESCE(j.has_footprint, 0)) AS BIGINT), "   \
	"max(j.nodes), max(COALESCE(j.cores, j.cpus * 1.0)), max(j.start - j.submit), "           \
	"CAST(sum(CASE WHEN j.state IN ('FAILED', 'NODE_FAIL', 'BOOT_FAIL', 'OUT_OF_MEMORY') "    \
	"THEN 1 ELSE 0 END) AS BIGINT), sum(j.read_bytes), sum(j.write_bytes)"
#define OF_SUMS                                                                                 \
	"COALESCE(CAST(sum(s.jobs) AS BIGINT), 0), CAST(sum(s.profiled) AS BIGINT), "           \
	"sum(s.held_core_s), "                                                                  \
	"sum(s.held_cpu_s), sum(s.held_gpu_s), sum(s.profiled_core_s), sum(s.lost_core_s), "    \
	"sum(s.lost_gpu_s), sum(s.cpu_s), sum(s.energy_j), sum(s.energy_low_j), "               \
	"sum(s.energy_high_j), CAST(sum(s.findings) AS BIGINT), CAST(sum(s.run_s) AS BIGINT), " \
	"CAST(sum(s.footprints) AS BIGINT), max(s.max_nodes), max(s.max_cores), "               \
	"max(s.max_pending_s), CAST(sum(s.failed) AS BIGINT), sum(s.read_bytes), "              \
	"sum(s.write_bytes)"
const char sums__columns[] = COLUMNS, sums__of_jobs[] = OF_JOBS, sums__of_sums[] = OF_SUMS;

#define KEY(of) of "cluster, " of "\"user\", " of "account, " of "partition"
#define SAME(of) \
	of ".cluster = d.cluster AND " of ".\"user\" = d.\"user\" AND " of ".account = d.account"
#define SAME_KEY(of) SAME(of) " AND " of ".partition = d.partition"
/* The rows of the day of d, by an index on begins: local time is up to 14 h ahead of UTC and 12 h
 * behind. */
#define OF_DAY                              \
	"j.start >= d.day * 86400 - 50400 " \
	"AND j.start < d.day * 86400 + 129600 AND j.day = d.day"
#define MONTHS "(SELECT DISTINCT month, " KEY("") " FROM dirty) d"
#define OWNERS "(SELECT DISTINCT day, cluster, \"user\", account FROM dirty) d"
/* Rows of the dirty days of a user, each once, by the index on users; for whole keys SQLite would
 * use that on accounts. IS_DIRTY leaves out rows without a dirty key. */
#define OF_USERS "FROM (SELECT DISTINCT day, \"user\" FROM dirty) d CROSS JOIN job j"
#define IS_DIRTY(same)                                                                           \
	" WHERE j.\"user\" = d.\"user\" AND " OF_DAY " AND EXISTS (SELECT 1 FROM dirty k WHERE " \
	"k.day = j.day AND " same ")"
#define SAME_OWNER "k.cluster = j.cluster AND k.\"user\" = j.\"user\" AND k.account = j.account"

/* CROSS JOIN makes SQLite begin with the dirty keys, not with the table of all jobs. */
static const char *const steps[] = {
	"DELETE FROM day WHERE id IN (SELECT s.id FROM dirty d CROSS JOIN day s "
	"WHERE s.day = d.day AND " SAME_KEY("s") ")",
	"INSERT INTO day (day, month, " KEY("") ", " COLUMNS ") SELECT j.day, j.month, " KEY(
		"j.") ", " OF_JOBS " " OF_USERS
		IS_DIRTY(SAME_OWNER
			 " AND k.partition = j.partition") " GROUP BY j.day, j.month, " KEY("j."),
	"DELETE FROM month WHERE id IN (SELECT s.id FROM " MONTHS " CROSS JOIN month s "
	"WHERE s.month = d.month AND " SAME_KEY("s") ")",
	"INSERT INTO month (month, " KEY("") ", " COLUMNS ") SELECT s.month, " KEY(
		"s.") ", " OF_SUMS " FROM " MONTHS
		      " CROSS JOIN day s WHERE s.month = d.month AND " SAME_KEY(
			      "s") " GROUP BY s.month, " KEY("s."),
	"DELETE FROM day_rule WHERE id IN (SELECT s.id FROM " OWNERS " CROSS JOIN day_rule s "
	"WHERE s.day = d.day AND " SAME("s") ")",
	"INSERT INTO day_rule (day, cluster, rule, \"user\", account, severity, jobs, cost_core_s) "
	"SELECT j.day, j.cluster, f.rule, j.\"user\", j.account, max(f.severity), "
	"count(DISTINCT j.id), sum(f.cost_core_s) " OF_USERS " CROSS JOIN finding f" IS_DIRTY(
		SAME_OWNER) " AND f.job = j.id GROUP BY j.day, j.cluster, f.rule, j.\"user\", "
			    "j.account",
	"DELETE FROM hist WHERE day IN (SELECT day FROM dirty)",
	"INSERT INTO hist (day, cluster, partition, quantity, bin, jobs, core_s, lost_core_s) "
	"SELECT day, cluster, partition, quantity, bin, count(*), sum(held_core_s), "
	"sum(lost_core_s) FROM (SELECT j.day, j.cluster, j.partition, q.quantity, CASE q.quantity "
	"WHEN 'cpu' THEN j.bin_cpu WHEN 'mem' THEN j.bin_mem WHEN 'limit' THEN j.bin_limit "
	"ELSE j.bin_gpu END AS bin, j.held_core_s, j.lost_core_s "
	"FROM (SELECT DISTINCT day FROM dirty) d CROSS JOIN job j CROSS JOIN "
	"(SELECT 'cpu' AS quantity UNION ALL SELECT 'mem' UNION ALL SELECT 'limit' "
	"UNION ALL SELECT 'gpu') q WHERE " OF_DAY
	") b WHERE bin IS NOT NULL GROUP BY day, cluster, partition, quantity, bin",
	"DELETE FROM dirty",
};

int sums__mark(struct index *ix, const struct row *r)
{
	const struct db_value args[] = {
		db_value__int((int64_t)r->number[INDEX_day]),
		db_value__int((int64_t)r->number[INDEX_month]),
		db_value__text(r->text[INDEX_cluster]),
		db_value__text(r->text[INDEX_user]),
		db_value__text(r->text[INDEX_account]),
		db_value__text(r->text[INDEX_partition]),
	};

	ix->has_dirty = true;
	return db__run(ix->db,
		       "INSERT INTO dirty (day, month, cluster, \"user\", account, partition) "
		       "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		       args, sizeof(args) / sizeof(*args));
}

#define PART 20 /* sums take at most 1/PART of the time of a long feed */

int sums__make(struct index *ix)
{
	const uint64_t begin = clock__boot_ns();
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(steps) / sizeof(*steps); i++)
		err = db__run(ix->db, steps[i], NULL, 0);
	if (err)
		return err;
	ix->has_dirty = false;
	ix->sums_ns = clock__boot_ns() + PART * (clock__boot_ns() - begin);
	return 0;
}

int sums__remake(struct index *ix)
{
	static const char all_keys[] =
		"INSERT INTO dirty (day, month, cluster, \"user\", account, partition) SELECT "
		"DISTINCT day, month, cluster, \"user\", account, partition FROM job "
		"WHERE true ON CONFLICT DO NOTHING";
	static const char *const clear[] = {
		"DELETE FROM day",
		/* months whose rows privacy__prune() deleted stay */
		"DELETE FROM month WHERE month >= (SELECT COALESCE(min(month), 999999) FROM job)",
		"DELETE FROM day_rule", "DELETE FROM hist", all_keys};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(clear) / sizeof(*clear); i++)
		err = db__run(ix->db, clear[i], NULL, 0);
	return err ? err : sums__make(ix);
}

int index__begin(struct index *ix)
{
	return db__begin(ix->db);
}

/* What follows from the rows that were written. */
static int follow(struct index *ix)
{
	int err = sums__make(ix);

	return err ? err : node_store__expire(ix);
}

/* The sums of a day with many jobs take seconds: not each commit makes them. */
int index__commit(struct index *ix)
{
	const bool is_time = ix->has_dirty && clock__boot_ns() >= ix->sums_ns;
	int err = is_time ? follow(ix) : 0;

	if (!err)
		return db__commit(ix->db);
	index__rollback(ix);
	return err;
}

double index__fed_at(struct index *ix, int *err)
{
	return db__number(ix->db, err,
			  "SELECT CAST(value AS BIGINT) FROM meta WHERE key = 'fed_at'", NULL, 0);
}

#define NOTE_S 30 /* ends of feeds that follow each other sooner are not noted */

static int note_feed(struct index *ix)
{
	int err;
	const double now = (double)time(NULL), last = index__fed_at(ix, &err);
	char text[32];
	struct db_value value;

	if (err || (last <= now && now - last < NOTE_S))
		return err;
	snprintf(text, sizeof(text), "%.0f", now);
	value = db_value__text(text);
	err = index__begin(ix);
	if (err)
		return err;
	err = db__run(ix->db,
		      "INSERT INTO meta (key, value) VALUES ('fed_at', ?) "
		      "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
		      &value, 1);
	if (!err)
		return db__commit(ix->db);
	index__rollback(ix);
	return err;
}

static int make_left(struct index *ix)
{
	int err;
	double n = db__number(ix->db, &err, "SELECT count(*) FROM dirty", NULL, 0);

	if (err || !(n > 0))
		return err;
	err = index__begin(ix);
	if (err)
		return err;
	err = follow(ix);
	if (!err)
		return db__commit(ix->db);
	index__rollback(ix);
	return err;
}

int index__settle(struct index *ix)
{
	const int err = make_left(ix);

	return err ? err : note_feed(ix);
}

void index__rollback(struct index *ix)
{
	db__rollback(ix->db);
	ix->has_dirty = false;
}

int index__end(struct index *ix, int err)
{
	if (!err)
		return index__commit(ix);
	index__rollback(ix);
	return err;
}
