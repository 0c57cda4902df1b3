/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof flame: where the tasks of a profile were in their programs. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io_full.h"
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/child_output.h"
#include "cmd/jobprof/html_page.h"
#include "cmd/jobprof/input_args.h"
#include "cmd/jobprof/select_args.h"
#include "cmd/jobprof/verbs.h"
#include "model/model.h"
#include "view/flame/flame.h"

enum form {
	FORM_TEXT,
	FORM_FOLDED,
	FORM_SVG,
	FORM_HTML,
	FORM_SPEEDSCOPE,
	FORM_PPROF,
	FORM_PERFETTO
};

struct options {
	struct select_words words;
	const char *diff, *path;
	enum form form;
	struct number_range task;
	bool has_task, off_cpu;
	double from_s, to_s;
};

struct work {
	const struct options *o;
	struct string_list nodes;
	struct profiles in[FLAME_RUNS]; /* in the order in which they are added: FILE2 first */
	unsigned n;
	char *template;
	/* in the child: */
	struct stacks stacks[FLAME_RUNS];
	struct symbols *symbols;
	struct flame flame;
	char title[MODEL_TITLE];
	char *unwound;
};

/* ---- in a limited child */

static bool has_range(const struct options *o)
{
	return !isnan(o->from_s) || !isnan(o->to_s);
}

/* Logs why a file cannot be shown. Returns 1. */
static int cannot(const struct options *o, const char *path, int err)
{
	if (err == -ENODATA)
		log_error("%s: it has no stacks: they are recorded where the family stack is asked "
			  "for, as in \"jobprof run --series all,stack\"",
			  path);
	else if (err == -ESRCH)
		log_error("%s: no stacks of task %u", path, (unsigned)o->task.from);
	else
		log_error("%s: %s", path, model_file__strerror(err));
	return 1;
}

/* Returns 1. */
static int say_no_interval(const struct options *o, const char *path, const struct stacks *s)
{
	double first = NAN, last = NAN;

	for (unsigned i = 0; i < s->ncounts; i++) {
		first = fmin(first, s->counts[i].end_s);
		last = fmax(last, s->counts[i].end_s);
	}
	if (s->ncounts)
		log_error(
			"%s: no interval%s ends in the time that --from and --to give: one ends "
			"every 10 s or later, and with the step, the first at %.4g s and the last "
			"at %.4g s",
			path, o->has_task ? " of that task" : "", first, last);
	else
		log_error("%s: no stacks%s", path, o->has_task ? " of that task" : "");
	return 1;
}

/* Counts what had no room in the tables of stacks. */
static void say_losses(const char *path, const struct stacks *s)
{
	char text[3][96] = {};

	if (s->lost > 0)
		snprintf(text[0], sizeof(text[0]), "; %" PRId64 " are in none", s->lost);
	if (s->no_room > 0)
		snprintf(text[1], sizeof(text[1]), "; %.0f have no functions, [no room]",
			 s->no_room);
	if (s->cut_maps > 0)
		snprintf(text[2], sizeof(text[2]),
			 "; of %" PRId64 " processes some code is [no file]", s->cut_maps);
	if (text[0][0] || text[1][0] || text[2][0])
		log_warn("%s: not all samples and gaps have their stacks%s%s%s", path, text[0],
			 text[1], text[2]);
}

/* A file is known by its build id alone, which linkers may leave out. Nothing can be told of files
 * that could not be read when they ran, or are not on this machine. */
static void say_no_build_id(const char *path, const struct stacks *s)
{
	const char *file = NULL;
	char others[48] = "";
	unsigned n = 0;

	for (unsigned i = 0; i < s->nmodules; i++)
		if (symbols__lacks_id(s->modules[i]) && n++ == 0)
			file = s->modules[i] + 2;
	if (n > 1)
		snprintf(others, sizeof(others), " and %u other file%s", n - 1, n == 2 ? "" : "s");
	if (n)
		log_warn("%s: functions of %s%s have no names, as there is no build id to find "
			 "them by: link with -Wl,--build-id",
			 path, file, others);
}

