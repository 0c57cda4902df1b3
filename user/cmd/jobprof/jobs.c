/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof jobs: a table of jobs, those that lost most first. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/site_args.h"
#include "cmd/jobprof/verbs.h"
#include "findings/findings.h"

#define ROWS	 50 /* without --all and --limit */
#define ROWS_MAX 1000000

struct options {
	struct site_args site;
	const char *sort, *limit;
	uint32_t rows; /* at most; 0: all */
};

#define MONEY "money_lost"

/* SQL expressions on a row j of the table job; NULL: the cost of the finding of --finding, and what
 * was lost at the site's prices. */
static const struct site_column columns[] = {
	{"job_id", "job", "j.job_id", CELL_JOB, 0, 0},
	{"array_id", "array", "j.array_id", CELL_ID, SITE_HIDDEN, 0},
	{"array_task", "task", "j.array_task", CELL_ID, SITE_HIDDEN, 0},
	{"cluster", "cluster", "j.cluster", CELL_TEXT, SITE_HIDDEN, 40},
	{"user", "user", "j.\"user\"", CELL_TEXT, 1, 10},
	{"account", "project", "j.account", CELL_TEXT, 9, 12},
	{"name", "name", "COALESCE(j.name, j.program)", CELL_TEXT, 0, 20},
	{"state", "state", "j.state", CELL_TEXT, 12, 13},
	{"partition", "part.", "j.partition", CELL_TEXT, 14, 10},
	{"nodes", "nodes", "j.nodes", CELL_COUNT, 6, 0},
	{"cores", "cores", "COALESCE(j.cores, j.cpus * 1.0)", CELL_COUNT, 3, 0},
	{"gpus", "GPUs", "j.gpus", CELL_COUNT, 15, 0},
	{"start", "started", "j.start", CELL_TIME, 5, 0},
	{"elapsed_s", "ran", "j.elapsed_s", CELL_DURATION, 2, 0},
	{"limit_share", "limit%", "CAST(j.elapsed_s AS {real}) / NULLIF(j.limit_s, 0)", CELL_SHARE,
	 12, 0},
	{"cpu_share", "CPU%", "j.cpu_s / NULLIF(j.held_core_s, 0)", CELL_SHARE, 7, 0},
	{"memory_share", "mem%", "j.peak_mb / NULLIF(j.mem_asked_mb, 0)", CELL_SHARE, 8, 0},
	{"gpu_share", "GPU%", "j.gpu_use", CELL_SHARE, 13, 0},
	{"io_bytes_s", "I/O /s", "(j.read_mb + j.write_mb) * 1048576 / NULLIF(j.elapsed_s, 0)",
	 CELL_BYTES, 12, 0},
	{"energy_j", "energy J", "j.energy_j", CELL_NUMBER, SITE_HIDDEN, 0},
	{"held_core_s", "held core-h", "j.held_core_s", CELL_HOURS, 10, 0},
	{"lost_core_s", "lost core-h", "j.lost_core_s", CELL_HOURS, 0, 0},
	{"finding_core_s", "finding core-h", NULL, CELL_HOURS, 1, 22},
	{"lost_gpu_s", "lost GPU-h", "j.lost_gpu_s", CELL_HOURS, SITE_HIDDEN, 0},
	{MONEY, "lost", NULL, CELL_NUMBER, 11, 0},
	{"findings", "findings", "j.findings", CELL_COUNT, SITE_HIDDEN, 0},
	{"worst_rule", "worst finding",
	 "CASE WHEN j.sources = 1 THEN 'no profile' WHEN j.worst_rule = '' THEN 'none' "
	 "ELSE j.worst_rule END",
	 CELL_TEXT, 0, 22},
	{"worst_severity", "severity",
	 "CASE j.worst_severity WHEN 0 THEN 'note' WHEN 1 THEN 'warn' WHEN 2 THEN 'bad' END",
	 CELL_TEXT, SITE_HIDDEN, 8},
	{"worst_text", "what it says", "j.worst_text", CELL_TEXT, 11, 60},
	{"share_cpu", "own code", "j.share_cpu", CELL_SHARE, SITE_HIDDEN, 0},
	{"share_kernel", "kernel", "j.share_kernel", CELL_SHARE, SITE_HIDDEN, 0},
	{"share_others", "others", "j.share_others", CELL_SHARE, SITE_HIDDEN, 0},
	{"share_quota", "quota", "j.share_quota", CELL_SHARE, SITE_HIDDEN, 0},
	{"share_wait", "wait", "j.share_wait", CELL_SHARE, SITE_HIDDEN, 0},
	{"share_disk", "disk", "j.share_disk", CELL_SHARE, SITE_HIDDEN, 0},
	{"share_asleep", "asleep", "j.share_asleep", CELL_SHARE, SITE_HIDDEN, 0},
	{"share_idle", "idle", "j.share_idle", CELL_SHARE, SITE_HIDDEN, 0},
	{"tags", "tags", "j.tags", CELL_ID, SITE_HIDDEN, 0},
	{"signature", "signature", "j.signature", CELL_TEXT, SITE_HIDDEN, 40},
	{"file", "file", "j.file", CELL_TEXT, SITE_HIDDEN, 40},
};
#define N_COLUMNS (sizeof(columns) / sizeof(*columns))

