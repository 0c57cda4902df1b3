/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a digest has is asked for, section by section, and shares and money are made of it. */
#include "cmd/jobprof/site_digest.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/jobprof/site_when.h"
#include "findings/findings.h"
#include "index/many.h"
#include "index/slower.h"
#include "index/sums.h"

#define QUIET_S	 7776000. /* who was contacted in the last 90 days is not asked again */
#define ADVICE_S 4838400. /* contacts of the last 8 weeks are looked at */

/* ---- columns */

#define SUMS_HIDDEN                                                     \
	{"profiled_core_s", "", NULL, CELL_HIDDEN, 0, 0},               \
		{"lost_core_s", "lost core-h", NULL, CELL_HOURS, 0, 0}, \
		{"held_gpu_s", "", NULL, CELL_HIDDEN, 0, 0},            \
		{"lost_gpu_s", "", NULL, CELL_HIDDEN, 0, 0},            \
	{                                                               \
		"energy_j", "", NULL, CELL_HIDDEN, 0, 0                 \
	}
static const struct site_column accounts[N_ACCOUNTS] = {
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

static const struct site_column findings[N_FINDINGS] = {
	{"rule", "finding", NULL, CELL_TEXT, 0, 24},
	{"jobs", "jobs", NULL, CELL_COUNT, 0, 0},
	{"users", "users", NULL, CELL_COUNT, 0, 0},
	{"cost_core_s", "cost core-h", NULL, CELL_HOURS, 0, 0},
	{"severity", "", NULL, CELL_HIDDEN, 0, 0},
	{"cost_core_s_before", "before", NULL, CELL_HOURS, 1, 0},
	{"cost_money", "cost", NULL, CELL_NUMBER, 2, 0},
	{"job", "", NULL, CELL_HIDDEN, 0, 0},
	{"user", "", NULL, CELL_HIDDEN, 0, 0},
};

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
	{"job_id", "", NULL, CELL_HIDDEN, 0, 0},
	{"signature", "", NULL, CELL_HIDDEN, 0, 0},
	{"job", "such as", NULL, CELL_TEXT, 0, 0},
	{"severity", "", NULL, CELL_HIDDEN, 0, 0},
	{"text", "", NULL, CELL_HIDDEN, 0, 0},
	{"remedy_code", "", NULL, CELL_HIDDEN, 0, 0},
	{"cost_money", "", NULL, CELL_HIDDEN, 0, 0},
};
enum {
	ASK_RULE = 2,
	ASK_COST = 5,
	ASK_SIGNATURE = 7,
	ASK_JOB,
	ASK_SEVERITY,
	ASK_TEXT,
	ASK_CODE,
	ASK_MONEY,
	N_ASKS
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

/* ---- questions */

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
	return err;
}

static int write_findings(struct query *q, struct digest *d, const struct job_filter *f)
{
	int err;

	query__add(q,
		   "SELECT f.rule, count(DISTINCT j.id), count(DISTINCT j.\"user\"), "
		   "sum(f.cost_core_s), max(f.severity) FROM job j JOIN finding f ON f.job = j.id");
	err = query__where(q, f, &d->viewer);
	query__add(q, " GROUP BY f.rule ORDER BY 4 DESC NULLS LAST, 1");
	return err;
}

static int write_mostly(struct query *q, struct digest *d)
{
	int err;

	query__add(q, "SELECT j.account, f.rule, sum(f.cost_core_s) FROM job j "
		      "JOIN finding f ON f.job = j.id");
	err = query__where(q, &d->site->filter, &d->viewer);
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
	err = query__where(q, &d->site->filter, &d->viewer);
	query__add(q, " AND f.severity > 0 AND f.cost_core_s > 0 AND COALESCE(j.disagrees, 0) = 0 "
		      "AND NOT EXISTS (SELECT 1 FROM contact "
		      "c WHERE c.\"user\" = j.\"user\" AND (c.rule IS NULL OR c.rule = f.rule) "
		      "AND c.at >= ?)");
	query__arg(q, db_value__int((int64_t)((double)time(NULL) - QUIET_S)));
	query__add(q, " GROUP BY j.\"user\", f.rule, j.signature "
		      "ORDER BY 6 DESC NULLS LAST, 1, 3, 8");
	return err;
}

