/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A merge: finds the job files to make, and has a limited child process make each. */
#include "jobfile/merge/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io_full.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/read_note.h"
#include "base/room.h"
#include "base/str.h"
#include "hdf5/h5util.h"
#include "identity/stepname.h"
#include "jobfile/merge/merge_internal.h"
#include "pool/pool.h"

/* ---- one job file, from scanning its inputs to deleting them */

struct job {
	const struct merge_opts *o;
	struct merge_set *set;
	struct merge_report *st;
	struct merge_output output;
	struct reader *old;
	struct merge_tree *tree;
	struct merge_metadata *metadata;
	struct progress progress;
	bool check; /* something is lost if the output is not what was copied */
	unsigned processes;
	struct merge_item *last; /* that was copied */
	unsigned copied;	 /* files, not what was in the job file before */
	bool keeps;		 /* the old job file has all of it */
	struct copying *shared;
};

/* What the child that copies leaves. */
struct copying {
	int err;
	bool any, keeps;
	unsigned copied, refused;
};

/* Logs what is wrong with a file, which stays where it is. */
static int refuse_file(struct job *j, struct merge_item *i, const char *trouble)
{
	if (!i->done->named) {
		progress__clear(&j->progress);
		log_warn("%s/%s: %s: left alone", j->set->where, i->file, trouble);
	}
	i->done->named = true;
	i->state = ITEM_REFUSED;
	j->set->refused++;
	return merge_set__add_absent(j->set, i->step, i->node);
}

static int write_failed(struct job *j, int err)
{
	progress__clear(&j->progress);
	log_error("%s: cannot be written: %s; nothing was deleted", j->output.path, strerror(-err));
	return err;
}

static int add_old_nodes(struct job *j)
{
	struct merge_set *set = j->set;

	if (room__grow(&set->items, set->nitems, j->old->nnodes, sizeof(*set->items)))
		return -ENOMEM;
	for (unsigned s = 0; s < j->old->nsteps; s++) {
		const struct reader_step *step = &j->old->steps[s];

		for (unsigned n = 0; n < step->nodes.n; n++) {
			struct merge_item *v = &set->items[set->nitems++];

			*v = (struct merge_item){
				.step = strdup(step->name),
				.node = strdup(step->nodes.v[n]),
			};
			if (!v->step || !v->node)
				return -ENOMEM;
		}
	}
	return 0;
}

static bool is_of_other_job(hid_t file, uint32_t job)
{
	hid_t attr = H5Aexists(file, "Job Id") > 0 ? H5Aopen(file, "Job Id", H5P_DEFAULT)
						   : H5I_INVALID_HID;
	int64_t id = job;

	if (attr < 0)
		return false;
	if (H5Aread(attr, H5T_NATIVE_INT64, &id) < 0)
		id = -1;
	H5Aclose(attr);
	return id != job;
}

static int add_old_missing(struct job *j)
{
	int err = 0;

	for (unsigned i = 0; !err && i < j->old->nsteps; i++) {
		char *path;
		hid_t g;

		if (asprintf(&path, "/Steps/%s", j->old->steps[i].name) < 0)
			return -ENOMEM;
		g = H5Gopen2(j->old->file, path, H5P_DEFAULT);
		free(path);
		if (g < 0)
			continue;
		err = merge_metadata__add_missing(j->metadata, j->old->steps[i].name, g);
		H5Gclose(g);
	}
	return err;
}

