/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof findings: which findings cost most, in whose jobs, and who was written to because of
 * them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "cmd/jobprof/site_change.h"
#include "cmd/jobprof/site_points.h"
#include "cmd/jobprof/verbs.h"
#include "findings/findings.h"

#define DAYS	30	 /* parts of the time, of JSON and CSV */
#define ROWS	25	 /* of users, without --all */
#define QUIET_S 7776000. /* a user counts as contacted for 90 days, as in the digest */

struct options {
	struct site_args site;
};

static const struct opt opts[] = {
	OPTS_FILTER(struct options),
	OPTS_DATABASE(struct options),
	OPTS_FORM(struct options),
	{0},
};

const struct command cmd_findings = {
	.name = "jobprof findings",
	.usage = "[--finding RULE] [OPTION]...",
	.about =
		"Which findings cost most, and how many jobs and users have them; without options\n"
		"of the last 30 days. Then whose jobs have the dearest one, or that of --finding,\n"
		"and when these users were written to.",
	.opts = opts,
};

/* ---- the rules */

static const struct site_column columns[] = {
	{"rule", "finding", NULL, CELL_TEXT, 0, 24},
	{"severity", "", NULL, CELL_TEXT, 3, 0},
	{"jobs", "jobs", NULL, CELL_COUNT, 0, 0},
	{"users", "users", NULL, CELL_COUNT, 0, 0},
	{"projects", "projects", NULL, CELL_COUNT, 4, 0},
	{"cost_core_s", "cost core-h", NULL, CELL_HOURS, 0, 0},
	{"contacted", "contacted", NULL, CELL_COUNT, 0, 0},
	{"cost_money", "cost", NULL, CELL_NUMBER, 1, 0},
	{"cost_points", "", NULL, CELL_SERIES, SITE_HIDDEN, 0},
};
#define N_COLUMNS (sizeof(columns) / sizeof(*columns))
enum { RULE, SEVERITY, COST = 5, CONTACTED, MONEY, POINTS };

/* What is asked, and the answer. */
struct asking {
	struct index *ix;
	const struct site_args *site;
	const struct viewer *viewer;
	struct job_filter filter; /* without a finding */
	bool of_days;		  /* the sums by day and rule have the answer */
	char *rule;		  /* whose jobs are looked at; NULL: there is none */
	struct site_table rules, changes;
	double jobs, held_s, lost_s, lost_gpu_s, profiled_s; /* of all jobs */
	double signatures; /* with the rule, of which `changes` has the dearest */
	struct site_points points;
};

/* Whether somebody was written to of late because of the finding, or of none in particular. */
#define IS_CONTACTED(user, rule)                                                                \
	"(" user " || '\t' || " rule " IN (SELECT c.\"user\" || '\t' || c.rule FROM contact c " \
	"WHERE c.at >= ? AND c.\"user\" IS NOT NULL AND c.rule IS NOT NULL) OR " user           \
	" IN (SELECT c.\"user\" FROM contact c WHERE c.at >= ? AND c.\"user\" IS NOT NULL AND " \
	"c.rule IS NULL))"
#define OF_DAYS                                                                                  \
	"s.rule, max(s.severity), CAST(sum(s.jobs) AS BIGINT), count(DISTINCT s.\"user\"), "     \
	"count(DISTINCT s.account), sum(s.cost_core_s), count(DISTINCT CASE WHEN " IS_CONTACTED( \
		"s.\"user\"", "s.rule") " THEN s.\"user\" END)"
#define OF_JOBS                                                                                  \
	"f.rule, max(f.severity), count(DISTINCT j.id), count(DISTINCT j.\"user\"), "            \
	"count(DISTINCT j.account), sum(f.cost_core_s), count(DISTINCT CASE WHEN " IS_CONTACTED( \
		"j.\"user\"", "f.rule") " THEN j.\"user\" END)"

/* Adds the tables of findings, and the conditions on them. */
static int add_from(struct query *q, const struct asking *w)
{
	if (!w->of_days) {
		query__add(q, " FROM job j JOIN finding f ON f.job = j.id");
		return query__where(q, &w->filter, w->viewer);
	}
	query__add(q, " FROM day_rule s");
	query__where_sums(q, "day", &w->filter, w->viewer);
	return 0;
}

static const char *severity(int64_t of)
{
	return severity__name(of == 2 ? SEVERITY_BAD : of == 1 ? SEVERITY_WARN : SEVERITY_NOTE);
}