static int write_section(struct query *q, struct digest *d, enum section s)
{
	const struct job_filter *now = &d->site->filter;

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

/* Of a list that is shown the first rows are kept, and the others counted. */
static int add(struct found *f, enum section s, const struct db_value *row)
{
	f->of[s]++;
	if (s < SHOWN && f->of[s] > DIGEST_ROWS)
		return 0;
	return site_table__add(&f->t[s], row);
}

static int ask(struct digest *d, enum section s, struct found *f)
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
		err = add(f, s, row);
	}
	err = db_rows__end(&r, err);
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

	return add(arg, APPS, row);
}

static int take_node(void *arg, const struct slower_node *n)
{
	const struct db_value row[N_NODES] = {
		db_value__text(n->node),     db_value__text(n->cluster),  db_value__int(n->runs),
		db_value__real(1 / n->took), db_value__real(n->took - 1), db_value__int(n->failed),
		db_value__int(n->found),
	};

	return add(arg, NODES, row);
}

/* ---- what became of earlier mails */

struct helping {
	struct advice_sum *sum;
	struct site_table *table;
	const struct job_filter *filter;
};

static int count_advice(void *arg, const struct contact *c, const struct advice *a)
{
	const struct helping *h = arg;

	if (!site_contact__is_of(c, h->filter))
		return 0;
	contact__add_up(h->sum, a);
	return site_contact__add(h->table, c, a);
}

/* ---- what is made of the answers */

static struct db_value *row_of(struct site_table *t, unsigned row)
{
	return &t->cells[(size_t)row * t->ncolumns];
}

static double number(const struct db_value *v, unsigned column)
{
	return db_value__number(&v[column]);
}

double site_digest__total(const struct found *f, enum section s, unsigned column)
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

		if (f->t[BEFORE].nrows && site_digest__total(f, BEFORE, JOBS) > 0)
			v[WAS_COST] = db_value__real(was ? number(was, COST) : 0);
		v[COST_MONEY] = db_value__real(site_args__money(a, number(v, COST), NAN));
	}
	for (unsigned i = 0; i < f->t[ASK].nrows; i++) {
		struct db_value *v = row_of(&f->t[ASK], i);

		v[ASK_MONEY] = db_value__real(site_args__money(a, number(v, ASK_COST), NAN));
	}
	return 0;
}

/* ---- the dearest jobs */

/* Sets a cell, which owns its text. False: no memory. */
static bool set_text(struct db_value *cell, const char *text)
{
	*cell = db_value__text(text ? strdup(text) : NULL);
	return !text || cell->text;
}

static const char *severity(int64_t of)
{
	return severity__name(of == 2 ? SEVERITY_BAD : of == 1 ? SEVERITY_WARN : SEVERITY_NOTE);
}

static int fill_asked(struct digest *d, struct db_value *v)
{
	struct many_dearest of;
	int err = many__dearest(&of, &d->ix, &d->site->filter, &d->viewer, v[ASK_SIGNATURE].text,
				v[ASK_RULE].text);

	if (!err &&
	    (!set_text(&v[ASK_JOB], of.job) || !set_text(&v[ASK_SEVERITY], severity(of.severity)) ||
	     !set_text(&v[ASK_TEXT], of.text) || !set_text(&v[ASK_CODE], of.code)))
		err = -ENOMEM;
	many_dearest__free(&of);
	return err;
}

static int fill_finding(void *arg, const struct db_value *v)
{
	struct found *f = arg;
	const bool is_task = v[2].type == DB_INT && v[3].type == DB_INT;
	char job[MANY_JOB];

	snprintf(job, sizeof(job), is_task ? "%lld_%lld" : "%lld", (long long)v[is_task ? 2 : 1].i,
		 (long long)v[3].i);
	for (unsigned i = 0; i < f->t[FINDINGS].nrows; i++) {
		struct db_value *to = row_of(&f->t[FINDINGS], i);

		if (strcmp(to->text, v[0].text) != 0)
			continue;
		return set_text(&to[SEVERITY], severity(to[SEVERITY].i)) &&
				       set_text(&to[DEAREST], job) &&
				       set_text(&to[OF_USER], v[4].text)
			       ? 0
			       : -ENOMEM;
	}
	return 0;
}

