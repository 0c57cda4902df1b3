/* SPDX-License-Identifier: GPL-2.0-only */
/* sh5util without a mode: node-step files into a job file. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cmd/jobprof/profile_dir.h"
#include "cmd/sh5util/sh5util.h"
#include "jobfile/jobfile.h"

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

int sh5__merge(const struct sh5_options *o, const struct jobspec *specs, unsigned n)
{
	_cleanup_free_ char *dir = o->dir ? strdup(o->dir) : NULL;
	int status;

	if (!dir)
		profile_dir__find(&dir);
	if (!dir && specs->kind != JOBSPEC_JOB)
		sh5__log_unresolved(specs);
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
		sh5__log_unresolved(specs);
	return status ? status : merge(o, dir, specs, n);
}
