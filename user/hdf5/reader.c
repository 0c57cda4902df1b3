/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens a profile and lists its steps and nodes. */
#include "hdf5/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/foreign.h"
#include "base/read_note.h"
#include "base/room.h"
#include "base/str.h"
#include "hdf5/h5file.h"
#include "hdf5/h5util.h"
#include "hdf5/names.h"
#include "identity/stepname.h"

#define CACHE_BYTES (1u << 18) /* of metadata */
#define NODES_MAX   (1u << 20) /* of all steps together */

/* Takes the names over. */
static int add_step(struct reader *r, const char *name, struct string_list *nodes)
{
	struct reader_step *s;

	if (room__grow(&r->steps, r->nsteps, 1, sizeof(*r->steps)))
		return -ENOMEM;
	s = &r->steps[r->nsteps];
	*s = (struct reader_step){strdup(name), *nodes};
	if (!s->name)
		return -ENOMEM;
	*nodes = (struct string_list){0};
	r->nsteps++;
	r->nnodes += s->nodes.n;
	return r->nnodes > NODES_MAX ? -EMSGSIZE : 0;
}

/* A step of a merged file: a group that holds a group Nodes. Another group is none. */
static int read_step(struct reader *r, hid_t steps, const char *name)
{
	hid_t s = H5Gopen2(steps, name, H5P_DEFAULT), g = H5I_INVALID_HID;
	struct string_list groups = {0}, nodes = {0};
	int err;

	read_note__object("/Steps/%s", name);
	err = s < 0 ? -EBADMSG : names__children(s, H5O_TYPE_GROUP, &groups);

	if (!err && names__has(&groups, "Nodes")) {
		r->merged = true;
		g = H5Gopen2(s, "Nodes", H5P_DEFAULT);
		err = g < 0 ? -EBADMSG : names__children(g, H5O_TYPE_UNKNOWN, &nodes);
		if (!err)
			err = add_step(r, name, &nodes);
	}
	string_list__free(&nodes);
	string_list__free(&groups);
	if (g >= 0)
		H5Gclose(g);
	if (s >= 0)
		H5Gclose(s);
	return err;
}

static int by_step(const void *a, const void *b)
{
	const struct reader_step *x = a, *y = b;

	return stepname__cmp(x->name, y->name);
}

static int read_steps(struct reader *r, hid_t root)
{
	hid_t g = H5Gopen2(root, "Steps", H5P_DEFAULT);
	struct string_list steps = {0};
	int err = g < 0 ? -EBADMSG : names__children(g, H5O_TYPE_GROUP, &steps);

	for (unsigned i = 0; !err && i < steps.n; i++)
		err = read_step(r, g, steps.v[i]);
	if (r->nsteps)
		qsort(r->steps, r->nsteps, sizeof(*r->steps), by_step);
	string_list__free(&steps);
	if (g >= 0)
		H5Gclose(g);
	return err;
}

/* [.]<job>_<step>_<node>.h5, or job_<job>.h5. */
static int parse_name(struct reader *r, const char *path, char **step)
{
	const char *base = strrchr(path, '/');
	size_t job, n;

	base = base ? base + 1 : path;
	base += *base == '.';
	base += strncmp(base, "job_", 4) ? 0 : 4;
	job = strspn(base, "0123456789");
	n = base[job] == '_' ? strcspn(base + job + 1, "_") : 0;
	if (n && base[job + 1 + n] != '_')
		n = 0;
	r->job = strndup(base, job && (base[job] == '_' || base[job] == '.') ? job : 0);
	*step = strndup(n ? base + job + 1 : "", n);
	return r->job && *step ? 0 : -ENOMEM;
}

/* 0 or -ENOMEM. */
static int take_job(struct reader *r, hid_t from)
{
	int64_t job;
	char *text;

	if (!reader__i64(from, "Job Id", &job) || job <= 0 || job > INT32_MAX)
		return 0;
	if (asprintf(&text, "%d", (int)job) < 0)
		return -ENOMEM;
	free(r->job);
	r->job = text;
	return 0;
}

