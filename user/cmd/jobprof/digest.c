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
	{'S', "since", "TIME", "from then on: 7d (the default), 4w, 2026-11-01",
	 OPT_CALL_AT(site_args__take_since, struct options, site)},
	{'E', "until", "TIME", "until then",
	 OPT_CALL_AT(site_args__take_until, struct options, site)},
	{'A', "project", "LIST", "of these projects",
	 OPT_TEXT(struct options, site.filter.account)},
	{'M', "cluster", "LIST", "of these clusters",
	 OPT_TEXT(struct options, site.filter.cluster)},
	OPTS_DATABASE(struct options),
	{0, "json", NULL, "as JSON", OPT_FLAG(struct options, site.json)},
	{0, "html", "FILE", "as a page; \"-\": standard output", OPT_TEXT(struct options, html)},
	OPT_OVERWRITE,
	{0},
};

const struct command cmd_digest = {
	.name = "jobprof digest",
	.usage = "[OPTION]...",
	.about = "What the jobs of a week held and lost, by project and by finding, beside the\n"
		 "week before; whom to write to first, and whether earlier mails helped. Text of\n"
		 "72 columns, for a mail.",
	.opts = opts,
};

struct digest {
	const struct options *o;
	struct index ix;
	struct viewer viewer;
	struct job_filter before; /* as long a time before */
};

/* ---- sections */

enum section { TOTAL, BEFORE, ACCOUNTS, FINDINGS, ASK, SECTIONS };

