/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof extract: tables of a profile as CSV, JSON or text. */
#include "jobfile/jobfile.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/child_output.h"
#include "cmd/jobprof/input_args.h"
#include "cmd/jobprof/select_args.h"
#include "cmd/jobprof/verbs.h"
#include "identity/jobspec.h"
#include "pool/pool.h"
#include "schema/series.h"

#define WORDS_MAX   4096u
#define THREADS_MAX 64u

/* A comma list, cut up. */
struct words {
	char *text;
	const char **v;
	unsigned n;
};

struct args {
	struct select_words words; /* of these input and nodes */
	const char *output;
	struct words series, columns;
	struct string_list nodes;
	struct number_range *tasks;
	struct extract_options opt;
	bool level;  /* was given */
	bool to_dir; /* output is a directory */
};

static const char *const levels[] = {"totals", "timeseries", NULL};
static const char *const formats[] = {
	[EXTRACT_CSV] = "csv",
	[EXTRACT_JSON] = "json",
	[EXTRACT_TABLE] = "table",
	NULL,
};

static void print_levels(FILE *out)
{
	for (const char *const *l = levels; *l; l++)
		fprintf(out, "%s ", *l);
}

static void print_formats(FILE *out)
{
	for (const char *const *f = formats; *f; f++)
		fprintf(out, "%s ", *f);
}

static int split_words(struct words *w, const char *text)
{
	unsigned max = 1;

	for (const char *p = text; *p && max < WORDS_MAX; p++)
		max += *p == ',';
	free(w->text);
	free(w->v);
	*w = (struct words){.text = strdup(text), .v = calloc(max, sizeof(*w->v))};
	if (!w->text || !w->v)
		return -ENOMEM;
	for (char *rest = w->text, *word; (word = strsep(&rest, ","));) {
		if (!*word)
			continue;
		if (w->n == max)
			return -E2BIG;
		w->v[w->n++] = word;
	}
	return w->n ? 0 : -EINVAL;
}

static int set_tasks(void *to, const struct opt *o, const char *text)
{
	struct args *a = to;

	free(a->tasks);
	a->tasks = NULL;
	if (select__tasks(text, &a->tasks, &a->opt.sel.ntasks)) {
		log_error("--tasks %s: not a list of tasks as 0-3,7", text);
		return 2;
	}
	a->opt.sel.tasks = a->tasks;
	return 0;
}

static int set_words(void *to, const struct opt *o, const char *text)
{
	if (!split_words(to, text))
		return 0;
	log_error("--%s \"%s\": not a list", o->name, text);
	return 2;
}

static int set_level(void *to, const struct opt *o, const char *text)
{
	struct args *a = to;
	const char *level = strncasecmp(text, "node:", 5) ? text : text + 5;

	a->level = true;
	a->opt.totals = !strcasecmp(level, levels[0]);
	if (a->opt.totals || !strcasecmp(level, levels[1]))
		return 0;
	log_error("--level %s: neither totals nor timeseries", text);
	return 2;
}

static int set_format(void *to, const struct opt *o, const char *text)
{
	struct args *a = to;

	for (unsigned i = 0; formats[i]; i++) {
		if (!strcasecmp(text, formats[i])) {
			a->opt.format = i;
			return 0;
		}
	}
	log_error("--format %s: neither csv nor json nor table", text);
	return 2;
}

static int set_bound(void *to, const struct opt *o, const char *text)
{
	if (!time_bound__parse(to, text))
		return 0;
	log_error("--%s %s: neither seconds, as 90 or 1.5, nor a date, as 2026-11-21T02:01:17, "
		  "nor unix time, as @1795226477",
		  o->name, text);
	return 2;
}

static int check_threads(void *to, const struct opt *o, const char *text)
{
	uint32_t n;

	if (!parse_u32(text, &n) && n && n <= THREADS_MAX)
		return 0;
	log_error("--threads %s: not a number from 1 to %u", text, THREADS_MAX);
	return 2;
}

static int set_nodes(void *to, const struct opt *o, const char *text)
{
	struct args *a = to;

	return select_args__nodes(&a->opt.sel, &a->nodes, text);
}

static int set_stock(void *to, const struct opt *o, const char *text)
{
	struct args *a = to;

	a->opt.stock = a->opt.sel.by_name = true;
	return 0;
}

