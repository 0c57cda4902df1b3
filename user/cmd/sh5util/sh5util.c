/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sh5util: the program under Slurm's name. A mode runs once for each job that -j names. */
#include "cmd/sh5util/sh5util.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/log.h"
#include "base/options.h"
#include "cmd/jobprof/child_output.h"
#include "cmd/jobprof/read_errors.h"
#include "identity/slurmjob.h"
#include "jobfile/jobfile.h"
#include "model/contents.h"
#include "pool/pool.h"
#include "view/items/items_print.h"

/* ---- messages of several modes of sh5util, in the stock tool's words */

/* Logs that no file belongs to this job array, heterogeneous job or SLUID. */
static void sh5_log_unresolved(const struct jobspec *spec)
{
	static const char *const kind_names[] = {
		[JOBSPEC_ARRAY] = "Job array",
		[JOBSPEC_HET] = "Het job",
		[JOBSPEC_SLUID] = NULL,
	};

	if (kind_names[spec->kind])
		log_error("error: %s IDs not supported, use regular job ID instead",
			  kind_names[spec->kind]);
	log_error("%s: no file says that it is of it", spec->text);
}

/* child_output__write, with the stock tool's words and status where the output cannot be made. */
static int sh5_write(const char *path, const char *from, int (*fn)(void *arg, int fd, bool *keep),
		     void *arg)
{
	int status;

	options__overwrite();
	status = child_output__write(path, from, &POOL_STREAM, fn, arg);
	if (status >= 0)
		return status;
	log_error("error: Failed to create output file %s -- %s", path, strerror(-status));
	return SH5_USAGE;
}

/* Opens the job file, or logs that this failed. */
static bool sh5_open(struct model_file *f, const char *path)
{
	int err = model_file__open(f, path);

	if (!err)
		return true;
	log_error("error: Failed to open %s", path);
	log_error("%s: %s", path, model_file__strerror(err));
	return false;
}

/* Whether every step of -j and node of -N is in the file; says which one is not. */
static bool sh5_all_there(const struct model_file *f, const char *path, const struct selection *sel)
{
	char missing[SELECT_MISSING];

	if (!select__missing(f->reader, sel, missing))
		return true;
	log_error("error: %s: %s", path, missing);
	return false;
}

/* A mode on one file. */
struct work {
	const struct sh5_options *o;
	const char *from, *to;
};

/* ---- sh5util -E: a series as CSV, in the stock tool's form */

/* What is there is written, whatever else was asked for: damage and a step or node that is not
 * there make it a failure, a node without the series does not. */
static int judge_result(const struct work *w, const struct extract_result *res)
{
	if (!res->opened) {
		log_error("error: Failed to open %s", w->from);
		return SH5_USAGE;
	}
	if (res->damaged || !res->all_there || (res->tables && res->missing))
		return SH5_FAILED;
	if (res->tables)
		return SH5_OK;
	log_error("error: Series %s not found", w->o->series_text);
	return SH5_NO_SERIES;
}

/* Runs in a limited child. */
static int write_series(void *arg, int fd, bool *keep)
{
	const struct work *w = arg;
	const struct sh5_options *o = w->o;
	const char *const series[] = {o->series};
	const struct extract_options opt = {
		.series = series,
		.nseries = 1,
		.sel = o->sel,
		.format = EXTRACT_CSV,
		.totals = o->totals,
		.stock = true,
	};
	struct extract_result res = {0};
	int err = extract__run(w->from, &opt, fd, &res), status;

	/* What else went wrong, extraction has said. */
	if (res.write_error)
		log_error("error: %s: %s", w->to, strerror(-res.write_error));
	*keep = !err && res.tables;
	status = err && res.opened ? SH5_FAILED : judge_result(w, &res);
	if (!*keep && res.opened)
		log_info("Output file generated is empty, removing it: %s", w->to);
	return status;
}

static int sh5_extract(const struct sh5_options *o, const struct sh5_file *f)
{
	_cleanup_free_ char *path = NULL;
	struct work w = {.o = o, .from = f->path};

	if (o->output)
		path = strdup(o->output);
	else if (asprintf(&path, "./extract_%" PRIu32 ".csv", f->job) < 0)
		path = NULL;
	if (!path)
		return SH5_FAILED;
	w.to = path;
	log_info("Extracting job data from %s into %s", f->path, path);
	return sh5_write(path, f->path, write_series, &w);
}

/* ---- sh5util -I: one item of a series, all tables side by side, in the stock tool's form */

static int write_items(const struct work *w, struct items *it, int fd)
{
	const struct sh5_options *o = w->o;
	const struct items_text text = {
		.format = &items_stock,
		.series = o->series,
		.column = o->item,
		.summary = o->output && !strcmp(o->output, "-") ? stderr : stdout,
	};
	int err = items__write(it, &text, fd);

	if (err)
		log_error("error: %s: %s", w->to, strerror(-err));
	return err ? SH5_FAILED : SH5_OK;
}

