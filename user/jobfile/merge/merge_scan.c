/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scans the nodes of a merge in workers (pool/pool.h), and scans their copies after the copying:
 * the digests must be the same. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/read_note.h"
#include "base/str.h"
#include "hdf5/h5util.h"
#include "hdf5/names.h"
#include "identity/stepname.h"
#include "jobfile/merge/merge_internal.h"
#include "pool/pool.h"

/* ---- what a worker found of a node, on its way through a message to the process that writes */

static void result_clear(struct merge_result *r)
{
	for (unsigned i = 0; i < r->ntotals; i++)
		free(r->totals[i].cols);
	free(r->totals);
	free(r->tasks);
	*r = (struct merge_result){.trouble = "", .nodelist = ""};
}

static void put_total(struct message *m, const struct nodescan_total *t)
{
	message__put(m, &t->ncols, sizeof(t->ncols));
	message__put(m, &t->nrows, sizeof(t->nrows));
	message__put_text(m, t->name);
	for (unsigned c = 0; c < t->ncols; c++) {
		const unsigned kind[2] = {t->cols[c].type, t->cols[c].array};

		message__put(m, kind, sizeof(kind));
		message__put_text(m, t->cols[c].name);
	}
	message__put(m, t->rows, (size_t)t->ncols * t->nrows * sizeof(*t->rows));
}

static bool has_columns(const struct nodescan_total *t)
{
	return !t->none && t->ncols;
}

static void put_totals(struct message *m, const struct merge_result *r)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->ntotals; i++)
		n += has_columns(&r->totals[i]);
	message__put(m, &n, sizeof(n));
	for (unsigned i = 0; i < r->ntotals; i++)
		if (has_columns(&r->totals[i]))
			put_total(m, &r->totals[i]);
}

/* The way of a result through a message. The workers are ours, but what they read may have
 * overwritten their memory: nothing is taken that is not there. 0, -EBADMSG or -ENOMEM; in every
 * case the result is to be cleared. */
static void result_put(struct message *m, const struct merge_result *r)
{
	message__put(m, &r->err, sizeof(r->err));
	message__put(m, &r->stamp, sizeof(r->stamp));
	message__put(m, &r->info, sizeof(r->info));
	message__put_text(m, r->trouble);
	message__put_text(m, r->nodelist);
	message__put(m, &r->ntasks, sizeof(r->ntasks));
	for (unsigned i = 0; i < r->ntasks; i++)
		message__put_text(m, r->tasks[i]);
	put_totals(m, r);
}

/* The number of things that follow, each of which takes some of the message. */
static int take_count(struct message *m, unsigned *n)
{
	const unsigned *p = message__take(m, sizeof(*p));

	*n = p ? *p : 0;
	return p && *p <= m->len ? 0 : -EBADMSG;
}

static int take_tasks(struct message *m, struct merge_result *r)
{
	unsigned n;
	int err = take_count(m, &n);

	if (err)
		return err;
	r->tasks = calloc(n + 1, sizeof(*r->tasks));
	if (!r->tasks)
		return -ENOMEM;
	for (; r->ntasks < n; r->ntasks++)
		r->tasks[r->ntasks] = (char *)message__take_text(m);
	return 0;
}

/* Whether column i is as h5__row_type relies on. */
static bool column_ok(const struct nodescan_total *t, unsigned i, unsigned array_end)
{
	const struct column *c = &t->cols[i];

	if (c->type > COL_I64)
		return false;
	return !c->array || (i >= array_end && c->array <= t->ncols - i && *c->name);
}

static int take_columns(struct message *m, struct nodescan_total *t)
{
	unsigned array_end = 0;

	for (unsigned i = 0; i < t->ncols; i++) {
		const unsigned *kind = message__take(m, 2 * sizeof(*kind));

		if (!kind)
			return -EBADMSG;
		t->cols[i] = (struct column){.type = kind[0], .array = kind[1]};
		t->cols[i].name = message__take_text(m);
		if (!column_ok(t, i, array_end))
			return -EBADMSG;
		if (t->cols[i].array)
			array_end = i + t->cols[i].array;
	}
	return 0;
}

