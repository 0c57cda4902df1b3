/* SPDX-License-Identifier: GPL-2.0-only */
/* The nodes of a merge are scanned in workers (pool/pool.h), and after the copying their copies,
 * whose digests must be the same. */
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

static void take_tasks(struct merge_result *r, const struct nodescan *n)
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
		take_tasks(r, n);
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
	merge_result__put(m, &r);
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

	merge_result__clear(&s->result);
	*result = &s->result;
	if (!err)
		err = merge_result__take(&s->result, m);
	if (err == -EINTR)
		pool__follow_signal();
	if (err == -EBADMSG || err == -ETIME || err == -EOWNERDEAD) {
		merge_result__clear(&s->result);
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
	merge_result__clear(&s->result);
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
