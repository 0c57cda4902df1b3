/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof digest: what a week cost, what was different, and whom to write to first. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "cmd/jobprof/child_output.h"
#include "cmd/jobprof/html_page.h"
#include "cmd/jobprof/site_args.h"
#include "cmd/jobprof/verbs.h"
#include "index/contact.h"
#include "index/slower.h"
#include "index/sums.h"

#define ROWS	 10	  /* of a section */
#define WIDTH	 72	  /* for mails */
#define QUIET_S	 7776000. /* who was contacted in the last 90 days is not asked again */
#define ADVICE_S 4838400. /* contacts of the last 8 weeks are looked at */

struct options {
	struct site_args site;
	const char *html;
};

static const struct opt opts[] = {
	OPTS_FILTER(struct options),
	OPTS_DATABASE(struct options),
	{0, "json", NULL, "as JSON", OPT_FLAG(struct options, site.json), .group = 1},
	{0, "csv", NULL, "its tables as CSV, with an empty line between them",
	 OPT_FLAG(struct options, site.csv), .group = 1},
	{0, "html", "FILE", "as a page; \"-\": standard output", OPT_TEXT(struct options, html),
	 .group = 1},
	OPT_OVERWRITE,
	{0},
};

const struct command cmd_digest = {
	.name = "jobprof digest",
	.usage = "[OPTION]...",
	.about = "What the jobs of a week held and lost, by project and by finding, beside the\n"
		 "week before; what got slower, whom to write to first, and whether earlier mails\n"
		 "helped. Text of 72 columns, for a mail.",
	.opts = opts,
};

struct digest {
	const struct options *o;
	struct index ix;
	struct viewer viewer;
	struct job_filter before; /* as long a time before */
};

/* ---- sections */

enum section {
	TOTAL,
	BEFORE,
	ACCOUNTS,
	FINDINGS,
	ASK,
	APPS,
	NODES,
	/* what the others are compared with, and not shown */
	ACCOUNTS_BEFORE,
	FINDINGS_BEFORE,
	MOSTLY,
	SECTIONS
};

/* What is asked for of jobs together, then what is made of it. */
enum { JOBS = 1, HELD, PROFILED, LOST, HELD_GPU, LOST_GPU, ENERGY, LOST_SHARE, WAS_SHARE, TREND };
enum { KWH = TREND + 1, CO2, MONEY_ENERGY, MONEY_HELD, MONEY_LOST, MAINLY };
#define SUMS_HIDDEN                                                     \
	{"profiled_core_s", "", NULL, CELL_HIDDEN, 0, 0},               \
		{"lost_core_s", "lost core-h", NULL, CELL_HOURS, 0, 0}, \
		{"held_gpu_s", "", NULL, CELL_HIDDEN, 0, 0},            \
		{"lost_gpu_s", "", NULL, CELL_HIDDEN, 0, 0},            \
	{                                                               \
		"energy_j", "", NULL, CELL_HIDDEN, 0, 0                 \
	}
static const struct site_column accounts[] = {
	{"account", "project", NULL, CELL_TEXT, 0, 20},
	{"jobs", "jobs", NULL, CELL_COUNT, 0, 0},
	{"held_core_s", "held core-h", NULL, CELL_HOURS, 4, 0},
	SUMS_HIDDEN,
	{"lost_share", "lost%", NULL, CELL_SHARE, 0, 0},
	{"lost_share_before", "", NULL, CELL_HIDDEN, 0, 0},
	{"trend", "trend", NULL, CELL_POINTS, 1, 0},
	{"energy_kwh", "kWh", NULL, CELL_NUMBER, 3, 0},
	{"co2_kg", "kg CO2", NULL, CELL_NUMBER, 5, 0},
	{"energy_money", "", NULL, CELL_HIDDEN, 0, 0},
	{"money_held", "", NULL, CELL_HIDDEN, 0, 0},
	{"money_lost", "lost", NULL, CELL_NUMBER, 1, 0},
	{"mostly_by", "mostly by", NULL, CELL_TEXT, 2, 18},
};
#define N_ACCOUNTS (sizeof(accounts) / sizeof(*accounts))

