/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof node: who was on a node with whom, and who waited for whom. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/json.h"
#include "base/log.h"
#include "base/escape.h"
#include "cmd/jobprof/node_ledger.h"
#include "cmd/jobprof/site_args.h"
#include "cmd/jobprof/verbs.h"
#include "index/node_row.h"
#include "index/slower.h"

#define TABLES	  "jobs, ledger, lines, pairs, speed, events"
#define LONGEST_S (NODE_ROW_DAYS * 86400.0)

struct options {
	struct site_args site;
	const char *node; /* a name, and no list as that of the filter */
	const char *table;
};

static const struct opt opts[] = {
	{'w', "node", "NODE", "the node", OPT_TEXT(struct options, node)},
	{'S', "since", "TIME", "from then on: 24h (default), 7d, 2026-11-01, at most 35 days",
	 OPT_CALL_AT(site_args__take_since, struct options, site)},
	{'E', "until", "TIME", "until then (default now)",
	 OPT_CALL_AT(site_args__take_until, struct options, site)},
	{'M', "cluster", "NAME", "of this cluster, where several have such a node",
	 OPT_TEXT(struct options, site.filter.cluster)},
	OPTS_DATABASE(struct options),
	{0, "json", NULL, "as JSON", OPT_FLAG(struct options, site.json), .group = 1},
	{0, "csv", NULL, "its jobs, or --table, as CSV", OPT_FLAG(struct options, site.csv),
	 .group = 1},
	{0, "table", "TABLE", "of --csv: " TABLES, OPT_TEXT(struct options, table)},
	{0},
};

const struct command cmd_node = {
	.name = "jobprof node",
	.usage = "-w NODE [OPTION]...",
	.about = "A node over time: its jobs, what they used and waited for, who had the CPU\n"
		 "meanwhile, and how fast the node is beside others. Who may not see all jobs\n"
		 "has the numbers of own jobs only; others are \"another job\".",
	.opts = opts,
};

/* ---- the jobs as a table */

static const struct site_column columns[] = {
	{"job_id", "job", NULL, CELL_JOB, 0, 0},
	{"array_id", "array", NULL, CELL_ID, SITE_HIDDEN, 0},
	{"array_task", "task", NULL, CELL_ID, SITE_HIDDEN, 0},
	{"user", "user", NULL, CELL_TEXT, 1, 10},
	{"account", "project", NULL, CELL_TEXT, 9, 12},
	{"name", "name", NULL, CELL_TEXT, 0, 20},
	{"program", "program", NULL, CELL_TEXT, SITE_HIDDEN, 40},
	{"partition", "part.", NULL, CELL_TEXT, 14, 10},
	{"state", "state", NULL, CELL_TEXT, 12, 13},
	{"cores", "cores", NULL, CELL_NUMBER, 3, 0},
	{"start", "from", NULL, CELL_TIME, 2, 0},
	{"end", "to", NULL, CELL_TIME, 2, 0},
	{"cpu_s", "CPU h", NULL, CELL_HOURS, SITE_HIDDEN, 0},
	{"wait_s", "waited h", NULL, CELL_HOURS, SITE_HIDDEN, 0},
	{"cpu_share", "CPU%", NULL, CELL_SHARE, 4, 0},
	{"wait_share", "waited%", NULL, CELL_SHARE, 0, 0},
	{"memory_mb", "memory MiB", NULL, CELL_COUNT, 7, 0},
	{"energy_j", "energy J", NULL, CELL_NUMBER, SITE_HIDDEN, 0},
	{"lost_core_s", "lost core-h", NULL, CELL_HOURS, 5, 0},
	{"findings", "findings", NULL, CELL_COUNT, SITE_HIDDEN, 0},
	{"worst_rule", "worst finding", NULL, CELL_TEXT, 6, 22},
	{"worst_severity", "severity", NULL, CELL_COUNT, SITE_HIDDEN, 0},
	{"worst_text", "what it says", NULL, CELL_TEXT, 11, 60},
};
#define N_COLUMNS (sizeof(columns) / sizeof(*columns))