static int add_rule(void *arg, const struct db_value *v)
{
	struct asking *w = arg;
	struct db_value row[N_COLUMNS] = {0};

	memcpy(row, v, MONEY * sizeof(*row));
	row[SEVERITY] = db_value__text(severity(v[SEVERITY].i));
	row[MONEY] = db_value__real(site_args__money(w->site, db_value__number(&v[COST]), NAN));
	return site_table__add(&w->rules, row);
}

static int ask_rules(struct asking *w)
{
	const int64_t late = (int64_t)((double)time(NULL) - QUIET_S);
	struct query q;

	query__init(&q);
	query__add(&q, w->of_days ? "SELECT " OF_DAYS : "SELECT " OF_JOBS);
	query__arg(&q, db_value__int(late));
	query__arg(&q, db_value__int(late));
	add_from(&q, w);
	query__add(&q, " GROUP BY 1 ORDER BY 6 DESC NULLS LAST, 1");
	return query__each(&q, w->ix->db, add_rule, w);
}

/* ---- their cost over time */

static int ask_points(struct asking *w)
{
	struct db_rows r = {0};
	struct query q;
	int err;

	site_points__init(&w->points, w->ix, &w->filter, DAYS);
	if (!w->points.n || (!w->site->json && !w->site->csv))
		return 0;
	err = query__init(&q);
	query__add(&q, w->of_days ? "SELECT s.rule, " : "SELECT f.rule, ");
	site_points__add(&w->points, &q, w->of_days);
	query__add(&q, w->of_days ? ", sum(s.cost_core_s)" : ", sum(f.cost_core_s)");
	if (!err)
		err = add_from(&q, w);
	query__add(&q, " GROUP BY 1, 2 ORDER BY 1, 2");
	if (!err)
		err = query__ask(&q, w->ix->db, &r);
	if (!err)
		err = site_points__take(&w->points, &r, &w->rules, POINTS);
	err = db_rows__end(&r, err);
	query__free(&q);
	return err;
}

/* ---- all jobs */

static int ask_total(struct asking *w)
{
	const char *table = query__sums_for(w->ix, &w->filter);
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	query__add(&q,
		   table ? "SELECT COALESCE(CAST(sum(s.jobs) AS BIGINT), 0), sum(s.held_core_s), "
			   "sum(s.lost_core_s), sum(s.lost_gpu_s), sum(s.profiled_core_s) FROM "
			 : "SELECT count(*), sum(j.held_core_s), sum(j.lost_core_s), "
			   "sum(j.lost_gpu_s), sum(CASE WHEN j.findings IS NULL THEN 0.0 ELSE "
			   "j.held_core_s END) FROM job j");
	query__add(&q, table ? table : "");
	query__add(&q, table ? " s" : "");
	if (table)
		query__where_sums(&q, table, &w->filter, w->viewer);
	else if (!err)
		err = query__where(&q, &w->filter, w->viewer);
	if (!err)
		err = query__ask(&q, w->ix->db, &r);
	if (!err && db_rows__next(&r)) {
		w->jobs = db_value__number(&r.v[0]);
		w->held_s = db_value__number(&r.v[1]);
		w->lost_s = db_value__number(&r.v[2]);
		w->lost_gpu_s = db_value__number(&r.v[3]);
		w->profiled_s = db_value__number(&r.v[4]);
	}
	err = db_rows__end(&r, err);
	query__free(&q);
	return err;
}

/* ---- whose jobs have one of them */

static int take_change(void *arg, const struct many *m)
{
	struct asking *w = arg;

	return site_change__add(&w->changes, w->ix, w->viewer, w->site, m);
}

/* How many signatures have the rule. */
static int count_signatures(struct asking *w, const struct job_filter *f)
{
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	query__add(&q, "SELECT count(DISTINCT j.signature) FROM job j");
	if (!err)
		err = query__where(&q, f, w->viewer);
	if (!err)
		err = query__ask(&q, w->ix->db, &r);
	if (!err && db_rows__next(&r))
		w->signatures = db_value__number(&r.v[0]);
	err = db_rows__end(&r, err);
	query__free(&q);
	return err;
}

/* The rule that was asked for, else the dearest one. */
static int ask_changes(struct asking *w)
{
	const char *asked = w->site->filter.finding;
	struct job_filter f = w->filter;
	int err;

	if (!asked && w->rules.nrows)
		asked = w->rules.cells[RULE].text;
	if (!asked)
		return 0;
	w->rule = strdup(asked);
	f.finding = w->rule;
	err = w->rule ? count_signatures(w, &f) : -ENOMEM;
	if (!err)
		err = many__each(w->ix, &f, w->viewer, w->site->all ? 0 : ROWS, take_change, w);
	return err;
}

/* ---- forms */