enum { COST = 3, WAS_COST, COST_MONEY };
static const struct site_column findings[] = {
	{"rule", "finding", NULL, CELL_TEXT, 0, 24},
	{"jobs", "jobs", NULL, CELL_COUNT, 0, 0},
	{"users", "users", NULL, CELL_COUNT, 0, 0},
	{"cost_core_s", "cost core-h", NULL, CELL_HOURS, 0, 0},
	{"cost_core_s_before", "before", NULL, CELL_HOURS, 1, 0},
	{"cost_money", "cost", NULL, CELL_NUMBER, 2, 0},
};
#define N_FINDINGS (sizeof(findings) / sizeof(*findings))

/* The first one is the dearest of an account. */
static const struct site_column mostly[] = {
	{"account", "", NULL, CELL_TEXT, 0, 0},
	{"rule", "", NULL, CELL_TEXT, 0, 0},
	{"cost_core_s", "", NULL, CELL_HOURS, 0, 0},
};
static const struct site_column asks[] = {
	{"user", "user", NULL, CELL_TEXT, 0, 10},
	{"account", "project", NULL, CELL_TEXT, 2, 12},
	{"rule", "finding", NULL, CELL_TEXT, 0, 22},
	{"name", "job name", NULL, CELL_TEXT, 1, 14},
	{"jobs", "jobs", NULL, CELL_COUNT, 0, 0},
	{"cost_core_s", "core-h", NULL, CELL_HOURS, 0, 0},
	{"job_id", "such as", NULL, CELL_ID, 0, 0},
	{"signature", "", NULL, CELL_HIDDEN, 0, 0},
};

static const struct site_column apps[] = {
	{"user", "user", NULL, CELL_TEXT, 0, 10},
	{"account", "project", NULL, CELL_TEXT, 1, 12},
	{"name", "job name", NULL, CELL_TEXT, 0, 16},
	{"runs", "runs", NULL, CELL_COUNT, 0, 0},
	{"median_s", "now", NULL, CELL_DURATION, 0, 0},
	{"median_s_before", "before", NULL, CELL_DURATION, 0, 0},
	{"longer", "longer%", NULL, CELL_POINTS, 0, 0},
	{"more_core_s", "core-h", NULL, CELL_HOURS, 0, 0},
	{"runs_before", "", NULL, CELL_HIDDEN, 0, 0},
	{"signature", "", NULL, CELL_HIDDEN, 0, 0},
};
#define N_APPS (sizeof(apps) / sizeof(*apps))

static const struct site_column nodes[] = {
	{"node", "node", NULL, CELL_TEXT, 0, 24},
	{"cluster", "cluster", NULL, CELL_TEXT, 1, 12},
	{"runs", "runs", NULL, CELL_COUNT, 0, 0},
	{"speed", "speed%", NULL, CELL_SHARE, 0, 0},
	{"longer", "longer%", NULL, CELL_POINTS, 0, 0},
	{"node_fails", "NODE_FAIL", NULL, CELL_COUNT, 0, 0},
	{"findings", "findings", NULL, CELL_COUNT, 0, 0},
};
#define N_NODES (sizeof(nodes) / sizeof(*nodes))

#define SUMS_OF_JOBS                                                                          \
	"count(*), sum(j.held_core_s), sum(CASE WHEN j.findings IS NULL THEN 0.0 "            \
	"ELSE j.held_core_s END), sum(j.lost_core_s), sum(j.held_gpu_s), sum(j.lost_gpu_s), " \
	"sum(j.energy_j)"

/* by: what rows are of, as "account" of both. */
static int write_sums(struct query *q, struct digest *d, const struct job_filter *f, bool is_total)
{
	const char *table = query__sums_for(&d->ix, f);
	int err = 0;

	query__add(q, is_total ? "SELECT 'all', "
		      : table  ? "SELECT s.account, "
			       : "SELECT j.account, ");
	query__add(q, table ? "CAST(sum(s.jobs) AS BIGINT), sum(s.held_core_s), "
			      "sum(s.profiled_core_s), sum(s.lost_core_s), sum(s.held_gpu_s), "
			      "sum(s.lost_gpu_s), sum(s.energy_j) FROM "
			    : SUMS_OF_JOBS " FROM job j");
	query__add(q, table ? table : "");
	query__add(q, table ? " s" : "");
	if (table)
		query__where_sums(q, table, f, &d->viewer);
	else
		err = query__where(q, f, &d->viewer);
	return err;
}