static struct db_value whole(double v)
{
	return isnan(v) ? db_value__real(v) : db_value__int((int64_t)v);
}

/* other: the name of somebody else's job in text; NULL: it is not text. */
static int add_lane(struct site_table *t, const struct node_lane *l, const char *other)
{
	const bool is_text = other != NULL;
	const struct db_value row[N_COLUMNS] = {
		whole(l->job_id),
		whole(l->array_id),
		whole(l->array_task),
		db_value__text(l->user),
		db_value__text(l->account),
		db_value__text(!l->is_visible	     ? other
			       : !l->name && is_text ? l->program
						     : l->name),
		db_value__text(l->program),
		db_value__text(l->partition),
		db_value__text(l->state),
		db_value__real(l->cores),
		whole(l->start),
		whole(l->end),
		db_value__real(l->cpu_s),
		db_value__real(l->wait_s),
		db_value__real(l->cpu_s / (l->cores * l->span_s)),
		db_value__real(l->wait_s / (l->cpu_s + l->wait_s)),
		db_value__real(l->memory_mb),
		db_value__real(l->energy_j),
		db_value__real(l->lost_core_s),
		whole(l->findings),
		db_value__text(l->worst_rule && *l->worst_rule ? l->worst_rule : NULL),
		whole(l->worst_severity),
		db_value__text(l->worst_text),
	};

	return site_table__add(t, row);
}

static int make_table(struct site_table *t, const struct node_page *p, const char *other)
{
	int err = 0;

	*t = (struct site_table){.columns = columns, .ncolumns = N_COLUMNS};
	for (unsigned i = 0; !err && i < p->nlanes; i++)
		err = add_lane(t, &p->lanes[i], other);
	return err;
}

/* ---- as JSON */

static json_t *kind_json(const struct node_about *a)
{
	json_t *o = json_object();

	json__set(o, "model", json__text(a->model));
	JSON_NUMBERS(o, {"memory_mb", a->memory_mb});
	json__set(o, "cores", json__whole(a->cores));
	json__set(o, "cpus", json__whole(a->cpus));
	json__set(o, "nodes", a->alike ? json_integer(a->alike) : json_null());
	return o;
}

/* Of somebody else's job only what everybody may know. */
static json_t *lanes_json(const struct node_page *p, const struct site_table *t)
{
	json_t *a = json_array();

	for (unsigned i = 0; i < p->nlanes; i++) {
		const struct node_lane *l = &p->lanes[i];
		json_t *o = l->is_visible ? site_table__json_row(t, i) : json_object();

		if (!l->is_visible) {
			json__set(o, "job_id", json_null());
			json__set(o, "cores", json__number(l->cores));
			json__set(o, "start", json__whole(l->start));
			json__set(o, "end", json__whole(l->end));
		}
		json_array_append_new(a, o);
	}
	return a;
}

/* Three digits behind the point: rows are of whole ms. */
static json_t *line_json(const double *v, unsigned n)
{
	json_t *a = json_array();

	for (unsigned i = 0; i < n; i++)
		json_array_append_new(a, json__number(rint(v[i] * 1000) / 1000));
	return a;
}

static json_t *lines_json(const struct node_page *p)
{
	json_t *o = json_object();

	for (int i = 0; i < N_NODE_LINES; i++)
		json__set(o, node_line_names[i], line_json(p->lines[i], p->n));
	return o;
}

