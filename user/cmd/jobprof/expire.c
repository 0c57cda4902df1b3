/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof expire: removes the profiles that a site does not keep, as the users whose they are. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/log.h"
#include "base/room.h"
#include "base/str.h"
#include "cmd/jobprof/input_args.h"
#include "cmd/jobprof/site_args.h"
#include "cmd/jobprof/site_when.h"
#include "cmd/jobprof/user_name.h"
#include "cmd/jobprof/verbs.h"
#include "index/known_files.h"
#include "jobfile/expire.h"
#include "pool/pool.h"
#include "view/site/site_table.h"

struct options {
	struct site_args site;
	const char *older, *quota, *user, *dir;
	bool unmerged, unindexed, dry_run, verbose;
};

static const struct opt opts[] = {
	{0, "older-than", "TIME", "jobs that last changed before: 90d, 6m, 1y, 2026-01-01",
	 OPT_TEXT(struct options, older)},
	{0, "quota", "SIZE", "then the oldest, until a user has no more than this: 20GiB; 0: none",
	 OPT_TEXT(struct options, quota)},
	{'u', "user", "NAME", "of this user alone", OPT_TEXT(struct options, user)},
	{0, "unmerged", NULL, "also jobs with node-step files, which are not merged",
	 OPT_FLAG(struct options, unmerged)},
	{0, "unindexed", NULL, "also what the index does not have, or not as it is",
	 OPT_FLAG(struct options, unindexed)},
	{0, "dry-run", NULL, "removes nothing: prints what would go",
	 OPT_FLAG(struct options, dry_run)},
	{'v', "verbose", NULL, "prints each file that goes", OPT_FLAG(struct options, verbose)},
	{0, "database", "PATH|URL",
	 "the index there, SQLite's file or postgresql://...; default: IndexDatabase of "
	 "jobprof.conf, where it can be read, else the user's own",
	 OPT_TEXT(struct options, site.database)},
	{0, "json", NULL, "as JSON", OPT_FLAG(struct options, site.json)},
	{0},
};

const struct command cmd_expire = {
	.name = "jobprof expire",
	.usage = "[OPTION]... [DIR]",
	.about =
		"Removes the profiles of jobs that are older than ProfileRetention of\n"
		"jobprof.conf, and the oldest of a user who has more than ProfileQuota. Root does\n"
		"it for all users below ProfileHDF5Dir or DIR, as each of them; others for\n"
		"themselves.",
	.opts = opts,
};

static const struct {
	const char *key, *words;
} kept[N_EXPIRE_KEPT] = {
	[EXPIRE_UNMERGED] = {"unmerged", "not merged"},
	[EXPIRE_UNINDEXED] = {"unindexed", "not in the index"},
	[EXPIRE_RUNNING] = {"running", "running or being merged"},
	[EXPIRE_FOREIGN] = {"foreign", "with links or files of others"},
	[EXPIRE_YOUNG] = {"young", "younger than a day"},
};

struct run {
	const struct options *o;
	struct expire_rules rules;
	struct index ix;
	bool has_index;
	int top;
	const char *named; /* the directory above the users', as the index may have it; */
	char *real;	   /* or so, without links */
	struct expire_result total;
	unsigned users;	  /* whose directories were looked through */
	unsigned refused; /* what is no directory of its name's user */
	char *example;	  /* the first of them */
	json_t *rows;
	bool failed;
};

/* A user's directory. */
struct owner {
	const struct run *run;
	const char *name;
	uid_t uid;
	gid_t gid;
	const char *tops[2];	   /* spellings of the directory above; the second may be NULL */
	struct known_files *known; /* of the directory and each restart<n> */
	unsigned nknown;
	struct expire_result *result; /* in memory that the child shares */
};

/* ---- what the index has */

static bool is_indexed(const void *arg, const char *path, const struct stat *st)
{
	const struct owner *w = arg;
	const double mtime_s = (double)st->st_mtim.tv_sec + (double)st->st_mtim.tv_nsec / 1e9;
	bool has = false;

	for (unsigned t = 0; !has && t < 2 && w->tops[t]; t++) {
		_cleanup_free_ char *full = NULL;

		if (asprintf(&full, "%s/%s/%s", w->tops[t], w->name, path) < 0)
			return false;
		for (unsigned i = 0; !has && i < w->nknown; i++)
			has = known_files__has(&w->known[i], full, mtime_s, (double)st->st_size);
	}
	return has;
}

static int load_known(struct owner *w, struct index *ix, const char *dir)
{
	if (room__grow(&w->known, w->nknown, 1, sizeof(*w->known)))
		return -ENOMEM;
	return known_files__load(&w->known[w->nknown++], ix, dir);
}