static int write_accounts(struct query *q, struct digest *d, const struct job_filter *f)
{
	int err = write_sums(q, d, f, false);

	query__add(q, " GROUP BY 1 ORDER BY 5 DESC NULLS LAST, 1");
	if (f != &d->before) {
		query__add(q, " LIMIT ?");
		query__arg(q, db_value__int(ROWS));
	}
	return err;
}

static int write_findings(struct query *q, struct digest *d, const struct job_filter *f)
{
	int err;

	query__add(q, "SELECT f.rule, count(DISTINCT j.id), count(DISTINCT j.\"user\"), "
		      "sum(f.cost_core_s) FROM job j JOIN finding f ON f.job = j.id");
	err = query__where(q, f, &d->viewer);
	query__add(q, " GROUP BY f.rule ORDER BY 4 DESC NULLS LAST, 1");
	if (f != &d->before) {
		query__add(q, " LIMIT ?");
		query__arg(q, db_value__int(ROWS));
	}
	return err;
}

static int write_mostly(struct query *q, struct digest *d)
{
	int err;

	query__add(q, "SELECT j.account, f.rule, sum(f.cost_core_s) FROM job j "
		      "JOIN finding f ON f.job = j.id");
	err = query__where(q, &d->o->site.filter, &d->viewer);
	query__add(q, " AND f.cost_core_s > 0 GROUP BY 1, 2 ORDER BY 3 DESC, 2");
	return err;
}

/* Nobody was written to about this of late. */
static int write_ask(struct query *q, struct digest *d)
{
	int err;

	query__add(q,
		   "SELECT j.\"user\", max(j.account), f.rule, max(j.name), count(DISTINCT j.id), "
		   "sum(f.cost_core_s), max(j.job_id), j.signature "
		   "FROM job j JOIN finding f ON f.job = j.id");
	err = query__where(q, &d->o->site.filter, &d->viewer);
	query__add(q, " AND f.severity > 0 AND f.cost_core_s > 0 AND COALESCE(j.disagrees, 0) = 0 "
		      "AND NOT EXISTS (SELECT 1 FROM contact "
		      "c WHERE c.\"user\" = j.\"user\" AND (c.rule IS NULL OR c.rule = f.rule) "
		      "AND c.at >= ?)");
	query__arg(q, db_value__int((int64_t)((double)time(NULL) - QUIET_S)));
	query__add(q, " GROUP BY j.\"user\", f.rule, j.signature "
		      "ORDER BY 6 DESC NULLS LAST, 1, 3, 8 LIMIT ?");
	query__arg(q, db_value__int(ROWS));
	return err;
}

static int write_section(struct query *q, struct digest *d, enum section s)
{
	const struct job_filter *now = &d->o->site.filter;

	switch (s) {
	case TOTAL:
		return write_sums(q, d, now, true);
	case BEFORE:
		return write_sums(q, d, &d->before, true);
	case ACCOUNTS:
		return write_accounts(q, d, now);
	case ACCOUNTS_BEFORE:
		return write_accounts(q, d, &d->before);
	case FINDINGS:
		return write_findings(q, d, now);
	case FINDINGS_BEFORE:
		return write_findings(q, d, &d->before);
	case MOSTLY:
		return write_mostly(q, d);
	default:
		return write_ask(q, d);
	}
}

static int ask(struct digest *d, enum section s, struct site_table *t)
{
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	if (!err)
		err = write_section(&q, d, s);
	if (!err)
		err = query__ask(&q, d->ix.db, &r);
	while (!err && db_rows__next(&r)) {
		struct db_value row[MAINLY + 1] = {0};

		memcpy(row, r.v, r.n * sizeof(*row));
		err = site_table__add(t, row);
	}
	err = err ? err : r.err;
	db_rows__end(&r);
	query__free(&q);
	return err;
}

/* ---- what got slower */

static int take_app(void *arg, const struct slower_app *a)
{
	const struct db_value row[N_APPS] = {db_value__text(a->user),
					     db_value__text(a->account),
					     db_value__text(a->name),
					     db_value__int(a->runs),
					     db_value__real(a->median_s),
					     db_value__real(a->before_s),
					     db_value__real(a->median_s / a->before_s - 1),
					     db_value__real(a->more_core_s),
					     db_value__int(a->runs_before),
					     db_value__text(a->signature)};

	return site_table__add(arg, row);
}

