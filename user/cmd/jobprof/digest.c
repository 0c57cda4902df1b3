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
#include "base/utf8.h"
#include "cmd/jobprof/child_output.h"
#include "cmd/jobprof/html_page.h"
#include "cmd/jobprof/site_digest.h"
#include "cmd/jobprof/verbs.h"

#define WIDTH 72 /* for mails */

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

static void print_dates(const struct digest *d)
{
	char from[SITE_CELL], to[SITE_CELL], before[SITE_CELL];

	printf("From %s to %s", date(from, d->site->filter.since), date(to, d->site->filter.until));
	if (d->has_before)
		printf("; before: from %s", date(before, d->before.since));
	puts(".");
}

/* "Only jobs of --project p1 --node n3": a mail's reader has not seen the command. */
static void print_filter(const struct digest *d)
{
	static const char head[] = "Only jobs of";
	json_t *filter = site_args__filter(d->site), *word;
	const char *name;
	size_t at = 0;

	json_object_foreach (filter, name, word) {
		const char *text = json_string_value(word);
		const size_t len =
			strlen(" --") + strlen(name) + strlen(" ''") + utf8__length(text);

		if (!at || at + len > WIDTH) {
			fputs(at ? "\n " : head, stdout);
			at = at ? 1 : strlen(head);
		}
		at += len;
		printf(" --%s ", name);
		site_args__print_word(stdout, text);
	}
	if (at)
		putchar('\n');
	putchar('\n');
	json_decref(filter);
}

static const char *text(char to[static SITE_CELL], enum site_cell_kind kind, double v)
{
	site_cell__put(to, kind, v);
	return to;
}

static void print_costs(const struct digest *d, const struct found *f)
{
	const char *currency = d->site->currency;
	char a[SITE_CELL], b[SITE_CELL];

	if (site_digest__total(f, TOTAL, MONEY_HELD) > 0)
		printf("At the prices set they cost %s %s, of which %s were lost.\n",
		       text(a, CELL_NUMBER, site_digest__total(f, TOTAL, MONEY_HELD)), currency,
		       text(b, CELL_NUMBER, site_digest__total(f, TOTAL, MONEY_LOST)));
	if (!(site_digest__total(f, TOTAL, KWH) > 0))
		return;
	printf("Energy: %s kWh", text(a, CELL_NUMBER, site_digest__total(f, TOTAL, KWH)));
	if (site_digest__total(f, TOTAL, MONEY_ENERGY) > 0)
		printf(", %s %s", text(a, CELL_NUMBER, site_digest__total(f, TOTAL, MONEY_ENERGY)),
		       currency);
	if (site_digest__total(f, TOTAL, CO2) > 0)
		printf(", %s kg of CO2", text(a, CELL_NUMBER, site_digest__total(f, TOTAL, CO2)));
	if (site_digest__total(f, BEFORE, KWH) > 0)
		printf("; before %s kWh", text(a, CELL_NUMBER, site_digest__total(f, BEFORE, KWH)));
	fputs(".\n", stdout);
}

/* Today is a whole day of the time before, and not over. */
static const char *time_before(const struct digest *d, char to[static SITE_CELL])
{
	const double days = (d->before.until - d->before.since) / 86400;

	if (isnan(d->site->filter.until) && fabs(days - round(days)) < 0.05 && days > 1.5)
		snprintf(to, SITE_CELL, "the %.0f days", days);
	else
		snprintf(to, SITE_CELL, "as long a time");
	return to;
}

static void print_sentence(const struct digest *d, const struct found *f)
{
	double held = site_digest__total(f, TOTAL, HELD),
	       profiled = site_digest__total(f, TOTAL, PROFILED);
	double lost = site_digest__total(f, TOTAL, LOST),
	       before = site_digest__total(f, BEFORE, LOST);
	char a[SITE_CELL], b[SITE_CELL], days[SITE_CELL];

	printf("%s job%s held %s core-h", text(a, CELL_COUNT, site_digest__total(f, TOTAL, JOBS)),
	       site_digest__total(f, TOTAL, JOBS) == 1 ? "" : "s", text(b, CELL_HOURS, held));
	if (lost >= 0)
		printf(" and lost %s of them (%s %%)", text(a, CELL_HOURS, lost),
		       text(b, CELL_SHARE, lost / held));
	if (lost >= 0 && before >= 0)
		printf(";\nin %s before they lost %s (%s %%)", time_before(d, days),
		       text(a, CELL_HOURS, before),
		       text(b, CELL_SHARE, site_digest__total(f, BEFORE, LOST_SHARE)));
	fputs(".\n", stdout);
	if (held > profiled)
		printf("%s %% of what was held has no profile, and is not in what was lost.\n",
		       text(a, CELL_SHARE, 1 - profiled / held));
	print_costs(d, f);
}

