/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The job file while it is made: its groups, attributes, and the copies of nodes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "hdf5/columns_table.h"
#include "hdf5/h5file.h"
#include "hdf5/h5util.h"
#include "jobfile/merge/merge_internal.h"

/* Metadata and chunks are laid out in blocks of these sizes. Of the last ones a part stays empty,
 * which would be most of the file of a job of few nodes. */
#define META_BLOCK  (8u << 10)
#define DATA_BLOCK  (32u << 10)
#define SMALL_BLOCK (2u << 10)
#define FEW_NODES   16
#define COMPACT_MAX 32768 /* bytes of totals that go into the object's header */
#define FEW_CHUNKS  8

struct merge_tree {
	hid_t file, steps;
	char *step_name; /* of the step that is open */
	hid_t step, nodes, tasks;
	hid_t compact; /* how small totals are stored */
	hid_t one;     /* the space of a single value */
	/* The table Columns of an earlier node: that of the next node is the same, most often. */
	hid_t columns;
	uint64_t columns_digest;
	char in_the_way[300];
	/* The row of the totals before: that of the next node is the same, most often. */
	hid_t row;
	struct column *cols;
	unsigned ncols;
};

static hid_t file_access(unsigned nodes)
{
	hid_t fapl = h5file__write_access();

	H5Pset_meta_block_size(fapl, nodes > FEW_NODES ? META_BLOCK : SMALL_BLOCK);
	H5Pset_small_data_block_size(fapl, nodes > FEW_NODES ? DATA_BLOCK : SMALL_BLOCK);
	h5__small_cache(fapl);
	return fapl;
}

/* Slurm's tables have a chunk for ten rows, and their index is best in one large node; those of
 * jobprof have few, and a small one saves most of it. */
static hid_t create_file(const char *path, uint64_t chunks, unsigned nodes)
{
	hid_t fapl = file_access(nodes), fcpl = H5Pcreate(H5P_FILE_CREATE), file;

	h5__share_types(fcpl);
	h5__plain_attrs(fcpl);
	H5Pset_istore_k(fcpl, chunks > FEW_CHUNKS ? 32 : chunks > 2 ? FEW_CHUNKS / 2 : 2);
	file = H5Fcreate(path, H5F_ACC_TRUNC, fcpl, fapl);
	H5Pclose(fcpl);
	H5Pclose(fapl);
	return file;
}

static hid_t open_file(const char *path, unsigned nodes)
{
	hid_t fapl = file_access(nodes), file = H5Fopen(path, H5F_ACC_RDWR, fapl);

	H5Pclose(fapl);
	return file;
}

static int new_tree(struct merge_tree **out, int fd, bool extends, uint64_t chunks, unsigned nodes)
{
	struct merge_tree *t = calloc(1, sizeof(*t));
	const hsize_t one = 1;
	char path[64];
	int err;

	if (!t)
		return -ENOMEM;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	t->step = t->nodes = t->tasks = t->row = t->steps = t->columns = H5I_INVALID_HID;
	t->compact = H5Pcreate(H5P_DATASET_CREATE);
	H5Pset_obj_track_times(t->compact, false);
	H5Pset_layout(t->compact, H5D_COMPACT);
	t->one = H5Screate_simple(1, &one, NULL);
	t->file = extends ? open_file(path, nodes) : create_file(path, chunks, nodes);
	if (t->file >= 0)
		t->steps = extends ? H5Gopen2(t->file, "Steps", H5P_DEFAULT)
				   : h5__create_list(t->file, "Steps");
	if (t->steps >= 0) {
		*out = t;
		return 0;
	}
	err = h5__error();
	merge_tree__close(t);
	return err;
}

int merge_tree__create(struct merge_tree **out, int fd, uint64_t chunks, unsigned nodes)
{
	return new_tree(out, fd, false, chunks, nodes);
}

int merge_tree__extend(struct merge_tree **out, int fd, unsigned nodes)
{
	return new_tree(out, fd, true, 0, nodes);
}

static void close_step(struct merge_tree *t)
{
	hid_t *const open[] = {&t->nodes, &t->tasks, &t->step};

	for (unsigned i = 0; i < 3; i++) {
		if (*open[i] >= 0)
			H5Gclose(*open[i]);
		*open[i] = H5I_INVALID_HID;
	}
	free(t->step_name);
	t->step_name = NULL;
}

/* Remembers what a user has put where something else belongs. */
static int taken(struct merge_tree *t, const char *step, const char *name)
{
	snprintf(t->in_the_way, sizeof(t->in_the_way), "/Steps/%s%s", step, name);
	return h5__of_system() ? h5__error() : -EEXIST;
}

/* A group that is there or, if `create` is not NULL, is made. */
static int open_or_create(struct merge_tree *t, hid_t at, const char *name, const char *shown,
			  hid_t (*create)(hid_t at, const char *name), hid_t *out)
{
	if (H5Lexists(at, name, H5P_DEFAULT) > 0) {
		*out = H5Gopen2(at, name, H5P_DEFAULT);
		return *out < 0 ? taken(t, t->step_name, shown) : 0;
	}
	*out = create ? create(at, name) : H5I_INVALID_HID;
	return create && *out < 0 ? h5__error() : 0;
}

