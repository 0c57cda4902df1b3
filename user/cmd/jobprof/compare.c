/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof compare: why one run of a job took longer than another. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/job/facts_fill.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/room.h"
#include "cmd/jobprof/child_output.h"
#include "cmd/jobprof/html_page.h"
#include "cmd/jobprof/site_args.h"
#include "cmd/jobprof/verbs.h"
#include "jobfile/profiles.h"
#include "pool/pool.h"
#include "view/compare/compare.h"

/* ---- finds the files of the runs that are compared */

static bool is_job(const char *word)
{
	_cleanup_free_ struct jobspec *specs = NULL;
	char reason[256];
	unsigned n;

	return !jobspec__parse(&specs, &n, word, reason, sizeof(reason));
}

/* Finds the profiles of a word: of a file or directory, or of JOB[.STEP] in dir. Returns 0, or the
 * exit status when the cause is logged; profiles__free() in all cases. */
static int find_word(struct profiles *out, const char *word, const char *dir)
{
	*out = (struct profiles){0};
	if (!access(word, F_OK))
		return profiles__find(out, &(struct profile_words){.where = word});
	if (is_job(word))
		return profiles__find(out, &(struct profile_words){.jobs = word, .where = dir});
	log_error("%s: it is neither a file or directory nor a job; jobprof help compare says what "
		  "may be there",
		  word);
	return 1;
}

struct args {
	const char *dir, *html;
	const char **baseline;
	unsigned nbaseline;
	bool json;
	struct string_list indexed; /* what the index knows, where no baseline is given */
};

static int add_baseline(void *to, const struct opt *o, const char *arg)
{
	struct args *a = to;

	if (room__grow(&a->baseline, a->nbaseline, 1, sizeof(*a->baseline)))
		return 1;
	a->baseline[a->nbaseline++] = arg;
	return 0;
}

static const struct opt opts[] = {
	{'p', "profiledir", "DIR", "where A, B and the jobs of --baseline are, if named by job id",
	 OPT_TEXT(struct args, dir)},
	{0, "baseline", "DIR|JOBS",
	 "earlier runs like A, 5 at least, that tell what is usual: a directory, or a comma list "
	 "of jobs and files; may be given several times",
	 OPT_CALL(add_baseline)},
	{0, "json", NULL, "as JSON", OPT_FLAG(struct args, json), .group = 1},
	{0, "html", "FILE",
	 "as one file for a browser, which needs no network; - is standard output",
	 OPT_TEXT(struct args, html), .group = 1},
	OPT_OVERWRITE,
	{0},
};

const struct command cmd_compare = {
	.name = "jobprof compare",
	.usage = "[OPTION]... A B",
	.about =
		"Says why run B took longer than run A, or less time: more work, slower CPUs,\n"
		"less balance, waiting for a CPU or a disk, a longer serial end. The terms add up\n"
		"to the whole. A and B are job files, node-step files, directories with the files\n"
		"of one job, or JOB[.STEP] in a directory.",
	.opts = opts,
};

#define NOTES 5
#define NOTE  256

/* One that is compared; its job while it is in memory. */
struct run {
	const char *word;
	const struct job_input *files;
	unsigned n;
	struct model_job job;
};

struct work {
	const struct args *args;
	struct run run[2];
	struct compared_job side[2];
	struct comparison c;
	struct compare_how how;
	struct profiles found[2];
	struct profiles *of_base; /* of each word of the baseline */
	struct run *base;	  /* a run is a profile of these */
	unsigned nof_base, nbase;
	struct comparison *earlier;
	unsigned nearlier, left_out, later;
	struct compared_job *seen; /* all of the baseline that were read */
	unsigned nseen;
	struct compare_spread spread[N_TERMS];
	struct compare_besides besides;
	char why[N_TERMS][160];
	char notes[NOTES][NOTE];
	const char *note_list[NOTES + 1];
	unsigned nnotes;
	char *template; /* of a page for a browser, which goes to fd */
	int fd;
};

/* ---- reading */

static void log_refused(const struct run *r, const char *why)
{
	const struct job_part *unread = model_job__unread(&r->job);

	if (unread)
		log_error("%s: it cannot be compared: %s: node %s: %s", r->word, why,
			  r->job.nodes[unread->node].unit.name, unread->trouble);
	else
		log_error("%s: it cannot be compared: %s", r->word, why);
}