static int extract_items(const struct work *w, const struct model_file *f,
			 struct read_errors *errors, int fd)
{
	const struct sh5_options *o = w->o;
	const struct items_query q = {
		.of = {.series = o->series,
		       .column = o->item,
		       .sel = &o->sel,
		       .problem = read_errors__add,
		       .ctx = errors},
		.as_stored = true,
	};
	struct items *it = NULL;
	int status, err = items__open(&it, f, &q);

	if (err == -ENODATA) {
		log_error("error: Item %s not found in series %s", o->item, o->series);
		return SH5_NO_SERIES;
	}
	if (err == -ENOENT) {
		log_error("error: Series %s not found", o->series_text);
		return SH5_NO_SERIES;
	}
	if (err) {
		log_error("error: %s", model_file__strerror(err));
		return SH5_FAILED;
	}
	status = write_items(w, it, fd);
	items__free(it);
	return status;
}

/* In a child. */
static int write_item(void *arg, int fd, bool *keep)
{
	const struct work *w = arg;
	struct read_errors errors = {.path = w->from, .series = w->o->series};
	struct model_file f;
	bool all_there;
	int status;

	if (!sh5_open(&f, w->from))
		return SH5_USAGE;
	all_there = sh5_all_there(&f, w->from, &w->o->sel);
	status = extract_items(w, &f, &errors, fd);
	*keep = status == SH5_OK;
	read_errors__end(&errors, false);
	model_file__close(&f);
	if (status && status != SH5_NO_SERIES)
		return status;
	return !all_there || errors.damaged ? SH5_FAILED : status;
}

/* ./SERIES_ITEM_JOB.csv, both as they were typed, but never in another directory. */
static char *default_output(const struct sh5_options *o, uint32_t job)
{
	char *path;

	if (asprintf(&path, "./%s_%s_%" PRIu32 ".csv", o->series_text, o->item, job) < 0)
		return NULL;
	for (char *p = path + 2; *p; p++)
		if (*p == '/')
			*p = '_';
	return path;
}

static int sh5_items(const struct sh5_options *o, const struct sh5_file *f)
{
	_cleanup_free_ char *path = o->output ? strdup(o->output) : default_output(o, f->job);
	struct work w = {o, f->path, path};

	if (!path)
		return SH5_FAILED;
	log_info("Extracting '%s' from '%s' data from %s into %s", o->item, o->series_text, f->path,
		 path);
	return sh5_write(path, f->path, write_item, &w);
}

/* ---- sh5util -L: the columns that all tables of a series have */

static void print_common(const struct contents_series *s)
{
	for (unsigned i = 0; i < s->ncols; i++) {
		if (s->cols[i].tables < s->tables)
			continue;
		print__escaped(stdout, s->cols[i].name);
		putchar('\n');
	}
}

static int list_items(const struct work *w, const struct model_file *f)
{
	const struct sh5_options *o = w->o;
	struct read_errors errors = {.path = w->from};
	struct contents *c = NULL;
	int status = sh5_all_there(f, w->from, &o->sel) ? SH5_OK : SH5_FAILED, err;

	err = contents__read(&c, f, &o->sel, o->series, true, read_errors__add, &errors);
	if (err) {
		log_error("error: %s: %s", w->from, model_file__strerror(err));
		status = SH5_FAILED;
	} else if (c->nseries && c->series[0].tables) {
		print_common(&c->series[0]);
		status = errors.damaged ? SH5_FAILED : status;
	} else if (!status) {
		log_error("error: Series %s not found", o->series_text);
		status = SH5_NO_SERIES;
	}
	read_errors__end(&errors, false);
	contents__free(c);
	return status;
}

static int list_file(void *arg)
{
	const struct work *w = arg;
	struct model_file f;
	int status = sh5_open(&f, w->from) ? list_items(w, &f) : SH5_USAGE;

	model_file__close(&f);
	return status;
}

static int sh5_list(const struct sh5_options *o, const struct sh5_file *f)
{
	struct work w = {.o = o, .from = f->path};

	log_info("Listing items from %s", f->path);
	return pool__call_verb(list_file, &w, &POOL_STREAM);
}

/* ---- sh5util without a mode: node-step files into a job file */

static void log_output(const struct sh5_options *o, const struct jobspec *spec)
{
	if (o->output)
		log_info("Merging node-step files into %s", o->output);
	else if (spec->kind == JOBSPEC_JOB)
		log_info("Merging node-step files into ./job_%" PRIu32 ".h5", spec->job);
	else
		log_info("Merging node-step files of job %s", spec->text);
}

static int check_dir(const char *dir, const char *user)
{
	_cleanup_free_ char *path = NULL;
	struct stat st;
	int err;

	if (asprintf(&path, "%s/%s", dir, user) < 0)
		return SH5_FAILED;
	err = lstat(path, &st) ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
	if (!err && access(path, R_OK | X_OK))
		err = errno;
	if (!err)
		return 0;
	log_error("error: Cannot open %s job profile directory: %s", path, strerror(err));
	return SH5_USAGE;
}