/* Steps come one after the other, so that one is open at a time. */
static int open_step(struct merge_tree *t, const char *name)
{
	int err;

	if (t->step_name && !strcmp(t->step_name, name))
		return 0;
	close_step(t);
	t->step_name = strdup(name);
	if (!t->step_name)
		return -ENOMEM;
	err = open_or_create(t, t->steps, name, "", h5__create_group, &t->step);
	if (!err)
		err = open_or_create(t, t->step, "Nodes", "/Nodes", h5__create_list, &t->nodes);
	if (!err)
		err = open_or_create(t, t->step, "Tasks", "/Tasks", NULL, &t->tasks);
	return err;
}

static int put_attr(const struct merge_tree *t, hid_t at, const char *name, hid_t type,
		    const void *value)
{
	hid_t attr = H5Acreate2(at, name, type, t->one, H5P_DEFAULT, H5P_DEFAULT);
	int err = attr < 0 || H5Awrite(attr, type, value) < 0 ? h5__error() : 0;

	if (attr >= 0)
		H5Aclose(attr);
	return err;
}

/* Opens the group that has the attributes of the job or of a step. */
static int attr_place(struct merge_tree *t, const char *step, hid_t *at)
{
	int err = step ? open_step(t, step) : 0;

	*at = step ? t->step : t->file;
	return err;
}

int merge_tree__number(struct merge_tree *t, const char *step, const char *name, int64_t v,
		       bool wide)
{
	int32_t narrow = (int32_t)v;
	hid_t at;
	int err = attr_place(t, step, &at);

	if (err)
		return err;
	return wide ? put_attr(t, at, name, H5T_STD_I64LE, &v)
		    : put_attr(t, at, name, H5T_STD_I32LE, &narrow);
}

int merge_tree__forget(struct merge_tree *t, const char *step, const char *name)
{
	hid_t at;
	int err = attr_place(t, step, &at);

	return !err && H5Aexists(at, name) > 0 && H5Adelete(at, name) < 0 ? h5__error() : err;
}

int merge_tree__text(struct merge_tree *t, const char *step, const char *name, const char *text)
{
	hid_t at;
	int err = attr_place(t, step, &at);

	return err || !*text ? err : h5__put_text(at, name, text);
}

static bool same_columns(const struct merge_tree *t, const struct nodescan_total *n)
{
	bool same = t->row >= 0 && t->ncols == n->ncols;

	for (unsigned i = 0; same && i < n->ncols; i++)
		same = t->cols[i].type == n->cols[i].type && t->cols[i].array == n->cols[i].array &&
		       !strcmp(t->cols[i].name, n->cols[i].name);
	return same;
}

static void forget_row(struct merge_tree *t)
{
	for (unsigned i = 0; i < t->ncols; i++)
		free((char *)t->cols[i].name);
	free(t->cols);
	if (t->row >= 0)
		H5Tclose(t->row);
	t->row = H5I_INVALID_HID;
	t->cols = NULL;
	t->ncols = 0;
}

static int learn_row(struct merge_tree *t, const struct nodescan_total *n)
{
	forget_row(t);
	t->cols = calloc(n->ncols, sizeof(*t->cols));
	if (!t->cols)
		return -ENOMEM;
	for (unsigned i = 0; i < n->ncols; i++) {
		t->cols[i] = n->cols[i];
		t->cols[i].name = strdup(n->cols[i].name);
		if (!t->cols[i].name)
			return -ENOMEM;
		t->ncols++;
	}
	t->row = h5__row_type(t->cols, t->ncols, true);
	return t->row < 0 ? -EIO : 0;
}

static int write_total(struct merge_tree *t, hid_t group, const struct nodescan_total *n)
{
	const hsize_t rows = n->nrows;
	const bool small = n->nrows && rows * n->ncols * sizeof(*n->rows) <= COMPACT_MAX;
	hid_t space, dset;
	int err = same_columns(t, n) ? 0 : learn_row(t, n);

	if (err)
		return err;
	space = rows == 1 ? t->one : H5Screate_simple(1, &rows, NULL);
	dset = H5Dcreate2(group, n->name, t->row, space, H5P_DEFAULT,
			  small ? t->compact : H5P_DEFAULT, H5P_DEFAULT);
	/* A row of more members than fit into an object's header: extraction computes them. */
	if (dset < 0 && !h5__of_system()) {
		log_debug("step %s: no totals of %s: %u columns are too many", t->step_name,
			  n->name, n->ncols);
	} else if (dset < 0 || (n->nrows && H5Dwrite(dset, t->row, H5S_ALL, H5S_ALL, H5P_DEFAULT,
						     n->rows) < 0)) {
		err = h5__error();
	}
	if (dset >= 0)
		H5Dclose(dset);
	if (space != t->one)
		H5Sclose(space);
	return err;
}