static void print_sorts(FILE *out)
{
	site_filter__print_sorts(out, columns, N_COLUMNS);
}

static const struct opt opts[] = {
	OPTS_FILTER(struct options),
	OPT_SORT(struct options, SITE_BY_LOSS),
	{0, "limit", "N", "at most so many rows (default 50)", OPT_TEXT(struct options, limit)},
	OPTS_DATABASE(struct options),
	OPTS_FORM(struct options),
	{0},
};

const struct command cmd_jobs = {
	.name = "jobprof jobs",
	.usage = "[OPTION]...",
	.about =
		"A table of jobs: what each held, what of that it lost, and the finding that cost\n"
		"most. Without options those of the last 7 days that lost most. Without rights of\n"
		"staff it is of your own jobs.",
	.opts = opts,
};

static bool has_rule(const struct options *o)
{
	return job_filter__has_rule(&o->site.filter);
}

static const char *sort_of(const struct options *o)
{
	const char *finding = o->site.filter.finding;

	if (o->sort)
		return o->sort;
	if (finding && !strcmp(finding, "unknown"))
		return "held_core_s"; /* nobody knows what was lost */
	return has_rule(o) ? "finding_core_s" : "lost_core_s";
}

static const char *key_of(const struct options *o)
{
	return sort_of(o) + (*sort_of(o) == '-');
}

/* The column by which rows are sorted; NULL: there is none, which is logged. */
static const struct site_column *order_of(const struct options *o)
{
	return site_filter__sort(sort_of(o), columns, N_COLUMNS);
}

static void add_cost(struct query *q, const struct options *o)
{
	if (has_rule(o))
		query__add_cost(q, &o->site.filter);
	else
		query__add(q, "CAST(NULL AS {real})");
}

/* Without a price for cores or GPUs their part is not known; see site_args__money(). */
static void add_money(struct query *q, const struct options *o)
{
	static const char *const lost[] = {"j.lost_core_s", "j.lost_gpu_s"};
	const double prices[] = {o->site.core_h, o->site.gpu_h};
	const char *sep = "CAST(CASE WHEN ";

	for (int i = 0; i < 2; i++, sep = " IS NULL AND ") {
		query__add(q, sep);
		query__add(q, prices[i] > 0 ? lost[i] : "NULL");
	}
	query__add(q, " IS NULL THEN NULL ELSE 0.0");
	for (int i = 0; i < 2; i++) {
		if (!(prices[i] > 0))
			continue;
		query__add(q, " + COALESCE(");
		query__add(q, lost[i]);
		query__add(q, ", 0) * ?");
		query__arg(q, db_value__real(prices[i] / 3600));
	}
	query__add(q, " END AS {real})");
}

