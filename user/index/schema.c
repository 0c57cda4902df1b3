/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the tables of the index, and upgrades those of earlier versions. */
#include "index/schema.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/string_list.h"
#include "index/index.h"

#define NONE -1 /* the version of an index that has no tables */

/* The columns of each table of sums. */
#define SUMS                                                                                      \
	"jobs BIGINT NOT NULL, profiled BIGINT NOT NULL, held_core_s {real}, held_cpu_s {real}, " \
	"held_gpu_s {real}, profiled_core_s {real}, lost_core_s {real}, lost_gpu_s {real}, "      \
	"cpu_s {real}, energy_j {real}, energy_low_j {real}, energy_high_j {real}, "              \
	"findings BIGINT NOT NULL, run_s BIGINT, footprints BIGINT NOT NULL, max_nodes BIGINT, "  \
	"max_cores {real}, max_pending_s BIGINT, failed BIGINT, read_bytes {real}, "              \
	"write_bytes {real}"

#define JOB_FS                                                                             \
	"CREATE TABLE IF NOT EXISTS job_fs (job BIGINT NOT NULL, fs {text} NOT NULL, "     \
	"read_bytes {real}, write_bytes {real}, read_bw_max {real}, write_bw_max {real}, " \
	"PRIMARY KEY (job, fs))"

#define NODE                                                                                \
	"CREATE TABLE node (id {id}, cluster {text} NOT NULL, name {text} NOT NULL, model " \
	"{text}, "                                                                          \
	"cores {real}, cpus {real}, memory_mb {real}, votes BIGINT NOT NULL, "              \
	"UNIQUE (cluster, name))"

static const char node_rows[] = "CREATE TABLE node_row (node INTEGER NOT NULL, "
				"t INTEGER NOT NULL, job BIGINT NOT NULL"
#define NODE_ROW(name, how, scale, of) ", " #name " INTEGER"
#include "schemas/noderow.def"
				", PRIMARY KEY (node, t, job)) {keyed}";
/* Jobs that Slurm's queue has, or whose steps have files of running ones; names of columns that job
 * has, too, are its. What no feed says is NULL. */
#define RUNNING                                                                                  \
	"CREATE TABLE running (id {id}, cluster {text} NOT NULL, job_id BIGINT NOT NULL, "       \
	"array_id BIGINT, array_task BIGINT, array_tasks {text}, het_id BIGINT, sluid {text}, "  \
	"\"user\" {text} NOT NULL, account {text} NOT NULL, partition {text} NOT NULL, "         \
	"name {text}, program {text}, signature {text}, state {text} NOT NULL, submit BIGINT, "  \
	"start BIGINT, estimated BIGINT, limit_s BIGINT, nodes BIGINT, node_list {text}, "       \
	"cpus BIGINT, cores {real}, gpus BIGINT, mem_asked_mb {real}, reason {text}, "           \
	"queued_at BIGINT, directory {text}, mtime {real}, files BIGINT, last BIGINT, "          \
	"cpu_share {real}, spark {text}, memory_share {real}, gpu_share {real}, "                \
	"io_bytes_s {real}, findings BIGINT, rule {text}, severity BIGINT, text {text}, "        \
	"since BIGINT, found BIGINT, losing_cores {real}, full_at BIGINT, finding_list {text}, " \
	"UNIQUE (job_id, cluster))"
#define COORDINATOR                                                                     \
	"CREATE TABLE coordinator (\"user\" {text} NOT NULL, account {text} NOT NULL, " \
	"cluster {text} NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (\"user\", account, cluster))"

/* What jobprof jobs filters and sorts by, so that it reads no rows of jobs that it does not show.
 * SQLite reads an entry up to the last column that it needs: filters that leave out many are first.
 */
#define JOB_LIST                                                                                \
	"CREATE INDEX job_list ON job (start, state, nodes, name, job_id, held_core_s, "        \
	"lost_core_s, findings, partition, \"user\", elapsed_s, cpu_s, peak_mb, mem_asked_mb, " \
	"energy_j, gpu_use, read_mb, write_mb, limit_s, account, cluster, cores, cpus, gpus, "  \
	"tags, program)"

