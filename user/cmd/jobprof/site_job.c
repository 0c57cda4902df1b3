/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds a job in the index, or reads it from its files, also while it runs. */
#include "cmd/jobprof/site_job.h"

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cmd/jobprof/site_viewer.h"
#include "jobfile/merge/merge_name.h"
#include "jobfile/profile_search.h"
#include "jobfile/profiles.h"
#include "view/site/seff.h"

void site_job__free(struct site_job *j)
{
	row__free(&j->row);
}

const char *site_job__group(const char *user)
{
	const struct passwd *pw = user ? getpwnam(user) : NULL;
	const struct group *group = pw ? getgrgid(pw->pw_gid) : NULL;

	return group ? group->gr_name : "";
}

/* ---- in the index */

int site_job__check_user(const struct row_list *l, bool is_array, const char *job)
{
	const struct row *other = row_list__other_user(l, is_array);

	if (!other)
		return 0;
	log_error(
		"%s: profiles of %s and of %s both say that they are of it, and Slurm's accounting "
		"has neither: jobprof jobs --jobs %s lists them%s",
		job, l->v[0].text[INDEX_user], other->text[INDEX_user], job,
		is_array ? "" : ", -M takes that of one cluster");
	return -ENOTUNIQ;
}

/* Whose job that runs now it is, where the viewer sees that one among running jobs: files of this
 * user alone are then the job's. Of several users it stays unknown. 0 or -errno, logged. */
static int find_user_of_running(struct site_job *j, struct index *ix, const struct viewer *v,
				const char *cluster, const char *job)
{
	struct job_filter f;
	struct db_rows r = {0};
	struct query q;
	int err = query__init(&q);

	job_filter__init(&f);
	f.jobs = job;
	f.cluster = cluster;
	query__add(&q, "SELECT min(j.\"user\"), max(j.\"user\") FROM running j");
	if (!err)
		err = query__where(&q, &f, v);
	query__add(&q, " AND j.state <> 'PENDING'");
	if (!err)
		err = query__ask(&q, ix->db, &r);
	if (!err && db_rows__next(&r) && r.v[0].type == DB_TEXT &&
	    !strcmp(r.v[0].text, r.v[1].text))
		err = row__set_text(&j->row, INDEX_user, r.v[0].text);
	err = db_rows__end(&r, err);
	query__free(&q);
	return err;
}

/* The last run. 0; -ENOENT, and the row has the user of a job that runs; -errno, logged. */
static int find_in_index(struct site_job *j, const struct site_args *a, const struct jobspec *spec,
			 const char *job)
{
	struct site_args args = *a;
	struct row_list rows = {0};
	struct viewer viewer;
	struct index ix;
	int err;

	args.as_it_is = true;
	err = site_args__open(&args, &ix, &viewer);
	if (err)
		return err < 0 ? err : -EIO;
	err = index__find(&ix, spec, a->filter.cluster, &viewer, &rows);
	if (!err && !rows.n)
		err = find_user_of_running(j, &ix, &viewer, a->filter.cluster, job) ?: -ENOENT;
	if (!err)
		err = site_job__check_user(&rows, false, job);
	if (!err) {
		j->row = rows.v[0];
		row__init(&rows.v[0]);
	}
	row_list__free(&rows);
	index__close(&ix);
	return err;
}

/* ---- files of a job that runs */

/* Anybody can choose a file's name: where the user is known, files of others are not the job's. */
static bool is_owned(const char *path, const char *user)
{
	const struct passwd *pw;
	char number[16];
	struct stat st;

	if (!user || !*user)
		return true;
	if (stat(path, &st))
		return false;
	pw = getpwuid(st.st_uid);
	snprintf(number, sizeof(number), "%u", (unsigned)st.st_uid);
	return !strcmp(user, pw ? pw->pw_name : number);
}

static int add_running(struct string_list *files, const char *dir, uint32_t job, const char *user,
		       bool *is_running)
{
	_cleanup_closedir_ DIR *d = opendir(dir);
	struct dirent *e;
	int err = 0;

	while (!err && d && (e = readdir(d))) {
		struct merge_name name;
		enum merge_name_kind kind = merge_name__parse(e->d_name, &name);
		char *path;

		if ((kind != NAME_RUNNING && kind != NAME_FILE) || name.job != job)
			continue;
		if (asprintf(&path, "%s/%s", dir, e->d_name) < 0)
			return -ENOMEM;
		if (!is_owned(path, user)) {
			free(path);
			continue;
		}
		*is_running |= kind == NAME_RUNNING;
		err = string_list__take(files, path);
	}
	return err;
}

/* Finds the files of the job's steps in the one directory where some run. -ENOTUNIQ, logged: there
 * are several, of several users, and Slurm's word on whose the job is is not known. */
static int find_running(struct string_list *files, const char *where, uint32_t job,
			const char *user)
{
	struct string_list dirs = {0};
	int err = profile_search__dirs(&dirs, where);

	for (unsigned i = 0; !err && i < dirs.n; i++) {
		struct string_list here = {0};
		bool is_running = false;

		err = add_running(&here, dirs.v[i], job, user, &is_running);
		if (!err && is_running && files->n) {
			log_error(
				"%u runs by files of several directories, %s and %s: -p names the "
				"one of its user",
				job, files->v[0], here.v[0]);
			err = -ENOTUNIQ;
		} else if (!err && is_running) {
			*files = here;
			continue;
		}
		string_list__free(&here);
	}
	string_list__free(&dirs);
	return err;
}