static int open_old(struct job *j)
{
	char path[64];
	int err;

	if (j->output.old < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", j->output.old);
	err = reader__open(&j->old, path);
	if (err || !j->old->merged || is_of_other_job(j->old->file, j->set->job)) {
		log_error("%s: is there already, and no job file of job %u: it is not touched",
			  j->output.path, j->set->job);
		return -EEXIST;
	}
	j->set->extends = true;
	err = add_old_nodes(j);
	if (!err)
		err = add_old_missing(j);
	if (!err)
		merge_set__sort(j->set);
	return err;
}

/* Whether two are copies of each other. Only one may have totals: an earlier merge computed them.
 */
static bool same_content(const struct merge_item *a, const struct merge_item *b)
{
	return a->body == b->body && (!a->totals || !b->totals || a->totals == b->totals);
}

/* The output has a node of that name already. */
static int compare_with_last(struct job *j, struct merge_item *i)
{
	if (!same_content(j->last, i))
		return refuse_file(j, i, "the job file has other content under this step and node");
	i->state = ITEM_KNOWN;
	j->st->known++;
	return 0;
}

/* If this process does not survive the copying, the merge is done again without that file. */
static void begin_copy(struct job *j, const struct merge_item *i)
{
	char path[1024];

	snprintf(j->set->copying, MERGE_NAME_MAX + 1, "%s", i->file ? i->file : "");
	if (!i->file) {
		read_note__file_of(j->output.path, j->output.old_stamp.bytes);
		return;
	}
	snprintf(path, sizeof(path), "%s/%s", j->set->where, i->file);
	read_note__file_of(path, i->stamp.bytes);
}

static int copy_file(struct job *j, struct merge_item *i, const struct merge_result *r)
{
	int fd = merge_file__open(j->set->dir, i->file, &i->stamp, NULL), err;
	hid_t file;

	if (fd < 0)
		return fd == -ENOMEM ? fd : -ESTALE;
	file = merge_file__open_h5(fd);
	err = file < 0 ? -ESTALE : merge_tree__copy(j->tree, file, i->node, i, r);
	if (file >= 0)
		H5Fclose(file);
	close(fd);
	return err;
}

/* The tree is made with the first node, which says how long its tables are. */
static int start_tree(struct job *j, const struct merge_result *r)
{
	int err = merge_output__copy_old(&j->output);

	if (err)
		return err;
	return j->old ? merge_tree__extend(&j->tree, j->output.fd, j->set->nitems)
		      : merge_tree__create(&j->tree, j->output.fd, r->info.chunks, j->set->nitems);
}

static int in_the_way(struct job *j)
{
	progress__clear(&j->progress);
	log_error("%s: has another object where a merge writes %s; the file is not touched, and "
		  "nothing merged",
		  j->output.path, merge_tree__in_the_way(j->tree));
	return -EEXIST;
}

static int copy_item(struct job *j, struct merge_item *i, const struct merge_result *r)
{
	int err = j->tree ? 0 : start_tree(j, r);

	begin_copy(j, i);
	if (!err)
		err = i->file ? copy_file(j, i, r) : merge_tree__complete(j->tree, i, r);
	if (err == -EBADMSG && i->file)
		return -EAGAIN;
	*j->set->copying = 0;
	if (err == -ESTALE && i->file)
		return refuse_file(j, i, "changed while it was read, or damaged");
	if (err == -EEXIST && j->tree)
		return in_the_way(j);
	if (err)
		return write_failed(j, err == -EBADMSG ? -EIO : err);
	i->state = ITEM_COPIED;
	j->last = i;
	j->copied += i->file != NULL;
	return merge_metadata__add(j->metadata, i, r);
}

static int merge_item(struct job *j, struct merge_item *i, const struct merge_result *r)
{
	bool again;
	int err;

	if (r->err && !i->file) {
		progress__clear(&j->progress);
		log_error("%s: step %s, node %s: %s; the file is not touched, and nothing merged",
			  j->output.path, i->step, i->node, r->trouble);
		return -EBADMSG;
	}
	if (r->err)
		return refuse_file(j, i, r->trouble);
	i->stamp = r->stamp;
	i->body = r->info.body;
	i->totals = r->info.totals;
	job_identity__read(i, &r->info);
	/* Before it is said that they are not the same, for they need not be. */
	again = j->last && merge_item__same_node(j->last, i);
	err = again && !same_content(j->last, i) ? job_identity__check(j->set) : 0;
	if (err)
		return err;
	return again ? compare_with_last(j, i) : copy_item(j, i, r);
}

static int start_scan(struct job *j, struct merge_scan **out)
{
	int err = merge_scan__start(out, j->set, j->output.old, j->output.path, false,
				    j->processes > 1 ? j->processes - 1 : 1);

	if (err)
		log_error("%s: no process to read with: %s", j->output.path, strerror(-err));
	return err;
}

/* Chooses the job that is meant, where several jobs have the id. */
static int choose_job(struct job *j)
{
	const struct merge_result *r;
	struct merge_scan *scan = NULL;
	int err = j->o->job_start ? start_scan(j, &scan) : 0;

	if (err || !scan)
		return err;
	for (unsigned i = 0; !err && i < j->set->nitems; i++) {
		err = merge_scan__next(scan, &r);
		if (!err && !r->err)
			job_identity__read(&j->set->items[i], &r->info);
	}
	merge_scan__free(scan);
	if (err)
		log_error("%s: %s", j->output.path, strerror(-err));
	return err ? err : job_identity__choose(j->set, j->o->job_start, j->output.path);
}

static int copy_all(struct job *j)
{
	const struct merge_result *r;
	struct merge_scan *scan = NULL;
	int err = start_scan(j, &scan);

	for (unsigned i = 0; !err && i < j->set->nitems; i++) {
		err = merge_scan__next(scan, &r);
		if (err)
			log_error("%s: %s", j->output.path, strerror(-err));
		else
			err = merge_item(j, &j->set->items[i], r);
		progress__at(&j->progress, i + 1);
	}
	merge_scan__free(scan);
	return err;
}

static int finish_tree(struct job *j)
{
	char path[64];
	int err = 0, closed;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", j->output.fd);
	read_note__file(path);
	err = merge_metadata__write(j->metadata, j->set, j->o->user, j->tree);
	closed = merge_tree__close(j->tree);
	j->tree = NULL;
	if (!err)
		err = closed;
	if (!err)
		err = merge_output__sync(&j->output);
	return err ? write_failed(j, err) : 0;
}

/* Another file may have come under the name of the one that was merged: it stays. */
static void delete_input(struct job *j, struct merge_item *i)
{
	struct merge_stamp is;
	struct stat st;
	int err = fstatat(j->set->dir, i->file, &st, AT_SYMLINK_NOFOLLOW) ? -errno : 0;

	if (!err) {
		is = merge_file__stamp(&st);
		err = !merge_file__same(&is, &i->done->stamp) ? -ESTALE
		      : unlinkat(j->set->dir, i->file, 0)     ? -errno
							      : 0;
	}
	if (!err) {
		j->st->deleted++;
		return;
	}
	log_warn("%s/%s: is merged, but cannot be deleted: %s", j->set->where, i->file,
		 err == -ESTALE ? "it has changed meanwhile" : strerror(-err));
	j->set->refused++;
}

static void delete_inputs(struct job *j)
{
	for (unsigned i = 0; i < j->set->nitems; i++) {
		struct merge_item *item = &j->set->items[i];

		if (item->done->state == ITEM_COPIED || item->done->state == ITEM_KNOWN)
			delete_input(j, item);
	}
}

/* The output could not be put in its place. Returns err. */
static int give_up(struct job *j, int err)
{
	if (err != -ESTALE && err != -EEXIST)
		return write_failed(j, err);
	log_error("%s: was changed by another program meanwhile: given up; nothing was deleted",
		  j->output.path);
	return err;
}

/* The existing job file holds everything already, and only has to be safe on disk. */
static int keep_old(struct job *j)
{
	int err = merge_output__keep(&j->output);

	if (err)
		return give_up(j, err);
	log_info("%s: has all of it already", j->output.path);
	return 0;
}

/* ---- in the child that copies */

/* Nothing is known of the output until it has been read once more. */
static int compare_output(struct job *j)
{
	int err =
		j->check ? merge_scan__compare(j->set, &j->output, &j->progress, j->processes) : 0;

	if (!err)
		log_debug(j->check ? "%s: compared: every node is as it was scanned"
				   : "%s: not compared: the inputs stay, and it replaces nothing",
			  j->output.path);
	return err;
}

static int copy_items(struct job *j)
{
	int err = copy_all(j);

	if (err || !j->last)
		return err; /* every file has been named */
	err = job_identity__check(j->set);
	if (err)
		return err;
	j->keeps = j->old && !j->copied && !j->set->refused;
	if (j->keeps)
		return 0;
	err = finish_tree(j);
	return err ? err : compare_output(j);
}

static void leave_result(struct job *j, int err)
{
	*j->shared = (struct copying){.err = err,
				      .any = j->last != NULL,
				      .keeps = j->keeps,
				      .copied = j->copied,
				      .refused = j->set->refused};
	for (unsigned i = 0; i < j->set->nitems; i++) {
		const struct merge_item *item = &j->set->items[i];

		if (item->file) {
			item->done->state = item->state;
			item->done->stamp = item->stamp;
			item->done->run = item->identity.run;
		}
	}
}

static int copy_job(void *arg)
{
	struct job *j = arg;
	int err;

	pool__has_workers();
	h5__init();
	h5__keep_memory();
	err = merge_metadata__new(&j->metadata);
	if (!err)
		err = open_old(j);
	if (!err)
		err = choose_job(j);
	progress__begin(&j->progress, "merging", (j->check ? 2 : 1) * (uint64_t)j->set->nitems);
	if (!err)
		err = copy_items(j);
	progress__clear(&j->progress);
	merge_tree__close(j->tree);
	merge_metadata__free(j->metadata);
	reader__free(j->old);
	leave_result(j, err);
	return 0;
}

/* ---- the child that opens, names and deletes */

/* What was copied gets its name. */
static int publish(struct job *j)
{
	int err = j->keeps ? keep_old(j)
			   : merge_output__commit(&j->output, j->o->keep ? -1 : j->set->dir);

	if (err)
		return j->keeps ? err : give_up(j, err);
	j->st->outputs++;
	j->st->nodes += j->copied;
	if (j->copied)
		log_info("%s: %u node-step file%s merged%s", j->output.path, j->copied,
			 j->copied == 1 ? "" : "s",
			 j->set->refused ? "; what is named above is not in it" : "");
	if (!j->o->keep)
		delete_inputs(j);
	return 0;
}

#define FULL_BYTES (1u << 20)

/* Looks whether there is no room for more, while what was written still takes its room. */
static void note_full(struct job *j)
{
	static const char zeros[FULL_BYTES];
	struct stat st;
	int err = fstat(j->output.fd, &st)
			  ? 0
			  : pwrite_full(j->output.fd, zeros, sizeof(zeros), (uint64_t)st.st_size);

	if (err == -ENOSPC || err == -EDQUOT || err == -EFBIG)
		*j->set->full = -err;
}

/* A death of that child is this one's, too. */
static int copy_in_child(struct job *j)
{
	int died;

	for (unsigned i = 0; i < j->set->nitems; i++)
		j->set->items[i].done->state = ITEM_NEW; /* resets what an earlier try has set */
	died = pool__try(copy_job, j, &POOL_STREAM);
	if (died == -EINTR) /* the parent may have been killed */
		merge_output__end(&j->output);
	else if (died || j->shared->err == -EAGAIN)
		note_full(j);
	if (died == -EBADMSG || died == -ETIME || died == -EOWNERDEAD || died == -EINTR)
		pool__follow_signal();
	if (died)
		return write_failed(j, died < 0 && died != -EAGAIN ? died : -EIO);
	j->copied = j->shared->copied;
	j->keeps = j->shared->keeps;
	j->set->refused = j->shared->refused;
	return j->shared->err;
}

/* One job file. 0, 1, or -errno (logged); -EAGAIN (not logged): the file that
 * set->copying names has to be left out. */
static int job_run(const struct merge_opts *o, struct merge_set *s, const char *output,
		   struct merge_report *st)
{
	struct job j = {.o = o, .set = s, .st = st};
	int err = merge_output__begin(&j.output, output);

	if (err)
		return err;
	j.processes = merge_scan__processes(o->threads, s->nitems);
	j.check = j.output.old >= 0 || !o->keep;
	j.shared = pool__share(sizeof(*j.shared));
	err = j.shared ? copy_in_child(&j) : write_failed(&j, -ENOMEM);
	if (!err && j.shared->any)
		err = publish(&j);
	pool__unshare(j.shared, sizeof(*j.shared));
	merge_output__end(&j.output);
	return err;
}

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
	int full;			  /* merge_set.full */
	char copying[MERGE_NAME_MAX + 1]; /* merge_set.copying */
};