static const char *const tables[] = {
	NODE,
	node_rows,
	JOB_FS,
	RUNNING,
	COORDINATOR,
	"CREATE TABLE finding (job BIGINT NOT NULL, n BIGINT NOT NULL, rule {text} NOT NULL, "
	"severity BIGINT NOT NULL, cost_core_s {real}, saving {real}, at_least BIGINT, text "
	"{text}, "
	"remedy {text}, place {text}, from_s {real}, to_s {real}, kind BIGINT, code {text}, needs "
	"{real}, used {real}, asked {real}, PRIMARY KEY (job, n))",
	"CREATE TABLE job_node (node {text} NOT NULL, start BIGINT, \"end\" BIGINT, "
	"job BIGINT NOT NULL, PRIMARY KEY (job, node))",
	"CREATE TABLE file (path {text} PRIMARY KEY, directory {text} NOT NULL, mtime {real}, "
	"size BIGINT, uid BIGINT, state {text} NOT NULL, why {text})",
	"CREATE TABLE directory (path {text} PRIMARY KEY, mtime {real})",
	"CREATE TABLE day (id {id}, day BIGINT NOT NULL, month BIGINT NOT NULL, cluster {text} NOT "
	"NULL, "
	"\"user\" {text} NOT NULL, "
	"account {text} NOT NULL, partition {text} NOT NULL, " SUMS
	", UNIQUE (day, cluster, \"user\", account, partition))",
	"CREATE TABLE month (id {id}, month BIGINT NOT NULL, cluster {text} NOT NULL, "
	"\"user\" {text} NOT NULL, account {text} NOT NULL, partition {text} NOT NULL, " SUMS
	", UNIQUE (month, cluster, \"user\", account, partition))",
	"CREATE TABLE day_rule (id {id}, day BIGINT NOT NULL, cluster {text} NOT NULL, rule {text} "
	"NOT "
	"NULL, "
	"\"user\" {text} NOT NULL, account {text} NOT NULL, severity BIGINT NOT NULL, "
	"jobs BIGINT NOT NULL, cost_core_s {real}, "
	"UNIQUE (day, cluster, \"user\", account, rule))",
	"CREATE TABLE hist (day BIGINT NOT NULL, cluster {text} NOT NULL, partition {text} NOT "
	"NULL, "
	"quantity {text} NOT NULL, bin BIGINT NOT NULL, jobs BIGINT NOT NULL, core_s {real}, "
	"lost_core_s {real}, PRIMARY KEY (day, cluster, partition, quantity, bin))",
	"CREATE TABLE contact (id {id}, at BIGINT NOT NULL, who {text} NOT NULL, \"user\" {text}, "
	"account {text}, rule {text}, signature {text}, job BIGINT, ticket {text}, text {text})",
	"CREATE TABLE dirty (day BIGINT NOT NULL, month BIGINT NOT NULL, cluster {text} NOT NULL, "
	"\"user\" {text} NOT NULL, "
	"account {text} NOT NULL, partition {text} NOT NULL, "
	"PRIMARY KEY (day, cluster, \"user\", account, partition))",
	"CREATE TABLE pseudonym (word {text} PRIMARY KEY, pseudonym {text} NOT NULL)",
	"CREATE TABLE admin_comment (job BIGINT PRIMARY KEY, state {text} NOT NULL, tries BIGINT "
	"NOT NULL, next BIGINT NOT NULL, at BIGINT)",
	"CREATE TABLE mail (id {text} PRIMARY KEY, about {text} NOT NULL, at BIGINT NOT NULL)",
	"CREATE TABLE meta (key {text} PRIMARY KEY, value {text})",
	"CREATE UNIQUE INDEX job_key ON job (job_id, cluster, start, \"user\")",
	"CREATE INDEX job_array ON job (array_id) WHERE array_id IS NOT NULL",
	"CREATE INDEX job_start ON job (start)",
	JOB_LIST,
	"CREATE INDEX job_user ON job (\"user\", start)",
	"CREATE INDEX job_account ON job (account, start)",
	"CREATE INDEX job_name ON job (name, \"user\", start)",
	"CREATE INDEX job_signature ON job (signature, start)",
	"CREATE INDEX job_program ON job (program, start)",
	"CREATE INDEX job_lost ON job (lost_core_s)",
	"CREATE INDEX file_directory ON file (directory)",
	"CREATE INDEX finding_rule ON finding (rule, job)",
	"CREATE INDEX mail_about ON mail (about)",
	"CREATE INDEX day_month ON day (month, \"user\")",
	"CREATE INDEX job_node_node ON job_node (node, start)",
};

