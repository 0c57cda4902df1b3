/* SPDX-License-Identifier: GPL-2.0-only */
/* One job file, from looking through its inputs to deleting them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/progress.h"
#include "identity/stepname.h"
#include "pool/pool.h"
#include "hdf5/h5util.h"
#include "jobfile/merge_internal.h"
#include "jobfile/merge_inspect.h"

struct job {
	const struct merge_opts *o;
	struct merge_set *set;
	struct merge_report *st;
	struct merge_place place;
	struct reader *old;
	struct merge_readers *readers; /* of the inputs; their end need not be waited for */
	struct merge_tree *tree;
	struct h5record record; /* of the output */
	struct merge_facts *facts;
	struct progress progress;
	bool quick;
	bool check;		 /* something is lost if the output is not what was copied */
	struct merge_item *last; /* that was copied */
	unsigned copied;	 /* files, not what was in the job file before */
};

/* Says what is wrong with a file, which stays where it is. */
static int refuse(struct job *j, struct merge_item *i, const char *why)
{
	if (j->quick)
		return -EAGAIN;
	if (!*i->named) {
		progress__clear(&j->progress);
		log_warn("%s/%s: %s: left alone", j->set->where, i->file, why);
	}
	*i->named = true;
	i->state = ITEM_REFUSED;
	j->set->refused++;
	return merge_set__add_absent(j->set, i->step, i->node);
}

static int write_failed(struct job *j, int err)
{
	progress__clear(&j->progress);
	log_error("%s: cannot be written: %s; nothing was deleted", j->place.path, strerror(-err));
	return err;
}

