/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens files of a directory that others can change, without following links. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/foreign.h"
#include "base/read_note.h"
#include "base/str.h"
#include "hdf5/h5file.h"
#include "hdf5/h5util.h"
#include "jobfile/merge/merge_internal.h"
#include "jobfile/merge/merge_name.h"

/* ---- the parts of a file's name: job, step and node */

#define DIGITS "0123456789"

/* A number as Slurm writes it: no leading zero. */
static bool take_number(const char **at, char *to, size_t size)
{
	size_t n = strspn(*at, DIGITS);

	if (!n || n >= size || (n > 1 && **at == '0'))
		return false;
	memcpy(to, *at, n);
	to[n] = 0;
	*at += n;
	return true;
}

static bool take_step(const char **at, struct merge_name *m)
{
	uint32_t step;

	if (str__starts(*at, "batch_")) {
		memcpy(m->step, "batch", 6);
		*at += 5;
		return true;
	}
	return take_number(at, m->step, sizeof(m->step)) && !parse_u32(m->step, &step);
}

/* sh5util ends the node's name at the first ".h5". */
static bool take_node(const char *at, struct merge_name *m)
{
	const char *end = strstr(at, ".h5");
	size_t n = end ? (size_t)(end - at) : 0;

	if (!n || end[3] || n >= sizeof(m->node))
		return false;
	memcpy(m->node, at, n);
	m->node[n] = 0;
	return str__safe_name(m->node);
}

enum merge_name_kind merge_name__parse(const char *name, struct merge_name *m)
{
	bool dot = *name == '.';
	const char *at = name + dot;
	char job[16];

	*m = (struct merge_name){0};
	if (!take_number(&at, job, sizeof(job)) || parse_u32(job, &m->job) || *at != '_')
		return NAME_OTHER;
	at++;
	if (take_step(&at, m) && *at == '_' && take_node(at + 1, m))
		return dot ? NAME_RUNNING : NAME_FILE;
	return dot ? NAME_OTHER : NAME_FOREIGN;
}

struct merge_stamp merge_file__stamp(const struct stat *st)
{
	return (struct merge_stamp){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = st->st_size,
		.mtime = st->st_mtim,
		.ctime = st->st_ctim,
		.bytes = read_note__file_bytes(st),
	};
}

static bool time_equal(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

bool merge_file__same(const struct merge_stamp *a, const struct merge_stamp *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       time_equal(&a->mtime, &b->mtime) && time_equal(&a->ctime, &b->ctime);
}

/* Slurm's step daemon has its file locked as long as the step runs. */
static int check_open_file(int fd, const struct merge_stamp *was, struct merge_stamp *is)
{
	struct merge_stamp stamp;
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADMSG;
	stamp = merge_file__stamp(&st);
	if (was && !merge_file__same(was, &stamp))
		return -ESTALE;
	if (is)
		*is = stamp;
	return flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK ? -EBUSY : 0;
}

int merge_file__open(int dir, const char *name, const struct merge_stamp *was,
		     struct merge_stamp *is)
{
	int fd = foreign__open(dir, name, O_NOFOLLOW), err;

	if (fd < 0)
		return fd;
	err = check_open_file(fd, was, is);
	if (!err)
		return fd;
	close(fd);
	return err;
}

static hid_t input_access(void)
{
	hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);

	H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG);
	h5__small_cache(fapl);
	h5file__set_driver(fapl);
#if H5_VERSION_GE(1, 10, 7)
	H5Pset_file_locking(fapl, false, true);
#endif
	return fapl;
}

hid_t merge_file__open_h5(int fd)
{
	static hid_t access = H5I_INVALID_HID; /* of the process */
	char path[64];

	if (access < 0)
		access = input_access();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return H5Fopen(path, H5F_ACC_RDONLY, access);
}
