/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads files of running steps into an index of their own. */
#include "cmd/jobprof/running_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cmd/jobprof/site_args.h"
#include "index/claim.h"
#include "jobfile/profiles.h"

struct reading {
	struct row *rows; /* of the jobs that were read */
	unsigned *of, n;
};

static int take_row(void *arg, unsigned job, struct row *r, const char *why)
{
	struct reading *reading = arg;

	if (!r || !r->now || !row__has_key(r)) {
		log_error("it is no file of a running step: %s", why ? why : "it names no job");
		return 0;
	}
	reading->of[reading->n] = job;
	reading->rows[reading->n++] = *r;
	row__init(r);
	return 0;
}

static int put(struct index *ix, struct row *r, const struct scan_job *j)
{
	char user[256];
	const struct running_files files = {"/", "", user, 1, j->n};
	struct stat st;
	int err = stat(j->paths[0], &st) ? -errno : 0;

	if (err)
		return err;
	claim__name_of_user(st.st_uid, user, sizeof(user));
	err = row__set_text(r, INDEX_user, user);
	if (!err)
		err = row__derive(r);
	return err ? err : running__put_profile(ix, r, &files);
}

/* The files of a job come together. */
static int group(struct scan_job *jobs, unsigned *njobs, char **paths, int n)
{
	for (int i = 0; i < n; i++) {
		struct scan_job *last = *njobs ? &jobs[*njobs - 1] : NULL;
		const uint32_t job = profile_name__job(paths[i]);

		if (access(paths[i], R_OK)) {
			log_error("%s: %s", paths[i], strerror(errno));
			return 1;
		}
		if (last && job && job == profile_name__job(last->paths[0]))
			last->n++;
		else
			jobs[(*njobs)++] = (struct scan_job){
				.paths = &paths[i], .n = 1, .mtime_s = NAN, .is_running = true};
	}
	return 0;
}

static int read_files(struct index *ix, char **paths, int n)
{
	struct scan_job *jobs = calloc((size_t)n, sizeof(*jobs));
	struct reading r = {.rows = calloc((size_t)n, sizeof(*r.rows)),
			    .of = calloc((size_t)n, sizeof(*r.of))};
	unsigned njobs = 0;
	int err = jobs && r.rows && r.of ? group(jobs, &njobs, paths, n) : -ENOMEM;

	if (!err)
		err = site_read__jobs(jobs, njobs, take_row, &r);
	if (!err && !r.n)
		err = -ENODATA;
	if (!err)
		err = index__begin(ix);
	for (unsigned i = 0; !err && i < r.n; i++)
		err = put(ix, &r.rows[i], &jobs[r.of[i]]);
	if (!err)
		err = index__commit(ix);
	for (unsigned i = 0; i < r.n; i++)
		row__free(&r.rows[i]);
	free(r.rows);
	free(r.of);
	free(jobs);
	return err;
}

int running_files__open(struct index *ix, char **dir, char **paths, int n)
{
	const char *tmp = getenv("TMPDIR");
	char *where = NULL;
	int err = 0;

	*ix = (struct index){0};
	if (asprintf(dir, "%s/jobprof.XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp") < 0)
		return 1;
	if (!mkdtemp(*dir)) {
		log_error("%s: %s", *dir, strerror(errno));
		free(*dir);
		*dir = NULL;
		return 1;
	}
	if (asprintf(&where, "%s/index.db", *dir) < 0)
		return 1;
	err = index__open(ix, where, DB_WRITE);
	free(where);
	if (!err)
		err = read_files(ix, paths, n);
	return err ? 1 : 0;
}

/* The database has a few files beside it. */
static void remove_all(const char *dir)
{
	_cleanup_closedir_ DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (*e->d_name != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	rmdir(dir);
}

void running_files__close(struct index *ix, char *dir)
{
	if (ix->db)
		index__close(ix);
	if (dir)
		remove_all(dir);
	free(dir);
}
