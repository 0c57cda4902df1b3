/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof advice: whether it helped to write to users; of some jobs, what to change in all of them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/json.h"
#include "base/str.h"
#include "cmd/jobprof/site_change.h"
#include "cmd/jobprof/site_contact.h"
#include "cmd/jobprof/site_when.h"
#include "cmd/jobprof/verbs.h"
#include "index/contact.h"
#include "view/report/report_text.h"

struct options {
	struct site_args site;
	bool contacts;
};

static const struct opt opts[] = {
	{0, "contacts", NULL, "whether contacts helped, also with --user and --project",
	 OPT_FLAG(struct options, contacts)},
	OPTS_FILTER(struct options),
	OPTS_DATABASE(struct options),
	OPTS_FORM(struct options),
	{0},
};

const struct command cmd_advice = {
	.name = "jobprof advice",
	.usage = "[OPTION]...",
	.about =
		"Of jobs that options name: what to change in all that are alike, and in how many\n"
		"of them that would have been safe. Without: whether contacts helped, by what\n"
		"the jobs in question lost a week in the 6 weeks before and in up to 8 weeks\n"
		"after, at equal core time, so that running less is no success.",
	.opts = opts,
};

/* ---- whether contacts helped */

struct adding {
	const struct job_filter *filter;
	struct site_table *t;
	struct advice_sum sum;
};

static int add_advice(void *arg, const struct contact *c, const struct advice *a)
{
	struct adding *w = arg;

	if (!site_contact__is_of(c, w->filter))
		return 0;
	contact__add_up(&w->sum, a);
	return site_contact__add(w->t, c, a);
}

/* "helped 2 of 6, which saved 5,641 core-h a week; all 6 together: -17,368" */
static void print_saved(const struct advice_sum *s)
{
	char saved[SITE_CELL], all[SITE_CELL];

	site_cell__put(saved, CELL_HOURS, s->saved);
	site_cell__put(all, CELL_HOURS, s->saved_by_all);
	printf("\nhelped %u of %u", s->helped, s->n);
	if (s->helped)
		printf(", which saved %s core-h a week", saved);
	if (s->n == 1 && s->known > s->helped)
		printf(": %s core-h a week", all);
	else if (s->known > s->helped)
		printf("; all %u%s together: %s%s", s->known,
		       s->known < s->n ? " of which it is known" : "", all,
		       s->helped ? "" : " core-h a week");
	putchar('\n');
}

static json_t *saved_json(const struct site_args *a, const struct advice_sum *s)
{
	json_t *o = json_object();

	json__set(o, "contacts", json_integer(s->n));
	json__set(o, "helped", json_integer(s->helped));
	JSON_NUMBERS(o, {"saved_core_s_week", s->saved},
		     {"saved_by_all_core_s_week", s->known ? s->saved_by_all : NAN},
		     {"saved_money_week", site_args__money(a, s->saved, NAN)});
	if (a->core_h > 0)
		json__set(o, "currency", json__text(a->currency));
	return o;
}

static int print_contacts(struct index *ix, const struct site_args *a, const struct viewer *v)
{
	struct site_table t = {.columns = site_contact__columns,
			       .ncolumns = site_contact__ncolumns};
	struct adding w = {.filter = &a->filter, .t = &t};
	const bool is_text = !a->json && !a->csv;
	int status = site_args__status(contact__each(ix, a->filter.since, v, add_advice, &w));

	if (!status && (t.nrows || !is_text))
		status = site_args__print(a, &t, saved_json(a, &w.sum));
	if (!status && is_text && t.nrows)
		print_saved(&w.sum);
	else if (!status && is_text)
		puts("no contact is noted: jobprof contacted JOB --ticket T notes one");
	site_table__free(&t);
	return status;
}

/* ---- what to change in jobs that are alike */

#define GROUPS	    10 /* without --all */
#define CHANGE_DAYS "30d"