static int take_node(void *arg, const struct slower_node *n)
{
	const struct db_value row[N_NODES] = {
		db_value__text(n->node),     db_value__text(n->cluster),  db_value__int(n->runs),
		db_value__real(1 / n->took), db_value__real(n->took - 1), db_value__int(n->failed),
		db_value__int(n->found),
	};

	return site_table__add(arg, row);
}

/* ---- what became of earlier mails */

struct helping {
	unsigned n, helped;
	double saved;
};

static int count_advice(void *arg, const struct contact *c, const struct advice *a)
{
	struct helping *h = arg;

	h->n++;
	h->helped += a->has_helped;
	h->saved += a->has_helped ? a->saved : 0;
	return 0;
}

/* ---- forms */

struct found {
	struct site_table t[SECTIONS];
	struct helping help;
};

static struct db_value *row_of(struct site_table *t, unsigned row)
{
	return &t->cells[(size_t)row * t->ncolumns];
}

static double number(const struct db_value *v, unsigned column)
{
	return db_value__number(&v[column]);
}

static double total(const struct found *f, enum section s, unsigned column)
{
	return f->t[s].nrows ? number(f->t[s].cells, column) : NAN;
}

/* The first row of that name; NULL: there is none. */
static const struct db_value *row_named(struct site_table *t, const struct db_value *name)
{
	for (unsigned i = 0; i < t->nrows; i++) {
		const struct db_value *v = row_of(t, i);

		if (v->type == DB_TEXT && name->type == DB_TEXT && !strcmp(v->text, name->text))
			return v;
	}
	return NULL;
}

static void derive_sums(struct db_value *v, const struct db_value *before,
			const struct site_args *a)
{
	const double kwh = number(v, ENERGY) / 3.6e6;
	/* of what has a profile: which part that is may have changed */
	const double now = number(v, LOST) / number(v, PROFILED);
	const double was = before ? number(before, LOST) / number(before, PROFILED) : NAN;

	v[LOST_SHARE] = db_value__real(number(v, LOST) / number(v, HELD));
	v[WAS_SHARE] = db_value__real(before ? number(before, LOST) / number(before, HELD) : NAN);
	v[TREND] = db_value__real(now - was);
	v[KWH] = db_value__real(kwh);
	v[CO2] = db_value__real(a->co2_g_kwh > 0 ? kwh * a->co2_g_kwh / 1000 : NAN);
	v[MONEY_ENERGY] = db_value__real(a->kwh > 0 ? kwh * a->kwh : NAN);
	v[MONEY_HELD] = db_value__real(site_args__money(a, number(v, HELD), number(v, HELD_GPU)));
	v[MONEY_LOST] = db_value__real(site_args__money(a, number(v, LOST), number(v, LOST_GPU)));
}

/* 0 or -ENOMEM. */
static int derive(struct found *f, const struct site_args *a)
{
	struct site_table *before = &f->t[FINDINGS_BEFORE];

	if (f->t[BEFORE].nrows)
		derive_sums(f->t[BEFORE].cells, NULL, a);
	if (f->t[TOTAL].nrows)
		derive_sums(f->t[TOTAL].cells, f->t[BEFORE].nrows ? f->t[BEFORE].cells : NULL, a);
	for (unsigned i = 0; i < f->t[ACCOUNTS].nrows; i++) {
		struct db_value *v = row_of(&f->t[ACCOUNTS], i);
		const struct db_value *rule = row_named(&f->t[MOSTLY], v);

		derive_sums(v, row_named(&f->t[ACCOUNTS_BEFORE], v), a);
		v[MAINLY] = db_value__text(rule ? strdup(rule[1].text) : NULL);
		if (rule && !v[MAINLY].text)
			return -ENOMEM;
	}
	for (unsigned i = 0; i < f->t[FINDINGS].nrows; i++) {
		struct db_value *v = row_of(&f->t[FINDINGS], i);
		const struct db_value *was = row_named(before, v);

		if (f->t[BEFORE].nrows && total(f, BEFORE, JOBS) > 0)
			v[WAS_COST] = db_value__real(was ? number(was, COST) : 0);
		v[COST_MONEY] = db_value__real(site_args__money(a, number(v, COST), NAN));
	}
	return 0;
}

