/* SPDX-License-Identifier: GPL-2.0-only */
/* sh5util: options, and what is done for each job they name. */
#include "cmd/sh5util/sh5util.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/user_name.h"
#include "cmd/jobprof/child_output.h"
#include "identity/slurmjob.h"
#include "hdf5/reader.h"

/* What was typed, before any of it is looked at. */
struct typed {
	const char *jobs, *node, *user, *level;
	unsigned verbose;
	bool help, version;
};

static const struct option longs[] = {
	{"extract", no_argument, NULL, 'E'},
	{"item-extract", no_argument, NULL, 'I'},
	{"list", no_argument, NULL, 'L'},
	{"jobs", required_argument, NULL, 'j'},
	{"input", required_argument, NULL, 'i'},
	{"output", required_argument, NULL, 'o'},
	{"profiledir", required_argument, NULL, 'p'},
	{"user", required_argument, NULL, 'u'},
	{"savefiles", no_argument, NULL, 'S'},
	{"node", required_argument, NULL, 'N'},
	{"level", required_argument, NULL, 'l'},
	{"series", required_argument, NULL, 's'},
	{"data", required_argument, NULL, 'd'},
	{"verbose", no_argument, NULL, 'v'},
	{"version", no_argument, NULL, 'V'},
	{"help", no_argument, NULL, 'h'},
	{"usage", no_argument, NULL, 'U'},
	{0},
};

/* False: it has no argument. */
static bool take_text(struct sh5_options *o, struct typed *t, int c)
{
	const struct {
		char c;
		const char **to;
	} texts[] = {
		{'j', &t->jobs},  {'i', &o->input},	  {'o', &o->output},
		{'p', &o->dir},	  {'u', &t->user},	  {'N', &t->node},
		{'l', &t->level}, {'s', &o->series_text}, {'d', &o->item},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (texts[i].c != c)
			continue;
		*texts[i].to = optarg;
		return true;
	}
	return false;
}

static void take_flag(struct sh5_options *o, struct typed *t, int c)
{
	if (c == 'E')
		o->mode = SH5_EXTRACT;
	else if (c == 'I')
		o->mode = SH5_ITEMS;
	else if (c == 'L')
		o->mode = SH5_LIST;
	t->verbose += c == 'v';
	o->keep |= c == 'S';
	t->version |= c == 'V';
	t->help |= c == 'h' || c == 'U';
}

static int read_options(int argc, char **argv, struct sh5_options *o, struct typed *t)
{
	int c;

	while ((c = getopt_long(argc, argv, "d:Ehi:Ij:l:LN:o:p:s:Su:UvV", longs, NULL)) != -1) {
		if (c == '?')
			return SH5_USAGE;
		if (!take_text(o, t, c))
			take_flag(o, t, c);
	}
	for (; optind < argc; optind++)
		log_warn("\"%s\" is no option and means nothing here", argv[optind]);
	return 0;
}

/* The series we and Slurm's gatherers write: a typing error is told before a file is opened. */
static bool known_series(const char *name)
{
	static const char *const more[] = {"Events", "Totals"};

	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		if (!strcmp(name, more[i]))
			return true;
	/* As the stock tool: of what begins so the file decides. */
	return series__find(name) || str__starts(name, "Task");
}

static int check_series(struct sh5_options *o)
{
	const char *table = NULL;
	int64_t task = -1;

	if (!o->series_text)
		return 0;
	if (select__series(o->series_text, o->series, sizeof(o->series), &task, &table) || table ||
	    !known_series(o->series)) {
		log_error("error: Bad value for --series=\"%s\"", o->series_text);
		return SH5_USAGE;
	}
	if (task >= 0) {
		o->task = (struct number_range){(uint64_t)task, (uint64_t)task};
		o->sel.tasks = &o->task;
		o->sel.ntasks = 1;
	}
	return 0;
}

static int check_level(struct sh5_options *o, const char *level)
{
	o->totals = !level || !strcasecmp(level, "Node:Totals");
	if (o->totals || !strcasecmp(level, "Node:TimeSeries"))
		return 0;
	log_error("error: Bad value for --level=\"%s\": it is Node:Totals or Node:TimeSeries",
		  level);
	return SH5_USAGE;
}

static int check_node(struct sh5_options *o, const char *node)
{
	char bad[128];
	int err;

	if (!node || !strcmp(node, "*"))
		return 0;
	err = hostlist__parse(&o->nodes, node, bad, sizeof(bad));
	if (err) {
		log_error("error: Bad value for --node=\"%s\"", node);
		return SH5_USAGE;
	}
	o->sel.nodes = &o->nodes;
	return 0;
}

/* A name or a number, which must be a user's: it is part of a path. */
static int check_user(struct sh5_options *o, const char *text)
{
	uint32_t uid;
	int err = text ? user_name__check(text, &o->user) : user_name__of_uid(getuid(), &o->user);

	if (err == -ENOENT && text && !parse_u32(text, &uid))
		err = user_name__of_uid(uid, &o->user);
	if (err == -ENOENT && text) {
		log_error("error: No such user --uid=\"%s\"", text);
		return SH5_USAGE;
	}
	return 0;
}

static int check_jobs(struct sh5_options *o, const char *jobs)
{
	char why[256];
	int err;

	if (!jobs) {
		log_error("error: JobID must be specified.");
		return SH5_USAGE;
	}
	err = jobspec__parse(&o->specs, &o->nspecs, jobs, why, sizeof(why));
	if (!err)
		return 0;
	if (err == -EINVAL)
		log_error("error: Failed to parse job ID %s", why);
	return SH5_USAGE;
}

