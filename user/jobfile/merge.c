/* SPDX-License-Identifier: GPL-2.0-only */
#include "jobfile/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "pool/anew.h"
#include "pool/pool.h"
#include "hdf5/h5util.h"
#include "jobfile/merge_internal.h"

#define READERS_MS 5000
#define FULL_BYTES 65536u /* left on a file system that counts as full */
#define FEW_FILES  64u	  /* the process that a child would be is a good part of the time */

char *merge__output_name(const struct merge_opts *o, uint32_t job, int restart)
{
	char run[32] = "", *name = NULL;
	int n;

	if (restart >= 0)
		snprintf(run, sizeof(run), ".restart%d", restart);
	if (!o->output) {
		n = asprintf(&name, "./job_%u%s.h5", job, run);
	} else {
		size_t len = strlen(o->output);
		bool h5 = len > 3 && !strcmp(o->output + len - 3, ".h5");

		n = asprintf(&name, "%.*s%s%s", (int)(len - 3 * h5), o->output, run,
			     h5 ? ".h5" : "");
	}
	return n < 0 ? NULL : name;
}

static bool several_jobs(const struct merge_sets *sets)
{
	for (unsigned i = 1; i < sets->n; i++)
		if (sets->v[i].job != sets->v[0].job)
			return true;
	return false;
}

/* What the process that writes tells the one that waits for it. */
struct outcome {
	struct merge_report st;
	unsigned refused;
	int err;
	char suspect[MERGE_NAME_MAX + 1];
};

struct work {
	const struct merge_opts *o;
	struct merge_set *set;
	const char *output;
	struct outcome *out;
	bool alone; /* the only job, and nothing has been said about it */
	bool quick;
};

static bool is_full(int dir)
{
	struct statvfs fs;

	return !fstatvfs(dir, &fs) && fs.f_bavail * fs.f_bsize < FULL_BYTES;
}

/* The library may not outlive a write that failed: some paths of it free memory twice. Returns
 * whether it was something else. */
static bool clean_up(const char *output, int death, bool complete)
{
	struct merge_place p;
	bool full;

	/* This also removes what was left of the file. */
	if (merge_place__begin(&p, output))
		return false;
	full = is_full(p.dir);
	merge_place__end(&p);
	if (complete)
		log_error("%s: is complete, but not all that it is made of is deleted", output);
	else if (full)
		log_error("%s: cannot be written: %s; nothing was deleted", output,
			  strerror(ENOSPC));
	else if (death == -EINTR)
		log_error("%s: interrupted; nothing was deleted", output);
	return !complete && !full && death != -EINTR;
}

/* Its readers die with the one that writes, but not at once, and they share its lock. All have the
 * pipe: it ends with the last of them. */
static void await_readers(int pipe_fd)
{
	struct pollfd p = {.fd = pipe_fd, .events = POLLIN};

	poll(&p, 1, READERS_MS);
}

static int write_apart(void *arg)
{
	struct work *w = arg;

	w->out->err = merge_job__run(w->o, w->set, w->output, w->quick, &w->out->st);
	w->out->refused = w->set->refused;
	return 0;
}

/* Takes the file out of the set that the library died of, or would not copy. */
static int leave_out(struct merge_set *s, const char *file)
{
	unsigned i = 0;
	struct merge_item *item;

	while (i < s->nitems && strcmp(s->items[i].file, file))
		i++;
	if (i == s->nitems)
		return -EIO;
	item = &s->items[i];
	log_warn("%s/%s: damaged: the HDF5 library cannot copy it: left alone", s->where, file);
	s->refused++;
	if (merge_set__add_absent(s, item->step, item->node))
		return -ENOMEM;
	free(item->file);
	free(item->step);
	free(item->node);
	memmove(item, item + 1, (s->nitems - i - 1) * sizeof(*item));
	s->nitems--;
	return 0;
}

/* One try. -EAGAIN: another one: not quickly, or with what is left of the set. */
static int run_apart(struct work *w)
{
	struct outcome *out = w->out;
	int fd[2], died, err;

	*out = (struct outcome){.refused = w->set->refused, .err = -EIO};
	w->set->suspect = out->suspect;
	if (pipe2(fd, O_CLOEXEC))
		return -errno;
	died = pool__try(write_apart, w, &POOL_STREAM);
	close(fd[1]);
	err = died ? -EAGAIN : out->err;
	if (died) {
		await_readers(fd[0]);
		if ((!w->quick || died == -EINTR || out->st.outputs) &&
		    !clean_up(w->output, died, out->st.outputs))
			err = -EIO;
	}
	close(fd[0]);
	if (died == -EINTR)
		pool__follow_signal();
	if (err != -EAGAIN || w->quick)
		return err;
	out->suspect[MERGE_NAME_MAX] = 0;
	err = leave_out(w->set, out->suspect);
	if (err == -EIO)
		log_error("%s: cannot be written: the HDF5 library failed; nothing was deleted",
			  w->output);
	return err ? err : -EAGAIN;
}

