/* SPDX-License-Identifier: GPL-2.0-only */
/* jobprof merge: the node-step files of a job into one job file. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "cmd/account.h"
#include "cmd/choice.h"
#include "cmd/profile_dir.h"
#include "cmd/verbs.h"
#include "store/anew.h"
#include "store/extract_time.h"
#include "store/merge.h"
#include "store/merge_wait.h"

#define WAIT_MAX_S (7 * 24 * 3600)

static int usage(FILE *out)
{
	fprintf(out,
		"usage: jobprof merge -j JOB[.STEP][,JOB...] [OPTION]...\n\n"
		"Puts the node-step files of a job into one file, ./job_<id>.h5, and deletes them\n"
		"when it is safely written. A file that is there is extended.\n\n"
		"  -j, --jobs LIST         what to merge: JOB, ARRAY_TASK or HETJOB+OFFSET, each\n"
		"                          with .STEP if wanted: a number, batch, extern, "
		"interactive\n"
		"  -p, --profiledir DIR    where the users' directories are; else ProfileHDF5Dir "
		"of\n"
		"                          jobprof.conf or acct_gather.conf\n"
		"  -u, --user NAME|UID     whose files; default: the caller's\n"
		"  -o, --output FILE       the job file's name, for one job\n"
		"      --job-start TIME    of several jobs of that id, the one that began then\n"
		"  -S, --savefiles         keep the node-step files\n"
		"      --wait SECONDS      until all files are in place; nothing is merged if not\n"
		"      --threads N         processes that read; default: by files and CPUs, at "
		"most "
		"8\n"
		"  -v, --verbose           say more\n");
	return out == stdout ? 0 : 2;
}

struct options {
	struct merge_opts merge;
	const char *jobs, *user;
	bool wait;
	uint32_t wait_s;
	char *dir; /* found in a configuration */
	char *name;
	struct jobspec *specs;
};

/* A bare number is a time of Slurm's too: unix time. */
static int parse_start(struct options *o, const char *text)
{
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

static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{"jobs", required_argument, NULL, 'j'},
		{"profiledir", required_argument, NULL, 'p'},
		{"user", required_argument, NULL, 'u'},
		{"output", required_argument, NULL, 'o'},
		{"savefiles", no_argument, NULL, 'S'},
		{"threads", required_argument, NULL, 't'},
		{"wait", required_argument, NULL, 'w'},
		{"job-start", required_argument, NULL, 'b'},
		{"verbose", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "j:p:u:o:Svh", longs, NULL)) != -1) {
		switch (c) {
		case 'j':
			o->jobs = optarg;
			break;
		case 'p':
			o->merge.profile_dir = optarg;
			break;
		case 'u':
			o->user = optarg;
			break;
		case 'o':
			o->merge.output = optarg;
			break;
		case 'S':
			o->merge.keep = true;
			break;
		case 't':
			if (parse_u32(optarg, &o->merge.threads) || !o->merge.threads) {
				log_error("--threads: \"%s\" is no number from 1 on", optarg);
				return 2;
			}
			break;
		case 'w':
			o->wait = true;
			if (parse_u32(optarg, &o->wait_s) || o->wait_s > WAIT_MAX_S) {
				log_error("--wait: \"%s\" is no number of seconds from 0 to %d",
					  optarg, WAIT_MAX_S);
				return 2;
			}
			break;
		case 'b':
			if (parse_start(o, optarg))
				return 2;
			break;
		case 'v':
			log__set_level(LOGL_DEBUG);
			break;
		case 'h':
			usage(stdout);
			return -1;
		default:
			return usage(stderr);
		}
	}
	if (optind == argc && o->jobs)
		return 0;
	if (optind != argc)
		log_error("what \"%s\" means is not known; jobs are given with -j", argv[optind]);
	else
		log_error("-j says which jobs to merge");
	return usage(stderr);
}

static int parse_jobs(struct options *o)
{
	int status = choice__jobs(&o->specs, &o->merge.nspecs, o->jobs);

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
	err = account__by_uid(uid, &o->name);
	if (err == -ENOENT && o->user)
		return take_name(o, o->user);
	if (err == -ENOENT)
		log_error("user %u has no name here; -u says whose files are meant", uid);
	return err;
}

static int merge(struct options *o)
{
	int err = find_user(o);

	if (!err && !o->merge.profile_dir) {
		err = profile_dir__find(&o->dir);
		o->merge.profile_dir = o->dir;
	}
	if (err)
		return 1;
	o->merge.user = o->name;
	if (o->wait && anew__left_by() < 0) /* or that has been waited for */
		err = merge_wait__run(&o->merge, o->wait_s);
	if (err == 1)
		log_info("job %s: is merged already", o->specs[0].text);
	if (err)
		return err == 1 ? 0 : 1;
	err = merge__run(&o->merge, NULL);
	return err == -EINVAL ? 2 : err ? 1 : 0;
}

int verb_merge(int argc, char **argv)
{
	struct options o = {0};
	int status = parse_options(argc, argv, &o);

	if (!status)
		status = parse_jobs(&o);
	if (!status)
		status = merge(&o);
	free(o.specs);
	free(o.dir);
	free(o.name);
	return status < 0 ? 0 : status;
}