static void take_step(struct reader_step *s, hid_t node)
{
	char *text = reader__text(node, "Step");

	if (!text || !h5__name_ok(text)) {
		free(text);
		return;
	}
	free(s->name);
	s->name = text;
}

/* The attributes of a job file have precedence over its name, which users choose. Those of a
 * node-step file are used where its name tells nothing. */
static int take_ids(struct reader *r, hid_t root)
{
	struct reader_step *first = &r->steps[0];
	hid_t node;
	int err;

	if (r->merged)
		return take_job(r, root);
	node = H5Gopen2(root, first->nodes.v[0], H5P_DEFAULT);
	err = node < 0 || *r->job ? 0 : take_job(r, node);
	if (node >= 0 && !*first->name)
		take_step(first, node);
	if (node >= 0)
		H5Gclose(node);
	return err;
}

/* Node_<node> with "Time Series" in it, or Step_<step> with "Nodes". */
static bool is_old_layout(hid_t root, const struct string_list *groups)
{
	static const struct {
		const char *begins, *has;
	} marks[] = {{"Node_", "Time Series"}, {"Step_", "Nodes"}};
	bool is = false;

	for (unsigned i = 0; groups->n && !is && i < 2; i++) {
		hid_t g;

		if (!str__starts(groups->v[0], marks[i].begins))
			continue;
		g = H5Gopen2(root, groups->v[0], H5P_DEFAULT);
		is = g >= 0 && H5Lexists(g, marks[i].has, H5P_DEFAULT) > 0;
		if (g >= 0)
			H5Gclose(g);
	}
	return is;
}

/* A file that jobprof reduce has made for its results; a node's group has attributes. */
static bool has_results_alone(hid_t root, const struct string_list *groups)
{
	H5O_info_t info;

	return groups->n == 1 && !strcmp(groups->v[0], "analysis") &&
	       H5Oget_info_by_name(root, "analysis", &info, H5P_DEFAULT) >= 0 &&
	       info.num_attrs == 0;
}

static int read_tree(struct reader *r, const char *path)
{
	struct string_list groups = {0};
	char *step = NULL;
	hid_t root = H5Gopen2(r->file, "/", H5P_DEFAULT);
	int err;

	err = root < 0 ? -EBADMSG : parse_name(r, path, &step);
	if (!err)
		err = names__children(root, H5O_TYPE_GROUP, &groups);
	if (!err && is_old_layout(root, &groups))
		err = -EPROTONOSUPPORT;
	if (!err && has_results_alone(root, &groups))
		err = -ENOMSG;
	if (!err && names__has(&groups, "Steps"))
		err = read_steps(r, root);
	if (!err && !r->merged)
		err = add_step(r, step, &groups);
	if (!err && !r->nnodes)
		err = -EBADMSG;
	if (!err)
		err = take_ids(r, root);
	string_list__free(&groups);
	free(step);
	if (root >= 0)
		H5Gclose(root);
	return err;
}

/* What open(2) says is clearer than what the library makes of it. The descriptor, or what
 * reader__open fails with. */
static int open_regular(const char *path, struct stat *st)
{
	int fd = foreign__open(AT_FDCWD, path, 0), err = 0;

	if (fd < 0)
		return fd == -ENOEXEC ? -EBADMSG : fd;
	if (fstat(fd, st))
		err = -errno;
	else if (!S_ISREG(st->st_mode))
		err = S_ISDIR(st->st_mode) ? -EISDIR : -EBADMSG;
	if (err)
		close(fd);
	return err ? err : fd;
}

/* Tables are read one after the other and once: what is cached of them is of no use later, and
 * would grow to tens of megabytes. H5Pset_evict_on_close() would look through the whole cache each
 * time something is closed: thousands of steps took quadratic time. */
