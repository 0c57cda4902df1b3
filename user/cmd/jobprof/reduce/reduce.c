/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof reduce: moments, histograms and a sample of the rows of any number of nodes. */
#include "cmd/jobprof/reduce/reduce.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/input_args.h"
#include "cmd/jobprof/select_args.h"
#include "cmd/jobprof/verbs.h"

static int set_clusters(void *to, const struct opt *opt, const char *arg)
{
	struct reduce_options *o = to;

	o->clusters = true;
	o->series = MODEL_SERIES;
	return 0;
}

static int set_fold(void *to, const struct opt *opt, const char *arg)
{
	struct reduce_options *o = to;

	o->fold = true;
	o->series = FOLD_SERIES;
	return 0;
}

static int set_sample(void *to, const struct opt *opt, const char *text)
{
	unsigned *k = to;

	if (!parse_u32(text, k) && *k <= REDUCTION_K_MAX)
		return 0;
	log_error("--sample: \"%s\" is no number from 0 to %u", text, REDUCTION_K_MAX);
	return 2;
}

static int set_window(void *to, const struct opt *opt, const char *text)
{
	double *s = to;

	if (!parse_double(text, s) && *s >= 1 && *s <= 86400)
		return 0;
	log_error("--window: \"%s\" is not a number of seconds from 1 to 86400", text);
	return 2;
}

static int set_windows(void *to, const struct opt *opt, const char *text)
{
	unsigned *n = to;

	if (!parse_u32(text, n) && *n)
		return 0;
	log_error("--windows: \"%s\" is no number from 1", text);
	return 2;
}

#define OPTIONS struct reduce_options

static const struct opt opts[] = {
	{'s', "series", "SERIES",
	 "Tasks (default), Step, Energy, ...; Tasks/3, User/solver: one table",
	 OPT_TEXT(OPTIONS, series), .values = series__print_names},
	{'d', "data", "COLUMN,...", "only these columns, in any case; default: all but times",
	 OPT_TEXT(OPTIONS, columns), .values = series__print_columns},
	OPT_JOBS(OPTIONS),
	OPT_INPUT(OPTIONS),
	OPT_NODES(OPTIONS),
	{'k', "sample", "ROWS", "of the sample, 0 to 50000; default 100",
	 OPT_CALL_AT(set_sample, OPTIONS, k)},
	{0, "clusters", NULL, "which kinds of bursts there are: those of series Bursts",
	 OPT_CALL(set_clusters), .group = 2},
	{0, "fold", NULL, "what happens inside of a region: samples of all nodes",
	 OPT_CALL(set_fold), .group = 2},
	{'r', "region", "NAME", "of --fold (default: the one that took most time)",
	 OPT_TEXT(OPTIONS, region)},
	{0, "follow", NULL,
	 "a job that runs: what jobprofd of each node has; -j JOB, or inside of the job",
	 OPT_FLAG(OPTIONS, follow)},
	{0, "window", "S", "of --follow: a result every S seconds, default 60",
	 OPT_CALL_AT(set_window, OPTIONS, window_s)},
	{0, "windows", "N", "of --follow: ends after N; default: when it is stopped",
	 OPT_CALL_AT(set_windows, OPTIONS, windows)},
	{'o', "output", "FILE", "the result goes into that file, made where it is not there",
	 OPT_TEXT(OPTIONS, output), .group = 1},
	{0, "json", NULL, "as JSON, with histograms and the sample", OPT_FLAG(OPTIONS, json)},
	{0, "store", NULL, "puts the result into the job file, of one job file only",
	 OPT_FLAG(OPTIONS, store), .group = 1},
	{0, "keep", "DIR",
	 "also writes what each process found there, as rank-N.part, for a later reduce",
	 OPT_TEXT(OPTIONS, keep)},
	{0, "overwrite", NULL, "replaces the parts that are in DIR of --keep",
	 OPT_CALL(options__take_overwrite)},
	{0},
};

const struct command cmd_reduce = {
	.name = "jobprof reduce",
	.usage = "[OPTION]... (FILE | DIR | PART)...\n"
		 "[OPTION]... -j JOB[.STEP] [DIR]\n"
		 "--follow [OPTION]... [-j JOB[.STEP]]",
	.about = "Per column of a series: moments, a histogram and quantiles over the rows of all\n"
		 "nodes, and a sample of the rows. Below mpirun or srun many processes share the\n"
		 "files. The result is the same for any order of files and number of processes.",
	.opts = opts,
};

static int split_columns(struct reduce_work *w, const char *text)
{
	while (text) {
		size_t n = strcspn(text, ",");
		char *column = strndup(text, n);

		if (!n) {
			free(column);
			log_error("-d: \"%s\" is no list of columns, as in CPUTime,RSS",
				  w->o->columns);
			return 2;
		}
		if (string_list__take(&w->columns, column))
			return 1;
		text = text[n] ? text + n + 1 : NULL;
	}
	return 0;
}

static bool is_part(const char *path)
{
	size_t n = strlen(path);

	return n > strlen(REDUCE_PART) && !strcmp(path + n - strlen(REDUCE_PART), REDUCE_PART);
}

/* Files of profiles, and parts of earlier reductions. */
static int find_files(struct reduce_work *w, char **words, unsigned n)
{
	char **others = calloc(n + 1, sizeof(char *));
	unsigned nothers = 0;
	int status = others ? 0 : 1;

	for (unsigned i = 0; !status && i < n; i++) {
		if (is_part(words[i]))
			status = string_list__append(&w->parts, words[i]) ? 1 : 0;
		else
			others[nothers++] = words[i];
	}
	if (!status && nothers)
		status = profiles__find(&w->in, &(struct profile_words){.words = others,
									.nwords = nothers,
									.nodes = w->sel.nodes,
									.by_name = true});
	free(others);
	return status;
}