static int need(const char *text, const char *what)
{
	if (text)
		return 0;
	log_error("fatal: Must specify %s", what);
	return SH5_FAILED;
}

static int check_mode(const struct sh5_options *o)
{
	int status = 0;

	if (o->mode == SH5_ITEMS)
		status = need(o->item, "data option --data");
	if (!status && o->mode != SH5_MERGE)
		status = need(o->series_text, "series option --series");
	return status;
}

static int check_all(struct sh5_options *o, const struct typed *t)
{
	int status = check_series(o);

	if (!status)
		status = check_level(o, t->level);
	if (!status)
		status = check_user(o, t->user);
	if (!status)
		status = check_jobs(o, t->jobs);
	if (!status)
		status = check_mode(o);
	if (!status)
		status = check_node(o, t->node);
	return status;
}

void sh5__say_unresolved(const struct jobspec *spec)
{
	static const char *const kinds[] = {
		[JOBSPEC_ARRAY] = "Job array",
		[JOBSPEC_HET] = "Het job",
		[JOBSPEC_SLUID] = NULL,
	};

	if (kinds[spec->kind])
		log_error("error: %s IDs not supported, use regular job ID instead",
			  kinds[spec->kind]);
	log_error("%s: no file says that it is of it", spec->text);
}

int sh5__write(const char *path, const char *from, int (*fn)(void *arg, int fd, bool *keep),
	       void *arg)
{
	int status = child_output__write(path, from, fn, arg);

	if (status >= 0)
		return status;
	log_error("error: Failed to create output file %s -- %s", path, strerror(-status));
	return SH5_USAGE;
}

struct reader *sh5__open(const char *path)
{
	struct reader *r = NULL;
	int err = reader__open(&r, path);

	if (!err)
		return r;
	log_error("error: Failed to open %s", path);
	log_error("%s: %s", path, reader__strerror(err));
	return NULL;
}

bool sh5__all_there(const struct reader *r, const char *path, const struct selection *sel)
{
	char what[SELECT_MISSING];

	if (!select__missing(r, sel, what))
		return true;
	log_error("error: %s: %s", path, what);
	return false;
}

/* Files of Slurm's own plugin do not say their SLUID: squeue knows the job for a while. */
static bool ask_slurm(struct jobspec *specs, unsigned n)
{
	struct slurmjob job;

	if (specs->kind != JOBSPEC_SLUID || !slurmjob__ask(specs->sluid, 0, &job))
		return false;
	for (unsigned i = 0; i < n; i++) {
		specs[i].kind = JOBSPEC_JOB;
		specs[i].job = job.id;
	}
	return true;
}

static int do_job_of(struct sh5_options *o, const struct jobspec *specs, unsigned n)
{
	static int (*const modes[])(const struct sh5_options *o, const struct input_file *f) = {
		[SH5_EXTRACT] = sh5__extract,
		[SH5_ITEMS] = sh5__items,
		[SH5_LIST] = sh5__list,
	};
	struct input_file file;
	int status, err;

	if (o->mode == SH5_MERGE)
		return sh5__merge(o, specs, n);
	err = input_file__of(&file, specs, n, o->input);
	if (err)
		return err == -ENOENT ? SH5_UNRESOLVED : SH5_USAGE;
	o->sel.steps = file.steps;
	o->sel.nsteps = file.nsteps;
	status = modes[o->mode](o, &file);
	input_file__free(&file);
	return status;
}

static int do_job(struct sh5_options *o, struct jobspec *specs, unsigned n)
{
	int status = do_job_of(o, specs, n);

	if (status == SH5_UNRESOLVED && ask_slurm(specs, n))
		status = do_job_of(o, specs, n);
	if (status != SH5_UNRESOLVED)
		return status;
	sh5__say_unresolved(specs);
	return SH5_USAGE;
}

/* Brings the specs of the job of specs[0] to the front, in their order. Returns how many. */
static unsigned same_job_first(struct jobspec *specs, unsigned n)
{
	unsigned same = 1;

	for (unsigned i = 1; i < n; i++) {
		struct jobspec s = specs[i];

		if (!jobspec__same_job(&specs[0], &s))
			continue;
		memmove(&specs[same + 1], &specs[same], (i - same) * sizeof(s));
		specs[same++] = s;
	}
	return same;
}

static int do_jobs(struct sh5_options *o)
{
	unsigned same = same_job_first(o->specs, o->nspecs);
	int status = 0;

	o->several = same < o->nspecs;
	if (o->several && (o->output || (o->input && o->mode != SH5_MERGE))) {
		log_error("error: --input and --output name one file, and --jobs several jobs");
		return SH5_USAGE;
	}
	for (unsigned at = 0; at < o->nspecs; at += same) {
		int one;

		same = same_job_first(o->specs + at, o->nspecs - at);
		one = do_job(o, o->specs + at, same);
		if (!status)
			status = one;
	}
	return status;
}

int sh5util__main(int argc, char **argv)
{
	struct sh5_options o = {.sel = {.by_name = true}};
	struct typed t = {0};
	int status;

	log__init("sh5util", LOGL_INFO);
	status = read_options(argc, argv, &o, &t);
	if (!status && t.verbose)
		log__set_level(LOGL_DEBUG);
	if (!status && t.help) {
		sh5__help();
	} else if (!status && t.version) {
		printf("jobprof %s\n", JOBPROF_VERSION);
	} else if (!status) {
		status = check_all(&o, &t);
		if (!status)
			status = do_jobs(&o);
	}
	hostlist__free(&o.nodes);
	free(o.specs);
	free(o.user);
	return status;
}
