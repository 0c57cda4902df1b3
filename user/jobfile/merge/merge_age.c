/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether a job file is of the job that is asked for, or of an earlier one of that id. */
#include "jobfile/merge/merge_age.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "hdf5/reader.h"
#include "identity/slurmjob.h"
#include "pool/pool.h"

#define CLOCKS_S 30 /* the clocks of controller and node differ by less */
#define AGAIN_S	 60 /* Slurm's controller is asked at most once in this time */

struct question {
	const char *path;
	int64_t *start; /* shared */
};

/* Reads from a job file when its job began; -1: the file does not say it. Runs in a child. */
static int read_start(void *arg)
{
	struct question *q = arg;
	struct reader *r;

	if (reader__open(&r, q->path))
		return 1;
	if (!reader__i64(r->file, "Job Start EpochTime", q->start) &&
	    !reader__i64(r->file, "Start EpochTime", q->start))
		*q->start = -1;
	reader__free(r);
	return 0;
}

/* When the job of the file began. A file that does not say it counts as begun at its last change:
 * its job cannot have begun later. */
static int64_t start_of(const char *path)
{
	struct question q = {path, pool__share(sizeof(*q.start))};
	int64_t start = -1;
	struct stat st;

	if (q.start && !pool__call(read_start, &q, &POOL_STREAM))
		start = *q.start;
	if (q.start)
		pool__unshare(q.start, sizeof(*q.start));
	return start >= 0 || lstat(path, &st) ? start : st.st_mtime;
}

/* When Slurm began the job; -1: Slurm does not know, INT64_MAX: the job has not begun. */
static int64_t ask_slurm(uint32_t job)
{
	struct slurmjob j;
	char id[16];

	snprintf(id, sizeof(id), "%u", job);
	if (!slurmjob__ask(id, job, &j))
		return -1;
	return j.start < 0 && !strcmp(j.state, "PENDING") ? INT64_MAX : j.start;
}

bool merge_age__older(struct merge_age *a, const struct merge_opts *o, const char *path)
{
	const uint64_t now = clock__mono_ns();

	if (o->job_start) {
		a->job_start = o->job_start;
	} else if (!a->asked_ns || now - a->asked_ns > AGAIN_S * NSEC_PER_SEC) {
		a->job_start = ask_slurm(o->specs[0].job);
		a->asked_ns = now;
	}
	return a->job_start >= 0 && start_of(path) < a->job_start - CLOCKS_S;
}
