/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof show: one page about a node-step or job file. */
#include "cmd/jobprof/show.h"

#include <errno.h>
#include <unistd.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/read_note.h"
#include "base/utf8.h"
#include "cmd/jobprof/input_args.h"
#include "cmd/jobprof/select_args.h"
#include "cmd/jobprof/verbs.h"
#include "pool/pool.h"
#include "view/report/report_text.h"
#include "view/view.h"

#define PAGES_MAX 16 /* --help says so too */

/* One page, whole or not at all: a damaged file gives an error, not half a page. */
static int print_page(const struct model_node *n, bool all, FILE *out)
{
	char *text = NULL;
	size_t len = 0;
	struct page page = {.node = n,
			    .out = open_memstream(&text, &len),
			    .all = all,
			    .width = spark__width(out),
			    .utf8 = utf8__is_locale()};
	int err = 0;

	if (!page.out)
		return -ENOMEM;
	page__print(&page);
	if (fclose(page.out))
		err = -ENOMEM;
	else if (fwrite(text, 1, len, out) != len)
		err = -EIO;
	free(text);
	return err;
}

/* Takes the reference; NULL: no memory. */
static int print_json(json_t *json, FILE *out)
{
	int err = json ? 0 : -ENOMEM;

	if (!err &&
	    json_dumpf(json, out, JSON_INDENT(2) | JSON_REAL_PRECISION(15) | JSON_ENSURE_ASCII))
		err = -EIO;
	json_decref(json);
	return err;
}

/* before: the text between this node and the node before; none when the node cannot be read. */
static int show_node(const struct model_file *f, const struct node_ref *ref, enum show_form form,
		     const char *before, FILE *out)
{
	struct model_node n;
	int err = model_node__read(&n, f, ref->step, ref->node);

	if (!err)
		fputs(before, out);
	if (!err && form == SHOW_JSON)
		err = print_json(page__json(&n), out);
	else if (!err)
		err = print_page(&n, form == SHOW_ALL, out);
	model_node__free(&n);
	/* A page that is whole stays so, whatever is wrong with the next node. */
	return !err && fflush(out) ? -errno : err;
}

/* Node by node: a job may have more of them than fit into memory. */
static int show_nodes(const struct model_file *f, const struct show_opts *o, FILE *out)
{
	const struct selection sel = {.nodes = o->nodes, .steps = o->steps, .nsteps = o->nsteps};
	struct node_ref *refs = NULL;
	unsigned n = 0;
	int err = select__nodes(f->reader, &sel, &refs, &n);

	for (unsigned i = 0; !err && i < n; i++)
		err = show_node(f, &refs[i], o->form,
				!i		       ? ""
				: o->form == SHOW_JSON ? ",\n"
						       : "\n",
				out);
	free(refs);
	return err;
}

/* The steps of a job, a line each. */
static int show_steps(const struct model_file *f, bool json, FILE *out)
{
	int err = 0;

	if (json)
		fputs("\"steps\": [\n", out);
	else
		step_line__print_head(out);
	for (unsigned s = 0; !err && s < f->nsteps; s++) {
		struct model_step sum;

		err = model_file__sum_step(f, s, &sum);
		if (!err && !json)
			step_line__print(&sum, out);
		if (err || !json)
			continue;
		if (s)
			fputs(",\n", out);
		err = print_json(step_line__json(&sum), out);
	}
	if (json)
		fputs("], ", out);
	return err;
}

static int show_json(const struct model_file *f, const struct show_opts *o, FILE *out)
{
	int err;

	fprintf(out, "{\"merged\": %s, ", f->merged ? "true" : "false");
	err = f->merged ? show_steps(f, true, out) : 0;
	fputs("\"nodes\": [\n", out);
	if (!err)
		err = show_nodes(f, o, out);
	fputs("]}\n", out); /* what was printed before an error is JSON, too */
	return err;
}