/* ---- as text */

static const char *date(char to[static SITE_CELL], double s)
{
	time_t t = (time_t)s;
	struct tm tm;

	if (isnan(s) || !localtime_r(&t, &tm) ||
	    !strftime(to, SITE_CELL, tm.tm_hour || tm.tm_min ? "%Y-%m-%d %H:%M" : "%Y-%m-%d", &tm))
		strcpy(to, "now");
	return to;
}

static void print_dates(const struct digest *d, FILE *out)
{
	char from[SITE_CELL], to[SITE_CELL], before[SITE_CELL];

	fprintf(out, "From %s to %s; before: from %s.\n\n", date(from, d->o->site.filter.since),
		date(to, d->o->site.filter.until), date(before, d->before.since));
}

static const char *text(char to[static SITE_CELL], enum site_cell_kind kind, double v)
{
	site_cell__put(to, kind, v);
	return to;
}

static void print_costs(const struct digest *d, const struct found *f, FILE *out)
{
	const char *currency = d->o->site.currency;
	char a[SITE_CELL], b[SITE_CELL];

	if (total(f, TOTAL, MONEY_HELD) > 0)
		fprintf(out, "At the prices set they cost %s %s, of which %s were lost.\n",
			text(a, CELL_NUMBER, total(f, TOTAL, MONEY_HELD)), currency,
			text(b, CELL_NUMBER, total(f, TOTAL, MONEY_LOST)));
	if (!(total(f, TOTAL, KWH) > 0))
		return;
	fprintf(out, "Energy: %s kWh", text(a, CELL_NUMBER, total(f, TOTAL, KWH)));
	if (total(f, TOTAL, MONEY_ENERGY) > 0)
		fprintf(out, ", %s %s", text(a, CELL_NUMBER, total(f, TOTAL, MONEY_ENERGY)),
			currency);
	if (total(f, TOTAL, CO2) > 0)
		fprintf(out, ", %s kg of CO2", text(a, CELL_NUMBER, total(f, TOTAL, CO2)));
	if (total(f, BEFORE, KWH) > 0)
		fprintf(out, "; before %s kWh", text(a, CELL_NUMBER, total(f, BEFORE, KWH)));
	fputs(".\n", out);
}

static void print_sentence(const struct digest *d, const struct found *f, FILE *out)
{
	double held = total(f, TOTAL, HELD), profiled = total(f, TOTAL, PROFILED);
	double lost = total(f, TOTAL, LOST), before = total(f, BEFORE, LOST);
	char a[SITE_CELL], b[SITE_CELL];

	fprintf(out, "%s job%s held %s core-h", text(a, CELL_COUNT, total(f, TOTAL, JOBS)),
		total(f, TOTAL, JOBS) == 1 ? "" : "s", text(b, CELL_HOURS, held));
	if (lost >= 0)
		fprintf(out, " and lost %s of them (%s %%)", text(a, CELL_HOURS, lost),
			text(b, CELL_SHARE, lost / held));
	if (lost >= 0 && before >= 0)
		fprintf(out, ";\nin as long a time before they lost %s (%s %%)",
			text(a, CELL_HOURS, before),
			text(b, CELL_SHARE, total(f, BEFORE, LOST_SHARE)));
	fputs(".\n", out);
	if (held > profiled)
		fprintf(out,
			"%s %% of what was held has no profile, and is not in what was lost.\n",
			text(a, CELL_SHARE, 1 - profiled / held));
	print_costs(d, f, out);
}

/* The last line is the command that shows whose jobs the dearest project's are. */
static void print_foot(const struct digest *d, const struct found *f)
{
	struct site_args a = d->o->site;

	for (unsigned i = 0; i < f->t[ACCOUNTS].nrows; i++) {
		const struct db_value *name = row_of((struct site_table *)&f->t[ACCOUNTS], i);

		if (name->type != DB_TEXT || !site_args__is_word(name->text))
			continue;
		fputs("\nMore of the first project:\n  jobprof usage --project ", stdout);
		site_args__print_word(name->text);
		fputs(" --by user", stdout);
		site_args__print_options(&a, "project");
		putchar('\n');
		return;
	}
}