static int take_total(struct message *m, struct nodescan_total *t)
{
	int err = take_count(m, &t->ncols);

	if (!err)
		err = take_count(m, &t->nrows);
	if (err)
		return err;
	t->name = (char *)message__take_text(m);
	t->cols = calloc(t->ncols + 1, sizeof(*t->cols));
	if (!t->cols)
		return -ENOMEM;
	err = take_columns(m, t);
	if (!err)
		t->rows = (union cell *)message__take(m, (size_t)t->ncols * t->nrows *
								 sizeof(*t->rows));
	return err;
}

static int take_totals(struct message *m, struct merge_result *r)
{
	unsigned n;
	int err = take_count(m, &n);

	r->totals = err ? NULL : calloc(n + 1, sizeof(*r->totals));
	if (!err && !r->totals)
		err = -ENOMEM;
	while (!err && r->ntotals < n)
		err = take_total(m, &r->totals[r->ntotals++]);
	return err;
}

static int result_take(struct merge_result *r, struct message *m)
{
	const int *result = message__take(m, sizeof(*result));
	const struct merge_stamp *stamp = message__take(m, sizeof(*stamp));
	const struct node_info *info = message__take(m, sizeof(*info));
	int err;

	if (!result || !stamp || !info)
		return -EBADMSG;
	r->err = *result;
	r->stamp = *stamp;
	r->info = *info;
	r->trouble = message__take_text(m);
	r->nodelist = message__take_text(m);
	err = take_tasks(m, r);
	if (!err)
		err = take_totals(m, r);
	return err ? err : m->bad ? -EBADMSG : 0;
}

#define PROCESSES_MAX	  64
#define PROCESSES_DEFAULT 8

/* A node takes the time of its rows, which may be many in few bytes. */
static const struct pool_limits limits = {UINT64_C(1) << 30, 60};

struct merge_scan {
	const struct merge_set *set;
	int fd; /* of the job file, -1 */
	const char *path;
	bool copies;
	struct pool *pool;
	struct merge_result result;
	/* A worker has these: */
	struct nodescanner *scanner;
	hid_t file; /* the job file */
	uint64_t file_size;
	char trouble[512];
};

unsigned merge_scan__processes(unsigned wanted, unsigned nitems)
{
	unsigned most = PROCESSES_DEFAULT;
	cpu_set_t set;

	if (wanted)
		return wanted < PROCESSES_MAX ? wanted : PROCESSES_MAX;
	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	if ((unsigned)CPU_COUNT(&set) < most)
		most = CPU_COUNT(&set);
	return nitems < most ? nitems : most;
}

static int fail(struct merge_scan *s, int err, const char *trouble)
{
	snprintf(s->trouble, sizeof(s->trouble), "%s", trouble);
	return err;
}

static const char *open_trouble(int err)
{
	switch (err) {
	case -ELOOP:
		return "a symbolic link, which is not followed";
	case -EBADMSG:
		return "no regular file";
	case -ENOEXEC:
		return "not HDF5, damaged, or not written to its end";
	case -EBUSY:
		return "its step is still running: Slurm has it open";
	default:
		return strerror(-err);
	}
}

static void add_tasks(struct merge_result *r, const struct nodescan *n)
{
	for (unsigned i = 0; i < n->nseries; i++) {
		if (strcmp(n->series[i].name, "Tasks") || !n->series[i].grouped)
			continue;
		r->tasks = n->series[i].tables.v;
		r->ntasks = n->series[i].tables.n;
	}
}

static int scan_group(struct merge_scan *s, hid_t group, uint64_t file_size, bool decode,
		      struct merge_result *r)
{
	struct nodescan *n;
	int err = nodescan__read(s->scanner, group, file_size, decode, &n);