static void name_run(struct work *w, const struct model_file *f)
{
	model_title__of(f, w->title);
	w->unwound = model_title__attr(f, "Mode stack");
	w->flame.title = w->title;
	w->flame.unwound = w->unwound;
}

static int read_run(struct work *w, unsigned i)
{
	struct selection sel = {.nodes = w->o->words.nodes ? &w->nodes : NULL,
				.tasks = &w->o->task,
				.ntasks = w->o->has_task,
				.steps = w->in[i].files->steps,
				.nsteps = w->in[i].files->nsteps};
	const char *path = w->in[i].files->path, *slash = strrchr(path, '/');
	struct model_file f;
	int err = model_file__open(&f, path);

	if (!err && select_args__missing(&f, &sel, path)) {
		model_file__close(&f);
		return 1;
	}
	if (!err)
		err = stacks__read(&w->stacks[i], &f, &sel);
	if (!err && i + 1 == w->n)
		name_run(w, &f);
	model_file__close(&f);
	if (!err) {
		say_losses(path, &w->stacks[i]);
		say_no_build_id(path, &w->stacks[i]);
		err = flame__add(&w->flame, &w->stacks[i], w->symbols, slash ? slash + 1 : path);
	}
	if (!err && !(w->flame.last_s[i] >= w->flame.first_s[i]) && has_range(w->o))
		return say_no_interval(w->o, path, &w->stacks[i]);
	return err ? cannot(w->o, path, err) : 0;
}

static int write_json(FILE *out, json_t *json)
{
	int err = json ? json__dump(json, out, JSON_COMPACT) : -1;

	json_decref(json);
	return err ? -ENOMEM : 0;
}

static int write_pprof(const struct flame *f, FILE *out)
{
	unsigned char *data;
	size_t len;
	int err = flame__pprof(f, &data, &len);

	if (!err && fwrite(data, 1, len, out) != len)
		err = -EIO;
	if (err != -ENOMEM)
		free(data);
	return err;
}

static int write_form(void *arg, FILE *out)
{
	const struct work *w = arg;

	switch (w->o->form) {
	case FORM_FOLDED:
		flame__folded(&w->flame, out);
		return 0;
	case FORM_SVG:
		flame__svg(&w->flame, out);
		return 0;
	case FORM_SPEEDSCOPE:
		return write_json(out, flame__speedscope(&w->flame));
	case FORM_PERFETTO:
		return flame__perfetto(&w->flame, out);
	case FORM_PPROF:
		return write_pprof(&w->flame, out);
	default:
		return flame__print(&w->flame, out);
	}
}

static int flame_files(void *arg, int fd, bool *keep)
{
	struct work *w = arg;
	int status = 0, err;

	w->flame.off_cpu = w->o->off_cpu;
	w->flame.from_s = w->o->from_s;
	w->flame.to_s = w->o->to_s;
	w->symbols = symbols__new();
	if (!w->symbols)
		return 1;
	for (unsigned i = 0; !status && i < w->n; i++)
		status = read_run(w, i);
	if (!status) {
		flame__finish(&w->flame);
		err = w->template ? html_page__put(fd, w->template, flame__json(&w->flame))
				  : child_output__stream(fd, write_form, w);
		if (err)
			log_error("%s: cannot be written: %s",
				  w->o->path ? w->o->path : "the stacks", strerror(-err));
		*keep = !err;
		status = err ? 1 : 0;
	}
	flame__free(&w->flame);
	free(w->unwound);
	for (unsigned i = 0; i < w->n; i++)
		stacks__free(&w->stacks[i]);
	symbols__free(w->symbols);
	return status;
}

/* ---- the verb */

static int run_options(const struct options *o)
{
	struct work w = {.o = o};
	struct selection sel = {};
	int status = select_args__nodes(&sel, &w.nodes, o->words.nodes);

	if (!status && o->diff)
		status = input_args__file(&w.in[w.n++], &(struct select_words){.input = o->diff});
	if (!status)
		status = input_args__file(&w.in[w.n++], &o->words);
	if (!status && o->form == FORM_HTML) {
		w.template = html_page__template();
		status = w.template ? 0 : 1;
	}
	if (!status)
		status = child_output__write(o->path ? o->path : "-", w.in[w.n - 1].files->path,
					     &POOL_STREAM, flame_files, &w);
	for (unsigned i = 0; i < w.n; i++)
		profiles__free(&w.in[i]);
	free(w.template);
	string_list__free(&w.nodes);
	return status < 0 ? 1 : status;
}