static void print_changes(const struct asking *w)
{
	char count[SITE_CELL];

	if (!w->changes.nrows)
		return;
	printf("\n%s:\n\n", w->rule);
	site_table__print(&w->changes, site_table__width(stdout), stdout);
	site_cell__put(count, CELL_COUNT, w->signatures);
	if (w->signatures > w->changes.nrows)
		printf("%u of %s; --all prints all.\n", w->changes.nrows, count);
	fputs("\nWhat to change, as to these users:\n  jobprof advice --finding ", stdout);
	site_args__print_word(stdout, w->rule);
	site_args__print_options(w->site, "finding");
	putchar('\n');
}

static void print_text(const struct asking *w)
{
	site_args__print_head(w->site, w->jobs, w->held_s, w->lost_s, w->profiled_s, NAN);
	if (!w->rules.nrows) {
		if (w->jobs > 0)
			puts("no such job has a finding");
		return;
	}
	site_table__print(&w->rules, site_table__width(stdout), stdout);
	puts("\ncontacted: how many of these users, in the last 90 days.");
	print_changes(w);
}

static json_t *total_json(const struct asking *w)
{
	json_t *o = json_object();

	json__set(o, "jobs", json__whole(w->jobs));
	JSON_NUMBERS(o, {"held_core_s", w->held_s}, {"profiled_core_s", w->profiled_s},
		     {"lost_core_s", w->lost_s}, {"lost_gpu_s", w->lost_gpu_s},
		     {"money_lost", site_args__money(w->site, w->lost_s, w->lost_gpu_s)});
	return o;
}

static int print_json(const struct asking *w)
{
	json_t *o = json_object();

	json__set(o, "from", json__whole(w->filter.since));
	json__set(o, "to", json__whole(w->filter.until));
	if (w->site->core_h > 0 || w->site->gpu_h > 0)
		json__set(o, "currency", json__text(w->site->currency));
	json__set(o, "total", total_json(w));
	json__set(o, "rows", site_table__json(&w->rules));
	json__set(o, "finding", w->rule ? json__text(w->rule) : json_null());
	json__set(o, "signatures", json__whole(w->signatures));
	json__set(o, "users", site_table__json(&w->changes));
	return json__print(o, stdout, JSON_COMPACT) ? 1 : 0;
}

static int print_all(const struct asking *w)
{
	if (w->site->json)
		return print_json(w);
	if (!w->site->csv) {
		print_text(w);
		return 0;
	}
	site_table__csv(&w->rules, stdout);
	putchar('\n');
	site_table__csv(&w->changes, stdout);
	return 0;
}

/* ---- the verb */

static int ask_all(struct asking *w)
{
	int err;

	w->of_days = !w->filter.partition && query__is_of_days(w->ix, &w->filter);
	err = ask_total(w);
	if (!err)
		err = ask_rules(w);
	if (!err)
		err = ask_points(w);
	return err ? err : ask_changes(w);
}

/* Prices name the money. */
static void set_heads(struct site_column *own, char head[static 32], const struct site_args *a)
{
	memcpy(own, columns, sizeof(columns));
	snprintf(head, 32, "cost %s", a->currency);
	own[MONEY].head = head;
}

/* 0, or 2 and it has said what is wrong. */
static int check(const struct options *o, bool has_words)
{
	if (has_words)
		return options__wrong(&cmd_findings, "it takes options alone");
	if (!o->site.filter.finding || job_filter__has_rule(&o->site.filter))
		return 0;
	return options__wrong(&cmd_findings, "--finding %s: it is one rule",
			      o->site.filter.finding);
}

int verb_findings(int argc, char **argv)
{
	struct site_column own[N_COLUMNS];
	char head[32];
	struct options o = {0};
	struct viewer viewer;
	struct index ix;
	struct asking w = {
		.ix = &ix,
		.site = &o.site,
		.viewer = &viewer,
		.rules = {.columns = own, .ncolumns = N_COLUMNS},
		.changes = {.columns = site_change__columns, .ncolumns = site_change__ncolumns}};
	int status, err;

	site_args__init(&o.site, "30d");
	status = options__read(&cmd_findings, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	status = check(&o, optind < argc);
	if (!status)
		status = site_args__open(&o.site, &ix, &viewer);
	if (status)
		return status;
	set_heads(own, head, &o.site);
	w.filter = o.site.filter;
	w.filter.finding = NULL;
	err = ask_all(&w);
	status = err ? site_args__status(err) : print_all(&w);
	if (!status && !(w.jobs > 0))
		site_filter__hint(&o.site, &ix, &viewer);
	site_table__free(&w.rules);
	site_table__free(&w.changes);
	free(w.rule);
	index__close(&ix);
	return status;
}
