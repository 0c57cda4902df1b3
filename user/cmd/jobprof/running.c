/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof running: the jobs that run and wait, those first that need somebody now. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hostlist.h"
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/running_files.h"
#include "cmd/jobprof/site_args.h"
#include "cmd/jobprof/verbs.h"

#define ROWS	     50	 /* as text, without --all */
#define ROWS_DATA    500 /* as JSON and CSV */
#define ROWS_WAITING 10	 /* as text */
#define LOSES	     1.0 /* cores: a job that loses less is one of the others */

struct options {
	struct site_args site;
	bool lines;
};

/* SQL expressions on a row j of the table running. ELAPSED and LEFT have the time as argument. */
enum { ELAPSED = 13, LEFT };
static const struct site_column columns[] = {
	{"job_id", "job", "j.job_id", CELL_JOB, 0, 0},
	{"array_id", "array", "j.array_id", CELL_ID, SITE_HIDDEN, 0},
	{"array_task", "task", "j.array_task", CELL_ID, SITE_HIDDEN, 0},
	{"array_tasks", "tasks", "j.array_tasks", CELL_TEXT, 8, 12},
	{"cluster", "cluster", "j.cluster", CELL_TEXT, SITE_HIDDEN, 40},
	{"user", "user", "j.\"user\"", CELL_TEXT, 1, 10},
	{"account", "project", "j.account", CELL_TEXT, 12, 12},
	{"name", "name", "COALESCE(j.name, j.program)", CELL_TEXT, 2, 16},
	{"state", "state", "j.state", CELL_TEXT, SITE_HIDDEN, 13},
	{"partition", "part.", "j.partition", CELL_TEXT, 13, 10},
	{"nodes", "nodes", "j.nodes", CELL_COUNT, 7, 0},
	{"cores", "cores", "COALESCE(j.cores, j.cpus * 1.0)", CELL_COUNT, 4, 0},
	{"gpus", "GPUs", "j.gpus", CELL_COUNT, 15, 0},
	[ELAPSED] = {"elapsed_s", "ran", "? - j.start", CELL_DURATION, 3, 0},
	[LEFT] = {"left_s", "left", "j.start + j.limit_s - ?", CELL_DURATION, 5, 0},
	{"cpu_share", "CPU%", "j.cpu_share", CELL_SHARE, 6, 0},
	{"memory_share", "mem%", "j.memory_share", CELL_SHARE, 6, 0},
	{"gpu_share", "GPU%", "j.gpu_share", CELL_SHARE, 14, 0},
	{"io_bytes_s", "I/O /s", "j.io_bytes_s", CELL_BYTES, 14, 0},
	{"losing_cores", "core-h/h lost", "j.losing_cores", CELL_NUMBER, 1, 0},
	{"rule", "finding", "CASE WHEN j.rule = '' THEN 'none' ELSE j.rule END", CELL_TEXT, 1, 22},
	{"since", "since", "j.since", CELL_TIME, 9, 0},
	{"text", "what it says", "j.text", CELL_TEXT, 10, 60},
	{"full_at", "memory full", "j.full_at", CELL_TIME, SITE_HIDDEN, 0},
	{"severity", "severity", "j.severity", CELL_COUNT, SITE_HIDDEN, 0},
	{"found", "found", "j.found", CELL_TIME, SITE_HIDDEN, 0},
	{"findings", "findings", "j.findings", CELL_COUNT, SITE_HIDDEN, 0},
	{"reason", "waits for", "j.reason", CELL_TEXT, 1, 24},
	{"estimated", "may begin", "j.estimated", CELL_TIME, 2, 0},
	{"submit", "submitted", "j.submit", CELL_TIME, 9, 0},
	{"start", "started", "j.start", CELL_TIME, SITE_HIDDEN, 0},
	{"limit_s", "limit", "j.limit_s", CELL_DURATION, SITE_HIDDEN, 0},
	{"node_list", "nodes", "j.node_list", CELL_TEXT, SITE_HIDDEN, 40},
	{"program", "program", "j.program", CELL_TEXT, SITE_HIDDEN, 40},
	{"last", "last row", "j.last", CELL_TIME, SITE_HIDDEN, 0},
	{"spark", "CPU% of 30 min", "j.spark", CELL_TEXT, SITE_HIDDEN, 40},
	{"finding_list", "findings", "j.finding_list", CELL_TEXT, SITE_HIDDEN, 40},
};
#define N_COLUMNS (sizeof(columns) / sizeof(*columns))