static const char *type_of(const struct index_info *i)
{
	static const char *const types[] = {
		[INDEX_TEXT] = "{text}", [INDEX_INT] = "BIGINT", [INDEX_REAL] = "{real}"};

	return types[i->type];
}

/* Columns that are never NULL: parts of the key, and what sums are grouped by. */
static bool is_needed(int column)
{
	static const enum index_column needed[] = {INDEX_cluster, INDEX_job_id,	 INDEX_start,
						   INDEX_user,	  INDEX_account, INDEX_partition,
						   INDEX_day,	  INDEX_month};

	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if ((int)needed[i] == column)
			return true;
	return false;
}

static int make_job(struct db *d)
{
	char *sql = NULL;
	size_t len;
	FILE *f = open_memstream(&sql, &len);
	int err;

	if (!f)
		return -ENOMEM;
	fputs("CREATE TABLE job (id {id}", f);
	for (int i = 0; i < N_INDEX; i++)
		fprintf(f, ", \"%s\" %s%s", index_infos[i].name, type_of(&index_infos[i]),
			is_needed(i) ? " NOT NULL" : "");
	putc(')', f);
	err = fclose(f) ? -ENOMEM : db__run(d, sql, NULL, 0);
	free(sql);
	return err;
}

static int make(struct db *d)
{
	const struct db_value version[] = {db_value__int(INDEX_VERSION)};
	int err = make_job(d);

	for (size_t i = 0; !err && i < sizeof(tables) / sizeof(*tables); i++)
		err = db__run(d, tables[i], NULL, 0);
	if (!err)
		err = db__run(d, "INSERT INTO meta (key, value) VALUES ('version', ?)", version, 1);
	return err;
}

/* ---- from an earlier version */

static const char *const from_1[] = {
	(JOB_FS),
	"ALTER TABLE finding ADD COLUMN kind BIGINT",
	"ALTER TABLE finding ADD COLUMN code {text}",
	"ALTER TABLE finding ADD COLUMN needs {real}",
	"ALTER TABLE finding ADD COLUMN used {real}",
	"ALTER TABLE finding ADD COLUMN asked {real}",
	"UPDATE job SET program = substr(program, 1, 128) WHERE length(program) > 128",
	"CREATE INDEX job_program ON job (program, start)",
	"ALTER TABLE day ADD COLUMN failed BIGINT",
	"ALTER TABLE day ADD COLUMN read_bytes {real}",
	"ALTER TABLE day ADD COLUMN write_bytes {real}",
	"ALTER TABLE month ADD COLUMN failed BIGINT",
	"ALTER TABLE month ADD COLUMN read_bytes {real}",
	"ALTER TABLE month ADD COLUMN write_bytes {real}",
	("INSERT INTO dirty (day, month, cluster, \"user\", account, partition) SELECT DISTINCT "
	 "day, month, cluster, \"user\", account, partition FROM job WHERE true ON CONFLICT DO "
	 "NOTHING"),
	"DROP TABLE pseudonym", /* it had names; users get new random ones */
	"CREATE TABLE pseudonym (word {text} PRIMARY KEY, pseudonym {text} NOT NULL)",
	"INSERT INTO meta (key, value) VALUES ('names_left', '1') ON CONFLICT DO NOTHING",
	NULL,
};

