/* SPDX-License-Identifier: GPL-2.0-only */
#include "jobfile/merge_inspect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/str.h"
#include "hdf5/digest.h"
#include "hdf5/h5util.h"
#include "hdf5/names.h"
#include "pool/message.h"

#define KINDS	      64 /* of nodes that are remembered */
#define CPU_S	      60 /* for a node, and a second more for each ... */
#define CPU_MIB_PER_S 4	 /* MiB of its file */

struct merge_looker {
	const struct merge_set *set;
	enum merge_look look;
	struct nodescanner *scanner;
	hid_t old; /* the job file, or invalid */
	uint64_t old_size;
	uint64_t kinds[KINDS];
	unsigned nkinds;
	/* Of the item: */
	int fd;
	hid_t file;
	int err;
	char trouble[512];
	struct merge_stamp stamp;
	const struct nodescan *scan; /* NULL: it was not read */
	struct nodescan_total *totals;
	unsigned ntotals;
};

int merge_looker__new(struct merge_looker **out, const struct merge_set *set, int old_fd,
		      enum merge_look look)
{
	struct merge_looker *l = calloc(1, sizeof(*l));
	struct stat st;
	int err;

	if (!l)
		return -ENOMEM;
	l->set = set;
	l->look = look;
	l->old = l->file = H5I_INVALID_HID;
	l->fd = -1;
	err = nodescanner__new(&l->scanner);
	if (!err && old_fd >= 0) {
		l->old = merge_dir__open_h5(old_fd);
		err = l->old < 0 || fstat(old_fd, &st) ? -EBADMSG : 0;
		l->old_size = err ? 0 : st.st_size;
	}
	if (err) {
		merge_looker__free(l);
		return err;
	}
	*out = l;
	return 0;
}

static void close_file(struct merge_looker *l)
{
	if (l->file >= 0)
		H5Fclose(l->file);
	if (l->fd >= 0)
		close(l->fd);
	l->file = H5I_INVALID_HID;
	l->fd = -1;
}

void merge_looker__free(struct merge_looker *l)
{
	if (!l)
		return;
	close_file(l);
	if (l->old >= 0)
		H5Fclose(l->old);
	nodescanner__free(l->scanner);
	free(l);
}

hid_t merge_looker__file(const struct merge_looker *l)
{
	return l->file;
}

/* A damaged file may lead the library into a loop; SIGPROF ends it, and the process. */
void merge_looker__limit_cpu(uint64_t file_size)
{
	struct itimerval t = {0};

	t.it_value.tv_sec = CPU_S + (time_t)(file_size / (CPU_MIB_PER_S << 20));
	setitimer(ITIMER_PROF, &t, NULL);
}

static int fail(struct merge_looker *l, int err, const char *trouble)
{
	snprintf(l->trouble, sizeof(l->trouble), "%s", trouble);
	return err;
}

static const char *open_trouble(int err)
{
	switch (err) {
	case -ELOOP:
		return "a symbolic link, which is not followed";
	case -EBADMSG:
		return "no regular file";
	case -EBUSY:
		return "its step is still running: Slurm has it open";
	default:
		return strerror(-err);
	}
}

/* Whether it is the first of its step that is like that. */
static bool is_new(struct merge_looker *l, const struct merge_item *item, uint64_t kind)
{
	const unsigned n = l->nkinds < KINDS ? l->nkinds : KINDS;

	kind = digest__text(kind, item->step);
	for (unsigned i = 0; i < n; i++)
		if (l->kinds[i] == kind)
			return false;
	l->kinds[l->nkinds++ % KINDS] = kind;
	return true;
}

static int look_group(struct merge_looker *l, const struct merge_item *item, hid_t group,
		      uint64_t file_size)
{
	static const enum nodescan_depth depths[] = {
		[LOOK_QUICK] = NODESCAN_OUTSIDE,
		[LOOK_SAMPLE] = NODESCAN_OUTSIDE,
		[LOOK_TOTALS] = NODESCAN_ALL,
		[LOOK_DIGEST] = NODESCAN_AGAIN,
	};
	struct nodescan *n;
	int err;

	merge_looker__limit_cpu(file_size);
	err = nodescan__read(l->scanner, group, file_size, depths[l->look], &n);
	if (!err && l->look == LOOK_SAMPLE && is_new(l, item, n->facts.kind))
		err = nodescan__read(l->scanner, group, file_size, NODESCAN_COPY, &n);
	if (!err && l->look != LOOK_DIGEST && !n->facts.totals)
		err = nodescan__totals(l->scanner, group, &l->totals, &l->ntotals);
	if (err == -EBADMSG)
		snprintf(l->trouble, sizeof(l->trouble), "%s%s%s", n->object,
			 *n->object ? ": " : "", n->trouble);
	else if (err)
		fail(l, err, strerror(-err));
	l->scan = err ? NULL : n;
	return err;
}