static const struct opt opts[] = {
	{'j', "jobs", "LIST",
	 "jobs and steps: 7, 7.0, 7.batch; reads job_JOB.h5, or the job's node-step file; of "
	 "several jobs or files -o DIR gets one each",
	 OPT_TEXT(struct args, words.jobs)},
	OPT_INPUT(struct args),
	{'s', "series", "LIST", "Tasks, Tasks/3, User/solver, Step, Energy, Marks ...",
	 OPT_CALL_AT(set_words, struct args, series), .values = series__print_names},
	{'l', "level", "LEVEL", "totals (the default but of Marks) or timeseries",
	 OPT_CALL(set_level), .values = print_levels},
	{'N', "node", "HOSTLIST", "only these nodes: n[1-3,7]", OPT_CALL(set_nodes)},
	{0, "tasks", "LIST", "only these tasks: 0-3,7", OPT_CALL(set_tasks)},
	{0, "columns", "LIST", "only these columns, in any case, in this order",
	 OPT_CALL_AT(set_words, struct args, columns), .values = series__print_columns},
	{0, "from", "T",
	 "only rows from then on: seconds since the step's start, a date as 2026-11-21T02:01:17, "
	 "or @ and unix time",
	 OPT_CALL_AT(set_bound, struct args, opt.from)},
	{0, "to", "T", "only rows up to then, as --from",
	 OPT_CALL_AT(set_bound, struct args, opt.to)},
	{0, "format", "FORMAT", "csv (the default), json or table", OPT_CALL(set_format),
	 .values = print_formats},
	{'o', "output", "FILE|DIR",
	 "writes there (default, and \"-\": standard output); in a directory "
	 "extract_<JOB>.csv, .json or .txt, or named after FILE, of several series as CSV one "
	 "each",
	 OPT_TEXT(struct args, output)},
	/* has no effect any more: one process extracts */
	{0, "threads", "N", NULL, OPT_CALL(check_threads)},
	{0, "units", NULL, "a second header line: the units of the columns",
	 OPT_FLAG(struct args, opt.units)},
	{0, "stock", NULL, "exactly the columns and rows of Slurm's sh5util", OPT_CALL(set_stock)},
	OPT_OVERWRITE,
	{0},
};

const struct command cmd_extract = {
	.name = "jobprof extract",
	.usage = "-s SERIES[,...] [OPTION]... " USAGE_INPUT,
	.about = "Writes tables of a job file or node-step file as text.",
	.opts = opts,
};

static int check_args(struct args *a)
{
	const char *reason = NULL;

	a->to_dir = path__is_dir(a->output);
	if (!a->series.n)
		reason = "which series: -s SERIES";
	else if (a->opt.stock && (a->opt.from.set || a->opt.to.set))
		reason = "sh5util knows no --from and --to, and --stock none";
	else if (a->opt.stock && a->opt.units)
		reason = "sh5util writes no units: --units does not go with --stock";
	return reason ? options__wrong(&cmd_extract, "%s", reason) : 0;
}

/* In the directory, extract_<what the input is called by>[_<series>].<format> */
static char *path_in_dir(const struct args *a, const char *input, const char *series)
{
	static const char *const endings[] = {
		[EXTRACT_CSV] = "csv", [EXTRACT_JSON] = "json", [EXTRACT_TABLE] = "txt"};
	const char *base = strrchr(input, '/'), *dot;
	size_t dir = strlen(a->output) + 1;
	char *path;

	base = base ? base + 1 : input;
	base += *base == '.';
	base += str__starts(base, "job_") ? 4 : 0;
	dot = strrchr(base, '.');
	if (asprintf(&path, "%s/extract_%.*s%s%s.%s", a->output,
		     dot ? (int)(dot - base) : (int)strlen(base), base, series ? "_" : "",
		     series ? series : "", endings[a->opt.format]) < 0)
		return NULL;
	for (char *p = path + dir; *p; p++)
		*p = *p == '/' ? '_' : *p;
	return path;
}

struct work {
	const struct extract_options *opt;
	const char *from, *to;
	struct extract_result *result; /* of parent and child */
};

/* Runs in a limited child. */
static int write_file(void *arg, int fd, bool *keep)
{
	const struct work *w = arg;
	struct extract_result *r = w->result;
	int err = extract__run(w->from, w->opt, fd, r);

	if (r->write_error)
		log_error("%s: cannot be written: %s", w->to, strerror(-r->write_error));
	*keep = !err && r->tables && (r->rows || !r->missing);
	return err || !r->tables || r->damaged || r->missing;
}