struct work {
	const struct merge_opts *o;
	struct merge_set *set;
	const char *output;
	struct outcome *out;
};

static void log_full(const char *output, int err)
{
	log_error("%s: cannot be written: %s; nothing was deleted", output, strerror(err));
}

/* After the death of the child. The library may not outlive a write that failed: some paths of it
 * free memory twice. full: as in struct outcome. Returns whether something else was the cause, and
 * a file may be to blame. */
static bool clean_up(const char *output, int death, bool complete, int full)
{
	struct merge_output p;

	/* This also removes what was left of the file. */
	if (merge_output__begin(&p, output))
		return false;
	merge_output__end(&p);
	if (complete)
		log_error("%s: is complete, but not all that it is made of is deleted", output);
	else if (full)
		log_full(output, full);
	else if (death == -EINTR)
		log_error("%s: interrupted; nothing was deleted", output);
	return !complete && !full && death != -EINTR;
}

static int write_in_child(void *arg)
{
	struct work *w = arg;

	w->out->err = job_run(w->o, w->set, w->output, &w->out->st);
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
	w->set->full = &out->full;
	died = pool__try(write_in_child, w, &POOL_STREAM);
	if (died && !clean_up(w->output, died, out->st.outputs, out->full)) {
		if (died == -EINTR)
			pool__follow_signal();
		return -EIO;
	}
	if (!died && out->err != -EAGAIN)
		return out->err;
	if (!died && out->full) {
		log_full(w->output, out->full);
		return -out->full;
	}
	out->copying[MERGE_NAME_MAX] = 0;
	err = leave_out(w->set, out->copying);
	if (err == -EIO)
		log_error("%s: cannot be written: the HDF5 library failed; nothing was deleted",
			  w->output);
	return err ? err : -EAGAIN;
}