static void add_sql(struct query *q, const struct options *o, const struct site_column *c)
{
	if (c->sql)
		query__add(q, c->sql);
	else if (!strcmp(c->key, MONEY))
		add_money(q, o);
	else
		add_cost(q, o);
}

static void add_order(struct query *q, const struct options *o, const char *by, const char *of)
{
	query__add(q, " ORDER BY ");
	query__add(q, by);
	query__add(q, *sort_of(o) == '-' ? " ASC NULLS LAST, " : " DESC NULLS LAST, ");
	query__add(q, of);
	query__add(q, "job_id DESC, ");
	query__add(q, of);
	query__add(q, "start DESC");
}

/* Sums over all matching jobs. */
struct sums {
	double jobs, held_s, lost_s, unprofiled_s, rule_s;
	bool of_sums;	/* the filter needs only what the tables of sums have */
	bool with_rows; /* the query for rows returns the sums, too */
};

static void take_sums(struct sums *s, const struct db_value *v)
{
	s->jobs = db_value__number(&v[0]);
	s->held_s = db_value__number(&v[1]);
	s->lost_s = db_value__number(&v[2]);
	s->unprofiled_s = db_value__number(&v[3]);
	s->rule_s = db_value__number(&v[4]);
}

#define UNPROFILED "CASE WHEN j.findings IS NULL THEN j.held_core_s ELSE 0.0 END"
#define SHORT_S	   (40 * 86400.0) /* matches of a longer time may be too many to be stored */

/* Whether one query reads the rows once and stores the matches for their sums. */
static bool is_read_once(const struct options *o)
{
	const double until =
		isnan(o->site.filter.until) ? (double)time(NULL) : o->site.filter.until;

	return o->rows && until - o->site.filter.since <= SHORT_S;
}

/* table: a table of sums; NULL: the sums are made from rows of jobs. */
static int write_sums(struct query *q, const char *table, const struct options *o,
		      const struct viewer *v)
{
	if (table) {
		query__add(q, "SELECT COALESCE(sum(s.jobs), 0), sum(s.held_core_s), "
			      "sum(s.lost_core_s), sum(s.held_core_s - s.profiled_core_s), NULL "
			      "FROM ");
		query__add(q, table);
		query__add(q, " s");
		query__where_sums(q, table, &o->site.filter, v);
		return 0;
	}
	query__add(q, "SELECT count(*), sum(j.held_core_s), sum(j.lost_core_s), sum(" UNPROFILED
		      "), sum(");
	add_cost(q, o);
	query__add(q, ") FROM job j");
	return query__where(q, &o->site.filter, v);
}

/* Asks for the sums, unless the query for rows returns them. */
static int ask_sums(struct index *ix, const struct options *o, const struct viewer *v,
		    struct sums *s)
{
	const char *table = query__sums_for(ix, &o->site.filter);
	struct db_rows r = {0};
	struct query q;
	int err;

	s->of_sums = table != NULL;
	s->with_rows = !table && is_read_once(o);
	if (s->with_rows)
		return 0;
	err = query__init(&q);
	if (!err)
		err = write_sums(&q, table, o, v);
	if (!err)
		err = query__ask(&q, ix->db, &r);
	if (!err && db_rows__next(&r))
		take_sums(s, r.v);
	err = db_rows__end(&r, err);
	query__free(&q);
	return err;
}

/* Whether the database finds the first rows sooner by walking all jobs in the order of lost_core_s,
 * about rows * all / jobs of them, than by sorting the jobs that match. Not with a filter by user,
 * partition or the like: their jobs may all stand late in that order. Not in PostgreSQL, whose
 * index begins with NULL. */