static const char *const form_options[] = {
	[FORM_FOLDED] = "folded",	  [FORM_SVG] = "svg",	  [FORM_HTML] = "html",
	[FORM_SPEEDSCOPE] = "speedscope", [FORM_PPROF] = "pprof", [FORM_PERFETTO] = "perfetto",
};

static int set_form(void *to, const struct opt *opt, const char *path)
{
	struct options *o = to;

	o->form = FORM_FOLDED;
	while (strcmp(form_options[o->form], opt->name) != 0)
		o->form++;
	o->path = path;
	return 0;
}

static int set_seconds(void *to, const struct opt *o, const char *arg)
{
	if (!parse_double(arg, to))
		return 0;
	log_error("--%s %s: want seconds, such as 30", o->name, arg);
	return 2;
}

static int set_task(void *to, const struct opt *opt, const char *arg)
{
	struct options *o = to;
	uint32_t task;

	if (parse_u32(arg, &task)) {
		log_error("--task %s: want the number of a task", arg);
		return 2;
	}
	o->task = (struct number_range){task, task};
	o->has_task = true;
	return 0;
}

static const struct opt opts[] = {
	OPT_JOBS(struct options),
	OPT_INPUT(struct options),
	OPT_NODES(struct options),
	{'t', "task", "N", "of that task alone", OPT_CALL(set_task)},
	{0, "from", "S",
	 "only what intervals have that end later than S seconds after the step's start",
	 OPT_CALL_AT(set_seconds, struct options, from_s)},
	{0, "to", "S", "only what those have that end no later than that",
	 OPT_CALL_AT(set_seconds, struct options, to_s)},
	{0, "off-cpu", NULL, "where threads were blocked for 1 ms and more, and by what",
	 OPT_FLAG(struct options, off_cpu)},
	{0, "diff", "FILE2", "what has changed since FILE2", OPT_TEXT(struct options, diff)},
	{0, "svg", "FILE", "writes a flame graph there as SVG; - is standard output",
	 OPT_CALL(set_form), .group = 1},
	{0, "html", "FILE", "as one file for a browser, with search and zoom", OPT_CALL(set_form),
	 .group = 1},
	{0, "folded", NULL, "prints stacks one a line, for other tools", OPT_CALL(set_form),
	 .group = 1},
	{0, "speedscope", "FILE", "in the form of speedscope", OPT_CALL(set_form), .group = 1},
	{0, "pprof", "FILE", "in the form of pprof", OPT_CALL(set_form), .group = 1},
	{0, "perfetto", "FILE", "as trace events, for Perfetto: by interval", OPT_CALL(set_form),
	 .group = 1},
	OPT_OVERWRITE,
	{0},
};

const struct command cmd_flame = {
	.name = "jobprof flame",
	.usage = "[OPTION]... " USAGE_INPUT,
	.about =
		"Shows which functions the tasks spent their time in, of a step that was profiled\n"
		"with the family stack. Names of functions are looked up in the files of this\n"
		"machine that have the build ids of those that ran. A function without a name is\n"
		"FILE+0xOFFSET, where it begins; all those of a file that is not here are [FILE].\n"
		"Without an option of a form: the hottest functions and stacks.",
	.opts = opts,
};

int verb_flame(int argc, char **argv)
{
	struct options o = {.from_s = NAN, .to_s = NAN};
	int status = options__read(&cmd_flame, argc, argv, &o);

	if (status == OPTIONS_GO_ON)
		status = input_args__word(&cmd_flame, argc, argv, &o.words.input);
	else
		return status;
	if (status)
		return status;
	if (o.from_s >= o.to_s)
		return options__wrong(&cmd_flame, "--from %g is not before --to %g", o.from_s,
				      o.to_s);
	if (o.diff && o.form >= FORM_SPEEDSCOPE)
		return options__wrong(&cmd_flame,
				      "--diff is shown as text, --folded, --svg and --html");
	return run_options(&o);
}