static const struct opt opts[] = {
	{'u', "user", "LIST", "of these users", OPT_TEXT(struct options, site.filter.user)},
	{'A', "project", "LIST", "of these projects, which are Slurm's accounts",
	 OPT_TEXT(struct options, site.filter.account)},
	{'n', "name", "TEXT", "with this in their name, as it is written; =TEXT: of this name",
	 OPT_TEXT(struct options, site.filter.name)},
	{'s', "state", "LIST", "in these states: running, pending, suspended, ...",
	 OPT_TEXT(struct options, site.filter.state)},
	{'r', "partition", "LIST", "of these partitions",
	 OPT_TEXT(struct options, site.filter.partition)},
	{'M', "cluster", "LIST", "of these clusters",
	 OPT_TEXT(struct options, site.filter.cluster)},
	{'j', "jobs", "LIST", "these jobs and arrays: 7, 7_2, 7+1",
	 OPT_TEXT(struct options, site.filter.jobs)},
	{'N', "nodes", "RANGE", "with so many nodes: 4, 4-16, 8-",
	 OPT_CALL_AT(site_args__take_range, struct options, site)},
	{'w', "node", "LIST", "that are on one of these nodes: n1,n[4-7]",
	 OPT_TEXT(struct options, site.filter.node)},
	{0, "finding", "RULE", "with this finding; any, none, unknown (no profile)",
	 OPT_TEXT(struct options, site.filter.finding)},
	OPTS_DATABASE(struct options),
	OPTS_FORM(struct options),
	/* for jobprofd (daemon/files/live_findings.c): of FILE, a line for each finding */
	{0, "lines", NULL, NULL, OPT_FLAG(struct options, lines)},
	{0},
};

const struct command cmd_running = {
	.name = "jobprof running",
	.usage = "[OPTION]...\n[--json|--csv] FILE...",
	.about =
		"The jobs that run and wait: what holds each back now, what it loses in an hour,\n"
		"and when its memory will be full; first those that need somebody. FILE: files of\n"
		"the running steps of a job, in place of the index.",
	.opts = opts,
};

/* ---- questions */

/* Whether the host list of a job has one of these names, which are sorted. */
static bool is_on(const char *list, const struct string_list *wanted)
{
	struct string_list nodes = {0};
	char bad[64];
	bool is = false;

	if (!hostlist__parse(&nodes, list, bad, sizeof(bad)))
		for (unsigned i = 0, k = 0; !is && i < nodes.n && k < wanted->n;) {
			const int order = strcmp(nodes.v[i], wanted->v[k]);

			is = !order;
			i += order < 0;
			k += order > 0;
		}
	string_list__free(&nodes);
	return is;
}

/* Adds a condition: the job is on one of the nodes of the list, which has been checked. Queues are
 * short: all of it is looked at. */
static int add_nodes(struct query *q, struct index *ix, const char *list)
{
	struct string_list wanted = {0};
	char bad[64];
	struct db_rows r = {0};
	int err = hostlist__parse(&wanted, list, bad, sizeof(bad));

	if (!err)
		err = db__ask(&r, ix->db, "SELECT id, node_list FROM running", NULL, 0);
	query__add(q, " AND j.id IN (0");
	while (!err && db_rows__next(&r)) {
		char id[32];

		snprintf(id, sizeof(id), ", %lld", (long long)r.v[0].i);
		if (r.v[1].type == DB_TEXT && is_on(r.v[1].text, &wanted))
			query__add(q, id);
	}
	query__add(q, ")");
	err = db_rows__end(&r, err);
	string_list__free(&wanted);
	return err;
}