static bool is_sooner_by_lost(struct index *ix, const struct options *o, const struct sums *s)
{
	int err;
	double all;

	if (db__is_postgresql(ix->db) || !s->of_sums || !o->rows || o->site.filter.user ||
	    o->site.filter.account || o->site.filter.partition || o->site.filter.cluster ||
	    strcmp(sort_of(o), "lost_core_s"))
		return false;
	all = db__number(ix->db, &err, "SELECT max(id) FROM job", NULL, 0);
	return !err && s->jobs * s->jobs > o->rows * all;
}

static void add_columns(struct query *q, const struct options *o)
{
	query__add(q, "SELECT ");
	for (size_t i = 0; i < N_COLUMNS; i++) {
		query__add(q, i ? ", " : "");
		add_sql(q, o, &columns[i]);
	}
}

/* The number stands in the text, since SQLite plans by the number of rows that are wanted. */
static void add_limit(struct query *q, const struct options *o)
{
	char limit[16];

	snprintf(limit, sizeof(limit), " LIMIT %u", o->rows);
	query__add(q, o->rows ? limit : "");
}

/* m: what matches, and is sorted; t: the first rows of that. Only their other columns are read, and
 * the database's index job_list has most that m needs. With sums, rows have those over m in five
 * more columns. */
static int write_question(struct query *q, const struct options *o, const struct viewer *v,
			  const struct site_column *by, bool with_sums)
{
	int err;

	query__add(q, "WITH m AS (SELECT j.id, ");
	add_sql(q, o, by);
	query__add(q, " AS k, j.job_id, j.start");
	if (with_sums)
		query__add(q, ", j.held_core_s, j.lost_core_s, j.findings");
	if (with_sums && has_rule(o)) {
		query__add(q, ", ");
		add_cost(q, o);
		query__add(q, " AS cost");
	}
	query__add(q, " FROM job j");
	err = query__where(q, &o->site.filter, v);
	if (with_sums) {
		query__add(q, "), a (jobs, held, lost, bare, cost) AS (SELECT count(*), "
			      "sum(j.held_core_s), sum(j.lost_core_s), sum(" UNPROFILED "), ");
		query__add(q, has_rule(o) ? "sum(j.cost)" : "CAST(NULL AS {real})");
		query__add(q, " FROM m j");
	}
	query__add(q, ") ");
	add_columns(q, o);
	query__add(q, with_sums ? ", a.jobs, a.held, a.lost, a.bare, a.cost" : "");
	query__add(q, " FROM (SELECT id, k, job_id, start FROM m");
	add_order(q, o, "k", "");
	add_limit(q, o);
	query__add(q, with_sums ? ") t CROSS JOIN a" : ") t");
	/* CROSS: SQLite begins with t, and does not store what t leaves out. */
	query__add(q, " CROSS JOIN job j WHERE j.id = t.id");
	add_order(q, o, "t.k", "t.");
	return err;
}

/* 0, or the exit status. */
static int ask_rows(struct index *ix, const struct options *o, const struct viewer *v,
		    struct sums *s, struct site_table *t)
{
	const struct site_column *by = order_of(o);
	struct db_rows r = {0};
	struct query q;
	int err = by ? query__init(&q) : 0;

	if (!by)
		return 2;
	q.in_order = v->sees_all && is_sooner_by_lost(ix, o, s);
	if (!err)
		err = write_question(&q, o, v, by, s->with_rows);
	if (!err)
		err = query__ask(&q, ix->db, &r);
	while (!err && db_rows__next(&r)) {
		if (s->with_rows && !t->nrows)
			take_sums(s, r.v + N_COLUMNS);
		err = site_table__add(t, r.v);
	}
	err = db_rows__end(&r, err);
	query__free(&q);
	return site_args__status(err);
}