	if (!err && !s->copies && !n->info.totals)
		err = nodescan__totals(s->scanner, group, &r->totals, &r->ntotals);
	if (err == -EBADMSG) {
		snprintf(s->trouble, sizeof(s->trouble), "%s%s%s", n->object,
			 *n->object ? ": " : "", n->trouble);
	} else if (err) {
		fail(s, err, strerror(-err));
	} else {
		r->info = n->info;
		r->nodelist = n->nodelist;
		add_tasks(r, n);
	}
	return err;
}

/* Links of any kind and attributes of the root count: with the file they would be gone. */
static bool holds_more(hid_t root)
{
	H5G_info_t info;

	return H5Gget_info(root, &info) < 0 || info.nlinks > 1 || H5Aget_num_attrs(root);
}

/* The file must hold its node and nothing else. */
static int scan_file(struct merge_scan *s, const struct merge_item *item, hid_t file,
		     struct merge_result *r)
{
	hid_t root = H5Gopen2(file, "/", H5P_DEFAULT), group = H5I_INVALID_HID;
	const char *node = item->node;
	struct string_list groups = {0};
	int err = root < 0 ? -EBADMSG : names__children(root, H5O_TYPE_UNKNOWN, &groups);

	if (err) {
		fail(s, err, "damaged");
	} else if (groups.n && str__starts(groups.v[0], "Node_") &&
		   !strcmp(groups.v[0] + 5, node)) {
		err = fail(s, -EBADMSG, reader__strerror(-EPROTONOSUPPORT));
	} else if (names__has(&groups, node) && holds_more(root)) {
		err = -EBADMSG;
		snprintf(s->trouble, sizeof(s->trouble),
			 "holds more than the node %s, and a job file has no place for that", node);
	} else if (groups.n != 1 || strcmp(groups.v[0], node)) {
		err = -EBADMSG;
		snprintf(s->trouble, sizeof(s->trouble), "%s%s, not the node %s of its name",
			 groups.n ? "holds " : "is empty", groups.n ? groups.v[0] : "", node);
	} else {
		group = H5Gopen2(root, node, H5P_DEFAULT);
		err = group < 0 ? fail(s, -EBADMSG, "damaged")
				: scan_group(s, group, r->stamp.size, true, r);
	}
	if (group >= 0)
		H5Gclose(group);
	if (root >= 0)
		H5Gclose(root);
	string_list__free(&groups);
	return err;
}

static int scan_input(struct merge_scan *s, const struct merge_item *item, struct merge_result *r)
{
	int fd = merge_file__open(s->set->dir, item->file, NULL, &r->stamp), err;
	char path[1024];
	hid_t file;

	if (fd < 0)
		return fail(s, fd, open_trouble(fd));
	snprintf(path, sizeof(path), "%s/%s", s->set->where, item->file);
	read_note__file_of(path, r->stamp.bytes);
	file = merge_file__open_h5(fd);
	if (file < 0)
		err = fail(s, -EBADMSG, "not HDF5, damaged, or not written to its end");
	else
		err = scan_file(s, item, file, r);
	if (file >= 0)
		H5Fclose(file);
	close(fd);
	return err;
}

/* A node in the job file. */
static int scan_merged(struct merge_scan *s, const struct merge_item *item, struct merge_result *r)
{
	hid_t group;
	char *path;
	int err;

	if (asprintf(&path, "/Steps/%s/Nodes/%s", item->step, item->node) < 0)
		return fail(s, -ENOMEM, "not enough memory");
	read_note__file_of(s->path, s->file_size);
	group = H5Gopen2(s->file, path, H5P_DEFAULT);
	free(path);
	if (group < 0)
		return fail(s, -EBADMSG, "damaged");
	/* What is in the job file cannot be refused any more, and a copy has the same bytes. */
	err = scan_group(s, group, s->file_size, false, r);
	H5Gclose(group);
	return err;
}