static const char *const from_2[] = {
	NODE,
	node_rows,
	RUNNING,
	(COORDINATOR),
	"DROP TABLE IF EXISTS access", /* nothing was in it */
	NULL,
};

static const char *const from_3[] = {
	JOB_LIST,
	NULL,
};

/* A step for each version that needs more than new columns of job. */
static const struct schema_step steps[] = {
	{1, from_1},
	{2, from_2},
	{3, from_3},
};

static int list_columns(struct db *d, struct string_list *names)
{
	struct db_rows r;
	int err = db__ask(&r, d,
			  db__is_postgresql(d)
				  ? "SELECT column_name FROM information_schema.columns WHERE "
				    "table_name = 'job' AND table_schema = current_schema()"
				  : "SELECT name FROM pragma_table_info('job')",
			  NULL, 0);

	while (!err && db_rows__next(&r))
		err = string_list__append(names, r.v[0].text);
	return db_rows__end(&r, err);
}

static int add_column(struct db *d, int i)
{
	const struct index_info *info = &index_infos[i];
	char sql[256];

	snprintf(sql, sizeof(sql), "ALTER TABLE job ADD COLUMN \"%s\" %s%s", info->name,
		 type_of(info),
		 !is_needed(i)		    ? ""
		 : info->type == INDEX_TEXT ? " NOT NULL DEFAULT ''"
					    : " NOT NULL DEFAULT 0");
	return db__run(d, sql, NULL, 0);
}

static bool has(const struct string_list *names, const char *name)
{
	for (unsigned i = 0; i < names->n; i++)
		if (!strcmp(names->v[i], name))
			return true;
	return false;
}

static int add_columns(struct db *d)
{
	struct string_list there = {0};
	int err = list_columns(d, &there);

	for (int i = 0; !err && i < N_INDEX; i++)
		if (!has(&there, index_infos[i].name))
			err = add_column(d, i);
	string_list__free(&there);
	return err;
}

int schema__upgrade(struct db *d, const struct schema_step *s, size_t n, int from, int to)
{
	const struct db_value version[] = {db_value__int(to)};
	int err = add_columns(d);

	for (size_t i = 0; !err && i < n; i++)
		for (const char *const *sql = s[i].from >= from ? s[i].sql : NULL;
		     !err && sql && *sql; sql++)
			err = db__run(d, *sql, NULL, 0);
	return err ? err
		   : db__run(d, "UPDATE meta SET value = ? WHERE key = 'version'", version, 1);
}

/* ---- open */

static int version_of(struct db *d, int *err)
{
	const char *are_there = db__is_postgresql(d)
					? "SELECT count(*) FROM pg_tables WHERE tablename = 'meta' "
					  "AND schemaname = current_schema()"
					: "SELECT count(*) FROM sqlite_master WHERE type = 'table' "
					  "AND name = 'meta'";
	double n = db__number(d, err, are_there, NULL, 0);

	if (*err || !(n > 0))
		return NONE;
	n = db__number(d, err, "SELECT CAST(value AS BIGINT) FROM meta WHERE key = 'version'", NULL,
		       0);
	if (!*err && !(n >= 0 && n < 1e6)) {
		log_error("%s: this is no index: its tables have no version", db__name(d));
		*err = -EBADMSG;
	}
	return *err ? NONE : (int)n;
}

/* Makes or upgrades the tables. If several processes come here at once, one of them does it. */
static int bring_forward(struct db *d)
{
	int err = db__begin(d), version;

	if (err)
		return err;
	version = version_of(d, &err);
	if (!err && version == NONE)
		err = make(d);
	else if (!err && version < INDEX_VERSION)
		err = schema__upgrade(d, steps, sizeof(steps) / sizeof(*steps), version,
				      INDEX_VERSION);
	if (!err)
		return db__commit(d);
	db__rollback(d);
	return err;
}

/* A database of a server is not renamed, as a file is: what can be read again is deleted, contacts
 * stay. */