static int write_output(const struct extract_options *opt, const char *input, const char *path)
{
	struct work w = {opt, input, path, pool__share(sizeof(*w.result))};
	int status;

	if (!w.result) {
		log_error("%s", strerror(ENOMEM));
		return 1;
	}
	status = child_output__write(path, input, &POOL_STREAM, write_file, &w) != 0;
	if (w.result->tables && (w.result->rows || !status) && !w.result->write_error &&
	    strcmp(path, "-"))
		printf("%s: %" PRIu64 " row%s of %" PRIu64 " table%s\n", path, w.result->rows,
		       w.result->rows == 1 ? "" : "s", w.result->tables,
		       w.result->tables == 1 ? "" : "s");
	pool__unshare(w.result, sizeof(*w.result));
	return status;
}

/* CSV of several series: a file each, unless there is only one to write to. */
static int extract_file(const struct args *a, const struct extract_options *opt, const char *input)
{
	bool apart = a->to_dir && opt->format == EXTRACT_CSV && opt->nseries > 1;
	int status = 0;

	for (unsigned i = 0; i < (apart ? opt->nseries : 1); i++) {
		struct extract_options one = *opt;
		_cleanup_free_ char *path = NULL;

		if (apart) {
			one.series = &opt->series[i];
			one.nseries = 1;
		}
		path = a->to_dir ? path_in_dir(a, input, apart ? opt->series[i] : NULL)
				 : strdup(a->output ? a->output : "-");
		if (!path)
			return 1;
		status |= write_output(&one, input, path);
	}
	return status;
}

/* "list" calls the stored ones Totals/Tasks: totals of Tasks. */
static int take_totals(struct args *a)
{
	static const char prefix[] = "Totals/";
	const size_t len = sizeof(prefix) - 1;

	for (unsigned i = 0; i < a->series.n; i++) {
		if (strncasecmp(a->series.v[i], prefix, len))
			continue;
		if (!a->opt.totals) {
			log_error("-s %s: totals are no time series: leave out -l timeseries",
				  a->series.v[i]);
			return 2;
		}
		a->series.v[i] += len;
	}
	return 0;
}

static int extract_profiles(const struct args *a)
{
	const struct profile_words words = {.jobs = a->words.jobs, .where = a->words.input};
	struct profiles in;
	int status = profiles__find(&in, &words);
	bool many = a->to_dir && a->words.jobs;

	if (!status && in.nfiles > 1 && !many) {
		profiles__refuse(&in, &words, a->words.jobs);
		status = 1;
	}
	for (unsigned i = 0; i < in.nfiles && (many || in.nfiles == 1); i++) {
		struct extract_options opt = a->opt;

		opt.sel.steps = in.files[i].steps;
		opt.sel.nsteps = in.files[i].nsteps;
		status |= extract_file(a, &opt, in.files[i].path);
	}
	status |= in.lacks_job;
	profiles__free(&in);
	return status;
}

/* Numbers of names have no sum. */
static int take_marks(struct args *a)
{
	unsigned i = 0;

	while (i < a->series.n && strcasecmp(a->series.v[i], "Marks"))
		i++;
	if (i == a->series.n || !a->opt.totals || a->opt.stock)
		return 0;
	a->series.v[i] = "Marks";
	a->opt.totals = a->level || a->series.n > 1;
	if (!a->opt.totals)
		return 0;
	log_error("-s Marks: marks have no totals: add -l timeseries");
	return 2;
}

static int extract_all(struct args *a)
{
	a->opt.series = a->series.v;
	a->opt.nseries = a->series.n;
	a->opt.columns = a->columns.v;
	a->opt.ncolumns = a->columns.n;
	return extract_profiles(a);
}

static void free_args(struct args *a)
{
	string_list__free(&a->nodes);
	free(a->tasks);
	free(a->series.text);
	free(a->series.v);
	free(a->columns.text);
	free(a->columns.v);
}

int verb_extract(int argc, char **argv)
{
	struct args a = {.opt.totals = true};
	int status = options__read(&cmd_extract, argc, argv, &a);

	if (status == OPTIONS_GO_ON) {
		status = input_args__word(&cmd_extract, argc, argv, &a.words.input);
		if (!status)
			status = check_args(&a);
		if (!status)
			status = take_totals(&a);
		if (!status)
			status = take_marks(&a);
		if (!status)
			status = extract_all(&a);
	}
	free_args(&a);
	return status;
}
