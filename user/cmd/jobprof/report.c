/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof report: one page that says why a job is slow, what it cost and what to change. */
#include "cmd/jobprof/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/options.h"
#include "base/str.h"
#include "cmd/jobprof/child_output.h"
#include "cmd/jobprof/html_page.h"
#include "cmd/jobprof/input_args.h"
#include "cmd/jobprof/report_store.h"
#include "cmd/jobprof/select_args.h"
#include "cmd/jobprof/site_args.h"
#include "cmd/jobprof/verbs.h"
#include "pool/pool.h"
#include "view/report/report.h"
#include "view/report/report_jobs.h"

/* ---- jobprof report on files of several jobs: each job is judged, and is a line of a table */

/* What is judged: the table, and the profile whose row comes next. */
struct judging {
	struct report_jobs *jobs;
	const struct profile *next;
};

static int put_job_row(const struct report *r, struct message *m, void *ctx)
{
	(void)ctx;
	return report_jobs__put(r, m);
}

static int take_job_row(struct message *m, void *ctx)
{
	const struct judging *w = ctx;
	const char *path = w->next->files[0].path;
	char id[16] = "";
	int err;

	if (w->next->job)
		snprintf(id, sizeof(id), "%u", w->next->job);
	err = report_jobs__take(w->jobs, m, path, id);
	if (err)
		log_error("%s: %s", path, model_file__strerror(err));
	return err ? 1 : 0;
}

/* 0, or the exit status; the table has what could be read. */
static int judge_all(struct report_jobs *jobs, const struct profiles *p,
		     const struct report_opts *o)
{
	struct judging w = {.jobs = jobs};
	const struct report_question q = {put_job_row, take_job_row, &w};
	int status = 0;

	for (unsigned i = 0; i < p->n; i++) {
		w.next = &p->v[i];
		status |= report__ask(w.next->files, w.next->n, o, &q);
	}
	return status;
}

/* Prints a table with a line per profile. Returns 0, or 1 when a file could not be read, which is
 * logged. */
static int report_table(const struct profiles *p, const struct report_opts *o, FILE *out)
{
	struct report_jobs jobs = {.by = o->by ? o->by : 1u << REPORT_BY_USER};
	int status = judge_all(&jobs, p, o);
	json_t *json;

	report_jobs__sort(&jobs);
	json = report_jobs__json(&jobs);
	if (!json)
		status = 1;
	else if (o->form != REPORT_JSON && jobs.n)
		report_jobs__print(json, o->all, out);
	else if (o->form == REPORT_JSON &&
		 (json_dumpf(json, out,
			     JSON_COMPACT | JSON_REAL_PRECISION(15) | JSON_ENSURE_ASCII) ||
		  putc('\n', out) == EOF))
		status = 1;
	json_decref(json);
	report_jobs__free(&jobs);
	return status;
}

/* For an option: turns a list of words into the bits `by` of report_opts. Returns 0, or 2 when a
 * word is wrong, which is logged. */
static int jobs_parse_by(void *to, const struct opt *o, const char *list)
{
	unsigned *by = to;

	*by = 0;
	for (const char *word = list; word; word = strchr(word, ',')) {
		size_t len;
		int i;

		word += *word == ',';
		len = strcspn(word, ",");
		for (i = 0; i < REPORT_BYS; i++)
			if (strlen(report_by_names[i]) == len &&
			    !strncmp(report_by_names[i], word, len))
				break;
		if (i == REPORT_BYS) {
			log_error("--by %s: the words are user, account, partition and name", list);
			return 2;
		}
		*by |= 1u << i;
	}
	return 0;
}

/* Of a report in its child: where it goes. */
struct printing {
	const struct report_opts *opts;
	const struct job_input *inputs;
	unsigned n;
	FILE *out;
	struct message *m;	 /* REPORT_STORE */
	struct timespec read_at; /* likewise: the file's modification time */
	int fd;			 /* REPORT_HTML */
	char *template;		 /* likewise */
};

/* ---- the verb */

static int print_json(const struct report *r, FILE *out)
{
	json_t *json = report__json(r);
	int err = json && !json_dumpf(json, out,
				      JSON_COMPACT | JSON_REAL_PRECISION(15) | JSON_ENSURE_ASCII)
			  ? 0
			  : 1;

	putc('\n', out);
	json_decref(json);
	if (err)
		log_error("the report could not be written as JSON");
	return err;
}