/* 0, or the exit status. */
static int read_job(struct run *r, double dt_s)
{
	const struct job_options how = {.dt_s = dt_s, .budget = true};
	const char *refused;
	int err;

	model_job__free(&r->job);
	err = model_job__read(&r->job, r->files, r->n, &how);
	if (err == -ENODATA)
		log_refused(r, "it has no rows that can be read, or all of one instant");
	else if (err == -EINVAL)
		log_error("%s: the files are of several jobs", r->word);
	else if (err && err != -EIO) /* which has been said */
		log_error("%s: %s", r->word, strerror(-err));
	refused = err ? NULL : compare_job__refuse(&r->job);
	if (refused)
		log_refused(r, refused);
	return err || refused ? 1 : 0;
}

/* Both jobs get bins of one length, that of the job whose bins are longer. */
static int read_both(struct work *w)
{
	struct run *a = &w->run[0], *b = &w->run[1];
	int status = read_job(a, 0);

	if (!status)
		status = read_job(b, 0);
	/* A third time only where a job is so large that its bins are longer than was asked for. */
	for (int i = 0; !status && i < 3 && a->job.grid.dt_s != b->job.grid.dt_s; i++)
		status = a->job.grid.dt_s < b->job.grid.dt_s ? read_job(a, b->job.grid.dt_s)
							     : read_job(b, a->job.grid.dt_s);
	return status;
}

static bool is_same_input(const struct run *x, const struct run *y)
{
	const struct job_input *a = x->files, *b = y->files;

	if (x->n != y->n || a->nsteps != b->nsteps || strcmp(a->path, b->path))
		return false;
	for (unsigned i = 0; i < a->nsteps; i++)
		if (strcmp(a->steps[i], b->steps[i]))
			return false;
	return true;
}

static int find_run(struct work *w, int i, const char *word)
{
	struct run *r = &w->run[i];
	int status = find_word(&w->found[i], word, w->args->dir);

	r->word = word;
	if (!status && w->found[i].n > 1) {
		log_error("%s: the files are of several jobs", word);
		status = 1;
	}
	if (!status) {
		r->files = w->found[i].files;
		r->n = w->found[i].nfiles;
	}
	return status;
}

static int find_both(struct work *w, char **words)
{
	int status = find_run(w, 0, words[0]);

	if (!status)
		status = find_run(w, 1, words[1]);
	if (!status && is_same_input(&w->run[0], &w->run[1])) {
		log_error("%s and %s are the same run: a comparison needs two", words[0], words[1]);
		status = 2;
	}
	return status;
}

/* ---- what a reader should know */

__attribute__((format(printf, 2, 3))) static void note(struct work *w, const char *fmt, ...)
{
	va_list ap;

	if (w->nnotes == NOTES)
		return;
	va_start(ap, fmt);
	vsnprintf(w->notes[w->nnotes], NOTE, fmt, ap);
	va_end(ap);
	w->note_list[w->nnotes] = w->notes[w->nnotes];
	w->nnotes++;
}

static unsigned count_unread(const struct model_job *j)
{
	unsigned n = 0;

	for (unsigned i = 0; i < j->nparts; i++)
		n += j->parts[i].trouble != NULL;
	return n;
}

static void add_notes(struct work *w)
{
	const struct compared_job *a = &w->side[0], *b = &w->side[1];

	if (strcmp(a->program, b->program))
		note(w, "The programs differ: %.64s and %.64s.", *a->program ? a->program : "?",
		     *b->program ? b->program : "?");
	if (a->nodes != b->nodes || a->tasks != b->tasks)
		note(w, "The sizes differ: %u node%s with %u task%s, and %u with %u.", a->nodes,
		     a->nodes == 1 ? "" : "s", a->tasks, a->tasks == 1 ? "" : "s", b->nodes,
		     b->tasks);
	for (int i = 0; i < 2; i++) {
		unsigned unread = count_unread(&w->run[i].job);

		if (unread)
			note(w, "%c: %u of its files cannot be read and are missing here.", "AB"[i],
			     unread);
	}
}