/* Whether all may be left and done again at any point. */
static bool is_small(const struct work *w)
{
	return anew__possible() && w->alone && !w->o->several && w->o->keep &&
	       w->set->nitems <= FEW_FILES && access(w->output, F_OK);
}

/* A quick try in this process. Returns -EAGAIN only where the program cannot be started anew. */
static int run_here(struct work *w)
{
	int err;

	*w->out = (struct outcome){.refused = w->set->refused};
	w->set->suspect = w->out->suspect;
	err = anew__run(write_apart, w, &POOL_STREAM);
	if (!err)
		err = w->out->err;
	if (err == -EAGAIN)
		anew__start(0);
	return err;
}

/* What is left of that try, by the program's start before this one. */
static int take_over(const struct work *w, int left_by)
{
	if (!left_by || pool__signal_error(left_by) != -EINTR)
		return -EAGAIN;
	clean_up(w->output, -EINTR, false);
	pool__follow_signal();
	return -EIO;
}

static int try_quickly(struct work *w)
{
	const int left_by = anew__left_by();

	return left_by >= 0 ? take_over(w, left_by) : is_small(w) ? run_here(w) : run_apart(w);
}

static int merge_job(const struct merge_opts *o, struct merge_set *s, const char *output,
		     bool alone, struct merge_report *st)
{
	struct work w = {o, s, output, pool__share(sizeof(*w.out)), alone, true};
	unsigned nfiles = s->nitems;
	bool *named = pool__share(nfiles);
	int err;

	if (!w.out || !named) {
		err = -ENOMEM;
		goto out;
	}
	for (unsigned i = 0; i < nfiles; i++)
		s->items[i].named = &named[i];
	err = try_quickly(&w);
	w.quick = false;
	while (err == -EAGAIN && s->nitems)
		err = run_apart(&w);
	if (err != -EAGAIN)
		s->refused = w.out->refused;
	st->outputs += w.out->st.outputs;
	st->nodes += w.out->st.nodes;
	st->known += w.out->st.known;
	st->deleted += w.out->st.deleted;
out:
	pool__unshare(named, nfiles);
	pool__unshare(w.out, sizeof(*w.out));
	return err;
}

static int merge_set(const struct merge_opts *o, struct merge_set *s, bool alone,
		     struct merge_report *st)
{
	_cleanup_free_ char *output = merge__output_name(o, s->job, s->restart);
	int err;

	if (!output)
		return -ENOMEM;
	if (!s->nitems && s->running)
		log_error("job %u still runs, and none of its steps has ended: nothing is merged; "
			  "--wait SECONDS waits",
			  s->job);
	else if (!s->nitems)
		log_error("job %u: nothing in %s that can be merged", s->job, s->where);
	err = s->nitems ? merge_job(o, s, output, alone, st) : -ENOENT;
	st->refused += s->refused;
	return err || s->refused ? 1 : 0;
}

static int merge_sets(const struct merge_opts *o, struct merge_sets *sets, struct merge_report *st)
{
	int status = sets->missing ? 1 : 0;

	if (o->output && several_jobs(sets)) {
		log_error("-o names one file, but there are several jobs");
		return -EINVAL;
	}
	for (unsigned i = 0; i < sets->n; i++) {
		const bool alone = sets->n == 1 && !sets->missing && !sets->v[i].refused;

		if (merge_set(o, &sets->v[i], alone, st))
			status = 1;
	}
	return sets->n ? status : -ENOENT;
}

int merge__run(const struct merge_opts *o, struct merge_report *st)
{
	struct merge_report none;
	struct merge_sets sets;
	int err;

	if (o->output && !strcmp(o->output, "-")) {
		log_error("-o -: a job file cannot go to standard output");
		return -EINVAL;
	}
	if (!st)
		st = &none;
	*st = (struct merge_report){0};
	err = merge_dir__find(o, &sets);
	if (!err)
		err = merge_sets(o, &sets, st);
	else if (err != -EINVAL)
		err = 1;
	merge_dir__free(&sets);
	return err;
}
