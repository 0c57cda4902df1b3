// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the profiles that arguments name: gathers files, reads what they are, and joins them to
 * profiles. */
#include "jobfile/profiles.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "identity/stepname.h"
#include "jobfile/profile_search.h"

#define STEP_TEXT 12

/* Steps that are meant of a file, for its input. */
struct profile_step {
	const char **v;
	char (*texts)[STEP_TEXT];
};

struct finding {
	const struct profile_words *w;
	struct profile_files files;
	struct jobspec *specs;
	unsigned nspecs;
	char *site, *own; /* ProfileHDF5Dir, and the viewer's directory in it; NULL: not known */
	bool site_asked;
	bool lacks_job;
};

#define ANY_NAME (PROFILE_NAME_USUAL | PROFILE_NAME_UNUSUAL)

/* The job file of a job before its node-step files. */
static int by_job(const void *a, const void *b)
{
	const struct profile_file *x = a, *y = b;

	if (x->says.job != y->says.job)
		return x->says.job < y->says.job ? -1 : 1;
	if (x->says.is_job_file != y->says.is_job_file)
		return x->says.is_job_file ? -1 : 1;
	return strverscmp(x->path, y->path);
}

static void sort_files(struct profile_files *f, unsigned from)
{
	if (f->n > from)
		qsort(f->v + from, f->n - from, sizeof(*f->v), by_job);
}

/* ---- -j */

/* Asks files of other names than the job's which job they are of: first those that are called as
 * merge calls job files. */
static int ask_dir(struct finding *f, const char *dir, const struct jobspec *specs, unsigned n)
{
	static const unsigned kinds[] = {PROFILE_NAME_USUAL, PROFILE_NAME_UNUSUAL};
	unsigned from = f->files.n;
	int err = 0;

	for (unsigned i = 0; !err && i < 2 && f->files.n == from; i++) {
		err = profile_search__files(&f->files, dir, kinds[i], NULL, 0);
		if (!err)
			err = profile_files__ask(&f->files, from, specs, n);
		if (!err)
			profile_files__keep(&f->files, from, true);
	}
	return err;
}

/* Of an array's task, a component or a SLUID only the files say it. */
static int ask_below(struct finding *f, const char *dir, const struct jobspec *specs, unsigned n)
{
	struct string_list dirs = {0};
	int err = profile_search__dirs(&dirs, dir);

	for (unsigned i = 0; !err && i < dirs.n; i++)
		err = ask_dir(f, dirs.v[i], specs, n);
	string_list__free(&dirs);
	return err;
}

/* Files whose names say that they are of the job: in the directory, else in those in it. */
static int add_named(struct finding *f, const char *dir, const struct jobspec *specs, unsigned n)
{
	struct string_list dirs = {0};
	unsigned from = f->files.n;
	int err = profile_search__dirs(&dirs, dir);

	for (unsigned i = 0; !err && i < dirs.n && !(i == 1 && f->files.n > from); i++)
		err = profile_search__files(&f->files, dirs.v[i], PROFILE_NAME_JOB, specs, n);
	string_list__free(&dirs);
	return err ? err : profile_files__ask(&f->files, from, specs, n);
}

static bool is_in_array(const struct finding *f, unsigned from)
{
	for (unsigned i = from; i < f->files.n; i++)
		if (f->files.v[i].says.is_in_array)
			return true;
	return false;
}

/* specs[n] are of one job. One that has files by its name may be a task of an array that has the
 * task's id: then all tasks are meant. */
static int find_in(struct finding *f, const char *dir, const struct jobspec *specs, unsigned n)
{
	unsigned from = f->files.n;
	int err;

	if (specs->kind != JOBSPEC_JOB)
		return ask_below(f, dir, specs, n);
	err = add_named(f, dir, specs, n);
	if (!err && (f->files.n == from || is_in_array(f, from)))
		err = ask_dir(f, dir, specs, n);
	return err;
}

static int ask_site(struct finding *f)
{
	const struct passwd *pw;
	int err = f->site_asked ? 0 : profile_dir__ask(&f->site);

	if (f->site_asked)
		return 0;
	f->site_asked = true;
	pw = err ? NULL : getpwuid(getuid());
	if (pw && getuid() && asprintf(&f->own, "%s/%s", f->site, pw->pw_name) < 0)
		f->own = NULL;
	return err == -ENOMEM ? err : 0;
}

/* Where nothing is named. */
static int find_anywhere(struct finding *f, const struct jobspec *specs, unsigned n)
{
	unsigned from = f->files.n;
	int err = find_in(f, ".", specs, n);

	if (!err && f->files.n == from)
		err = ask_site(f);
	if (!err && f->files.n == from && f->own)
		err = find_in(f, f->own, specs, n);
	if (!err && f->files.n == from && f->site)
		err = find_in(f, f->site, specs, n);
	return err;
}