static void limit_cache(hid_t fapl)
{
	H5AC_cache_config_t c = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};

	if (H5Pget_mdc_config(fapl, &c) < 0)
		return;
	c.set_initial_size = true;
	c.initial_size = c.min_size = c.max_size = CACHE_BYTES;
	c.incr_mode = H5C_incr__off;
	c.decr_mode = H5C_decr__off;
	c.flash_incr_mode = H5C_flash_incr__off;
	H5Pset_mdc_config(fapl, &c);
}

static hid_t open_file(int fd)
{
	hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), file;
	char path[32];

	H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG);
#if H5_VERSION_GE(1, 10, 7)
	H5Pset_file_locking(fapl, false, true);
#endif
	limit_cache(fapl);
	h5file__set_driver(fapl);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	file = H5Fopen(path, H5F_ACC_RDONLY, fapl);
	H5Pclose(fapl);
	return file;
}

/* Opens the file, and reads nothing. */
static int begin(struct reader **out, const char *path)
{
	struct reader *r;
	struct stat st = {0};
	_cleanup_close_ int fd = open_regular(path, &st);

	if (fd < 0)
		return fd;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->of = (struct reader_file){strdup(path), read_note__file_bytes(&st), st.st_dev, st.st_ino,
				     1};
	r->place = calloc(1, sizeof(*r->place));
	read_note__file_of(path, r->of.bytes);
	h5__init();
	r->file = open_file(fd);
	*out = r;
	return r->file < 0 ? -EBADMSG : !r->place || !r->of.path ? -ENOMEM : 0;
}

static struct reader *open_readers;

/* Where the path leads to another file by now, that is another reader. */
static struct reader *find_open(const char *path)
{
	struct reader *r = open_readers;
	struct stat st;

	while (r && strcmp(r->of.path, path) != 0)
		r = r->next;
	if (r && !stat(path, &st) && (st.st_dev != r->of.device || st.st_ino != r->of.inode))
		return NULL;
	return r;
}

/* 0, or as reader__open(). */
static int open_tree(struct reader **out, const char *path)
{
	struct reader *r = NULL;
	int err = begin(&r, path);

	if (!err)
		err = read_tree(r, path);
	if (err) {
		reader__free(r);
		return err;
	}
	r->next = open_readers;
	open_readers = r;
	*out = r;
	return 0;
}

int reader__open(struct reader **out, const char *path)
{
	struct reader *r = find_open(path);

	if (!r)
		return open_tree(out, path);
	r->of.users++;
	read_note__file_of(path, r->of.bytes);
	*out = r;
	return 0;
}

int reader__open_results(struct reader **out, const char *path)
{
	struct reader *r = NULL;
	int err = begin(&r, path);

	if (err)
		reader__free(r);
	else
		*out = r;
	return err;
}

static void forget(const struct reader *r)
{
	struct reader **at = &open_readers;

	while (*at && *at != r)
		at = &(*at)->next;
	if (*at)
		*at = r->next;
}

void reader__free(struct reader *r)
{
	if (!r || --r->of.users)
		return;
	forget(r);
	for (unsigned i = 0; i < r->nsteps; i++) {
		string_list__free(&r->steps[i].nodes);
		free(r->steps[i].name);
	}
	if (r->place && r->place->group > 0)
		H5Gclose(r->place->group);
	if (r->file >= 0)
		H5Fclose(r->file);
	free(r->place);
	free(r->steps);
	free(r->job);
	free(r->of.path);
	free(r);
}

const char *reader__strerror(int err)
{
	const char *filter = h5__missing_filter(err);
	static char text[80];

	if (filter) {
		snprintf(text, sizeof(text), "filter %s is not there: h5repack writes it without",
			 filter);
		return text;
	}
	switch (err) {
	case -EBADMSG:
		return "not a profile, or damaged";
	case -ENOTSUP:
		return "it has no column of numbers";
	case -EPROTONOSUPPORT:
		return "laid out as Slurm's files were before 15.08, which only the sh5util of "
		       "that time reads";
	case -ENOMSG:
		return "it has results of jobprof reduce alone: jobprof track shows clusters of "
		       "windows";
	case -EMSGSIZE:
		return "it claims more than the file can hold, or than is read";
	default:
		return strerror(-err);
	}
}