/* The last line is a command that shows the users of the first project that has a name. */
static void print_foot(const struct digest *d, const struct found *f)
{
	const struct site_table *t = &f->t[ACCOUNTS];

	for (unsigned i = 0; i < t->nrows; i++) {
		const struct db_value *name = &t->cells[(size_t)i * t->ncolumns];

		if (name->type != DB_TEXT || !site_args__is_word(name->text))
			continue;
		fputs("\nMore of the first project:\n  jobprof usage --project ", stdout);
		site_args__print_word(stdout, name->text);
		fputs(" --by user", stdout);
		site_args__print_options(d->site, "project");
		putchar('\n');
		return;
	}
}

/* The title, of how many rows these are the first, and a line on what they are. */
static void print_list(const struct found *f, enum section s, const char *title, const char *note)
{
	char of[SITE_CELL];

	if (!f->t[s].nrows)
		return;
	printf("\n%s", title);
	if (f->of[s] > f->t[s].nrows)
		printf(": the first %u of %s", f->t[s].nrows, text(of, CELL_COUNT, f->of[s]));
	printf("\n(%s)\n\n", note);
	site_table__print(&f->t[s], WIDTH, stdout);
}

/* "Of 8 contacts in the last 8 weeks 2 helped: 21,680 core-h a week; all 8 together: -173,130" */
static void print_help(const struct advice_sum *h)
{
	char saved[SITE_CELL], all[SITE_CELL];

	if (!h->n)
		return;
	printf("\nOf %u contacts in the last 8 weeks %u helped", h->n, h->helped);
	if (h->helped)
		printf(": %s core-h a week", text(saved, CELL_HOURS, h->saved));
	if (h->known > h->helped)
		printf(";\nall %u%s together: %s%s", h->known,
		       h->known < h->n ? " of which it is known" : "",
		       text(all, CELL_HOURS, h->saved_by_all), h->helped ? "" : " core-h a week");
	puts(".");
}

static void print_text(const struct digest *d, const struct found *f)
{
	if (!(site_digest__total(f, TOTAL, JOBS) > 0)) {
		puts("no jobs");
		return;
	}
	print_dates(d);
	print_filter(d);
	print_sentence(d, f);
	print_list(f, ACCOUNTS, "Lost by project",
		   d->has_before
			   ? "lost%: of all that was held; trend: against before, in points,\n"
			     "of what was held with a profile alone"
			   : "lost%: of all that was held");
	print_list(f, FINDINGS, "Findings", "the dearest first");
	print_list(f, ASK, "Whom to write to first", "nobody did in the last 90 days");
	print_list(f, APPS, "Slower than before", "medians of runs; core-h: what that took more");
	print_list(f, NODES, "Nodes to look at",
		   "slower than others, called slow by findings, or NODE_FAIL twice");
	print_help(&f->help);
	print_foot(d, f);
}

/* ---- as CSV, as JSON and as a page */

static void print_csv(const struct found *f)
{
	for (int i = 0; i < SHOWN; i++) {
		if (i)
			putchar('\n');
		site_table__csv(&f->t[i], stdout);
	}
}

static json_t *help_json(const struct advice_sum *h)
{
	json_t *o = json_pack("{s:i, s:i}", "contacts", h->n, "helped", h->helped);

	JSON_NUMBERS(o, {"saved_core_s_week", h->saved},
		     {"saved_by_all_core_s_week", h->known ? h->saved_by_all : NAN});
	return o;
}

/* A sum of jobs; null: it was not asked for. */
static json_t *sum_json(const struct site_table *t)
{
	return t->nrows ? site_table__json_row(t, 0) : json_null();
}