/* Prepares a worker before its first item. */
static int prepare_scan(struct merge_scan *s)
{
	struct stat st;

	h5__init();
	h5__keep_memory();
	if (s->fd >= 0) {
		read_note__file(s->path);
		s->file = merge_file__open_h5(s->fd);
		if (s->file < 0 || fstat(s->fd, &st))
			return -EBADMSG;
		s->file_size = st.st_size;
	}
	return nodescanner__new(&s->scanner);
}

static int scan_item(void *arg, unsigned i, struct message *m)
{
	struct merge_scan *s = arg;
	const struct merge_item *item = &s->set->items[i];
	struct merge_result r = {.trouble = s->trouble, .nodelist = ""};
	int err = s->scanner ? 0 : prepare_scan(s);

	if (err)
		return err;
	*s->trouble = 0;
	if (s->copies && item->state != ITEM_COPIED)
		r.err = -ENOENT;
	else if (s->copies || !item->file)
		r.err = scan_merged(s, item, &r);
	else
		r.err = scan_input(s, item, &r);
	result_put(m, &r);
	return 0;
}

int merge_scan__here(const struct merge_set *set, unsigned item, struct message *result)
{
	struct merge_scan s = {.set = set, .fd = -1, .file = H5I_INVALID_HID};
	int err = scan_item(&s, item, result);

	nodescanner__free(s.scanner);
	return err;
}

int merge_scan__start(struct merge_scan **out, const struct merge_set *set, int fd,
		      const char *path, bool copies, unsigned nworkers)
{
	struct merge_scan *s = calloc(1, sizeof(*s));
	struct pool_work work = {.work = scan_item, .arg = s, .nitems = set->nitems};
	int err;

	if (!s)
		return -ENOMEM;
	s->set = set;
	s->fd = fd;
	s->path = path;
	s->copies = copies;
	s->file = H5I_INVALID_HID;
	err = pool__start(&s->pool, &work, nworkers, &limits);
	if (err)
		free(s);
	else
		*out = s;
	return err;
}

int merge_scan__next(struct merge_scan *s, const struct merge_result **result)
{
	struct message *m;
	int err = pool__next(s->pool, &m);

	result_clear(&s->result);
	*result = &s->result;
	if (!err)
		err = result_take(&s->result, m);
	if (err == -EINTR)
		pool__follow_signal();
	if (err == -EBADMSG || err == -ETIME || err == -EOWNERDEAD) {
		result_clear(&s->result);
		s->result.err = -EBADMSG;
		s->result.trouble = "damaged: reading it crashed the HDF5 library, or took too "
				    "long";
		return 0;
	}
	return err;
}

void merge_scan__free(struct merge_scan *s)
{
	if (!s)
		return;
	pool__free(s->pool);
	result_clear(&s->result);
	free(s);
}

static bool is_copy(const struct merge_item *i, const struct merge_result *r)
{
	return !r->err && r->info.body == i->body && (!i->totals || r->info.totals == i->totals);
}

int merge_scan__compare(const struct merge_set *set, const struct merge_output *output,
			struct progress *p, unsigned nworkers)
{
	const struct merge_item *differs = NULL;
	struct merge_scan *scan = NULL;
	const struct merge_result *r;
	int err = merge_scan__start(&scan, set, output->fd, output->path, true, nworkers);

	for (unsigned i = 0; !err && !differs && i < set->nitems; i++) {
		const struct merge_item *item = &set->items[i];

		err = merge_scan__next(scan, &r);
		if (!err && item->state == ITEM_COPIED && !is_copy(item, r))
			differs = item;
		progress__at(p, set->nitems + i + 1);
	}
	merge_scan__free(scan);
	if (err || differs)
		progress__clear(p);
	if (err)
		log_error("%s: the copy cannot be read: %s; given up; nothing was deleted",
			  output->path, strerror(-err));
	else if (differs)
		log_error("%s: the copy differs from its inputs: given up; nothing was "
			  "deleted; step %s, node %s is not what it was",
			  output->path, stepname__human(differs->step), differs->node);
	return err || differs ? -EIO : 0;
}