static void print_text(const struct digest *d, const struct found *f, FILE *out)
{
	static const char *const titles[SECTIONS] = {
		[ACCOUNTS] = "Lost by project (trend: points of lost% against before)",
		[FINDINGS] = "Findings, the dearest first",
		[ASK] = "Whom to write to first (nobody did in the last 90 days)",
		[APPS] = "Slower than before (medians of runs; core-h: what that took more)",
		[NODES] = "Nodes slower than others, or called slow by findings"};

	if (!(total(f, TOTAL, JOBS) > 0)) {
		fputs("no jobs\n", out);
		return;
	}
	print_dates(d, out);
	print_sentence(d, f, out);
	for (int i = 0; i < SECTIONS; i++) {
		if (!titles[i] || !f->t[i].nrows)
			continue;
		fprintf(out, "\n%s\n\n", titles[i]);
		site_table__print(&f->t[i], WIDTH, out);
	}
	if (f->help.n)
		fprintf(out,
			"\nOf %u contacts in the last 8 weeks %u helped: %.4g core-h a week.\n",
			f->help.n, f->help.helped, f->help.saved / 3600);
	print_foot(d, f);
}

/* ---- as CSV, as JSON and as a page */

static void print_csv(const struct found *f)
{
	static const enum section of[] = {ACCOUNTS, FINDINGS, ASK, APPS, NODES};

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		if (i)
			putchar('\n');
		site_table__csv(&f->t[of[i]], stdout);
	}
}

static json_t *digest_json(const struct digest *d, const struct found *f)
{
	const struct job_filter *filter = &d->o->site.filter;
	json_t *o = json_object();

	json__set(o, "from", json__whole(filter->since));
	json__set(o, "to", json__whole(filter->until));
	json__set(o, "before_from", json__whole(d->before.since));
	if (total(f, TOTAL, MONEY_HELD) > 0 || total(f, TOTAL, MONEY_ENERGY) > 0)
		json__set(o, "currency", json__text(d->o->site.currency));
	json__set(o, "total",
		  f->t[TOTAL].nrows ? site_table__json_row(&f->t[TOTAL], 0) : json_null());
	json__set(o, "before",
		  f->t[BEFORE].nrows ? site_table__json_row(&f->t[BEFORE], 0) : json_null());
	json__set(o, "accounts", site_table__json(&f->t[ACCOUNTS]));
	json__set(o, "findings", site_table__json(&f->t[FINDINGS]));
	json__set(o, "ask", site_table__json(&f->t[ASK]));
	json__set(o, "slower", site_table__json(&f->t[APPS]));
	json__set(o, "nodes", site_table__json(&f->t[NODES]));
	json__set(o, "advice",
		  json_pack("{s:i, s:i, s:f}", "contacts", f->help.n, "helped", f->help.helped,
			    "saved_core_s_week", f->help.saved));
	return o;
}

struct writing {
	const struct digest *d;
	const struct found *f;
	char *template;
};

static int write_html(void *arg, int fd, bool *keep)
{
	const struct writing *w = arg;
	const struct job_filter *f = &w->d->o->site.filter;
	char from[SITE_CELL], to[SITE_CELL];
	json_t *page = json_pack("{s:o, s:s, s:s, s:s}", "digest", digest_json(w->d, w->f), "from",
				 date(from, f->since), "to", date(to, f->until), "version",
				 JOBPROF_VERSION);
	int err = html_page__put(fd, w->template, page);

	*keep = !err;
	if (err)
		log_error("%s: cannot be written: %s", w->d->o->html, strerror(-err));
	return err ? 1 : 0;
}

/* The page must not take the place of the index. */
static bool is_index(const struct options *o)
{
	bool is_own, is_it;
	char *where = site_args__where(&o->site, &is_own);
	const struct job_input index = {.path = where};

	is_it = where && html_page__is_input(o->html, &index, 1);
	free(where);
	return is_it;
}