static int show_text(const struct model_file *f, const struct show_opts *o, FILE *out)
{
	bool pages = o->nodes || o->nsteps || o->form == SHOW_ALL || f->nnodes <= PAGES_MAX;
	int err = f->merged ? show_steps(f, false, out) : 0;

	if (!err && !pages) {
		fputs("\nThese are many nodes: -N HOSTLIST shows the pages of some, --all of "
		      "all.\n",
		      out);
		return 0;
	}
	if (f->merged)
		putc('\n', out);
	return err ? err : show_nodes(f, o, out);
}

/* Then the lines of other steps are no answer. */
static bool selects_nothing(const struct model_file *f, const struct selection *sel)
{
	struct node_ref *refs = NULL;
	unsigned n = 0;
	int err = select__nodes(f->reader, sel, &refs, &n);

	free(refs);
	return !err && !n;
}

int show__file(const char *path, const struct show_opts *o, FILE *out)
{
	const struct selection sel = {.nodes = o->nodes, .steps = o->steps, .nsteps = o->nsteps};
	struct model_file f;
	int err = model_file__open(&f, path);
	bool missing = !err && select_args__missing(&f, &sel, path);

	if (!err && !(missing && selects_nothing(&f, &sel)))
		err = o->form == SHOW_JSON ? show_json(&f, o, out) : show_text(&f, o, out);
	if (err && !ferror(out))
		log_error("%s: %s%s", path, read_note__get_object(), model_file__strerror(err));
	model_file__close(&f);
	return err || missing;
}

struct shown {
	const char *path;
	const struct show_opts *opts;
};

static int print_shown(void *arg)
{
	const struct shown *s = arg;

	return show__file(s->path, s->opts, stdout);
}

/* The pages about one file to stdout, from a child that a damaged file cannot take down with it. */
static int show_in_child(const char *path, const struct show_opts *opts)
{
	struct shown s = {path, opts};

	return pool__call_verb(print_shown, &s, &POOL_LOAD);
}

struct args {
	struct show_opts opts;
	struct string_list nodes;
	struct selection sel;
	struct select_words words;
	bool all, json;
};

static const struct opt opts[] = {
	{'a', "all", NULL,
	 "every column, also those without a line of their own, the tables of all other "
	 "series, and how the numbers came about",
	 OPT_FLAG(struct args, all)},
	OPT_JOBS(struct args),
	OPT_INPUT(struct args),
	OPT_NODES(struct args),
	{0, "json", NULL, "as JSON", OPT_FLAG(struct args, json)},
	{0},
};

const struct command cmd_show = {
	.name = "jobprof show",
	.usage = "[--all | --json] [-N HOSTLIST] " USAGE_INPUTS,
	.about = "One page about each node-step: time, memory and I/O of every task, the whole\n"
		 "step, and how they went over time. Before them, about a job file, a line for\n"
		 "each step; of more than 16 nodes there are pages only with -N or --all.",
	.opts = opts,
};

static int show_job_file(struct args *a)
{
	struct profiles in;
	int status = input_args__file(&in, &a->words);

	if (!status) {
		a->opts.steps = in.files->steps;
		a->opts.nsteps = in.files->nsteps;
		status = show_in_child(in.files->path, &a->opts) ? 1 : 0;
	}
	profiles__free(&in);
	return status;
}

static int show_words(struct args *a, int argc, char **argv)
{
	int status = 0;

	if (a->words.jobs || a->words.input || optind + 1 >= argc) {
		status = input_args__word(&cmd_show, argc, argv, &a->words.input);
		return status ? status : show_job_file(a);
	}
	for (int i = optind; i < argc; i++)
		if (show_in_child(argv[i], &a->opts))
			status = 1;
	return status;
}

int verb_show(int argc, char **argv)
{
	struct args a = {0};
	int status = options__read(&cmd_show, argc, argv, &a);

	if (status != OPTIONS_GO_ON)
		return status;
	status = select_args__nodes(&a.sel, &a.nodes, a.words.nodes);
	a.opts.nodes = a.sel.nodes;
	a.opts.form = a.json ? SHOW_JSON : a.all ? SHOW_ALL : SHOW_PAGE;
	if (!status)
		status = show_words(&a, argc, argv);
	string_list__free(&a.nodes);
	return status;
}