static int merge(const struct sh5_options *o, const char *dir, const struct jobspec *specs,
		 unsigned n)
{
	const struct merge_opts opts = {
		.profile_dir = dir,
		.user = o->user,
		.specs = specs,
		.nspecs = n,
		.output = o->output,
		.raw = true,
		.caller_logs_none = specs->kind != JOBSPEC_JOB, /* Slurm may know it yet */
		.keep = o->keep,
	};
	int err = merge__run(&opts, NULL);

	if (err == -ENOENT && specs->kind != JOBSPEC_JOB)
		return SH5_UNRESOLVED;
	if (err == -ENOENT)
		log_error("No node-step files found for jobid %" PRIu32, specs->job);
	return err == -EINVAL ? SH5_USAGE : err ? SH5_FAILED : SH5_OK;
}

/* Each works on one job, says what it does and what fails, and returns the exit status. */
static int sh5_merge(const struct sh5_options *o, const struct jobspec *specs, unsigned n)
{
	_cleanup_free_ char *dir = o->dir ? strdup(o->dir) : NULL;
	int status;

	if (!dir)
		profile_dir__find(&dir);
	if (!dir && specs->kind != JOBSPEC_JOB)
		sh5_log_unresolved(specs);
	if (!dir) {
		log_error("error: Cannot read/parse acct_gather.conf");
		return SH5_USAGE;
	}
	if (!o->user) {
		log_error("error: user %u has no name; name one with -u", (unsigned)getuid());
		return SH5_USAGE;
	}
	log_output(o, specs);
	status = check_dir(dir, o->user);
	/* An id of an array or of a heterogeneous job might be one of another user. */
	if (status && specs->kind != JOBSPEC_JOB)
		sh5_log_unresolved(specs);
	return status ? status : merge(o, dir, specs, n);
}

/* ---- the program */

/* Files of Slurm's own plugin have no SLUID: squeue knows the job for a while after its end. */
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

/* As Slurm's sh5util: the file, whatever job it is of, or job_<id>.h5 in the directory, whether it
 * is there or not; of another kind of spec the first file there that says it is meant. 0, -ENOENT
 * or -ENOMEM. */
static int find_file(struct sh5_file *f, const char *input, const struct jobspec *specs, unsigned n)
{
	static const unsigned kinds[] = {PROFILE_NAME_USUAL, PROFILE_NAME_UNUSUAL};
	const char *dir = input ? input : ".";
	struct profile_files all = {0};
	int err = 0;

	if (input && !path__is_dir(input)) {
		f->path = strdup(input);
	} else if (specs->kind == JOBSPEC_JOB) {
		if (asprintf(&f->path, "%s/job_%" PRIu32 ".h5", dir, specs->job) < 0)
			f->path = NULL;
	} else {
		for (int i = 0; !err && i < 2 && !all.n; i++) {
			err = profile_search__files(&all, dir, kinds[i], NULL, 0);
			if (!err)
				err = profile_files__ask(&all, 0, specs, n);
			if (!err)
				profile_files__keep(&all, 0, true);
		}
		if (!err && !all.n)
			err = -ENOENT;
		if (!err) {
			f->path = strdup(all.v->path);
			f->job = all.v->says.job;
		}
		profile_files__free(&all);
	}
	return err ? err : f->path ? 0 : -ENOMEM;
}

/* How many steps are meant; 0: all. */
static unsigned name_steps(const char **steps, char (*texts)[12], const struct jobspec *specs,
			   unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (specs[i].any_step)
			return 0;
		snprintf(texts[i], sizeof(*texts), "%" PRIu32, specs[i].step);
		steps[i] = texts[i];
	}
	return n;
}

static int do_job_of(struct sh5_options *o, const struct jobspec *specs, unsigned n)
{
	static int (*const modes[])(const struct sh5_options *o, const struct sh5_file *f) = {
		[SH5_EXTRACT] = sh5_extract,
		[SH5_ITEMS] = sh5_items,
		[SH5_LIST] = sh5_list,
	};
	struct sh5_file file = {.job = specs->job};
	const char **steps = calloc(n, sizeof(*steps));
	char(*texts)[12] = calloc(n, sizeof(*texts));
	int status = SH5_USAGE, err;

	if (o->mode == SH5_MERGE) {
		status = sh5_merge(o, specs, n);
	} else if (steps && texts) {
		err = find_file(&file, o->input, specs, n);
		o->sel.steps = steps;
		o->sel.nsteps = name_steps(steps, texts, specs, n);
		status = !err		  ? modes[o->mode](o, &file)
			 : err == -ENOENT ? SH5_UNRESOLVED
					  : SH5_USAGE;
	}
	free(file.path);
	free(steps);
	free(texts);
	return status;
}

static int do_job(struct sh5_options *o, struct jobspec *specs, unsigned n)
{
	int status = do_job_of(o, specs, n);

	if (status == SH5_UNRESOLVED && ask_slurm(specs, n))
		status = do_job_of(o, specs, n);
	if (status != SH5_UNRESOLVED)
		return status;
	sh5_log_unresolved(specs);
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
	int status;

	log__init("sh5util", LOGL_INFO);
	if (sh5__options(argc, argv, &o, &status))
		status = do_jobs(&o);
	string_list__free(&o.nodes);
	free(o.specs);
	free(o.user);
	return status;
}