/* The report's JSON without what is of every unit and every bin: `page` has what is drawn of it. */
static json_t *page_json(const struct report *r)
{
	json_t *o = report__json(r);

	json_object_del(o, "units");
	json_object_del(o, "bins");
	json_object_set_new(o, "page", report_series__json(r));
	return o;
}

/* NULL: none is like it. */
static const char *nearest_rule(const struct verdict *v, const char *rule)
{
	const char **names = calloc(v->nfindings + v->nothers + 1, sizeof(*names)), *near = NULL;
	unsigned n = 0;

	for (size_t i = 0; names && i < v->nfindings; i++)
		names[n++] = v->findings[i].id;
	for (size_t i = 0; names && i < v->nothers; i++)
		names[n++] = v->others[i].id;
	if (names)
		near = str__nearest(rule, names, n);
	free(names);
	return near;
}

static int print_why(const struct report *r, const char *rule, FILE *out)
{
	const char *near;

	if (report__print_why(r->verdict, rule, out) || report__print_tag_why(r->pika, rule, out))
		return 0;
	near = nearest_rule(r->verdict, rule);
	log_error("--why %s: there is no such rule or tag; %s%s%s", rule,
		  near ? "did you mean " : "--all lists the findings, --json all rules",
		  near ? near : "", near ? "?" : "");
	return 1;
}

static const char *const form_options[] = {
	[REPORT_PAGE] = "",	[REPORT_JSON] = "--json",   [REPORT_FACTS] = "--facts",
	[REPORT_WHY] = "--why", [REPORT_STORE] = "--store", [REPORT_HTML] = "--html",
};

/* The bins that rules judge are long, and longer yet where units are many. What is drawn of a job
 * has about a thousand points, as far as it has rows, and those of a long job are at most the usual
 * 30 s apart: such a length of bins, or 0 where those of the rules are as short and not much longer
 * than rows. */
static double drawn_bin_s(const struct model_job *j)
{
	static const double lengths[] = {0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30};
	double least = fmax(0.99 * j->row_s, j->grid.end_s / 1000);
	size_t i = 0;

	while (i + 1 < sizeof(lengths) / sizeof(*lengths) && lengths[i] < least)
		i++;
	if (lengths[i] < j->grid.dt_s * 0.9)
		return lengths[i];
	return j->grid.dt_s >= JOB_LONG_BIN * j->least_row_s ? j->grid.dt_s : 0;
}

static bool has_same_units(const struct model_job *a, const struct model_job *b)
{
	return a->nnodes == b->nnodes && a->ntasks == b->ntasks && a->ngpus == b->ngpus &&
	       a->main_step == b->main_step;
}

/* Rows are read once more where shorter bins are drawn. */
static json_t *page_of(const struct report *r, const struct printing *p)
{
	const struct job_options how = {.dt_s = drawn_bin_s(r->job), .drawn = true};
	struct model_job drawn = {0};
	struct report with = *r;
	json_t *page;

	if (how.dt_s > 0 && !model_job__read(&drawn, p->inputs, p->n, &how) &&
	    has_same_units(&drawn, r->job))
		with.drawn = &drawn;
	page = page_json(&with);
	model_job__free(&drawn);
	return page;
}

/* Writes the page, which is released. 0, or the exit status. */
static int write_html(json_t *page, const struct printing *p)
{
	const int err = html_page__put(p->fd, p->template, page);

	if (err)
		log_error("%s: cannot be written: %s", p->opts->html, strerror(-err));
	return err ? 1 : 0;
}

/* 0, or the exit status. */
static int put_form(const struct report *r, const struct printing *p)
{
	const struct report_opts *o = p->opts;
	FILE *out = p->out;

	switch (o->form) {
	case REPORT_FACTS:
		report__print_facts(r->facts, out);
		return 0;
	case REPORT_WHY:
		return print_why(r, o->why, out);
	case REPORT_STORE:
		return report_store__put(r, page_of(r, p), p->m);
	case REPORT_HTML:
		return write_html(page_of(r, p), p);
	case REPORT_JSON:
		return print_json(r, out);
	default:
		report__print(r, out);
		return 0;
	}
}