static const struct site_column totals[] = {
	{"jobs", "jobs", NULL, CELL_COUNT, 0, 0},
	{"held_core_s", "held core-h", NULL, CELL_HOURS, 0, 0},
	{"profiled_core_s", "", NULL, CELL_HIDDEN, 0, 0},
	{"lost_core_s", "lost core-h", NULL, CELL_HOURS, 0, 0},
	{"held_gpu_s", "held GPU-h", NULL, CELL_HOURS, 0, 0},
	{"lost_gpu_s", "lost GPU-h", NULL, CELL_HOURS, 0, 0},
	{"energy_j", "", NULL, CELL_HIDDEN, 0, 0},
};
static const struct site_column accounts[] = {
	{"account", "project", NULL, CELL_TEXT, 0, 20},
	{"jobs", "jobs", NULL, CELL_COUNT, 0, 0},
	{"held_core_s", "held core-h", NULL, CELL_HOURS, 0, 0},
	{"lost_core_s", "lost core-h", NULL, CELL_HOURS, 0, 0},
	{"lost_share", "of held%", NULL, CELL_SHARE, 0, 0},
};
static const struct site_column findings[] = {
	{"rule", "finding", NULL, CELL_TEXT, 0, 24},
	{"jobs", "jobs", NULL, CELL_COUNT, 0, 0},
	{"users", "users", NULL, CELL_COUNT, 0, 0},
	{"cost_core_s", "cost core-h", NULL, CELL_HOURS, 0, 0},
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

static int write_totals(struct query *q, struct digest *d, const struct job_filter *f)
{
	const char *table = query__sums_for(&d->ix, f);
	int err = 0;

	query__add(q, "SELECT ");
	query__add(
		q,
		table ? "CAST(sum(s.jobs) AS BIGINT), sum(s.held_core_s), sum(s.profiled_core_s), "
			"sum(s.lost_core_s), sum(s.held_gpu_s), sum(s.lost_gpu_s), sum(s.energy_j) "
			"FROM "
		      : "count(*), sum(j.held_core_s), sum(CASE WHEN j.findings IS NULL THEN 0.0 "
			"ELSE j.held_core_s END), sum(j.lost_core_s), sum(j.held_gpu_s), "
			"sum(j.lost_gpu_s), sum(j.energy_j) FROM job j");
	query__add(q, table ? table : "");
	query__add(q, table ? " s" : "");
	if (table)
		query__where_sums(q, table, f, &d->viewer);
	else
		err = query__where(q, f, &d->viewer);
	return err;
}

static int write_accounts(struct query *q, struct digest *d)
{
	int err;

	query__add(q, "SELECT j.account, count(*), sum(j.held_core_s), sum(j.lost_core_s), "
		      "sum(j.lost_core_s) / NULLIF(sum(j.held_core_s), 0) FROM job j");
	err = query__where(q, &d->o->site.filter, &d->viewer);
	query__add(q, " GROUP BY j.account ORDER BY 4 DESC NULLS LAST, 1 LIMIT ?");
	query__arg(q, db_value__int(ROWS));
	return err;
}

static int write_findings(struct query *q, struct digest *d)
{
	int err;

	query__add(q, "SELECT f.rule, count(DISTINCT j.id), count(DISTINCT j.\"user\"), "
		      "sum(f.cost_core_s) FROM job j JOIN finding f ON f.job = j.id");
	err = query__where(q, &d->o->site.filter, &d->viewer);
	query__add(q, " GROUP BY f.rule ORDER BY 4 DESC NULLS LAST, 1 LIMIT ?");
	query__arg(q, db_value__int(ROWS));
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
	query__add(
		q,
		" AND f.severity > 0 AND f.cost_core_s > 0 AND NOT EXISTS (SELECT 1 FROM contact "
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
	switch (s) {
	case TOTAL:
		return write_totals(q, d, &d->o->site.filter);
	case BEFORE:
		return write_totals(q, d, &d->before);
	case ACCOUNTS:
		return write_accounts(q, d);
	case FINDINGS:
		return write_findings(q, d);
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
	while (!err && db_rows__next(&r))
		err = site_table__add(t, r.v);
	err = err ? err : r.err;
	db_rows__end(&r);
	query__free(&q);
	return err;
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

static double total(const struct found *f, enum section s, unsigned column)
{
	return f->t[s].nrows ? db_value__number(&f->t[s].cells[column]) : NAN;
}

static void print_sentence(const struct found *f, FILE *out)
{
	double held = total(f, TOTAL, 1), profiled = total(f, TOTAL, 2), lost = total(f, TOTAL, 3);
	double before = total(f, BEFORE, 3), kwh = total(f, TOTAL, 6) / 3.6e6;

	fprintf(out, "%.0f jobs held %.4g core-h and lost %.4g of them (%.0f %%)",
		total(f, TOTAL, 0), held / 3600, isnan(lost) ? 0 : lost / 3600,
		isnan(lost) ? 0 : 100 * lost / held);
	if (before > 0)
		fprintf(out, ";\nin as long a time before they lost %.4g", before / 3600);
	fputs(".\n", out);
	if (held > profiled)
		fprintf(out,
			"%.0f %% of what was held has no profile, and is not in what was lost.\n",
			100 * (1 - profiled / held));
	if (kwh > 0)
		fprintf(out, "Energy: %.4g kWh.\n", kwh);
}

static void print_text(const struct found *f, FILE *out)
{
	static const char *const titles[SECTIONS] = {
		[ACCOUNTS] = "Lost by project",
		[FINDINGS] = "Findings, the dearest first",
		[ASK] = "Whom to write to first (nobody did in the last 90 days)"};

	if (!(total(f, TOTAL, 0) > 0)) {
		fputs("no jobs\n", out);
		return;
	}
	print_sentence(f, out);
	for (int i = ACCOUNTS; i < SECTIONS; i++) {
		if (!f->t[i].nrows)
			continue;
		fprintf(out, "\n%s\n\n", titles[i]);
		site_table__print(&f->t[i], WIDTH, out);
	}
	if (f->help.n)
		fprintf(out,
			"\nOf %u contacts in the last 8 weeks %u helped: %.4g core-h a week.\n",
			f->help.n, f->help.helped, f->help.saved / 3600);
}

static json_t *digest_json(const struct digest *d, const struct found *f)
{
	const struct job_filter *filter = &d->o->site.filter;
	json_t *o = json_object();

	JSON_NUMBERS(o, {"from", filter->since}, {"to", filter->until});
	json__set(o, "total",
		  f->t[TOTAL].nrows ? site_table__json_row(&f->t[TOTAL], 0) : json_null());
	json__set(o, "before",
		  f->t[BEFORE].nrows ? site_table__json_row(&f->t[BEFORE], 0) : json_null());
	json__set(o, "accounts", site_table__json(&f->t[ACCOUNTS]));
	json__set(o, "findings", site_table__json(&f->t[FINDINGS]));
	json__set(o, "ask", site_table__json(&f->t[ASK]));
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
	json_t *page = json_pack("{s:o, s:s}", "digest", digest_json(w->d, w->f), "version",
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
	if (!d->o->html) {
		print_text(f, stdout);
		return 0;
	}
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
		err = ask(d, i, &f->t[i]);
	if (!err)
		err = contact__each(&d->ix, (double)time(NULL) - ADVICE_S, &d->viewer, count_advice,
				    &f->help);
	return err;
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

int verb_digest(int argc, char **argv)
{
	struct found f = {.t = {
				  [TOTAL] = {.columns = totals, .ncolumns = 7},
				  [BEFORE] = {.columns = totals, .ncolumns = 7},
				  [ACCOUNTS] = {.columns = accounts, .ncolumns = 5},
				  [FINDINGS] = {.columns = findings, .ncolumns = 4},
				  [ASK] = {.columns = asks, .ncolumns = 8},
			  }};
	struct options o = {0};
	struct digest d = {.o = &o};
	int status;

	site_args__init(&o.site, "7d");
	status = options__read(&cmd_digest, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	if (optind < argc || (o.html && o.site.json) || isnan(o.site.filter.since))
		return options__wrong(&cmd_digest,
				      "it takes options alone, a time, and one of --json "
				      "and --html");
	set_before(&d);
	status = site_args__open(&o.site, &d.ix, &d.viewer);
	if (status)
		return status;
	status = find_all(&d, &f) ? 1 : print_digest(&d, &f);
	for (int i = 0; i < SECTIONS; i++)
		site_table__free(&f.t[i]);
	index__close(&d.ix);
	return status;
}