static void why(struct work *w, enum compare_term term, enum quantity q)
{
	for (int i = 0; i < 2; i++) {
		const struct model_job *j = &w->run[i].job;
		bool known = false;

		for (unsigned n = 0; n < j->nnodes; n++)
			known |= !isnan(j->nodes[n].unit.total[q]);
		if (known)
			continue;
		snprintf(w->why[term], sizeof(w->why[term]), "%c: ", "AB"[i]);
		model_job__why_unknown(j, q, w->why[term] + 3, sizeof(w->why[term]) - 3);
		return;
	}
}

static void explain(struct work *w)
{
	why(w, TERM_WAIT, Q_WAIT);
	why(w, TERM_DISK, Q_DISK_WAIT);
	why(w, TERM_IPC, Q_INSTRUCTIONS);
	if (!*w->why[TERM_IPC])
		why(w, TERM_IPC, Q_CYCLES);
	memcpy(w->why[TERM_CLOCK], w->why[TERM_IPC], sizeof(w->why[TERM_CLOCK]));
	for (int i = 0; i < N_TERMS; i++)
		if (compare_term__is_cause(i))
			why(w, i, Q_THREAD_TIME);
}

/* ---- the baseline */

static bool is_same_run(const struct compared_job *a, const struct compared_job *b)
{
	return !strcmp(a->id, b->id) && !strcmp(a->step, b->step) && a->start_s == b->start_s;
}

/* Whether it is like A, and its terms are those of A and B. */
static bool is_like(const struct work *w, const struct compared_job *r, const struct comparison *c)
{
	const struct compared_job *a = &w->side[0];

	for (int i = 0; i < N_TERMS; i++)
		if (c->change[i].is_in != w->c.change[i].is_in)
			return false;
	return !strcmp(r->program, a->program) && r->nodes == a->nodes && r->tasks == a->tasks;
}

/* B, or a run that has been seen, perhaps from a copy of its file. */
static bool is_seen(const struct work *w, const struct compared_job *r)
{
	for (unsigned i = 0; i < w->nseen; i++)
		if (is_same_run(r, &w->seen[i]))
			return true;
	return is_same_run(r, &w->side[1]);
}

/* Takes the run. */
static int judge_earlier(struct work *w, const struct model_job *j)
{
	const struct model_job *one[] = {j};
	struct compare_how of_it = compare_job__how(one, 1);
	bool lacks = (w->how.wait && !of_it.wait) || (w->how.disk && !of_it.disk) ||
		     (w->how.causes && !of_it.causes) || j->grid.dt_s != w->run[0].job.grid.dt_s;
	struct compared_job *r = &w->seen[w->nseen];
	struct comparison c;
	int err;

	if (lacks) {
		w->left_out++;
		return 0;
	}
	err = compare_job__of(r, j, &w->how);
	if (err || is_seen(w, r)) {
		compared_job__free(r);
		return err;
	}
	w->nseen++;
	if (r->start_s > w->side[1].start_s) {
		w->later++;
		return 0;
	}
	compare__of(&c, &w->side[0].run, &r->run);
	if (is_like(w, r, &c))
		w->earlier[w->nearlier++] = c;
	else
		w->left_out++;
	return 0;
}

/* 0, or the exit status. */
static int read_earlier(struct work *w, struct run *r)
{
	int status = read_job(r, w->run[0].job.grid.dt_s);

	if (!status && judge_earlier(w, &r->job)) {
		log_error("%s", strerror(ENOMEM));
		status = 1;
	}
	model_job__free(&r->job);
	return status;
}

/* The ".0" of "41.0", and ".batch" of "41.batch", if that is no file. */
static const char *step_of(const char *word)
{
	const char *dot = strchr(word, '.');

	return dot && access(word, F_OK) ? dot : "";
}

/* A word of the baseline: a file or directory, or a list of files and jobs. 0 or -errno. */
static int find_base_word(struct work *w, const char *word)
{
	_cleanup_free_ char *copy = strdup(word);
	const char *step = step_of(w->run[0].word); /* of each job in a directory */
	bool is_path = !access(word, F_OK);
	char *rest = copy;
	int err = copy ? 0 : -ENOMEM;

	while (!err && rest) {
		const char *item = is_path ? word : strsep(&rest, ",");
		struct profiles *more;

		if (room__grow(&w->of_base, w->nof_base, 1, sizeof(*w->of_base)))
			return -ENOMEM;
		more = w->of_base;
		/* what does not exist has been logged, and is left out */
		if (find_word(&more[w->nof_base], item, w->args->dir))
			more[w->nof_base].n = 0;
		else if (is_path && *step && path__is_dir(word))
			err = profiles__choose_step(&more[w->nof_base], step + 1);
		w->nof_base++;
		rest = is_path ? NULL : rest;
	}
	return err;
}