static json_t *digest_json(const struct digest *d, const struct found *f)
{
	static const char *const lists[SHOWN] = {[ACCOUNTS] = "accounts",
						 [FINDINGS] = "findings",
						 [ASK] = "ask",
						 [APPS] = "slower",
						 [NODES] = "nodes"};
	const struct job_filter *filter = &d->site->filter;
	json_t *o = json_object(), *of = json_object();

	json__set(o, "from", json__whole(filter->since));
	json__set(o, "to", json__whole(filter->until));
	json__set(o, "before_from", json__whole(d->before.since));
	json__set(o, "filter", site_args__filter(d->site));
	if (site_digest__total(f, TOTAL, MONEY_HELD) > 0 ||
	    site_digest__total(f, TOTAL, MONEY_ENERGY) > 0)
		json__set(o, "currency", json__text(d->site->currency));
	json__set(o, "total", sum_json(&f->t[TOTAL]));
	json__set(o, "before", sum_json(&f->t[BEFORE]));
	for (int i = 0; i < SHOWN; i++) {
		json__set(o, lists[i], site_table__json(&f->t[i]));
		json__set(of, lists[i], json_integer(f->of[i]));
	}
	json__set(o, "of", of);
	json__set(o, "advice", help_json(&f->help));
	json__set(o, "contacts", site_table__json(&f->t[CONTACTS]));
	return o;
}

struct writing {
	const struct digest *d;
	const struct found *f;
	const char *to;
	char *template;
};

static int write_html(void *arg, int fd, bool *keep)
{
	const struct writing *w = arg;
	const struct job_filter *f = &w->d->site->filter;
	char from[SITE_CELL], to[SITE_CELL];
	json_t *page = json_pack("{s:o, s:s, s:s, s:s}", "digest", digest_json(w->d, w->f), "from",
				 date(from, f->since), "to", date(to, f->until), "version",
				 JOBPROF_VERSION);
	int err = html_page__put(fd, w->template, page);

	*keep = !err;
	if (err)
		log_error("%s: cannot be written: %s", w->to, strerror(-err));
	return err ? 1 : 0;
}

/* Whether --html names the index itself, which the page must not replace. */
static bool is_index(const struct options *o)
{
	bool is_own, is_it;
	char *where = site_args__where(&o->site, &is_own);
	const struct job_input index = {.path = where};

	is_it = where && html_page__is_input(o->html, &index, 1);
	free(where);
	return is_it;
}

static int print_digest(const struct options *o, const struct digest *d, const struct found *f)
{
	struct writing w = {.d = d, .f = f, .to = o->html};
	int status;

	if (d->site->json)
		return json__print(digest_json(d, f), stdout, JSON_COMPACT) ? 1 : 0;
	if (d->site->csv)
		print_csv(f);
	else if (!o->html)
		print_text(d, f);
	if (!o->html)
		return 0;
	if (is_index(o))
		return 1;
	w.template = html_page__template();
	status = w.template
			 ? child_output__write(o->html, "the index", &POOL_STREAM, write_html, &w)
			 : 1;
	free(w.template);
	return status < 0 ? 1 : status;
}

/* ---- the verb */

/* 0, or 2 and it has said what is wrong. */
static int check(const struct options *o, bool has_words)
{
	if (has_words)
		return options__wrong(&cmd_digest, "it takes options alone");
	if (!isnan(o->site.filter.since) || o->site.ran_at_word)
		return 0;
	log_error("--since all: there is no time before it to compare with; -S 1y is the last "
		  "year");
	return 2;
}

int verb_digest(int argc, char **argv)
{
	static const struct opt since = {.name = "since"};
	struct found f = {0};
	struct options o = {0};
	struct digest d = {.site = &o.site};
	int status;

	site_args__init(&o.site, "7d");
	status = options__read(&cmd_digest, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	if (o.site.filter.jobs && !o.site.is_since_given && !o.site.ran_at_word)
		site_args__take_since(&o.site, &since, "7d"); /* else it would be of all times */
	status = check(&o, optind < argc);
	if (!status)
		status = site_args__open(&o.site, &d.ix, &d.viewer);
	if (status)
		return status;
	status = site_args__status(site_digest__find(&d, &f));
	status = status ? status : print_digest(&o, &d, &f);
	if (!status && !(site_digest__total(&f, TOTAL, JOBS) > 0))
		site_filter__hint(&o.site, &d.ix, &d.viewer);
	site_digest__free(&f);
	index__close(&d.ix);
	return status;
}