/* The file must hold its node and nothing else. */
static int look_file(struct merge_looker *l, const struct merge_item *item, hid_t file)
{
	hid_t root = H5Gopen2(file, "/", H5P_DEFAULT), group = H5I_INVALID_HID;
	const char *node = item->node;
	struct names groups = {0};
	int err = root < 0 ? -EBADMSG : names__children(root, H5O_TYPE_UNKNOWN, &groups);

	if (err) {
		fail(l, err, "damaged");
	} else if (groups.n && str__starts(groups.v[0], "Node_") &&
		   !strcmp(groups.v[0] + 5, node)) {
		err = fail(l, -EBADMSG, reader__strerror(-EPROTONOSUPPORT));
	} else if (groups.n != 1 || strcmp(groups.v[0], node)) {
		err = -EBADMSG;
		snprintf(l->trouble, sizeof(l->trouble), "%s%s, not the node %s of its name",
			 groups.n ? "holds " : "is empty", groups.n ? groups.v[0] : "", node);
	} else {
		group = H5Gopen2(root, node, H5P_DEFAULT);
		err = group < 0 ? fail(l, -EBADMSG, "damaged")
				: look_group(l, item, group, l->stamp.size);
	}
	if (group >= 0)
		H5Gclose(group);
	if (root >= 0)
		H5Gclose(root);
	names__free(&groups);
	return err;
}

static int look_input(struct merge_looker *l, const struct merge_item *item)
{
	l->fd = merge_dir__open(l->set->dir, item->file, NULL, &l->stamp);
	if (l->fd < 0)
		return fail(l, l->fd, open_trouble(l->fd));
	l->file = merge_dir__open_h5(l->fd);
	if (l->file < 0)
		return fail(l, -EBADMSG, "not HDF5, damaged, or not written to its end");
	return look_file(l, item, l->file);
}

static int look_old(struct merge_looker *l, const struct merge_item *item)
{
	hid_t group;
	char *path;
	int err;

	if (asprintf(&path, "/Steps/%s/Nodes/%s", item->step, item->node) < 0)
		return fail(l, -ENOMEM, "not enough memory");
	group = H5Gopen2(l->old, path, H5P_DEFAULT);
	free(path);
	if (group < 0)
		return fail(l, -EBADMSG, "damaged");
	err = look_group(l, item, group, l->old_size);
	H5Gclose(group);
	return err;
}

static void put_tasks(struct message *w, const struct nodescan *n)
{
	const struct reader_series *tasks = NULL;
	unsigned count;

	for (unsigned i = 0; n && i < n->nseries; i++)
		if (!strcmp(n->series[i].name, "Tasks") && n->series[i].grouped)
			tasks = &n->series[i];
	count = tasks ? tasks->ntables : 0;
	message__put(w, &count, sizeof(count));
	for (unsigned i = 0; i < count; i++)
		message__put_text(w, tasks->tables[i]);
}

static void put_totals(struct message *w, const struct merge_looker *l)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->ntotals; i++)
		n += !l->totals[i].mixed && l->totals[i].ncols;
	message__put(w, &n, sizeof(n));
	for (unsigned i = 0; i < l->ntotals; i++) {
		const struct nodescan_total *t = &l->totals[i];

		if (t->mixed || !t->ncols)
			continue;
		message__put(w, &t->ncols, sizeof(t->ncols));
		message__put(w, &t->nrows, sizeof(t->nrows));
		message__put_text(w, t->name);
		for (unsigned c = 0; c < t->ncols; c++) {
			const unsigned kind[2] = {t->cols[c].type, t->cols[c].array};

			message__put(w, kind, sizeof(kind));
			message__put_text(w, t->cols[c].name);
		}
		message__put(w, t->rows, (size_t)t->ncols * t->nrows * sizeof(*t->rows));
	}
}

static void put_image(struct message *w, const struct merge_looker *l)
{
	const struct message *image = l->scan ? nodescan__image(l->scanner) : NULL;
	const unsigned n = image ? image->len : 0;

	message__put(w, &n, sizeof(n));
	if (image)
		message__put(w, image->p, n);
}

void merge_looker__look(struct merge_looker *l, const struct merge_item *item, struct message *w)
{
	static const struct nodescan_facts nothing;

	merge_looker__limit_cpu(0);
	close_file(l);
	l->scan = NULL;
	l->ntotals = 0;
	*l->trouble = 0;
	l->stamp = (struct merge_stamp){0};
	if (l->look == LOOK_DIGEST && !(item->state == ITEM_COPIED && item->whole))
		l->err = -ENOENT;
	else if (l->look == LOOK_DIGEST || !item->file)
		l->err = look_old(l, item);
	else
		l->err = look_input(l, item);
	message__put(w, &l->err, sizeof(l->err));
	message__put(w, &l->stamp, sizeof(l->stamp));
	message__put(w, l->scan ? &l->scan->facts : &nothing, sizeof(nothing));
	message__put_text(w, l->trouble);
	message__put_text(w, l->scan ? l->scan->nodelist : "");
	put_tasks(w, l->scan);
	put_totals(w, l);
	put_image(w, l);
}