static int print_digest(const struct digest *d, const struct found *f)
{
	struct writing w = {.d = d, .f = f};
	int status;

	if (d->o->site.json)
		return json__print(digest_json(d, f), stdout, JSON_COMPACT) ? 1 : 0;
	if (d->o->site.csv)
		print_csv(f);
	else if (!d->o->html)
		print_text(d, f, stdout);
	if (!d->o->html)
		return 0;
	if (is_index(d->o))
		return 1;
	w.template = html_page__template();
	status = w.template ? child_output__write(d->o->html, "the index", &POOL_STREAM, write_html,
						  &w)
			    : 1;
	free(w.template);
	return status < 0 ? 1 : status;
}

/* ---- the verb */

/* 0 or -errno. */
static int find_all(struct digest *d, struct found *f)
{
	int err = 0;

	for (int i = 0; !err && i < SECTIONS; i++)
		if (i != APPS && i != NODES)
			err = ask(d, i, &f->t[i]);
	if (!err)
		err = slower__apps(&d->ix, &d->o->site.filter, &d->before, &d->viewer, ROWS,
				   take_app, &f->t[APPS]);
	if (!err)
		err = slower__nodes(&d->ix, &d->o->site.filter, &d->viewer, ROWS, take_node,
				    &f->t[NODES]);
	if (!err)
		err = contact__each(&d->ix, (double)time(NULL) - ADVICE_S, &d->viewer, count_advice,
				    &f->help);
	return err ? err : derive(f, &d->o->site);
}

/* The time as long before, so that both can be compared. */
static void set_before(struct digest *d)
{
	const struct job_filter *f = &d->o->site.filter;
	double until = isnan(f->until) ? (double)time(NULL) : f->until;

	d->before = *f;
	d->before.until = f->since;
	d->before.since = f->since - (until - f->since);
}

/* What has a price is named by its currency. */
struct heads {
	char lost[32], cost[32];
	struct site_column accounts[N_ACCOUNTS], findings[N_FINDINGS];
};

static void set_columns(struct found *f, struct heads *h, const struct site_args *a)
{
	const struct {
		const struct site_column *columns;
		unsigned n;
	} of[SECTIONS] = {
		[TOTAL] = {h->accounts, MAINLY},
		[BEFORE] = {h->accounts, MAINLY},
		[ACCOUNTS] = {h->accounts, N_ACCOUNTS},
		[FINDINGS] = {h->findings, N_FINDINGS},
		[ASK] = {asks, sizeof(asks) / sizeof(*asks)},
		[APPS] = {apps, N_APPS},
		[NODES] = {nodes, N_NODES},
		[ACCOUNTS_BEFORE] = {h->accounts, MAINLY},
		[FINDINGS_BEFORE] = {h->findings, COST + 1},
		[MOSTLY] = {mostly, sizeof(mostly) / sizeof(*mostly)},
	};

	snprintf(h->lost, sizeof(h->lost), "lost %s", a->currency);
	snprintf(h->cost, sizeof(h->cost), "cost %s", a->currency);
	memcpy(h->accounts, accounts, sizeof(accounts));
	memcpy(h->findings, findings, sizeof(findings));
	h->accounts[MONEY_LOST].head = h->lost;
	h->findings[COST_MONEY].head = h->cost;
	for (int i = 0; i < SECTIONS; i++) {
		f->t[i].columns = of[i].columns;
		f->t[i].ncolumns = of[i].n;
	}
}

int verb_digest(int argc, char **argv)
{
	static const struct opt since = {.name = "since"};
	struct found f = {0};
	struct options o = {0};
	struct digest d = {.o = &o};
	struct heads heads;
	int status;

	site_args__init(&o.site, "7d");
	status = options__read(&cmd_digest, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	if (o.site.filter.jobs && !o.site.is_since_given) /* else it would be of all times */
		site_args__take_since(&o.site, &since, "7d");
	if (optind < argc || isnan(o.site.filter.since))
		return options__wrong(&cmd_digest, "it takes options alone, and a time");
	set_before(&d);
	set_columns(&f, &heads, &o.site);
	status = site_args__open(&o.site, &d.ix, &d.viewer);
	if (status)
		return status;
	status = find_all(&d, &f) ? 1 : print_digest(&d, &f);
	if (!status && !(total(&f, TOTAL, JOBS) > 0))
		site_filter__hint(&o.site, &d.ix, &d.viewer);
	for (int i = 0; i < SECTIONS; i++)
		site_table__free(&f.t[i]);
	index__close(&d.ix);
	return status;
}