static int add_old_nodes(struct job *j)
{
	struct merge_set *set = j->set;
	struct merge_item *v = realloc(set->items, (set->nitems + j->old->nnodes) * sizeof(*v));

	if (!v)
		return -ENOMEM;
	set->items = v;
	for (unsigned s = 0; s < j->old->nsteps; s++) {
		const struct reader_step *step = &j->old->steps[s];

		for (unsigned n = 0; n < step->nnodes; n++) {
			v = &set->items[set->nitems++];
			*v = (struct merge_item){
				.step = strdup(step->name),
				.node = strdup(step->nodes[n]),
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

static int take_old_missing(struct job *j)
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
		err = merge_facts__old_missing(j->facts, j->old->steps[i].name, g);
		H5Gclose(g);
	}
	return err;
}

/* The nodes of the job file that is there come first; files of the same name are compared. */
static int by_step_node(const void *a, const void *b)
{
	const struct merge_item *x = a, *y = b;
	int d = stepname__cmp(x->step, y->step);

	if (!d)
		d = strverscmp(x->node, y->node);
	return d ? d : (x->file != NULL) - (y->file != NULL);
}

static int open_old(struct job *j)
{
	char path[64];
	int err;

	if (j->place.old < 0)
		return 0;
	merge__prepare(j->set->nitems);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", j->place.old);
	err = reader__open(&j->old, path);
	if (err || !j->old->merged || is_of_other_job(j->old->file, j->set->job)) {
		log_error("%s: is there already, and no job file of job %u: it is not touched",
			  j->place.path, j->set->job);
		return -EEXIST;
	}
	j->set->extends = true;
	err = add_old_nodes(j);
	if (!err)
		err = take_old_missing(j);
	if (!err)
		qsort(j->set->items, j->set->nitems, sizeof(*j->set->items), by_step_node);
	return err;
}

/* Whether two are copies of each other. Only one may have totals: an earlier merge computed them.
 */
static bool same_content(const struct merge_item *a, const struct merge_item *b)
{
	return a->body == b->body && (!a->totals || !b->totals || a->totals == b->totals);
}

static bool same_place(const struct merge_item *a, const struct merge_item *b)
{
	return a && !strcmp(a->node, b->node) && !stepname__cmp(a->step, b->step);
}

static int meet(struct job *j, struct merge_item *i)
{
	if (!same_content(j->last, i))
		return refuse(j, i, "the job file has other content under this step and node");
	i->state = ITEM_KNOWN;
	j->st->known++;
	return 0;
}

/* Should we not come back from it, or not with what we wanted, the merge is done without it. */
static void begin_copy(struct job *j, const struct merge_item *i)
{
	char path[1024];

	snprintf(j->set->suspect, MERGE_NAME_MAX + 1, "%s", i->file ? i->file : "");
	if (!i->file) {
		pool__note_file(j->place.path);
		return;
	}
	snprintf(path, sizeof(path), "%s/%s", j->set->where, i->file);
	pool__note_file_of(path, i->stamp.bytes);
}

static int copy_file(struct job *j, struct merge_item *i, const struct merge_found *f)
{
	hid_t file = merge_readers__file(j->readers);
	int fd, err;

	if (file >= 0)
		return merge_tree__copy(j->tree, file, i->node, i, f);
	fd = merge_dir__open(j->set->dir, i->file, &i->stamp, NULL);
	if (fd < 0)
		return fd == -ENOMEM ? fd : -ESTALE;
	file = merge_dir__open_h5(fd);
	err = file < 0 ? -ESTALE : merge_tree__copy(j->tree, file, i->node, i, f);
	if (file >= 0)
		H5Fclose(file);
	close(fd);
	return err;
}

static int copy_old(struct job *j, struct merge_item *i, const struct merge_found *f)
{
	char *path;
	int err;

	if (asprintf(&path, "/Steps/%s/Nodes/%s", i->step, i->node) < 0)
		return -ENOMEM;
	err = merge_tree__copy(j->tree, j->old->file, path, i, f);
	free(path);
	return err;
}

static int copy(struct job *j, struct merge_item *i, const struct merge_found *f)
{
	int err =
		j->tree ? 0
			: merge_tree__create(&j->tree, j->place.fd, f->image ? 0 : f->facts.chunks,
					     j->check ? &j->record : NULL);

	begin_copy(j, i);
	if (!err)
		err = f->image	? merge_tree__make(j->tree, i, f)
		      : i->file ? copy_file(j, i, f)
				: copy_old(j, i, f);
	if (err && j->quick)
		return -EAGAIN;
	if (err == -EBADMSG && i->file)
		return -EAGAIN;
	*j->set->suspect = 0;
	if (err == -ESTALE && i->file)
		return refuse(j, i, "changed while it was read, or damaged");
	if (err)
		return write_failed(j, err == -EBADMSG ? -EIO : err);
	i->state = ITEM_COPIED;
	j->last = i;
	j->copied += i->file != NULL;
	return merge_facts__add(j->facts, i, f);
}

static int take(struct job *j, struct merge_item *i, const struct merge_found *f)
{
	int err;

	if (f->err && !i->file) {
		progress__clear(&j->progress);
		log_error("%s: step %s, node %s: %s; the file is not touched, and nothing merged",
			  j->place.path, i->step, i->node, f->trouble);
		return -EBADMSG;
	}
	if (f->err)
		return refuse(j, i, f->trouble);
	i->stamp = f->stamp;
	i->body = f->facts.body;
	i->totals = f->facts.totals;
	i->whole = f->facts.whole;
	merge_origin__take(i, &f->facts);
	/* Before it is said that they are not the same, for they need not be. */
	err = same_place(j->last, i) && !same_content(j->last, i) ? merge_origin__check(j->set) : 0;
	if (err)
		return err;
	return same_place(j->last, i) ? meet(j, i) : copy(j, i, f);
}

/* One process writes, the others read; in a quick merge it reads too. Else one of its own protects
 * from inputs that end it. */
static unsigned number_of_readers(const struct job *j, unsigned threads)
{
	return threads > 1 ? threads - 1 : j->quick ? 0 : 1;
}

/* Of several jobs of the id, the one that is meant. */
static int choose_job(struct job *j)
{
	const struct merge_found *f;
	struct merge_readers *r = NULL;
	int err;

	if (!j->o->job_start)
		return 0;
	err = merge_readers__start(&r, j->set, j->place.old, LOOK_QUICK, 1, false);
	for (unsigned i = 0; !err && i < j->set->nitems; i++) {
		err = merge_readers__next(r, &f);
		if (!err && !f->err)
			merge_origin__take(&j->set->items[i], &f->facts);
	}
	merge_readers__free(r);
	if (err)
		log_error("%s: no process to read with: %s", j->place.path, strerror(-err));
	return err ? err : merge_origin__choose(j->set, j->o->job_start, j->place.path);
}

static int copy_all(struct job *j, unsigned threads)
{
	const struct merge_found *f;
	enum merge_look look = !j->quick ? LOOK_TOTALS : j->check ? LOOK_SAMPLE : LOOK_QUICK;
	int err = merge_readers__start(&j->readers, j->set, j->place.old, look,
				       number_of_readers(j, threads), j->quick);

	if (err) {
		log_error("%s: no process to read with: %s", j->place.path, strerror(-err));
		return err;
	}
	for (unsigned i = 0; !err && i < j->set->nitems; i++) {
		err = merge_readers__next(j->readers, &f);
		if (!err)
			err = take(j, &j->set->items[i], f);
		else
			log_error("%s: %s", j->place.path, strerror(-err));
		progress__at(&j->progress, i + 1);
	}
	return err;
}

static int finish_tree(struct job *j)
{
	char what[300] = "";
	char path[64];
	int err = 0, closed;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", j->place.fd);
	pool__note_file(path);
	if (j->old)
		err = merge_tree__keep_others(j->tree, j->old->file, what, sizeof(what));
	if (err) {
		log_error("%s: holds %s, which cannot be taken along: it is not touched",
			  j->place.path, what);
		return err;
	}
	err = merge_facts__write(j->facts, j->set, j->o->user, j->tree);
	/* This process ends soon: what it has of the tree takes as long to free as to write. Only
	 * closed, the file's record is complete. */
	closed = j->check ? merge_tree__close(j->tree) : merge_tree__leave(j->tree);
	j->tree = NULL;
	if (!err)
		err = closed;
	if (!err)
		err = merge_place__sync(&j->place);
	return err ? write_failed(j, err) : 0;
}

static void delete_input(struct job *j, struct merge_item *i)
{
	int fd = merge_dir__open(j->set->dir, i->file, &i->stamp, NULL);
	int err = fd < 0 ? fd : unlinkat(j->set->dir, i->file, 0) ? -errno : 0;

	if (fd >= 0)
		close(fd);
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

		if (item->file && (item->state == ITEM_COPIED || item->state == ITEM_KNOWN))
			delete_input(j, item);
	}
}

/* What is there holds everything already: it only has to be safe on disk. */
static int keep_old(struct job *j)
{
	if (fsync(j->place.old))
		return write_failed(j, -errno);
	log_info("%s: has all of it already", j->place.path);
	return 0;
}

static int check(struct job *j, unsigned threads)
{
	struct merge_check c = {
		.set = j->set,
		.place = &j->place,
		.record = &j->record,
		.progress = &j->progress,
		.quick = j->quick,
		.threads = threads,
	};
	int err = merge_check__run(&c);

	if (!err)
		log_debug("%s: read back: it is what was written; %u of %u nodes were compared as "
			  "a whole",
			  j->place.path, c.compared, j->set->nitems);
	return err;
}

static int publish(struct job *j, unsigned threads)
{
	int err = finish_tree(j);

	if (!err && j->check)
		err = check(j, threads);
	if (err)
		return err;
	if (!j->check)
		log_debug("%s: not read back: the inputs stay, and it replaces nothing",
			  j->place.path);
	err = merge_place__commit(&j->place);
	if (err == -ESTALE || err == -EEXIST) {
		log_error("%s: was changed by another program meanwhile: given up; nothing was "
			  "deleted",
			  j->place.path);
		return err;
	}
	return err ? write_failed(j, err) : 0;
}

static int merge(struct job *j)
{
	unsigned threads = merge_readers__number(j->o->threads, j->set->nitems);
	int err = copy_all(j, threads);

	if (err)
		return err;
	if (!j->last)
		return 0; /* every file has been named */
	err = merge_origin__check(j->set);
	if (err)
		return err;
	if (j->old && !j->copied && !j->set->refused)
		err = keep_old(j);
	else
		err = publish(j, threads);
	progress__clear(&j->progress);
	if (err)
		return err;
	j->st->outputs++;
	j->st->nodes += j->copied;
	if (j->copied)
		log_info("%s: %u node-step file%s merged%s", j->place.path, j->copied,
			 j->copied == 1 ? "" : "s",
			 j->set->refused ? "; what is named above is not in it" : "");
	if (!j->o->keep)
		delete_inputs(j);
	return 0;
}

/* Two files for one place are compared. */
static bool any_twice(const struct merge_set *s)
{
	for (unsigned i = 1; i < s->nitems; i++)
		if (same_place(&s->items[i - 1], &s->items[i]))
			return true;
	return false;
}

int merge_job__run(const struct merge_opts *o, struct merge_set *s, const char *output, bool quick,
		   struct merge_report *st)
{
	struct job j = {.o = o, .set = s, .st = st};
	int err = merge_place__begin(&j.place, output);

	if (err)
		return err;
	err = merge_facts__new(&j.facts);
	if (!err)
		err = open_old(&j);
	if (!err)
		err = choose_job(&j);
	j.check = j.old || !o->keep;
	j.quick = quick && !j.old && !any_twice(s);
	progress__begin(&j.progress, "merging", (j.check ? 2 : 1) * (uint64_t)s->nitems);
	if (!err)
		err = merge(&j);
	progress__clear(&j.progress);
	merge_readers__free(j.readers); /* they share the place's lock */
	merge_tree__close(j.tree);
	h5record__free(&j.record);
	merge_facts__free(j.facts);
	reader__free(j.old);
	merge_place__end(&j.place);
	return err;
}