/* Whether a server's viewer asks for a job of somebody else, whose files are not in the viewer's
 * directory. */
static bool is_of_another(const char *user)
{
	const char *viewer = site_viewer__only_user();

	return viewer && user && strcmp(viewer, user) != 0;
}

static int find_running_anywhere(struct string_list *files, const struct site_args *a, uint32_t job,
				 const char *user)
{
	char *site = NULL;
	int err = find_running(files, a->dir ? a->dir : ".", job, user);

	if (!err && !files->n && (!a->dir || is_of_another(user)) && !profile_dir__ask(&site))
		err = find_running(files, site, job, user);
	free(site);
	return err;
}

/* ---- files of any job */

/* Finds profiles and logs nothing: it is no error here if there are none. */
static int find_quietly(struct profiles *out, const struct profile_words *words)
{
	int err;

	log__set_level(LOGL_NONE);
	err = profiles__find(out, words);
	log__set_level(LOGL_INFO);
	return err || !out->n || out->lacks_job ? -ENOENT : 0;
}

/* The name of the file's owner, who is the job's user. */
static int set_owner(struct row *r, const char *path)
{
	const struct passwd *pw;
	char number[16];
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (!isnan(r->uid) && r->uid != st.st_uid) {
		log_error("%s: it says that it is of user %.0f and belongs to %u", path, r->uid,
			  (unsigned)st.st_uid);
		return -EPERM;
	}
	pw = getpwuid(st.st_uid);
	snprintf(number, sizeof(number), "%u", (unsigned)st.st_uid);
	return row__set_text(r, INDEX_user, pw ? pw->pw_name : number);
}

struct reading {
	struct row *row;
	uint32_t id;  /* 0: any */
	unsigned job; /* the index of the job that the row is of */
};

/* Takes the later one of two jobs with the same id. */
static int take_row(void *arg, unsigned job, struct row *r, const char *why)
{
	struct reading *reading = arg;
	struct row *to = reading->row;

	if (!r || r->number[INDEX_start] < to->number[INDEX_start] ||
	    (reading->id && r->number[INDEX_job_id] != reading->id))
		return 0;
	reading->job = job;
	row__free(to);
	*to = *r;
	row__init(r);
	return 0;
}

static int read_row(struct row *r, const struct scan_job *jobs, unsigned n, uint32_t id)
{
	struct reading reading = {r, id, 0};
	int err = site_read__jobs(jobs, n, take_row, &reading);

	if (!err && isnan(r->number[INDEX_job_id]))
		err = -ENOENT;
	for (unsigned i = 0; !err && i < jobs[reading.job].n; i++)
		err = set_owner(r, jobs[reading.job].paths[i]);
	return err;
}

/* Whether all files of a profile are the user's; user NULL: anybody's. */
static bool is_profile_of(const struct profile *p, const char *user)
{
	for (unsigned k = 0; k < p->n; k++)
		if (!is_owned(p->files[k].path, user))
			return false;
	return true;
}

/* Whether profiles[n] of a job are of several owners, which it says then. */
static bool are_of_several(const struct profile *p, unsigned n, const char *job)
{
	struct stat first, st;

	for (unsigned i = 1; i < n; i++) {
		if (stat(p[0].files->path, &first) || stat(p[i].files->path, &st) ||
		    first.st_uid == st.st_uid)
			continue;
		log_error("%s: %s and %s both say that they are of it, and belong to different "
			  "users: jobprof report explains each",
			  job, p[0].files->path, p[i].files->path);
		return true;
	}
	return false;
}

static int read_profile(struct row *r, const struct site_args *a, const char *job, uint32_t id,
			const char *user)
{
	const struct profile_words words = {.jobs = job, .where = a->dir};
	struct scan_job *jobs = NULL;
	char **paths = NULL;
	struct profiles found;
	unsigned used = 0, n = 0;
	int err = find_quietly(&found, &words);

	if (!err && !user && are_of_several(found.v, found.n, job))
		err = -ENOTUNIQ;
	if (!err) {
		jobs = calloc(found.n, sizeof(*jobs));
		paths = calloc(found.nfiles, sizeof(*paths));
		err = jobs && paths ? 0 : -ENOMEM;
	}
	for (unsigned i = 0; !err && i < found.n; i++) {
		if (!is_profile_of(&found.v[i], user)) {
			log_warn("%s: it belongs to another user than %s, whose job that is by the "
				 "index: it is left out",
				 found.v[i].files->path, user);
			continue;
		}
		jobs[n].paths = paths + used;
		jobs[n].n = found.v[i].n;
		jobs[n++].mtime_s = NAN;
		for (unsigned k = 0; k < found.v[i].n; k++)
			paths[used++] = (char *)found.v[i].files[k].path;
	}
	if (!err)
		err = n ? read_row(r, jobs, n, id) : -ENOENT;
	free(paths);
	free(jobs);
	profiles__free(&found);
	return err;
}