/* Logs that two profiles are of one id: rows of two jobs are summed up only where their files are
 * named. */
static bool has_two_of_one_id(const struct profiles *in)
{
	for (unsigned i = 1; i < in->n; i++)
		if (in->v[i].job && in->v[i].job == in->v[i - 1].job) {
			log_error(
				"%u is the id of two jobs, of %s and of %s: name the files of one",
				in->v[i].job, in->v[i - 1].files->path, in->v[i].files->path);
			return true;
		}
	return false;
}

/* What makes two lists the same: files, and what is read of them. */
static void name_list(struct reduce_work *w)
{
	const struct reduce_options *o = w->o;
	const char *const texts[] = {o->series, o->columns ? o->columns : "",
				     o->words.jobs ? o->words.jobs : "",
				     o->words.nodes ? o->words.nodes : ""};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		w->list ^= splitmix64(w->list ^ reduction__unit(texts[i], ""));
	for (unsigned i = 0; i < w->in.nfiles; i++)
		w->list ^= splitmix64(w->list ^ reduction__unit(w->in.files[i].path, ""));
}

static int prepare_inputs(struct reduce_work *w, char **words, unsigned n)
{
	const struct reduce_options *o = w->o;
	int status =
		select_args__series(&w->sel, &w->task, w->series, sizeof(w->series), o->series);

	if (!status)
		status = select_args__nodes(&w->sel, &w->nodes, o->words.nodes);
	if (!status)
		status = split_columns(w, o->columns);
	if (!status && !o->follow && (o->words.jobs || !n))
		status = profiles__find(
			&w->in, &(struct profile_words){.jobs = o->words.jobs,
							.where = n ? words[0] : o->words.input,
							.nodes = w->sel.nodes});
	else if (!status && !o->follow)
		status = find_files(w, words, n);
	if (!status && o->words.jobs && has_two_of_one_id(&w->in))
		status = 1;
	if (!status && (o->clusters || o->fold) && w->parts.n) {
		log_error("--%s: %s: files are read twice, and a part has a sample of them",
			  o->fold ? "fold" : "clusters", w->parts.v[0]);
		status = 2;
	}
	if (!status && o->store && !o->follow && w->in.nfiles != 1) {
		log_error("--store: a result is put into one job file, and these are %u files: "
			  "jobprof merge makes one",
			  w->in.nfiles);
		status = 2;
	}
	name_list(w);
	return status;
}

static int reduce(struct reduce_work *w, const struct reduce_world *world)
{
	struct reduce_result r = {0};
	int status = reduce_tree__collect(w, world, &r);

	if (!status && !world->rank)
		status = reduce_result__put(w, &r);
	if (world->leave)
		world->leave(reduce_result__is_whole(&r, world->size), status);
	reduce_result__free(&r);
	return status;
}

/* Returns the options that exclude each other; NULL: there are none. */
static const char *wrong_options(const struct reduce_options *o, unsigned nwords)
{
	const struct {
		bool is_wrong;
		const char *why;
	} all[] = {
		{o->follow && o->fold, "--fold reads files: jobprofd has no samples of a job that "
				       "runs, so fold it when it has ended"},
		{o->follow && (nwords || o->store || o->keep || o->words.nodes || o->words.input),
		 "--follow takes -j, -s, -d, -k, --clusters, -o, --window, --windows and --json"},
		{o->output && o->follow && !o->clusters, "-o of --follow needs --clusters"},
		{o->output && !strcmp(o->output, "-"),
		 "-o needs the name of a file: the result there is HDF5"},
		{!o->follow && !o->words.jobs && !o->words.input && !nwords,
		 "which files: FILE, DIR or -j JOB"},
		{o->clusters && strcmp(o->series, MODEL_SERIES),
		 "--clusters is of bursts: without -s"},
		{o->fold && strcmp(o->series, FOLD_SERIES), "--fold is of regions: without -s"},
		{(o->clusters || o->fold) && o->columns,
		 "--clusters and --fold need all columns: without -d"},
		{o->fold && o->keep, "--fold reads files twice: without --keep"},
		{o->region && !o->fold, "--region is of --fold"},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].is_wrong)
			return all[i].why;
	return NULL;
}

int reduce__run(int argc, char **argv, const struct reduce_world *world)
{
	struct reduce_options o = {.series = "Tasks", .k = UINT_MAX, .window_s = 60};
	struct reduce_work w = {.o = &o};
	const char *wrong;
	int status = options__read(&cmd_reduce, argc, argv, &o);

	if (status != OPTIONS_GO_ON)
		return status;
	if (o.k == UINT_MAX)
		o.k = o.fold	    ? FOLD_SAMPLE
		      : !o.clusters ? REDUCTION_K
		      : o.follow    ? MODEL_WINDOW
				    : MODEL_SAMPLE;
	wrong = wrong_options(&o, (unsigned)(argc - optind));
	if (wrong)
		return options__wrong(&cmd_reduce, "%s", wrong);
	if ((o.words.jobs && argc - optind > 1) || (o.words.input && optind < argc))
		return options__wrong(&cmd_reduce, "\"%s\" means nothing here", argv[argc - 1]);
	status = prepare_inputs(&w, argv + optind, (unsigned)(argc - optind));
	if (!status)
		status = o.follow ? reduce_follow__run(&w, world)
				  : reduce(&w, world) | w.in.lacks_job;
	profiles__free(&w.in);
	string_list__free(&w.parts);
	string_list__free(&w.columns);
	string_list__free(&w.nodes);
	return status;
}

int verb_reduce(int argc, char **argv)
{
	int status = reduce_world__elsewhere(argv);

	return status ? status : reduce__run(argc, argv, &reduce_world__alone);
}