/* One query for all rules: each for itself would read all jobs again. */
static int fill_findings(struct digest *d, struct found *f)
{
	struct query q;

	query__init(&q);
	query__add(&q,
		   "SELECT t.rule, t.job_id, t.array_id, t.array_task, t.u FROM (SELECT f.rule, "
		   "j.job_id, j.array_id, j.array_task, j.\"user\" AS u, row_number() OVER "
		   "(PARTITION BY f.rule ORDER BY COALESCE(j.disagrees, 0), f.cost_core_s DESC "
		   "NULLS LAST, j.start DESC, j.id DESC) AS n FROM job j JOIN finding f ON f.job "
		   "= j.id");
	query__where(&q, &d->site->filter, &d->viewer);
	query__add(&q, ") t WHERE t.n = 1");
	return query__each(&q, d->ix.db, fill_finding, f);
}

/* Of each row that asks for a mail, and of each finding. */
static int find_dearest(struct digest *d, struct found *f)
{
	int err = 0;

	for (unsigned i = 0; !err && i < f->t[ASK].nrows; i++)
		err = fill_asked(d, row_of(&f->t[ASK], i));
	return !err && f->t[FINDINGS].nrows ? fill_findings(d, f) : err;
}

static bool is_of_before(enum section s)
{
	return s == BEFORE || s == ACCOUNTS_BEFORE || s == FINDINGS_BEFORE;
}

static int find_all(struct digest *d, struct found *f)
{
	struct helping h = {&f->help, &f->t[CONTACTS], &d->site->filter};
	int err = 0;

	for (int i = 0; !err && i < SECTIONS; i++)
		if (i != APPS && i != NODES && i != CONTACTS && (d->has_before || !is_of_before(i)))
			err = ask(d, i, f);
	if (!err && d->has_before)
		err = slower__apps(&d->ix, &d->site->filter, &d->before, &d->viewer, take_app, f);
	if (!err)
		err = slower__nodes(&d->ix, &d->site->filter, &d->viewer, take_node, f);
	if (!err)
		err = contact__each(&d->ix, (double)time(NULL) - ADVICE_S, &d->viewer, count_advice,
				    &h);
	if (!err)
		err = find_dearest(d, f);
	return err ? err : derive(f, d->site);
}

/* Before an instant there is no time to compare with. */
static void set_before(struct digest *d)
{
	d->has_before =
		site_when__before(&d->site->filter, &d->before) && isnan(d->site->filter.ran_at);
	if (!d->has_before)
		d->before.since = NAN;
}

/* What has a price is named by its currency. */
static void set_columns(struct found *f, const struct site_args *a)
{
	struct digest_heads *h = &f->heads;
	const struct {
		const struct site_column *columns;
		unsigned n;
	} of[SECTIONS] = {
		[TOTAL] = {h->accounts, MAINLY},
		[BEFORE] = {h->accounts, MAINLY},
		[ACCOUNTS] = {h->accounts, N_ACCOUNTS},
		[FINDINGS] = {h->findings, N_FINDINGS},
		[ASK] = {asks, N_ASKS},
		[APPS] = {apps, N_APPS},
		[NODES] = {nodes, N_NODES},
		[ACCOUNTS_BEFORE] = {h->accounts, MAINLY},
		[FINDINGS_BEFORE] = {h->findings, COST + 1},
		[MOSTLY] = {mostly, sizeof(mostly) / sizeof(*mostly)},
		[CONTACTS] = {site_contact__columns, site_contact__ncolumns},
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

int site_digest__find(struct digest *d, struct found *f)
{
	set_before(d);
	set_columns(f, d->site);
	return find_all(d, f);
}

void site_digest__free(struct found *f)
{
	for (int i = 0; i < SECTIONS; i++)
		site_table__free(&f->t[i]);
}