static int move_item(struct merge_sets *sets, unsigned from, struct merge_item *item)
{
	const struct merge_set *s = &sets->v[from];
	struct merge_set *to = merge_sets__of(sets, s->job, item->done->run, s->dir, s->where);

	if (!to || room__grow(&to->items, to->nitems, 1, sizeof(*item)))
		return -ENOMEM;
	to->items[to->nitems++] = *item;
	return 0;
}

/* Moves the files of runs before the last one to sets of their own, which are merged later. */
static int part_runs(struct merge_sets *sets, unsigned from)
{
	unsigned n = 0, all = sets->v[from].nitems;
	struct merge_item *items = sets->v[from].items;
	int err = 0;

	for (unsigned i = 0; i < all; i++) {
		if (!err && items[i].done->run >= 0)
			err = move_item(sets, from, &items[i]);
		if (err || items[i].done->run < 0)
			items[n++] = items[i];
	}
	sets->v[from].nitems = n;
	return err ? err : -EAGAIN;
}

static int merge_job(const struct merge_opts *o, struct merge_sets *sets, unsigned at,
		     const char *output, struct merge_report *st)
{
	struct work w = {o, &sets->v[at], output, pool__share(sizeof(*w.out))};
	unsigned nfiles = w.set->nitems;
	struct merge_done *done = pool__share(nfiles * sizeof(*done));
	int err = -EAGAIN;

	if (!w.out || !done) {
		err = -ENOMEM;
		goto out;
	}
	for (unsigned i = 0; i < nfiles; i++)
		w.set->items[i].done = &done[i];
	while (err == -EAGAIN && w.set->nitems) {
		err = try_merge(&w);
		if (err == -ENOTUNIQ)
			err = part_runs(sets, at);
		w.set = &sets->v[at];
	}
	if (err != -EAGAIN)
		w.set->refused = w.out->refused;
	st->outputs += w.out->st.outputs;
	st->nodes += w.out->st.nodes;
	st->known += w.out->st.known;
	st->deleted += w.out->st.deleted;
out:
	pool__unshare(done, nfiles * sizeof(*done));
	pool__unshare(w.out, sizeof(*w.out));
	return err;
}

static int merge_set(const struct merge_opts *o, struct merge_sets *sets, unsigned at,
		     struct merge_report *st)
{
	const struct merge_set *s = &sets->v[at];
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
	err = s->nitems ? merge_job(o, sets, at, output, st) : -ENOENT;
	st->refused += sets->v[at].refused;
	/* -EAGAIN: nothing is left of it */
	return (err && err != -EAGAIN) || sets->v[at].refused ? 1 : 0;
}

static int merge_sets(const struct merge_opts *o, struct merge_sets *sets, struct merge_report *st)
{
	int status = sets->missing ? 1 : 0;

	if (o->output && several_jobs(sets)) {
		log_error("-o names one file, but there are several jobs");
		return -EINVAL;
	}
	for (unsigned i = 0; i < sets->n; i++)
		if (merge_set(o, sets, i, st))
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