static int find_base_words(struct work *w)
{
	for (unsigned i = 0; i < w->args->nbaseline; i++) {
		int err = find_base_word(w, w->args->baseline[i]);

		if (err) {
			log_error("--baseline %s: %s", w->args->baseline[i], strerror(-err));
			return 1;
		}
	}
	return 0;
}

/* Each profile of the baseline's words is a run. 0, or the exit status. */
static int find_baseline(struct work *w)
{
	int status = find_base_words(w);
	unsigned n = 0;

	for (unsigned i = 0; i < w->nof_base; i++)
		n += w->of_base[i].n;
	w->base = calloc(n + 1, sizeof(*w->base));
	if (!w->base)
		return 1;
	for (unsigned i = 0; i < w->nof_base; i++)
		for (unsigned k = 0; k < w->of_base[i].n; k++) {
			const struct profile *p = &w->of_base[i].v[k];

			w->base[w->nbase++] =
				(struct run){.word = p->files->path, .files = p->files, .n = p->n};
		}
	return w->args->nbaseline && !n ? 1 : status; /* what is not there has been said */
}

static void free_earlier(struct work *w)
{
	for (unsigned i = 0; i < w->nseen; i++)
		compared_job__free(&w->seen[i]);
	free(w->seen);
	free(w->earlier);
}

/* A run that cannot be read has been logged, and is left out. Returns 0, or the exit status, which
 * is not 0 where there is no other run. */
static int read_baseline(struct work *w)
{
	unsigned nread = 0;

	w->earlier = calloc(w->nbase, sizeof(*w->earlier));
	w->seen = calloc(w->nbase, sizeof(*w->seen));
	if (!w->earlier || !w->seen) {
		log_error("%s", strerror(ENOMEM));
		return 1;
	}
	for (unsigned i = 0; i < w->nbase; i++)
		nread += !read_earlier(w, &w->base[i]);
	return !nread;
}

static int judge_by_baseline(struct work *w)
{
	int status = read_baseline(w);

	if (!status && compare__spread(w->spread, &w->c, w->earlier, w->nearlier)) {
		log_error("%s", strerror(ENOMEM));
		status = 1;
	}
	return status;
}

/* ---- the verb */

/* The comparison's JSON, which the page draws. 0, or the exit status. */
static int write_html(const struct work *w, const struct compare_page *page)
{
	json_t *json = compare__json(page);
	int err;

	json_object_set_new(json, "version", json_string(JOBPROF_VERSION));
	err = html_page__put(w->fd, w->template, json);
	if (err)
		log_error("%s: cannot be written: %s", w->args->html, strerror(-err));
	return err ? 1 : 0;
}

static int print_comparison(const struct work *w)
{
	struct compare_table tables[COMPARE_TABLES + COMPARE_BESIDES];
	unsigned n = compare_tables__of(tables, &w->run[0].job, &w->run[1].job);
	const struct compare_page page = {
		.a = &w->side[0],
		.b = &w->side[1],
		.c = &w->c,
		.spread = w->args->nbaseline ? w->spread : NULL,
		.earlier = w->nearlier,
		.left_out = w->left_out,
		.later = w->later,
		.why = w->why,
		.notes = w->note_list,
		.tables = tables,
		.ntables = n + w->besides.n,
	};
	json_t *json;
	int err;

	memcpy(tables + n, w->besides.tables, w->besides.n * sizeof(*tables));
	if (w->args->html)
		return write_html(w, &page);
	if (!w->args->json) {
		compare__print(&page, stdout);
		return 0;
	}
	json = compare__json(&page);
	err = json ? json__dump(json, stdout, JSON_COMPACT) : -1;
	putchar('\n');
	json_decref(json);
	if (err)
		log_error("the comparison could not be written as JSON");
	return err ? 1 : 0;
}

static void read_besides(struct work *w, const struct compare_inside runs[2])
{
	const char *what;
	int err = compare_besides__of(&w->besides, runs, &what);

	if (err == -EINTR)
		pool__follow_signal();
	if (err)
		note(w, "The %s of A or of B cannot be read, and are not compared.", what);
}