static const char *where_of(const struct profile_words *w)
{
	return w->where ? w->where : w->nwords ? w->words[0] : NULL;
}

/* 0, or the exit status: there is none. */
static int find_job(struct finding *f, const struct jobspec *specs, unsigned n)
{
	const char *where = where_of(f->w);
	unsigned from = f->files.n;
	int err = where ? find_in(f, where, specs, n) : find_anywhere(f, specs, n);

	sort_files(&f->files, from);
	if (err)
		log_error("%s: %s", specs->text, strerror(-err));
	else if (f->files.n == from)
		log_error("-j %s: there is no profile of it in %s%s%s, nor in the directories "
			  "below",
			  specs->text, where ? where : "this directory", f->site ? " or " : "",
			  f->site ? f->site : "");
	return err || f->files.n == from ? 1 : 0;
}

/* Sorts the specs so that those of one job are together, in the order in which jobs were named. */
static void gather_specs(struct finding *f)
{
	for (unsigned i = 0; i < f->nspecs; i++) {
		unsigned last = i;

		for (unsigned k = i + 1; k < f->nspecs; k++) {
			struct jobspec s = f->specs[k];

			if (!jobspec__same_job(&f->specs[i], &s))
				continue;
			memmove(&f->specs[last + 2], &f->specs[last + 1],
				(k - last - 1) * sizeof(s));
			f->specs[++last] = s;
		}
		i = last;
	}
}

static unsigned same_job(const struct finding *f, unsigned from)
{
	unsigned n = 1;

	while (from + n < f->nspecs && jobspec__same_job(&f->specs[from], &f->specs[from + n]))
		n++;
	return n;
}

/* The word is a file, which must be of the jobs. 0, or the exit status. */
static int find_jobs_of_file(struct finding *f, const char *path)
{
	struct profile_file *file;
	int err = profile_files__add(&f->files, strdup(path), true);

	for (unsigned i = 0; !err && i < f->nspecs; i += same_job(f, i)) {
		unsigned n = same_job(f, i);

		err = profile_files__ask(&f->files, f->files.n - 1, f->specs + i, n);
		if (!err && f->files.v[f->files.n - 1].says.is_meant)
			return 0;
	}
	file = &f->files.v[f->files.n - 1];
	if (err)
		log_error("%s: %s", path, strerror(-err));
	else if (!file->says.is_profile || !file->says.job)
		return 0; /* who reads it says what is wrong */
	else
		log_error("%s is of job %" PRIu32 ", not of %s", path, file->says.job,
			  f->specs->text);
	return 1;
}

int profile_words__jobs(struct jobspec **out, unsigned *n, const char *text)
{
	char reason[256], *all;
	int err = jobspec__expand(&all, text);

	if (err == -E2BIG) {
		log_error("-j %.60s: these are more than %d jobs", text, JOBSPEC_RANGE);
		return 2;
	}
	if (!err)
		err = jobspec__parse(out, n, all, reason, sizeof(reason));
	free(all);
	if (err == -EINVAL)
		log_error("-j %s; a job is JOB, ARRAY_TASK, HETJOB+OFFSET or a SLUID, and may have "
			  ".STEP; 7-9 and 7_[1-3,5] are several",
			  reason);
	else if (err)
		log_error("-j: %s", strerror(-err));
	return !err ? 0 : err == -EINVAL ? 2 : 1;
}

static int find_jobs(struct finding *f)
{
	const char *where = where_of(f->w);
	int status = profile_words__jobs(&f->specs, &f->nspecs, f->w->jobs);

	if (status)
		return status;
	gather_specs(f);
	if (where && !path__is_dir(where))
		return find_jobs_of_file(f, where);
	for (unsigned i = 0; i < f->nspecs; i += same_job(f, i))
		f->lacks_job |= find_job(f, f->specs + i, same_job(f, i));
	return f->files.n ? 0 : 1;
}

/* ---- without -j */

static int ask_or_trust(struct finding *f, unsigned from)
{
	if (!f->w->by_name)
		return profile_files__ask(&f->files, from, NULL, 0);
	profile_files__trust(&f->files, from);
	return 0;
}