/* Reads what the form shows in addition to facts, and prints it. Returns 0, or the exit status. */
static int print_form(const struct report *r, const struct printing *p)
{
	const enum report_form form = p->opts->form;
	const bool has_besides = form != REPORT_FACTS && form != REPORT_WHY && !r->is_run;
	const bool has_page = form == REPORT_HTML || form == REPORT_STORE;
	struct report_besides besides = {0};
	struct report with = *r;
	int status = 1, err = 0;

	if (has_besides)
		err = report_besides__read(&besides, p->inputs, p->n, has_page);
	if (err && err != -EINTR)
		log_error("%s: %s", p->inputs[0].path, strerror(-err));
	with.besides = has_besides ? &besides : NULL;
	if (!err)
		status = put_form(&with, p);
	report_besides__free(&besides);
	if (err == -EINTR)
		pool__follow_signal();
	return status;
}

static int print_one(const struct report *r, void *ctx)
{
	return print_form(r, ctx);
}

static int print_in_child(void *arg)
{
	struct printing *p = arg;
	int status = report__judge(p->inputs, p->n, p->opts, print_one, p);

	return fflush(p->out) ? 1 : status; /* stdout's errors are said by its child */
}

static int html_in_child(void *arg, int fd, bool *keep)
{
	struct printing *p = arg;
	struct report_opts with = *p->opts;
	struct rules_text rules;
	json_t *page;
	int status;

	p->fd = fd;
	rules_text__read(&rules, with.rules);
	with.text = &rules;
	page = report_store__page(p->inputs, p->n, &with);
	status = page ? write_html(page, p) : report__judge(p->inputs, p->n, &with, print_one, p);
	rules_text__free(&rules);
	*keep = !status;
	return status;
}

static int write_page(struct printing *p)
{
	const struct report_opts *o = p->opts;
	const struct job_input rules = {.path = o->rules};
	int status = 1;

	if ((o->rules && html_page__is_input(o->html, &rules, 1)) ||
	    html_page__is_input(o->html, p->inputs, p->n))
		return 1;
	p->template = html_page__template();
	if (p->template)
		status = child_output__write(o->html, p->inputs[0].path, &POOL_JUDGE, html_in_child,
					     p);
	free(p->template);
	return status < 0 ? 1 : status;
}

static int put_stored_form(const struct report *r, struct message *m, void *ctx)
{
	struct printing *p = ctx;

	p->m = m;
	return print_form(r, p);
}

static int take_stored_form(struct message *m, void *ctx)
{
	const struct printing *p = ctx;

	return report_store__take(m, p->opts, p->inputs, &p->read_at);
}

/* 0, or the exit status. */
static int put_report(struct printing *p)
{
	const struct report_question stored = {put_stored_form, take_stored_form, p};
	struct stat st;

	switch (p->opts->form) {
	case REPORT_STORE:
		if (!stat(p->inputs[0].path, &st))
			p->read_at = st.st_mtim;
		return report__ask(p->inputs, p->n, p->opts, &stored);
	case REPORT_HTML:
		return write_page(p);
	default:
		fflush(p->out);
		return pool__call_verb(print_in_child, p, &POOL_JUDGE);
	}
}

int report__files(const struct job_input *inputs, unsigned n, const struct report_opts *o,
		  FILE *out)
{
	struct printing p = {.opts = o, .inputs = inputs, .n = n, .out = out};

	if (n == 1 || o->form != REPORT_STORE)
		return put_report(&p);
	log_error("--store needs one job file: jobprof merge makes it of node-step files");
	return 2;
}

/* A whole job is told beside those like it, where an index has them. */
static int report_job(const struct profile *p, const struct report_opts *o)
{
	const bool is_whole = p->n == 1 && !p->files->nsteps && !p->files->nodes;
	struct report_opts with = *o;
	struct alike alike = {0};
	int status;

	if (is_whole &&
	    (o->form == REPORT_PAGE || o->form == REPORT_JSON || o->form == REPORT_HTML))
		site_args__compare(&alike, p->job, p->files->path);
	with.alike = &alike;
	status = report__files(p->files, p->n, &with, stdout);
	alike__free(&alike);
	return status;
}

