/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof merge: the node-step files of a job into one job file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/input_args.h"
#include "cmd/jobprof/report.h"
#include "cmd/jobprof/select_args.h"
#include "cmd/jobprof/user_name.h"
#include "cmd/jobprof/verbs.h"
#include "jobfile/jobfile.h"
#include "jobfile/profiles.h"

#define WAIT_MAX_S (7 * 24 * 3600)

struct options {
	struct merge_opts merge;
	const char *jobs, *user;
	bool wait, report;
	uint32_t wait_s;
	char *dir; /* found in a configuration */
	char *name;
	struct jobspec *specs;
};

/* A bare number is a time of Slurm's too: unix time. */
static int set_start(void *to, const struct opt *opt, const char *text)
{
	struct options *o = to;
	struct time_bound t;

	if (!time_bound__parse(&t, text) && t.ns > 0) {
		o->merge.job_start = t.ns / 1000000000;
		return 0;
	}
	log_error("--job-start: \"%s\" is no time as 2026-11-21T02:01:17, 11/21/26-02:01:17 or "
		  "1795226477",
		  text);
	return 2;
}

static int parse_number(const char *option, const char *text, uint32_t least, uint32_t most,
			uint32_t *n)
{
	if (!parse_u32(text, n) && *n >= least && *n <= most)
		return 0;
	log_error("--%s: \"%s\" is no number from %u to %u", option, text, least, most);
	return 2;
}

static int set_threads(void *to, const struct opt *o, const char *text)
{
	return parse_number(o->name, text, 1, UINT32_MAX, to);
}

static int set_wait(void *to, const struct opt *opt, const char *text)
{
	struct options *o = to;

	o->wait = true;
	return parse_number(opt->name, text, 0, WAIT_MAX_S, &o->wait_s);
}

static int set_log(void *to, const struct opt *o, const char *text)
{
	log__set_level(o->letter == 'q' ? LOGL_WARN : LOGL_DEBUG);
	return 0;
}

static const struct opt opts[] = {
	{'j', "jobs", "LIST",
	 "what to merge: JOB, ARRAY_TASK, HETJOB+OFFSET or a SLUID, each with .STEP if wanted: a "
	 "number, batch, extern, interactive",
	 OPT_TEXT(struct options, jobs)},
	{'p', "profiledir", "DIR",
	 "where the users' directories are, the same as DIR without -p; else ProfileHDF5Dir of "
	 "jobprof.conf or acct_gather.conf",
	 OPT_TEXT(struct options, merge.profile_dir)},
	{'u', "user", "NAME|UID", "whose files; default: the caller's",
	 OPT_TEXT(struct options, user)},
	{'o', "output", "FILE", "the job file's name, for one job",
	 OPT_TEXT(struct options, merge.output)},
	{0, "job-start", "TIME", "of several jobs of that id, the one that began then",
	 OPT_CALL(set_start)},
	{'S', "savefiles", NULL, "keep the node-step files", OPT_FLAG(struct options, merge.keep)},
	{0, "wait", "SECONDS", "until all files are in place; nothing is merged if not",
	 OPT_CALL(set_wait)},
	{0, "threads", "N", "processes that read; default: by files and CPUs, at most 8",
	 OPT_CALL_AT(set_threads, struct options, merge.threads)},
	{0, "report", NULL,
	 "then store the report in the job file, as report --store does; for one job",
	 OPT_FLAG(struct options, report)},
	{'q', "quiet", NULL, "say nothing of what goes well", OPT_CALL(set_log)},
	{'v', "verbose", NULL, "say more", OPT_CALL(set_log)},
	{0},
};

const struct command cmd_merge = {
	.name = "jobprof merge",
	.usage = "-j JOB[.STEP][,JOB...] [OPTION]... [DIR]",
	.about =
		"Puts the node-step files of a job into one file, ./job_<id>.h5, and deletes them\n"
		"when it is safely written. A file that is there is extended.",
	.opts = opts,
};

static int parse_jobs(struct options *o)
{
	int status = profile_words__jobs(&o->specs, &o->merge.nspecs, o->jobs);

	if (status)
		return status;
	o->merge.specs = o->specs;
	o->merge.raw = o->wait; /* of an array's tasks, names do not tell when all are there */
	for (unsigned i = 1; o->merge.output && i < o->merge.nspecs; i++) {
		if (!jobspec__same_job(&o->specs[0], &o->specs[i])) {
			log_error("-o names one file, but -j several jobs");
			return 2;
		}
	}
	for (unsigned i = 0; o->wait && i < o->merge.nspecs; i++) {
		if (o->specs[i].kind != JOBSPEC_JOB) {
			log_error(
				"--wait: \"%s\" is only known by its files: give the job's own id",
				o->specs[i].text);
			return 2;
		}
	}
	return 0;
}

static int take_name(struct options *o, const char *name)
{
	o->name = strdup(name);
	return o->name ? 0 : -ENOMEM;
}

/* A name need not be known here, and a number need not have one: jobprofd names directories so. */
static int find_user(struct options *o)
{
	uid_t uid = geteuid();
	uint32_t n;
	int err;

	if (o->user && parse_u32(o->user, &n))
		return take_name(o, o->user);
	if (o->user)
		uid = n;
	err = user_name__of_uid(uid, &o->name);
	if (err == -ENOENT && o->user)
		return take_name(o, o->user);
	if (err == -ENOENT)
		log_error("user %u has no name here; -u says whose files are meant", uid);
	return err;
}

/* In the file that the merge has made or extended. 0, or the exit status. */
static int store_report(const struct options *o)
{
	const struct report_opts how = {.form = REPORT_STORE};
	struct job_input in = {.path = o->merge.output};
	char name[32];

	snprintf(name, sizeof(name), "job_%u.h5", o->specs->job);
	if (!in.path)
		in.path = name;
	return report__files(&in, 1, &how, stdout);
}

static int check_report(const struct options *o)
{
	if (!o->report ||
	    (o->merge.nspecs == 1 && (o->merge.output || o->specs->kind == JOBSPEC_JOB)))
		return 0;
	log_error("--report is for one job, by its own id or with -o");
	return 2;
}

static int merge(struct options *o)
{
	int err = find_user(o);

	o->merge.or_none = o->merge.profile_dir && !o->user && !o->wait;
	if (!err && !o->merge.profile_dir) {
		err = profile_dir__find(&o->dir);
		o->merge.profile_dir = o->dir;
	}
	if (err)
		return 1;
	o->merge.user = o->name;
	if (o->wait)
		err = merge_wait__run(&o->merge, o->wait_s);
	if (err == 1)
		log_info("job %s: is merged already", o->specs[0].text);
	if (err)
		return err == 1 ? 0 : 1;
	err = merge__run(&o->merge, NULL);
	if (err)
		return err == -EINVAL ? 2 : 1;
	return o->report ? store_report(o) : 0;
}

int verb_merge(int argc, char **argv)
{
	struct options o = {0};
	int status = options__read(&cmd_merge, argc, argv, &o);

	if (status != OPTIONS_GO_ON)
		return status;
	status = input_args__word(&cmd_merge, argc, argv, &o.merge.profile_dir);
	if (!status && !o.jobs)
		status = options__wrong(&cmd_merge, "-j says which jobs to merge");
	if (!status)
		status = parse_jobs(&o);
	if (!status)
		status = check_report(&o);
	if (!status)
		status = merge(&o);
	free(o.specs);
	free(o.dir);
	free(o.name);
	return status;
}
