/* SPDX-License-Identifier: GPL-2.0-only */
/* A merge: finds the job files to make, and has a limited child process make each. */
#include "jobfile/merge/merge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "jobfile/merge/merge_internal.h"
#include "pool/pool.h"

#define FULL_BYTES 65536u /* left on a file system that counts as full */

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

/* What the child that writes leaves in memory that its parent sees. */
struct outcome {
	struct merge_report st;
	unsigned refused;
	int err;
	char copying[MERGE_NAME_MAX + 1]; /* merge_set.copying */
};

struct work {
	const struct merge_opts *o;
	struct merge_set *set;
	const char *output;
	struct outcome *out;
};

static bool is_full(const char *output)
{
	const char *slash = strrchr(output, '/');
	_cleanup_free_ char *dir = strndup(output, slash ? slash - output + 1 : 0);
	struct statvfs fs;

	return dir && !statvfs(*dir ? dir : ".", &fs) && fs.f_bavail * fs.f_bsize < FULL_BYTES;
}

/* After the death of the child. The library may not outlive a write that failed: some paths of it
 * free memory twice. Returns whether something else was the cause, and a file may be to blame. */
static bool clean_up(const char *output, int death, bool complete)
{
	/* While what was written of the file still takes its room. */
	const bool full = is_full(output);
	struct merge_output p;

	/* This also removes what was left of the file. */
	if (merge_output__begin(&p, output))
		return false;
	merge_output__end(&p);
	if (complete)
		log_error("%s: is complete, but not all that it is made of is deleted", output);
	else if (full)
		log_error("%s: cannot be written: %s; nothing was deleted", output,
			  strerror(ENOSPC));
	else if (death == -EINTR)
		log_error("%s: interrupted; nothing was deleted", output);
	return !complete && !full && death != -EINTR;
}

static int write_in_child(void *arg)
{
	struct work *w = arg;

	w->out->err = merge_job__run(w->o, w->set, w->output, &w->out->st);
	w->out->refused = w->set->refused;
	return 0;
}

/* Takes a file out of the set, since the library died of it or does not copy it. */
static int leave_out(struct merge_set *s, const char *file)
{
	unsigned i = 0;
	struct merge_item *item;

	while (i < s->nitems && strcmp(s->items[i].file, file))
		i++;
	if (i == s->nitems)
		return -EIO;
	item = &s->items[i];
	log_warn("%s/%s: /%s: damaged: the HDF5 library cannot copy it: left alone", s->where, file,
		 item->node);
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

/* One try. -EAGAIN: another one is to be made with what is left of the set. */
static int try_merge(struct work *w)
{
	struct outcome *out = w->out;
	int died, err;

	*out = (struct outcome){.refused = w->set->refused, .err = -EIO};
	w->set->copying = out->copying;
	died = pool__try(write_in_child, w, &POOL_STREAM);
	if (died && !clean_up(w->output, died, out->st.outputs)) {
		if (died == -EINTR)
			pool__follow_signal();
		return -EIO;
	}
	if (!died && out->err != -EAGAIN)
		return out->err;
	out->copying[MERGE_NAME_MAX] = 0;
	err = leave_out(w->set, out->copying);
	if (err == -EIO)
		log_error("%s: cannot be written: the HDF5 library failed; nothing was deleted",
			  w->output);
	return err ? err : -EAGAIN;
}

static int merge_job(const struct merge_opts *o, struct merge_set *s, const char *output,
		     struct merge_report *st)
{
	struct work w = {o, s, output, pool__share(sizeof(*w.out))};
	unsigned nfiles = s->nitems;
	struct merge_done *done = pool__share(nfiles * sizeof(*done));
	int err = -EAGAIN;

	if (!w.out || !done) {
		err = -ENOMEM;
		goto out;
	}
	for (unsigned i = 0; i < nfiles; i++)
		s->items[i].done = &done[i];
	while (err == -EAGAIN && s->nitems)
		err = try_merge(&w);
	if (err != -EAGAIN)
		s->refused = w.out->refused;
	st->outputs += w.out->st.outputs;
	st->nodes += w.out->st.nodes;
	st->known += w.out->st.known;
	st->deleted += w.out->st.deleted;
out:
	pool__unshare(done, nfiles * sizeof(*done));
	pool__unshare(w.out, sizeof(*w.out));
	return err;
}

static int merge_set(const struct merge_opts *o, struct merge_set *s, struct merge_report *st)
{
	_cleanup_free_ char *output = merge__output_name(o, s->job, s->restart);
	int err;

	if (!output)
		return -ENOMEM;
	if (!s->nitems && s->running)
		log_error("job %u still runs, and none of the steps asked for has ended: nothing "
			  "is merged; --wait SECONDS waits",
			  s->job);
	else if (!s->nitems)
		log_error("job %u: nothing in %s that can be merged", s->job, s->where);
	err = s->nitems ? merge_job(o, s, output, st) : -ENOENT;
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
	for (unsigned i = 0; i < sets->n; i++)
		if (merge_set(o, &sets->v[i], st))
			status = 1;
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