static json_t *events_json(const struct node_page *p)
{
	json_t *a = json_array();

	for (unsigned i = 0; i < p->nevents; i++) {
		const struct node_event *e = &p->events[i];
		json_t *o = json_object();

		json__set(o, "at", json__whole(e->at));
		json__set(o, "kind", json_string(e->kind));
		json__set(o, "severity", json_integer(e->severity));
		json__set(o, "job_id", json__whole(e->job_id));
		json__set(o, "text", json__text(e->text));
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *page_json(const struct node_page *p, const struct site_table *t,
			 const struct node_speed *s, const struct viewer *v)
{
	json_t *o = json_object();

	json__set(o, "node", json__text(p->about.node));
	json__set(o, "cluster", json__text(p->about.cluster));
	json__set(o, "sees_all", json_boolean(v->sees_all));
	json__set(o, "kind", kind_json(&p->about));
	json__set(o, "from", json_integer(p->first * NODE_ROW_S));
	json__set(o, "until", json_integer((p->first + p->n) * NODE_ROW_S));
	json__set(o, "step_s", json_integer(NODE_ROW_S));
	json__set(o, "kept_days", json_integer(NODE_ROW_DAYS));
	json__set(o, "lanes", lanes_json(p, t));
	json__set(o, "lines", lines_json(p));
	json__set(o, "ledger", node_ledger__json(p, v->sees_all));
	json__set(o, "pairs", v->sees_all ? node_ledger__pairs_json(p) : json_null());
	json__set(o, "events", events_json(p));
	json__set(o, "speed", node_speed__json(s));
	return o;
}

/* ---- as CSV */

/* A row for each step. */
static json_t *lines_rows(const json_t *page)
{
	json_t *lines = json_object_get(page, "lines"), *rows = json_array(), *values;
	const json_int_t from = json_integer_value(json_object_get(page, "from"));
	const char *key;

	for (size_t i = 0; i < json_array_size(json_object_get(lines, node_line_names[0])); i++) {
		json_t *row = json_pack("{s:I}", "from", from + (json_int_t)i * NODE_ROW_S);

		json_object_foreach (lines, key, values)
			json_object_set(row, key, json_array_get(values, i));
		json_array_append_new(rows, row);
	}
	return rows;
}

/* The list of that name in the page's JSON, or what a table makes of a part. NULL: there is none.
 */
static json_t *rows_of(const json_t *page, const char *table)
{
	const json_t *ledger = json_object_get(page, "ledger");

	if (!strcmp(table, "lines"))
		return lines_rows(page);
	if (!strcmp(table, "ledger"))
		return node_ledger__rows(ledger);
	if (!strcmp(table, "speed") && json_is_object(json_object_get(page, table)))
		return json_incref(json_object_get(json_object_get(page, table), "nodes"));
	return json_incref(json_object_get(page, table));
}

/* ---- as text */

static void print_about(const struct node_page *p)
{
	const struct node_about *a = &p->about;
	char from[SITE_CELL], to[SITE_CELL];

	fputs("Node ", stdout);
	print__escaped(stdout, a->node);
	if (*a->cluster) {
		fputs(" of ", stdout);
		print__escaped(stdout, a->cluster);
	}
	if (a->cores > 0)
		printf(", %.0f cores", a->cores);
	if (a->memory_mb > 0)
		printf(", %.0f GiB", a->memory_mb / 1024);
	if (a->model) {
		fputs(", ", stdout);
		print__escaped(stdout, a->model);
	}
	site_cell__put(from, CELL_TIME, (double)p->first * NODE_ROW_S);
	site_cell__put(to, CELL_TIME, (double)(p->first + p->n) * NODE_ROW_S);
	printf("\n%s to %s: %u job%s\n\n", from, to, p->nlanes, p->nlanes == 1 ? "" : "s");
}

/* "CPU of jobs, cores: mean 31.2, highest 64, known for 93 % of the time" */
static void print_lines(const struct node_page *p)
{
	static const char *const words[N_NODE_LINES] = {
		"CPU of jobs, cores", "CPU of others, cores", "wait for CPU, threads",
		"memory, MiB",	      "memory of jobs, MiB",  "power, W"};

	for (int i = 0; i < N_NODE_LINES && words[i]; i++) {
		char mean[SITE_CELL], most[SITE_CELL], known[SITE_CELL];
		double sum = 0, highest = NAN;
		unsigned n = 0;

		for (unsigned k = 0; k < p->n; k++) {
			if (isnan(p->lines[i][k]))
				continue;
			sum += p->lines[i][k];
			highest = fmax(highest, p->lines[i][k]);
			n++;
		}
		site_cell__put(mean, CELL_NUMBER, sum / n);
		site_cell__put(most, CELL_NUMBER, highest);
		site_cell__put(known, CELL_SHARE, (double)n / p->n);
		if (n)
			printf("%-22s mean %s, highest %s; known for %s %% of the time\n", words[i],
			       mean, most, known);
		else
			printf("%-22s not known\n", words[i]);
	}
}

static void print_events(const struct node_page *p)
{
	if (p->nevents)
		puts("\nEvents");
	for (unsigned i = 0; i < p->nevents; i++) {
		char at[SITE_CELL];

		site_cell__put(at, CELL_TIME, p->events[i].at);
		printf("  %s  ", at);
		print__escaped(stdout, p->events[i].text);
		putchar('\n');
	}
}

static void print_text(const struct node_page *p, const struct site_table *t,
		       const struct node_speed *s, const struct viewer *v)
{
	print_about(p);
	site_table__print(t, site_table__width(stdout), stdout);
	putchar('\n');
	print_lines(p);
	node_ledger__print(p, v->sees_all);
	node_speed__print(s);
	print_events(p);
}

/* Takes the page. */
static int print_rows(json_t *page, const char *table)
{
	json_t *rows = rows_of(page, table);
	int status = 0;

	if (json_is_array(rows) || json_is_null(rows)) /* null: not for this viewer */
		csv__print_rows(stdout, rows);
	else
		status = options__wrong(&cmd_node, "--table %s: it is one of " TABLES, table);
	json_decref(rows);
	json_decref(page);
	return status;
}

/* ---- the verb */

static int print_page(const struct options *o, struct index *ix, const struct node_page *p,
		      const struct viewer *v)
{
	struct site_table t = {0};
	struct node_speed speed = {0};
	int status = make_table(&t, p, o->site.json || o->site.csv ? NULL : "another job") ? 1 : 0;
	const bool is_of_jobs = o->site.csv && (!o->table || !strcmp(o->table, "jobs"));

	if (!status && v->sees_all && !is_of_jobs)
		status = site_args__status(
			node_speed__read(&speed, ix, &p->about, &o->site.filter, v));
	if (!status && o->site.json)
		status = json__print(page_json(p, &t, &speed, v), stdout, JSON_COMPACT) ? 1 : 0;
	else if (!status && is_of_jobs)
		site_table__csv(&t, stdout);
	else if (!status && o->site.csv)
		status = print_rows(page_json(p, &t, &speed, v), o->table);
	else if (!status)
		print_text(p, &t, &speed, v);
	node_speed__free(&speed);
	site_table__free(&t);
	return status;
}

static int say_none(const struct options *o, int err, const struct viewer *v)
{
	if (err == -EEXIST)
		log_error("several clusters have a node \"%s\": name one with -M", o->node);
	else if (err == -ENOENT)
		log_error("no job%s was on a node \"%s\" in this time%s",
			  v->sees_all ? "" : " that you may see", o->node,
			  v->sees_all ? "" : ": a node is shown while own jobs ran there");
	return err == -EEXIST ? 2 : err == -ENOENT ? EX_NOPERM : site_args__status(err);
}

static int check(struct options *o, bool has_words)
{
	struct job_filter *f = &o->site.filter;

	if (has_words || !o->node || !*o->node)
		return options__wrong(&cmd_node, "name a node with -w, and nothing else");
	if (o->table && !o->site.csv)
		return options__wrong(&cmd_node, "--table is of --csv");
	if (isnan(f->until))
		f->until = (double)time(NULL);
	if (isnan(f->since) || !(f->until > f->since) || f->until - f->since > LONGEST_S) {
		log_error("-S, -E: a node is shown for at most %d days", NODE_ROW_DAYS);
		return 2;
	}
	return 0;
}

int verb_node(int argc, char **argv)
{
	struct options o = {0};
	struct node_page p = {0};
	struct index ix;
	struct viewer v;
	int status, err;

	site_args__init(&o.site, "24h");
	status = options__read(&cmd_node, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	status = check(&o, optind < argc);
	if (!status)
		status = site_args__open(&o.site, &ix, &v);
	if (status)
		return status;
	err = node_page__read(&p, &ix, o.node, &o.site.filter, &v);
	status = err ? say_none(&o, err, &v) : print_page(&o, &ix, &p, &v);
	node_page__free(&p);
	index__close(&ix);
	return status;
}