/* ---- both */

/* Fills the unknown values of the index's row from the profile's; of a running job, the profile's
 * end and run time are newer and replace the index's. */
static int add_profile(struct site_job *j, struct row *r)
{
	static const enum index_column latest[] = {INDEX_elapsed_s, INDEX_end};
	struct row *to = &j->row;
	int err = 0;

	for (int i = 0; !err && i < N_INDEX; i++) {
		if (index_infos[i].type != INDEX_TEXT && isnan(to->number[i]))
			to->number[i] = r->number[i];
		if (index_infos[i].type == INDEX_TEXT && r->text[i] &&
		    (!to->text[i] || !*to->text[i]))
			err = row__set_text(to, i, r->text[i]);
	}
	if (err)
		return err;
	for (size_t i = 0; j->is_live && i < sizeof(latest) / sizeof(*latest); i++)
		to->number[latest[i]] = r->number[latest[i]];
	string_list__free(&to->nodes);
	to->findings = r->findings; /* the index's row, without a profile, has none */
	to->nfindings = r->nfindings;
	to->nodes = r->nodes;
	r->findings = NULL;
	r->nfindings = 0;
	r->nodes = (struct string_list){0};
	return row__derive(to);
}

static bool is_profiled(const struct row *r)
{
	return !isnan(r->number[INDEX_findings]);
}

/* 0 or -ENOENT; -errno, logged. */
static int find_in_files(struct site_job *j, const struct site_args *a, const char *job,
			 uint32_t id)
{
	const char *user =
		j->row.text[INDEX_user] ? j->row.text[INDEX_user] : site_viewer__only_user();
	struct string_list running = {0};
	struct scan_job live;
	struct row r;
	int err;

	row__init(&r);
	if (user)
		site_viewer__limit_files(user);
	err = id ? find_running_anywhere(&running, a, id, user) : 0;
	j->is_live = running.n > 0;
	live = (struct scan_job){.paths = running.v, .n = running.n};
	if (!err)
		err = running.n ? read_row(&r, &live, 1, id) : read_profile(&r, a, job, id, user);
	/* it may have become a link to another user's file since it was read */
	if (!err && user && *user && strcmp(user, r.text[INDEX_user]) != 0)
		err = -ENOENT;
	if (!err)
		err = add_profile(j, &r);
	string_list__free(&running);
	row__free(&r);
	return err;
}

int site_job__find(struct site_job *j, const struct site_args *a, const char *job)
{
	struct jobspec *spec = NULL;
	char state[SEFF_TEXT];
	unsigned n = 0;
	uint32_t id;
	int err, files;

	*j = (struct site_job){0};
	row__init(&j->row);
	if (profile_words__jobs(&spec, &n, job) || n != 1) {
		if (n > 1)
			log_error("%s: one job at a time", job);
		free(spec);
		return -EINVAL;
	}
	err = find_in_index(j, a, spec, job);
	id = !err			 ? (uint32_t)j->row.number[INDEX_job_id]
	     : spec->kind == JOBSPEC_JOB ? spec->job
					 : 0;
	j->is_running = !err && !strcmp(seff__state(&j->row, state), "RUNNING");
	if (err == -ENOTUNIQ) {
		free(spec);
		return err;
	}
	if (err == -ENOENT || j->is_running || (!err && !is_profiled(&j->row))) {
		files = find_in_files(j, a, job, id);
		j->is_running |= j->is_live;
		if (err || (files && files != -ENOENT && files != -EPERM))
			err = files;
	}
	free(spec);
	return err;
}

/* Of profiles with one id: the one that the index has read, else the job's user's. NULL: none. */
static const struct profile *choose(const struct profiles *p, const char *file, const char *user)
{
	for (unsigned i = 0; i < p->n; i++)
		for (unsigned k = 0; file && k < p->v[i].n; k++)
			if (!strcmp(p->v[i].files[k].path, file))
				return &p->v[i];
	for (unsigned i = 0; i < p->n; i++)
		if (is_profile_of(&p->v[i], user))
			return &p->v[i];
	return NULL;
}

int site_job__profile(const struct site_job *j, const struct site_args *a, struct profiles *out,
		      const struct profile **profile)
{
	const char *file = j->row.text[INDEX_file], *slash = file ? strrchr(file, '/') : NULL;
	struct profile_words words = {.where = a->dir};
	char id[16], *dir = NULL;
	int err;

	snprintf(id, sizeof(id), "%.0f", j->row.number[INDEX_job_id]);
	words.jobs = id;
	if (slash)
		words.where = dir = strndup(file, (size_t)(slash - file));
	err = find_quietly(out, &words);
	if (!err)
		*profile = choose(out, file, j->row.text[INDEX_user]);
	free(dir);
	return err || *profile ? err : -ENOENT;
}

int site_job__live(const struct site_job *j, const struct site_args *a, struct string_list *files)
{
	return find_running_anywhere(files, a, (uint32_t)j->row.number[INDEX_job_id],
				     j->row.text[INDEX_user]);
}