/* Those in a directory and in the directories in it. */
static int add_dir(struct finding *f, const char *where)
{
	struct string_list dirs = {0};
	unsigned from = f->files.n, looked_at;
	int err = profile_search__dirs(&dirs, where);

	for (unsigned i = 0; !err && i < dirs.n; i++)
		err = profile_search__files(&f->files, dirs.v[i], PROFILE_NAME_JOB | ANY_NAME, NULL,
					    0);
	string_list__free(&dirs);
	looked_at = f->files.n - from;
	if (!err)
		err = ask_or_trust(f, from);
	if (!err)
		profile_files__keep(&f->files, from, false);
	if (err)
		log_error("%s: %s", where, strerror(-err));
	else if (f->files.n == from)
		log_error("%s: there is no profile in this directory%s", where,
			  looked_at ? ": its .h5 files cannot be read as one" : "");
	sort_files(&f->files, from);
	return err || f->files.n == from ? 1 : 0;
}

static int add_word(struct finding *f, const char *word)
{
	if (path__is_dir(word))
		return add_dir(f, word);
	if (!profile_files__add(&f->files, strdup(word), true))
		return 0;
	log_error("%s: %s", word, strerror(ENOMEM));
	return 1;
}

/* The one that was written last. NULL: there is none, or no memory. *n: how many there are. */
static char *newest_in(const char *dir, unsigned *n)
{
	struct profile_files all = {0};
	struct timespec newest = {0};
	char *path = NULL;
	struct stat st;

	*n = 0;
	if (profile_search__files(&all, dir, ANY_NAME, NULL, 0))
		all.n = 0;
	for (unsigned i = 0; i < all.n; i++) {
		if (stat(all.v[i].path, &st))
			continue;
		if ((*n)++ &&
		    (st.st_mtim.tv_sec < newest.tv_sec ||
		     (st.st_mtim.tv_sec == newest.tv_sec && st.st_mtim.tv_nsec <= newest.tv_nsec)))
			continue;
		newest = st.st_mtim;
		free(path);
		path = strdup(all.v[i].path);
	}
	profile_files__free(&all);
	return path;
}

static int find_newest(struct finding *f)
{
	unsigned n;
	char *path = newest_in(".", &n);

	if (!path && !ask_site(f) && f->own)
		path = newest_in(f->own, &n);
	if (!path) {
		log_error("which profile: there is none here: FILE, DIR with only one in it, or -j "
			  "JOB");
		return 2;
	}
	if (n > 1)
		log_warn("%s, the newest of %u profiles here", path, n);
	return profile_files__add(&f->files, path, true) ? 1 : 0;
}

static int find_words(struct finding *f)
{
	const struct profile_words *w = f->w;
	int status = w->where ? add_word(f, w->where) : 0;

	for (unsigned i = 0; !status && i < w->nwords; i++)
		status = add_word(f, w->words[i]);
	if (!status && !w->where && !w->nwords)
		status = find_newest(f);
	if (!status && f->files.n > 1 && ask_or_trust(f, 0)) {
		log_error("%s", strerror(ENOMEM));
		status = 1;
	}
	return status;
}

/* ---- profiles */

/* Whether a file is of the profile of files[from] ... files[to - 1]. */
static bool is_of(const struct profile_file *files, unsigned from, unsigned to,
		  const struct profile_file *f)
{
	if (!f->says.job || f->says.job != files[from].says.job)
		return false;
	for (unsigned i = from; i < to; i++)
		if (profile_says__differ(&files[i].says, &f->says))
			return false;
	return true;
}

static bool are_sorted(const struct profile_files *f)
{
	for (unsigned i = 1; i < f->n; i++)
		if (f->v[i].says.job < f->v[i - 1].says.job)
			return false;
	return true;
}

/* Puts the files of each profile side by side: the profile that begins at `from` ends before what
 * is returned. */
static unsigned gather(struct profile_files *f, unsigned from, bool sorted)
{
	unsigned to = from + 1;

	for (unsigned i = to; i < f->n; i++) {
		struct profile_file own = f->v[i];

		if (sorted && own.says.job != f->v[from].says.job)
			break;
		if (!is_of(f->v, from, to, &own))
			continue;
		memmove(&f->v[to + 1], &f->v[to], (i - to) * sizeof(own));
		f->v[to++] = own;
	}
	return to;
}

/* The rows of a node-step file are in the job file; not of one that was named. */
static bool is_left_out(const struct profile_file *first, const struct profile_file *f)
{
	return first->says.is_job_file && !f->says.is_job_file && !f->named;
}