/* Nodes and findings of a running job are texts of its row. */
static int where(struct query *q, struct index *ix, const struct options *o, const struct viewer *v,
		 bool waits)
{
	struct job_filter f = o->site.filter;
	char rule[256];
	int err;

	f.node = NULL;
	if (job_filter__has_rule(&f))
		f.finding = NULL;
	err = query__where(q, &f, v);
	query__add(q, waits ? " AND j.state = 'PENDING'" : " AND j.state <> 'PENDING'");
	if (o->site.filter.finding && !f.finding) {
		snprintf(rule, sizeof(rule), "\"rule\":\"%s\"", o->site.filter.finding);
		query__add_like(q, " AND j.finding_list", rule);
	}
	if (!err && o->site.filter.node)
		err = add_nodes(q, ix, o->site.filter.node);
	return err;
}

static void add_order(struct query *q, bool waits)
{
	query__add(q, waits ? " ORDER BY j.estimated ASC NULLS LAST, j.submit ASC NULLS LAST, "
			      "j.job_id"
			    : " ORDER BY j.full_at ASC NULLS LAST, j.losing_cores DESC NULLS LAST, "
			      "j.start ASC NULLS LAST, j.job_id");
}

static int ask_rows(struct index *ix, const struct options *o, const struct viewer *v, bool waits,
		    struct site_table *t)
{
	const struct db_value now = db_value__int(time(NULL));
	struct db_rows r = {0};
	struct query q;
	char limit[32];
	int err = query__init(&q);

	for (size_t i = 0; i < N_COLUMNS; i++) {
		query__add(&q, i ? ", " : "SELECT ");
		query__add(&q, columns[i].sql);
		if (i == ELAPSED || i == LEFT)
			query__arg(&q, now);
	}
	query__add(&q, " FROM running j");
	if (!err)
		err = where(&q, ix, o, v, waits);
	add_order(&q, waits);
	snprintf(limit, sizeof(limit), " LIMIT %d", o->site.json || o->site.csv ? ROWS_DATA : ROWS);
	query__add(&q, o->site.all ? "" : limit);
	if (!err)
		err = query__ask(&q, ix->db, &r);
	while (!err && db_rows__next(&r))
		err = site_table__add(t, r.v);
	err = db_rows__end(&r, err);
	query__free(&q);
	return err;
}

/* Of all jobs of the filter. */
struct sums {
	double jobs, losing, bad, lost, cores, last, waiting, looked, asked;
};

static int ask_sums(struct index *ix, const struct options *o, const struct viewer *v,
		    struct sums *s)
{
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	query__add(&q,
		   "SELECT count(*), sum(CASE WHEN j.losing_cores >= ? OR j.full_at IS NOT NULL "
		   "THEN 1.0 ELSE 0.0 END), sum(CASE WHEN j.severity = 2 THEN 1.0 ELSE 0.0 "
		   "END), sum(j.losing_cores), sum(COALESCE(j.cores, j.cpus * 1.0)), "
		   "max(j.last) FROM running j");
	query__arg(&q, db_value__real(LOSES));
	if (!err)
		err = where(&q, ix, o, v, false);
	if (!err)
		err = query__ask(&q, ix->db, &r);
	if (!err && db_rows__next(&r)) {
		double *const to[] = {&s->jobs, &s->losing, &s->bad, &s->lost, &s->cores, &s->last};

		for (unsigned i = 0; i < 6; i++)
			*to[i] = db_value__number(&r.v[i]);
	}
	err = db_rows__end(&r, err);
	query__free(&q);
	return err;
}