static int compare(struct work *w)
{
	const struct model_job *jobs[] = {&w->run[0].job, &w->run[1].job};
	const struct compare_inside inside[] = {
		{w->run[0].files, w->run[0].n, facts__sum(jobs[0], Q_CPU)},
		{w->run[1].files, w->run[1].n, facts__sum(jobs[1], Q_CPU)}};
	int err = 0;

	w->how = compare_job__how(jobs, 2);
	for (int i = 0; !err && i < 2; i++)
		err = compare_job__of(&w->side[i], jobs[i], &w->how);
	if (err) {
		log_error("%s", strerror(-err));
		return 1;
	}
	compare__of(&w->c, &w->side[0].run, &w->side[1].run);
	explain(w);
	add_notes(w);
	read_besides(w, inside);
	return 0;
}

/* In a limited child, which opens each file of one job once. 0, or the exit status. */
static int compare_in_child(void *arg)
{
	struct work *w = arg;
	struct model_files files[2];
	int status;

	pool__has_workers();
	for (int i = 0; i < 2; i++)
		model_files__open(&files[i], w->run[i].files, w->run[i].n);
	status = read_both(w);
	if (!status)
		status = compare(w);
	if (!status && w->args->nbaseline)
		status = judge_by_baseline(w);
	if (!status)
		status = print_comparison(w);
	for (int i = 0; i < 2; i++)
		model_files__close(&files[i]);
	return status;
}

static int page_in_child(void *arg, int fd, bool *keep)
{
	struct work *w = arg;
	int status;

	w->fd = fd;
	status = compare_in_child(w);
	*keep = !status;
	return status;
}

static bool would_replace_input(const struct work *w)
{
	const char *html = w->args->html;

	for (int i = 0; i < 2; i++)
		if (html_page__is_input(html, w->run[i].files, w->run[i].n))
			return true;
	for (unsigned i = 0; i < w->nbase; i++)
		if (html_page__is_input(html, w->base[i].files, w->base[i].n))
			return true;
	return false;
}

static int write_page(struct work *w)
{
	int status = 1;

	if (would_replace_input(w))
		return 1;
	w->template = html_page__template();
	if (w->template)
		status = child_output__write(w->args->html, w->run[0].files->path, &POOL_JUDGE,
					     page_in_child, w);
	free(w->template);
	return status < 0 ? 1 : status;
}

static void free_work(struct work *w)
{
	for (int i = 0; i < 2; i++) {
		profiles__free(&w->found[i]);
		model_job__free(&w->run[i].job);
		compared_job__free(&w->side[i]);
	}
	for (unsigned i = 0; i < w->nof_base; i++)
		profiles__free(&w->of_base[i]);
	free(w->of_base);
	free(w->base);
	compare_besides__free(&w->besides);
	free_earlier(w);
	free(w);
}

#define INDEXED 10 /* runs of the index that are read */

/* Without --baseline the last runs of A's signature count as one. */
static int ask_index(struct args *a, const struct profile *p)
{
	int err = a->nbaseline || p->n != 1
			  ? 0
			  : site_args__alike(&a->indexed, p->job, p->files->path, INDEXED);

	for (unsigned i = 0; !err && i < a->indexed.n; i++)
		err = add_baseline(a, NULL, a->indexed.v[i]) ? -ENOMEM : 0;
	return err;
}

static int compare_words_given(struct args *args, char **words)
{
	struct work *w = calloc(1, sizeof(*w));
	int status;

	if (!w) {
		log_error("%s", strerror(ENOMEM));
		return 1;
	}
	w->args = args;
	status = find_both(w, words);
	if (!status && ask_index(args, w->found[0].v))
		status = 1;
	if (!status)
		status = find_baseline(w);
	if (!status)
		status = args->html ? write_page(w)
				    : pool__call_verb(compare_in_child, w, &POOL_JUDGE);
	free_work(w);
	return status;
}

int verb_compare(int argc, char **argv)
{
	struct args a = {0};
	int status = options__read(&cmd_compare, argc, argv, &a);

	if (status == OPTIONS_GO_ON && argc - optind != 2)
		status = options__wrong(&cmd_compare, "which two runs: A B");
	else if (status == OPTIONS_GO_ON)
		status = compare_words_given(&a, argv + optind);
	free(a.baseline);
	string_list__free(&a.indexed);
	return status;
}