static int clear(struct db *d)
{
	static const char *const sql[] = {
		"DELETE FROM job",	   "DELETE FROM finding",
		"DELETE FROM job_node",	   "DELETE FROM file",
		"DELETE FROM directory",   "DELETE FROM day",
		"DELETE FROM month",	   "DELETE FROM day_rule",
		"DELETE FROM hist",	   "DELETE FROM admin_comment",
		"DELETE FROM dirty",	   "DELETE FROM meta WHERE key LIKE 'accounted%'",
		"DELETE FROM job_fs",	   "DELETE FROM node_row",
		"DELETE FROM node",	   "DELETE FROM running",
		"DELETE FROM coordinator", "DELETE FROM meta WHERE key LIKE 'coordinators_at%'"};
	int err = db__begin(d);

	for (size_t i = 0; !err && i < sizeof(sql) / sizeof(*sql); i++)
		err = db__run(d, sql[i], NULL, 0);
	if (!err)
		return db__commit(d);
	db__rollback(d);
	return err;
}

/* Copies what profiles do not have from the file that was there before, as far as it can be
 * read. */
static void rescue(struct db *d)
{
	static const char *const sql[] = {
		"INSERT INTO contact (at, who, \"user\", account, rule, signature, job, ticket, "
		"text) SELECT at, who, \"user\", account, rule, signature, job, ticket, text FROM "
		"old.contact",
		"INSERT INTO mail (id, about, at) SELECT id, about, at FROM old.mail",
		"INSERT INTO meta (key, value) SELECT key, value FROM old.meta WHERE key LIKE "
		"'forgotten%' OR key IN ('rows_before', 'names_before')", /* privacy.c */
		"INSERT INTO pseudonym (word, pseudonym) SELECT word, pseudonym FROM old.pseudonym",
	};
	char *name = NULL;
	struct db_value path;
	bool is_there = asprintf(&name, "%s.old", db__name(d)) > 0 && !access(name, F_OK);
	int err;

	path = db_value__text(name);
	err = is_there ? db__run(d, "ATTACH ? AS old", &path, 1) : 0;
	for (size_t i = 0; is_there && !err && i < sizeof(sql) / sizeof(*sql); i++)
		err = db__run(d, sql[i], NULL, 0);
	if (is_there)
		db__run(d, "DETACH old", NULL, 0);
	if (err)
		log_warn("%s: not all of its contacts, sent mails and forgotten users could "
			 "be read",
			 name);
	free(name);
}

static int look_at_version(struct db *d, enum db_mode mode)
{
	int err, version = version_of(d, &err);

	if (err)
		return err;
	if (version > INDEX_VERSION) {
		log_error("%s: a later jobprof has made this index (version %d of its tables; this "
			  "one knows %d)",
			  db__name(d), version, INDEX_VERSION);
		return -EPROTONOSUPPORT;
	}
	if (version == INDEX_VERSION)
		return 0;
	if (mode != DB_READ)
		return bring_forward(d);
	if (version == NONE)
		return -ENOENT;
	log_error("%s: an earlier jobprof has made this index; the next jobprof index scan "
		  "upgrades it",
		  db__name(d));
	return -EPROTONOSUPPORT;
}

int index__open(struct index *ix, const char *where, enum db_mode mode)
{
	int err;

	*ix = (struct index){0};
	err = db__open(&ix->db, where, mode);
	if (err)
		return err;
	err = look_at_version(ix->db, mode);
	if (!err && mode == DB_ANEW && db__is_postgresql(ix->db))
		err = clear(ix->db);
	else if (!err && mode == DB_ANEW)
		rescue(ix->db);
	if (err)
		index__close(ix);
	return err;
}

void index__close(struct index *ix)
{
	db__close(ix->db);
	ix->db = NULL;
	for (size_t i = 0; i < sizeof(ix->put) / sizeof(*ix->put); i++)
		free(ix->put[i]);
	memset(ix->put, 0, sizeof(ix->put));
}