static int report_profiles(const struct profiles *p, const struct report_opts *o)
{
	if (p->n == 1)
		return report_job(p->v, o);
	if (o->form == REPORT_PAGE || o->form == REPORT_JSON)
		return report_table(p, o, stdout);
	log_error("%s: the files are of several jobs, and %s is about one: name it by -j JOB",
		  p->files->path, form_options[o->form]);
	return 2;
}

int report__on_stderr(const char *path, const struct report_opts *o)
{
	const struct job_input in = {.path = path};
	FILE *out = fdopen(dup(STDERR_FILENO), "w"); /* stderr itself has no buffer */
	int status = out ? report__files(&in, 1, o, out) : 1;

	return out && fclose(out) ? 1 : status;
}

struct args {
	struct report_opts opts;
	struct string_list nodes;
	struct selection sel;
	struct select_words words;
};

static int set_form(void *to, const struct opt *o, const char *arg)
{
	struct args *a = to;
	enum report_form form = REPORT_JSON;

	while (strcmp(form_options[form] + strlen("--"), o->name) != 0)
		form++;
	a->opts.form = form;
	if (form == REPORT_WHY)
		a->opts.why = arg;
	if (form == REPORT_HTML)
		a->opts.html = arg;
	return 0;
}

static const struct opt opts[] = {
	{'a', "all", NULL, "every finding, and what is known of the profile itself",
	 OPT_FLAG(struct args, opts.all)},
	OPT_JOBS(struct args),
	OPT_INPUT(struct args),
	OPT_NODES(struct args),
	{0, "json", NULL, "as JSON", OPT_CALL(set_form), .group = 1},
	{0, "html", "FILE",
	 "as one file for a browser, which needs no network; - is standard output",
	 OPT_CALL(set_form), .group = 1},
	{0, "facts", NULL, "the quantities that the rules judge, with their units",
	 OPT_CALL(set_form), .group = 1},
	{0, "why", "RULE", "why the rule gave no finding, or PIKA's tag was not given",
	 OPT_CALL(set_form), .group = 1, .values = report__print_rules},
	{0, "force", NULL, "judges PIKA's issues of short, serial and failed jobs, too",
	 OPT_FLAG(struct args, opts.force)},
	{0, "store", NULL, "stores the report and its analyses in the job file", OPT_CALL(set_form),
	 .group = 1},
	{0, "rules", "FILE", "rules of a site, instead of " JOBPROF_SYSCONFDIR "/jobprof/rules.lua",
	 OPT_TEXT(struct args, opts.rules)},
	{0, "by", "WORD,...",
	 "sums of several jobs by user (the default), account, partition or name",
	 OPT_CALL_AT(jobs_parse_by, struct args, opts.by)},
	OPT_OVERWRITE,
	{0},
};

const struct command cmd_report = {
	.name = "jobprof report",
	.usage = "[OPTION]... " USAGE_INPUTS,
	.about = "Says on one page what held a job back, what that cost and what to change, where\n"
		 "the time went, and how much of what the job was given was used. Of several\n"
		 "node-step files the page is about all of them together; of several jobs it is a\n"
		 "table with a line for each.",
	.opts = opts,
};

static int report_words(struct args *a, int argc, char **argv)
{
	struct profile_words words = {
		.jobs = a->words.jobs, .where = a->words.input, .nodes = a->sel.nodes};
	struct profiles in = {0};
	int status = 0;

	if (words.jobs || words.where) {
		status = input_args__word(&cmd_report, argc, argv, &words.where);
	} else {
		words.words = argv + optind;
		words.nwords = (unsigned)(argc - optind);
	}
	if (!status)
		status = profiles__find(&in, &words);
	if (!status)
		status = report_profiles(&in, &a->opts) | in.lacks_job;
	profiles__free(&in);
	return status;
}

int verb_report(int argc, char **argv)
{
	struct args a = {0};
	int status = options__read(&cmd_report, argc, argv, &a);

	if (status != OPTIONS_GO_ON)
		return status;
	status = select_args__nodes(&a.sel, &a.nodes, a.words.nodes);
	if (!status)
		status = report_words(&a, argc, argv);
	string_list__free(&a.nodes);
	return status;
}