static int ask_waiting(struct index *ix, const struct options *o, const struct viewer *v,
		       struct sums *s)
{
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	query__add(&q, "SELECT count(*) FROM running j");
	if (!err)
		err = where(&q, ix, o, v, true);
	if (!err)
		err = query__ask(&q, ix->db, &r);
	if (!err && db_rows__next(&r))
		s->waiting = db_value__number(&r.v[0]);
	err = db_rows__end(&r, err);
	query__free(&q);
	if (!err)
		s->asked = running__asked(ix, &err);
	if (!err)
		s->looked = running__looked(ix, &err);
	return err;
}

/* ---- JSON */

static json_t *spark_json(const char *text)
{
	json_t *a = json_array();

	for (const char *p = text; p; p = strchr(p, ',')) {
		p += *p == ',';
		json_array_append_new(a,
				      *p >= '0' && *p <= '9' ? json_integer(atoi(p)) : json_null());
	}
	return a;
}

/* What changes at every instant is left out: whoever draws it has a clock. */
static json_t *rows_json(const struct site_table *t)
{
	json_t *rows = site_table__json(t), *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		const char *spark = json_string_value(json_object_get(row, "spark"));
		const char *list = json_string_value(json_object_get(row, "finding_list"));

		json_object_del(row, columns[ELAPSED].key);
		json_object_del(row, columns[LEFT].key);
		json__set(row, "spark", spark ? spark_json(spark) : json_null());
		json__set(row, "finding_list", list ? json_loads(list, 0, NULL) : json_null());
	}
	return rows;
}

static int print_json(const struct sums *s, const struct site_table *t,
		      const struct site_table *waiting)
{
	json_t *o = json_object();

	JSON_NUMBERS(o, {"losing_cores", s->lost}, {"cores", s->cores});
	json__set(o, "jobs", json__whole(s->jobs));
	json__set(o, "losing", json__whole(isnan(s->losing) ? 0 : s->losing));
	json__set(o, "bad", json__whole(isnan(s->bad) ? 0 : s->bad));
	json__set(o, "waiting", json__whole(s->waiting));
	json__set(o, "looked", json__whole(s->looked));
	json__set(o, "asked", json__whole(s->asked));
	json__set(o, "rows", rows_json(t));
	json__set(o, "waiting_rows", rows_json(waiting));
	return json__print(o, stdout, JSON_COMPACT) ? 1 : 0;
}

/* ---- text */

static void print_head(const struct sums *s)
{
	char jobs[SITE_CELL], losing[SITE_CELL], lost[SITE_CELL], cores[SITE_CELL],
		waiting[SITE_CELL], *text = NULL;

	site_cell__put(jobs, CELL_COUNT, s->jobs);
	site_cell__put(losing, CELL_COUNT, s->losing);
	site_cell__put(lost, CELL_NUMBER, isnan(s->lost) ? 0 : s->lost);
	site_cell__put(cores, CELL_COUNT, s->cores);
	site_cell__put(waiting, CELL_COUNT, s->waiting);
	if (isnan(s->looked) && !(s->jobs > 0))
		puts("Which jobs run is not known.");
	else if (!(s->jobs > 0) && !(s->waiting > 0))
		puts("No job runs or waits.");
	else if (!(s->jobs > 0))
		printf("No job runs; %s wait.\n", waiting);
	else if (asprintf(&text,
			  "%s job%s: %s core-hours are lost in an hour, of %s; %s los%s 1 or "
			  "more, or will run out of memory. %s wait%s.",
			  jobs, s->jobs == 1 ? " runs" : "s run", lost, cores, losing,
			  s->losing == 1 ? "es" : "e", waiting, s->waiting == 1 ? "s" : "") > 0)
		site_table__wrap(text, site_table__width(stdout), stdout);
	free(text);
}

static void print_age(const struct sums *s)
{
	const double age = (double)time(NULL) - s->looked;
	char text[SITE_CELL];

	site_cell__put(text, CELL_DURATION, age);
	if (isnan(s->looked))
		log_warn("nobody has looked at running jobs yet: does jobprof index watch run?");
	else if (age > 300)
		log_warn("this is as of %s ago: does jobprof index watch run?", text);
}