static int load_all(struct owner *w, struct index *ix)
{
	int err = 0;

	for (unsigned t = 0; !err && t < 2 && w->tops[t]; t++) {
		struct string_list dirs = {0};
		char *dir = NULL;

		if (asprintf(&dir, "%s/%s", w->tops[t], w->name) < 0)
			return -ENOMEM;
		err = load_known(w, ix, dir);
		if (!err)
			err = known_dir__restarts(ix, dir, false, &dirs);
		for (unsigned i = 0; !err && i < dirs.n; i++)
			err = load_known(w, ix, dirs.v[i]);
		string_list__free(&dirs);
		free(dir);
	}
	return err;
}

static void free_known(struct owner *w)
{
	for (unsigned i = 0; i < w->nknown; i++)
		known_files__free(&w->known[i]);
	free(w->known);
}

/* ---- the child */

/* A child of root works as the user, for good, and has nothing open but the directory above. */
static int become(const struct owner *w)
{
	int err = 0;

	if (!geteuid() && w->uid) {
		err = ids__set_groups(w->name, w->gid);
		if (!err)
			err = ids__work_as(w->uid, w->gid);
	}
	if (!err && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		err = -errno;
	return err;
}

static int expire_as_owner(void *arg)
{
	const struct owner *w = arg;
	const int top = STDERR_FILENO + 1;
	struct expire_rules rules = w->run->rules;
	_cleanup_free_ char *where = NULL;
	int fd, err = w->run->top == top || dup2(w->run->top, top) == top ? 0 : -errno;
	struct stat st = {0};

	close_range(top + 1, ~0u, 0);
	rules.is_indexed = w->run->has_index ? is_indexed : NULL;
	rules.arg = w;
	if (!err)
		err = become(w);
	if (!err && asprintf(&where, "%s/%s", w->tops[0], w->name) < 0)
		err = -ENOMEM;
	fd = err ? -1 : openat(top, w->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (!err && (fd < 0 || fstat(fd, &st)))
		err = -errno;
	if (!err && st.st_uid != w->uid)
		err = -EPERM;
	if (!err)
		return expire__dir(w->result, fd, where, &rules) ? 1 : 0;
	log_error("%s/%s: %s", w->tops[0], w->name, strerror(-err));
	return 1;
}

/* ---- what is printed */

static void add_sum(struct expire_sum *to, const struct expire_sum *s)
{
	to->jobs += s->jobs;
	to->files += s->files;
	to->bytes += s->bytes;
}

static void add_result(struct expire_result *to, const struct expire_result *r)
{
	add_sum(&to->by_age, &r->by_age);
	add_sum(&to->by_quota, &r->by_quota);
	add_sum(&to->left, &r->left);
	for (int i = 0; i < N_EXPIRE_KEPT; i++)
		to->kept[i] += r->kept[i];
	to->failed += r->failed;
}

static void print_sum(const char *what, const struct expire_sum *s)
{
	char bytes[SITE_CELL];

	site_cell__put(bytes, CELL_BYTES, (double)s->bytes);
	printf("%llu job%s %s (%llu file%s, %s)", (unsigned long long)s->jobs,
	       s->jobs == 1 ? "" : "s", what, (unsigned long long)s->files,
	       s->files == 1 ? "" : "s", bytes);
}

static void print_line(const struct run *run, const char *name, const struct expire_result *r)
{
	struct expire_sum gone = r->by_age;
	const char *before = "; stay though due: ";

	add_sum(&gone, &r->by_quota);
	print__escaped(stdout, name);
	fputs(": ", stdout);
	print_sum(run->o->dry_run ? "would go" : "removed", &gone);
	if (r->by_quota.jobs)
		printf(", %llu by the quota", (unsigned long long)r->by_quota.jobs);
	fputs(", ", stdout);
	print_sum("left", &r->left);
	for (int i = 0; i < N_EXPIRE_KEPT; i++)
		if (r->kept[i]) {
			printf("%s%llu %s", before, (unsigned long long)r->kept[i], kept[i].words);
			before = ", ";
		}
	if (r->failed)
		printf("; %llu files could not be removed", (unsigned long long)r->failed);
	putchar('\n');
}

static json_t *sum_json(const struct expire_sum *s)
{
	json_t *j = json_object();

	JSON_NUMBERS(j, {"jobs", (double)s->jobs}, {"files", (double)s->files},
		     {"bytes", (double)s->bytes});
	return j;
}

static json_t *result_json(const struct expire_result *r)
{
	json_t *j = json_object(), *stay = json_object();

	json__set(j, "by_age", sum_json(&r->by_age));
	json__set(j, "by_quota", sum_json(&r->by_quota));
	json__set(j, "left", sum_json(&r->left));
	for (int i = 0; i < N_EXPIRE_KEPT; i++)
		json__set(stay, kept[i].key, json__whole((double)r->kept[i]));
	json__set(j, "kept_jobs", stay);
	json__set(j, "failed_files", json__whole((double)r->failed));
	return j;
}

static bool is_empty(const struct expire_result *r)
{
	uint64_t n = r->by_age.jobs + r->by_quota.jobs + r->failed;

	for (int i = 0; i < N_EXPIRE_KEPT; i++)
		n += r->kept[i];
	return !n;
}

static void take_result(struct run *run, const struct owner *w)
{
	const struct expire_result *r = w->result;
	json_t *row;

	run->users++;
	run->failed |= r->failed > 0;
	add_result(&run->total, r);
	if (run->rows) {
		row = result_json(r);
		json__set(row, "user", json__text(w->name));
		json__set(row, "uid", json__whole(w->uid));
		json_array_append_new(run->rows, row);
	} else if (!is_empty(r)) {
		print_line(run, w->name, r);
	}
}

static int print_end(struct run *run)
{
	char all[64];
	json_t *j;

	if (!run->rows) {
		snprintf(all, sizeof(all), "%u user%s", run->users, run->users == 1 ? "" : "s");
		print_line(run, all, &run->total);
		return 0;
	}
	j = json_object();
	json__set(j, "dry_run", json_boolean(run->o->dry_run));
	JSON_NUMBERS(j, {"before", run->rules.before_s}, {"quota_bytes", run->rules.quota_bytes});
	json__set(j, "refused_directories", json__whole(run->refused));
	json__set(j, "total", result_json(&run->total));
	json__set(j, "users", run->rows);
	run->rows = NULL;
	return json__print(j, stdout, JSON_INDENT(1));
}

/* ---- directories */

/* Whether a directory of that name may be the user's: another user's name is none, nor is any where
 * the user has a name. A user who is gone has none. */
static bool is_named_for(const char *name, uid_t uid)
{
	_cleanup_free_ char *of_uid = NULL, *known = NULL;
	char number[16];

	snprintf(number, sizeof(number), "%u", uid);
	if (!strcmp(name, number))
		return true;
	if (!user_name__of_uid(uid, &of_uid))
		return !strcmp(name, of_uid);
	return user_name__check(name, &known) == -ENOENT;
}

static void refuse(struct run *run, const char *name)
{
	if (!run->refused++)
		run->example = strdup(name);
}

static void expire_user(struct run *run, const char *name)
{
	struct owner w = {.run = run, .name = name, .tops = {run->named, run->real}};
	struct stat st;
	int err;

	if (fstatat(run->top, name, &st, AT_SYMLINK_NOFOLLOW)) {
		log_error("%s/%s: %s", run->named, name, strerror(errno));
		run->failed = true;
		return;
	}
	if (!S_ISDIR(st.st_mode) || !is_named_for(name, st.st_uid) ||
	    (geteuid() && st.st_uid != geteuid())) {
		refuse(run, name);
		return;
	}
	w.uid = st.st_uid;
	w.gid = st.st_gid;
	if (!strcmp(run->named, run->real))
		w.tops[1] = NULL;
	w.result = pool__share(sizeof(*w.result));
	err = w.result ? 0 : -ENOMEM;
	if (!err && run->has_index)
		err = load_all(&w, &run->ix);
	if (!err)
		err = pool__try(expire_as_owner, &w, &POOL_LOAD);
	if (err == -EINTR)
		pool__follow_signal();
	if (err < 0)
		log_error("%s/%s: %s", run->named, name,
			  err == -ETIME ? "the file system does not answer" : strerror(-err));
	run->failed |= err != 0;
	if (w.result)
		take_result(run, &w);
	pool__unshare(w.result, sizeof(*w.result));
	free_known(&w);
}

static int list_users(const struct run *run, struct string_list *names)
{
	const int fd = openat(run->top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	int err = d ? 0 : -errno;

	while (!err && d && (errno = 0, e = readdir(d)))
		if (*e->d_name != '.' &&
		    (e->d_type == DT_DIR || e->d_type == DT_LNK || e->d_type == DT_UNKNOWN))
			err = string_list__append(names, e->d_name);
	err = err ? err : -errno;
	string_list__sort(names, 0);
	if (err)
		log_error("%s: cannot be listed: %s", run->named, strerror(-err));
	return err;
}

static int expire_all(struct run *run)
{
	struct string_list names = {0};
	char *own = NULL;
	int err = 0;

	if (run->o->user)
		err = string_list__append(&names, run->o->user);
	else if (!geteuid())
		err = list_users(run, &names);
	else if (!user_name__of_uid(geteuid(), &own) || asprintf(&own, "%u", geteuid()) > 0)
		err = string_list__take(&names, own);
	for (unsigned i = 0; !err && i < names.n; i++)
		expire_user(run, names.v[i]);
	string_list__free(&names);
	if (run->refused)
		log_warn("%s: %u left alone that are no directory of the user of their name, as %s",
			 run->named, run->refused, run->example ? run->example : "one of them");
	return err;
}

/* ---- the verb */

/* 0, or 2, logged. */
static int set_rules(struct run *run)
{
	const struct options *o = run->o;
	struct expire_rules *r = &run->rules;

	*r = (struct expire_rules){
		.now_s = (double)time(NULL),
		.before_s = NAN,
		.quota_bytes = o->site.quota_mib > 0 ? o->site.quota_mib * 1048576 : NAN,
		.unmerged = o->unmerged,
		.dry_run = o->dry_run,
		.prints = (o->dry_run || o->verbose) && !o->site.json,
	};
	if (o->site.retention_days > 0)
		r->before_s = r->now_s - o->site.retention_days * 86400;
	if (o->older && site_when__parse(&r->before_s, "older-than", o->older))
		return 2;
	if (o->older && isnan(r->before_s)) {
		log_error("--older-than %s: give an age, as 90d or 1y, or a date", o->older);
		return 2;
	}
	if (o->quota && site_args__parse_bytes(o->quota, &r->quota_bytes)) {
		log_error("--quota %s: give a number of bytes, as 500MB or 20GiB", o->quota);
		return 2;
	}
	if (!(r->quota_bytes > 0))
		r->quota_bytes = NAN;
	return 0;
}

/* A user's own index is brought up to date. 0, or the exit status. */
static int open_index(struct run *run, const struct options *o)
{
	struct site_args site = o->site;
	_cleanup_free_ char *own = NULL, *name = NULL;
	struct viewer viewer;
	int err;

	site.is_aside = true;
	site.as_it_is = !geteuid();
	if (!site.as_it_is && o->dir && !user_name__of_uid(geteuid(), &name) &&
	    asprintf(&own, "%s/%s", o->dir, name) > 0)
		site.dir = own;
	err = site_args__open(&site, &run->ix, &viewer);
	if (err == -ENOENT)
		log_error("there is no index of all jobs, and so nothing is in it: jobprof index "
			  "scan DIR makes one; --unindexed removes without");
	run->has_index = !err;
	if (!err)
		db__limit(run->ix.db, 0); /* of all users it may take long */
	return err ? 1 : 0;
}

static int open_top(struct run *run)
{
	run->real = realpath(run->named, NULL);
	run->top = run->real ? open(run->real, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (run->top >= 0)
		return 0;
	log_error("%s: %s", run->named, strerror(errno));
	return 1;
}

static int expire(struct run *run, const struct options *o)
{
	int status = open_top(run);

	if (!status && !o->unindexed)
		status = open_index(run, o);
	if (!status && o->site.json)
		run->rows = json_array();
	if (!status)
		status = expire_all(run) ? 1 : 0;
	if (!status)
		status = print_end(run) || run->failed;
	if (run->has_index)
		index__close(&run->ix);
	json_decref(run->rows);
	free(run->example);
	free(run->real);
	if (run->top >= 0)
		close(run->top);
	return status;
}

int verb_expire(int argc, char **argv)
{
	struct options o = {0};
	struct run run = {.o = &o, .top = -1};
	_cleanup_free_ char *dir = NULL;
	int status;

	site_args__init(&o.site, "all");
	status = options__read(&cmd_expire, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	status = input_args__word(&cmd_expire, argc, argv, &o.dir);
	if (!status && o.user && !str__safe_name(o.user))
		status = options__wrong(&cmd_expire, "\"%s\" is no user's name", o.user);
	if (!status)
		status = set_rules(&run);
	if (status)
		return status;
	if (isnan(run.rules.before_s) && isnan(run.rules.quota_bytes)) {
		log_info("nothing expires: jobprof.conf has neither ProfileRetention nor "
			 "ProfileQuota");
		return 0;
	}
	if (!o.dir && profile_dir__find(&dir))
		return 1;
	run.named = o.dir ? o.dir : dir;
	return expire(&run, &o);
}