static int put_steps(struct profile_step *s, struct job_input *in, const struct profile_file *f)
{
	if (!f->nspecs || !f->says.is_job_file)
		return 0;
	s->v = calloc(f->nspecs, sizeof(*s->v));
	s->texts = calloc(f->nspecs, sizeof(*s->texts));
	if (!s->v || !s->texts)
		return -ENOMEM;
	for (unsigned i = 0; i < f->nspecs; i++) {
		if (f->specs[i].any_step)
			return 0;
		snprintf(s->texts[i], STEP_TEXT, "%" PRIu32, f->specs[i].step);
		s->v[i] = s->texts[i];
	}
	in->steps = s->v;
	in->nsteps = f->nspecs;
	return 0;
}

static int add_input(struct profiles *p, struct profile *to, struct profile_file *f,
		     const struct string_list *nodes)
{
	struct job_input *in = &p->files[p->nfiles];
	char *path = f->path;
	int err;

	f->path = NULL;
	err = string_list__take(&p->paths, path);
	if (err)
		return err;
	*in = (struct job_input){.path = path, .nodes = nodes};
	to->n++;
	return put_steps(&p->steps[p->nfiles++], in, f);
}

static int add_profile(struct profiles *p, struct profile_files *f, unsigned from, unsigned to,
		       const struct string_list *nodes)
{
	struct profile *v = &p->v[p->n++];
	int err = 0;

	*v = (struct profile){.job = f->v[from].says.job, .files = p->files + p->nfiles};
	for (unsigned i = from; !err && i < to; i++)
		if (!is_left_out(&f->v[from], &f->v[i]))
			err = add_input(p, v, &f->v[i], nodes);
	return err;
}

static int make_profiles(struct profiles *p, struct profile_files *f,
			 const struct string_list *nodes)
{
	const bool sorted = are_sorted(f);
	int err = 0;

	p->v = calloc(f->n, sizeof(*p->v));
	p->files = calloc(f->n, sizeof(*p->files));
	p->steps = calloc(f->n, sizeof(*p->steps));
	if (!p->v || !p->files || !p->steps)
		return -ENOMEM;
	for (unsigned from = 0, to; !err && from < f->n; from = to) {
		to = gather(f, from, sorted);
		err = add_profile(p, f, from, to, nodes);
	}
	return err;
}

int profiles__find(struct profiles *out, const struct profile_words *w)
{
	struct finding f = {.w = w};
	int status;

	*out = (struct profiles){0};
	status = w->jobs ? find_jobs(&f) : find_words(&f);
	out->lacks_job = f.lacks_job;
	if (!status && make_profiles(out, &f.files, w->nodes)) {
		log_error("%s", strerror(ENOMEM));
		status = 1;
	}
	profile_files__free(&f.files);
	free(f.specs);
	free(f.site);
	free(f.own);
	return status;
}

void profiles__free(struct profiles *p)
{
	for (unsigned i = 0; p->steps && i < p->nfiles; i++) {
		free(p->steps[i].v);
		free(p->steps[i].texts);
	}
	free(p->steps);
	free(p->v);
	free(p->files);
	string_list__free(&p->paths);
	*p = (struct profiles){0};
}

int profiles__choose_step(struct profiles *p, const char *step)
{
	uint32_t id;

	for (unsigned i = 0; !stepname__id(step, &id) && i < p->nfiles; i++) {
		struct profile_step *s = &p->steps[i];

		free(s->v);
		free(s->texts);
		s->v = calloc(1, sizeof(*s->v));
		s->texts = calloc(1, sizeof(*s->texts));
		if (!s->v || !s->texts)
			return -ENOMEM;
		snprintf(s->texts[0], STEP_TEXT, "%" PRIu32, id);
		s->v[0] = s->texts[0];
		p->files[i].steps = s->v;
		p->files[i].nsteps = 1;
	}
	return 0;
}

static bool are_parts(const struct profiles *p)
{
	for (unsigned i = 0; i < p->nfiles; i++)
		if (profile_name__is_job_file(p->files[i].path))
			return false;
	return true;
}

void profiles__refuse(const struct profiles *p, const struct profile_words *w, bool to_dir)
{
	if (w->jobs)
		log_error(
			"-j %s means %u files: %s, %s%s; name one of them%s%s", w->jobs, p->nfiles,
			p->files[0].path, p->files[1].path, p->nfiles > 2 ? " ..." : "",
			p->n == 1 && are_parts(p) ? ", or jobprof merge makes one job file of them"
						  : "",
			to_dir ? ", or -o DIR gets a file of each" : "");
	else
		log_error("%s: it has %u profiles; name one of them, or a job with -j", where_of(w),
			  p->nfiles);
}

const struct job_input *profiles__one(const struct profiles *p, const struct profile_words *w)
{
	if (p->nfiles > 1)
		profiles__refuse(p, w, false);
	return p->nfiles == 1 && !p->lacks_job ? p->files : NULL;
}