static json_t *about_json(const struct sums *s)
{
	json_t *o = json_object();

	json__set(o, "matching", json__whole(s->jobs));
	JSON_NUMBERS(o, {"held_core_s", s->held_s}, {"lost_core_s", s->lost_s},
		     {"finding_core_s", s->rule_s}, {"without_profile_core_s", s->unprofiled_s});
	return o;
}

/* Prints a command that shows more of the first row: of its profile, else of the index. */
static void print_foot(const struct options *o, const struct site_table *t, const struct sums *s)
{
	const struct db_value *file = t->nrows ? &t->cells[N_COLUMNS - 1] : NULL;
	char jobs[SITE_CELL];

	if (!t->nrows)
		return;
	site_cell__put(jobs, CELL_COUNT, s->jobs);
	putchar('\n');
	if (s->jobs > t->nrows)
		printf("%u of %s; --all prints all. ", t->nrows, jobs);
	fputs("The first of them:\n  ", stdout);
	if (file->type == DB_TEXT && !access(file->text, R_OK)) {
		fputs("jobprof report ", stdout);
		site_args__print_word(stdout, file->text);
	} else {
		printf("jobprof seff %lld", (long long)t->cells[0].i);
		if (o->site.database) {
			fputs(" --database ", stdout);
			site_args__print_word(stdout, o->site.database);
		}
	}
	putchar('\n');
}

/* The columns with the cost of a finding and with money are headed by the finding's name and the
 * currency. */
static void set_heads(struct site_column *own, struct site_table *t, const struct options *o)
{
	static char money[32];

	snprintf(money, sizeof(money), "lost %s", o->site.currency);
	for (size_t i = 0; i < N_COLUMNS; i++) {
		own[i] = columns[i];
		if (!strcmp(columns[i].key, MONEY))
			own[i].head = money;
		else if (!columns[i].sql && has_rule(o))
			own[i].head = o->site.filter.finding;
	}
	t->sorted_by = key_of(o);
}

/* --all outdoes --limit. 0 or 2, logged. */
static int set_rows(struct options *o)
{
	uint32_t rows = ROWS;

	if (o->limit && (parse_u32(o->limit, &rows) || !rows || rows > ROWS_MAX)) {
		log_error("--limit %s: it is a number from 1 to %d; --all is all rows", o->limit,
			  ROWS_MAX);
		return 2;
	}
	o->rows = o->site.all ? 0 : rows;
	return 0;
}

int verb_jobs(int argc, char **argv)
{
	struct options o = {0};
	struct site_column own[N_COLUMNS];
	struct site_table t = {.columns = own, .ncolumns = N_COLUMNS};
	struct viewer viewer;
	struct sums sums = {0, NAN, NAN, NAN, NAN, false, false};
	struct index ix;
	bool is_text;
	int status, err;

	site_args__init(&o.site, "7d");
	status = options__read(&cmd_jobs, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	if (optind < argc)
		return options__wrong(&cmd_jobs, "\"%s\": jobs are selected by options",
				      argv[optind]);
	status = set_rows(&o);
	status = status ? status : site_args__open(&o.site, &ix, &viewer);
	if (status)
		return status;
	is_text = !o.site.json && !o.site.csv;
	set_heads(own, &t, &o);
	err = ask_sums(&ix, &o, &viewer, &sums);
	status = err ? site_args__status(err) : ask_rows(&ix, &o, &viewer, &sums, &t);
	if (!status && is_text)
		site_args__print_head(&o.site, sums.jobs, sums.held_s, sums.lost_s,
				      sums.held_s - sums.unprofiled_s, sums.rule_s);
	if (!status && (!is_text || t.nrows))
		status = site_args__print(&o.site, &t, about_json(&sums));
	if (!status && is_text)
		print_foot(&o, &t, &sums);
	if (!status && !(sums.jobs > 0))
		site_filter__hint(&o.site, &ix, &viewer);
	site_table__free(&t);
	index__close(&ix);
	return status;
}