/* Where the node has none of its own. */
static int write_totals(struct merge_tree *t, hid_t node, const struct merge_result *r)
{
	hid_t group;
	int err = 0;

	if (!r->ntotals)
		return 0;
	group = h5__create_group(node, "Totals");
	if (group < 0)
		return h5__error();
	for (unsigned i = 0; !err && i < r->ntotals; i++)
		err = write_total(t, group, &r->totals[i]);
	H5Gclose(group);
	return err;
}

/* Tasks/<gtid>: on which node the task was, and the way to its rows. */
static int write_task(struct merge_tree *t, const char *node, const char *task)
{
	hid_t g = h5__create_group(t->tasks, task);
	char *path;
	int err;

	if (g < 0 && H5Lexists(t->tasks, task, H5P_DEFAULT) > 0) {
		log_debug("step %s: task %s is also on %s; Tasks/%s names the first node",
			  t->step_name, task, node, task);
		return 0;
	}
	if (g < 0)
		return h5__error();
	if (asprintf(&path, "/Steps/%s/Nodes/%s/Tasks/%s", t->step_name, node, task) < 0) {
		H5Gclose(g);
		return -ENOMEM;
	}
	err = h5__put_text(g, "Node Name", node);
	if (!err && H5Lcreate_soft(path, g, "Table", H5P_DEFAULT, H5P_DEFAULT) < 0)
		err = h5__error();
	H5Gclose(g);
	free(path);
	return err;
}

static int write_tasks(struct merge_tree *t, const char *node, const struct merge_result *r)
{
	int err = 0;

	if (r->ntasks && t->tasks < 0)
		t->tasks = h5__create_list(t->step, "Tasks");
	if (r->ntasks && t->tasks < 0)
		return h5__error();
	for (unsigned i = 0; !err && i < r->ntasks; i++)
		err = write_task(t, node, r->tasks[i]);
	return err;
}

int merge_tree__complete(struct merge_tree *t, const struct merge_item *i,
			 const struct merge_result *r)
{
	hid_t node = H5I_INVALID_HID;
	int err = open_step(t, i->step);

	if (err)
		return err;
	node = H5Gopen2(t->nodes, i->node, H5P_DEFAULT);
	err = node < 0 ? h5__error() : write_totals(t, node, r);
	if (!err)
		err = write_tasks(t, i->node, r);
	if (node >= 0)
		H5Gclose(node);
	return err == -EIO && !h5__of_system() ? -EBADMSG : err;
}

static void forget_columns(struct merge_tree *t)
{
	if (t->columns >= 0)
		H5Oclose(t->columns);
	t->columns = H5I_INVALID_HID;
}

/* What was copied with a node gives way to the same table of an earlier one. */
static int share_columns(struct merge_tree *t, hid_t node, uint64_t digest)
{
	herr_t done = 0;

	if (digest && t->columns >= 0 && digest == t->columns_digest) {
		done = H5Ldelete(node, COLUMNS_TABLE, H5P_DEFAULT);
		if (done >= 0)
			done = H5Olink(t->columns, node, COLUMNS_TABLE, H5P_DEFAULT, H5P_DEFAULT);
	} else if (digest) {
		forget_columns(t);
		t->columns = H5Oopen(node, COLUMNS_TABLE, H5P_DEFAULT);
		t->columns_digest = digest;
	}
	return done < 0 ? h5__error() : 0;
}

int merge_tree__copy(struct merge_tree *t, hid_t from, const char *path, const struct merge_item *i,
		     const struct merge_result *r)
{
	hid_t node = H5I_INVALID_HID;
	char shown[200];
	int err = open_step(t, i->step);

	if (err)
		return err;
	if (H5Lexists(t->nodes, i->node, H5P_DEFAULT) > 0) {
		snprintf(shown, sizeof(shown), "/Nodes/%s", i->node);
		return taken(t, i->step, shown);
	}
	if (H5Ocopy(from, path, t->nodes, i->node, H5P_DEFAULT, H5P_DEFAULT) < 0 ||
	    (node = H5Gopen2(t->nodes, i->node, H5P_DEFAULT)) < 0)
		err = h5__error();
	else
		err = share_columns(t, node, r->info.columns);
	if (node >= 0)
		H5Gclose(node);
	if (err)
		return err == -EIO && !h5__of_system() ? -EBADMSG : err;
	return merge_tree__complete(t, i, r);
}

const char *merge_tree__in_the_way(const struct merge_tree *t)
{
	return t->in_the_way;
}

int merge_tree__close(struct merge_tree *t)
{
	int err = 0;

	if (!t)
		return 0;
	close_step(t);
	forget_row(t);
	forget_columns(t);
	H5Pclose(t->compact);
	H5Sclose(t->one);
	if (t->steps >= 0)
		H5Gclose(t->steps);
	if (t->file >= 0 && H5Fclose(t->file) < 0)
		err = h5__error();
	free(t);
	return err;
}