static void print_text(const struct options *o, const struct sums *s, const struct site_table *t,
		       struct site_table *waiting)
{
	const unsigned width = site_table__width(stdout), all = waiting->nrows;

	print_head(s);
	if (t->nrows)
		site_table__print(t, width, stdout);
	if (s->jobs > t->nrows)
		printf("\n%u of %.0f; --all prints all.\n", t->nrows, s->jobs);
	if (!o->site.all && all > ROWS_WAITING)
		waiting->nrows = ROWS_WAITING;
	if (waiting->nrows) {
		putchar('\n');
		site_table__print(waiting, width, stdout);
	}
	if (s->waiting > waiting->nrows)
		printf("\n%u of %.0f that wait; --all prints all.\n", waiting->nrows, s->waiting);
	waiting->nrows = all;
	print_age(s);
}

/* ---- the verb */

static int print_csv(struct site_table *t, const struct site_table *waiting)
{
	int err = 0;

	for (unsigned i = 0; !err && i < waiting->nrows; i++)
		err = site_table__add(t, &waiting->cells[(size_t)i * N_COLUMNS]);
	if (!err)
		site_table__csv(t, stdout);
	return err ? 1 : 0;
}

static int print(struct index *ix, const struct options *o, const struct viewer *v)
{
	struct site_table t = {.columns = columns, .ncolumns = N_COLUMNS}, waiting = t;
	struct sums s = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
	int err = ask_sums(ix, o, v, &s), status;

	if (!err)
		err = ask_waiting(ix, o, v, &s);
	if (!err)
		err = ask_rows(ix, o, v, false, &t);
	if (!err)
		err = ask_rows(ix, o, v, true, &waiting);
	status = site_args__status(err);
	if (!status && o->site.json)
		status = print_json(&s, &t, &waiting);
	else if (!status && o->site.csv)
		status = print_csv(&t, &waiting);
	else if (!status)
		print_text(o, &s, &t, &waiting);
	site_table__free(&t);
	site_table__free(&waiting);
	return status;
}

/* The rule, a tab and the text of each finding. */
static int print_lines(struct index *ix)
{
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	query__add(&q, "SELECT j.finding_list FROM running j");
	if (!err)
		err = query__ask(&q, ix->db, &r);
	while (!err && db_rows__next(&r)) {
		const char *text = r.v[0].type == DB_TEXT ? r.v[0].text : NULL;
		json_t *list = text ? json_loads(text, 0, NULL) : NULL, *one;
		size_t i;

		json_array_foreach (list, i, one) {
			const char *rule = json_string_value(json_object_get(one, "rule"));
			const char *said = json_string_value(json_object_get(one, "text"));

			if (rule && said)
				printf("%s\t%s\n", rule, said);
		}
		json_decref(list);
	}
	err = db_rows__end(&r, err);
	query__free(&q);
	return err || fflush(stdout) ? 1 : 0;
}

static int print_files(const struct options *o, char **paths, int n)
{
	const struct viewer v = {.sees_all = true};
	struct index ix;
	char *dir = NULL;
	int status = running_files__open(&ix, &dir, paths, n);

	if (!status)
		status = o->lines ? print_lines(&ix) : print(&ix, o, &v);
	running_files__close(&ix, dir);
	return status;
}

int verb_running(int argc, char **argv)
{
	struct options o = {0};
	struct viewer viewer;
	struct index ix;
	int status;

	site_args__init(&o.site, "all");
	o.site.since_word = NULL;
	o.site.looks = true;
	status = options__read(&cmd_running, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	if (optind < argc)
		return print_files(&o, argv + optind, argc - optind);
	status = site_args__open(&o.site, &ix, &viewer);
	if (status)
		return status;
	status = print(&ix, &o, &viewer);
	index__close(&ix);
	return status;
}