struct changes {
	struct index *ix;
	const struct viewer *viewer;
	const struct site_args *site;
	struct site_table t;
	bool is_text;
	double jobs; /* with findings, each finding for itself */
	bool has_heading;
	char signature[64]; /* whose heading was printed last */
};

/* ", 4 nodes" */
static void print_size(double n, const char *noun)
{
	char count[SITE_CELL];

	site_cell__put(count, CELL_COUNT, n);
	if (n > 0)
		printf(", %s %s%s", count, noun, report_text__s(n));
}

/* One for all findings of a signature. Jobs of one name may differ in size. */
static void print_heading(struct changes *w, const struct many *m)
{
	if (w->has_heading && !strcmp(w->signature, m->signature))
		return;
	snprintf(w->signature, sizeof(w->signature), "%s", m->signature);
	if (w->has_heading)
		putchar('\n');
	w->has_heading = true;
	print__utf8(stdout, *m->name ? m->name : *m->program ? m->program : "?");
	fputs(" of ", stdout);
	print__utf8(stdout, m->user);
	print_size(m->nodes, "node");
	print_size(m->tasks, "task");
	putchar('\n');
}

static int take_change(void *arg, const struct many *m)
{
	struct changes *w = arg;

	w->jobs += m->jobs;
	if (!w->is_text)
		return site_change__add(&w->t, w->ix, w->viewer, w->site, m);
	print_heading(w, m);
	return site_change__print(m);
}

/* Of the jobs asked for, what no advice can be about. */
static void print_without_profile(double share)
{
	if (share > 0)
		putchar('\n');
	site_filter__print_unknown(share, "to change there");
}

static json_t *without_profile_json(double share)
{
	json_t *o = json_object();

	JSON_NUMBERS(o, {"without_profile", share});
	return o;
}

static int print_changes(struct index *ix, const struct site_args *a, const struct viewer *v)
{
	double share;
	struct changes w = {
		.ix = ix,
		.viewer = v,
		.site = a,
		.t = {.columns = site_change__columns, .ncolumns = site_change__ncolumns},
		.is_text = !a->json && !a->csv,
	};
	int status = site_args__status(
		many__each(ix, &a->filter, v, a->all ? 0 : GROUPS, take_change, &w));

	if (!status)
		status = site_args__status(many__without_profile(ix, &a->filter, v, NULL, &share));
	if (!status && !w.is_text)
		status = site_args__print(a, &w.t, without_profile_json(share));
	else if (!status && !(w.jobs > 0))
		puts("no such job has a finding");
	if (!status && w.is_text)
		print_without_profile(share);
	if (!status && !(w.jobs > 0))
		site_filter__hint(a, ix, v);
	site_table__free(&w.t);
	return status;
}

/* ---- the verb */

/* Whether it names jobs, by more than their time. */
static bool names_jobs(const struct job_filter *f)
{
	return f->cluster || f->user || f->account || f->partition || !isnan(f->until) ||
	       job_filter__is_of_rows(f);
}

int verb_advice(int argc, char **argv)
{
	static const char all[] = "all";
	struct options o = {0};
	struct viewer viewer;
	struct index ix;
	bool of_jobs;
	int status;

	site_args__init(&o.site, all);
	status = options__read(&cmd_advice, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	if (optind < argc)
		return options__wrong(&cmd_advice, "\"%s\": it takes options alone", argv[optind]);
	of_jobs = !o.contacts && names_jobs(&o.site.filter);
	if (of_jobs && o.site.since_word == all && !o.site.is_since_given)
		site_when__parse(&o.site.filter.since, "since", CHANGE_DAYS);
	status = site_args__open(&o.site, &ix, &viewer);
	if (status)
		return status;
	status = of_jobs ? print_changes(&ix, &o.site, &viewer)
			 : print_contacts(&ix, &o.site, &viewer);
	index__close(&ix);
	return status;
}
