/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The job file NAME is made as .NAME.merge in the same directory. That file is locked while its
 * maker lives, so that no second merge begins. The later one of two merges would rename its file
 * over the other's, without the nodes that the first had merged and deleted.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/io_full.h"
#include "base/log.h"
#include "base/own_way.h"
#include "base/temporary.h"
#include "jobfile/merge/merge_internal.h"
#include "jobfile/publish.h"

#define TRIES 10

static bool is_at(int dir, const char *name, dev_t dev, ino_t ino)
{
	struct stat st;

	return !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && st.st_dev == dev &&
	       st.st_ino == ino;
}

/* The processes of a merge that has just been killed give up its lock when they are gone: that
 * takes a moment. 0 or -errno. */
static int lock_within_a_second(int fd)
{
	for (unsigned i = 0; i < 100; i++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return 0;
		if (errno != EWOULDBLOCK)
			return -errno;
		usleep(10000);
	}
	return -EBUSY;
}

/* Removes what a killed merge left: a regular file of this user that no process has locked. */
static int remove_leftover(struct merge_output *p)
{
	int fd = openat(p->dir, p->tmp, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), err;
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? 0 : -EPERM;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink > 1)
		err = -EPERM;
	else
		err = lock_within_a_second(fd);
	if (err)
		err = err == -EBUSY ? -EBUSY : -EPERM;
	else if (is_at(p->dir, p->tmp, st.st_dev, st.st_ino) && unlinkat(p->dir, p->tmp, 0))
		err = -errno;
	close(fd);
	return err;
}

/* Another merge may take a new file for a leftover before it is locked: then it is made again. */
static int make_once(struct merge_output *p)
{
	int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	struct stat st;

	p->fd = openat(p->dir, p->tmp, flags, 0666 & ~publish__mask(p->dir));
	if (p->fd < 0)
		return -errno;
	if (flock(p->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		goto again;
	if (!fstat(p->fd, &st) && is_at(p->dir, p->tmp, st.st_dev, st.st_ino))
		return 0;
again:
	close(p->fd);
	p->fd = -1;
	return -EAGAIN;
}

static int make_watched(struct merge_output *p)
{
	sigset_t before;
	int err;

	temporary__block(&before);
	err = make_once(p);
	if (!err)
		temporary__watch(p->dir, p->tmp);
	temporary__unblock(&before);
	return err;
}

static int make_temporary(struct merge_output *p)
{
	int err = -EAGAIN;

	for (unsigned i = 0; i < TRIES && (err == -EAGAIN || err == -EEXIST); i++) {
		err = make_watched(p);
		if (err == -EEXIST) {
			int left = remove_leftover(p);

			if (left == -EBUSY)
				log_error("%s: another merge is writing it", p->path);
			else if (left)
				log_error("%s: cannot be written: %s beside it is in the way, and "
					  "not surely a merge's; remove it if no merge is running",
					  p->path, p->tmp);
			if (left)
				return left;
		}
	}
	if (err)
		log_error("%s: cannot be written: %s", p->path, strerror(-err));
	return err;
}

/* Whoever writes the file by the HDF5 library (h5py, too) has it locked, and would go on with one
 * that has lost its name. Our own lock keeps such writers off until the new file is in its place.
 */
static int open_old(struct merge_output *p)
{
	const char *reason = NULL;
	struct stat st;
	int err = 0;

	p->old = openat(p->dir, p->base, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (p->old < 0 && errno == ENOENT)
		return 0;
	if (p->old < 0 || fstat(p->old, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EINVAL;
	else if (flock(p->old, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK)
		err = -EBUSY;
	else
		p->old_stamp = merge_file__stamp(&st);
	if (err)
		reason = err == -ELOOP	  ? "is a symbolic link, which is not followed"
			 : err == -EINVAL ? "is no regular file"
			 : err == -EBUSY
				 ? "another program has it open for writing: try again when "
				   "that has closed it"
				 : strerror(-err);
	if (reason)
		log_error("%s: cannot be extended: %s", p->path, reason);
	return err;
}

static int open_dir(struct merge_output *p, const char *path)
{
	const char *base;

	p->path = strdup(path);
	if (!p->path)
		return -ENOMEM;
	p->dir = own_way__open(path, &base);
	if (!*base || !strcmp(base, ".") || !strcmp(base, "..") ||
	    strlen(base) + sizeof(".merge") + 1 > MERGE_NAME_MAX) {
		log_error("%s: cannot be the name of a job file", path);
		return -EINVAL;
	}
	if (p->dir < 0) {
		log_error("%s: its directory: %s", path,
			  p->dir == -ELOOP ? "another user's link on the way is not followed"
					   : strerror(-p->dir));
		return p->dir;
	}
	snprintf(p->base, sizeof(p->base), "%s", base);
	snprintf(p->tmp, sizeof(p->tmp), ".%.*s.merge", MERGE_NAME_MAX - 7, base);
	return 0;
}

int merge_output__begin(struct merge_output *p, const char *path)
{
	int err;

	*p = (struct merge_output){.dir = -1, .fd = -1, .old = -1};
	err = open_dir(p, path);
	if (!err)
		err = make_temporary(p);
	if (!err)
		err = open_old(p);
	if (err)
		merge_output__end(p);
	return err;
}

int merge_output__copy_old(const struct merge_output *p)
{
	static char block[1 << 16];
	uint64_t at = 0;
	ssize_t n = 0;
	int err = 0;

	while (p->old >= 0 && !err && (n = pread_full(p->old, block, sizeof(block), at)) > 0) {
		err = pwrite_full(p->fd, block, (size_t)n, at);
		at += (size_t)n;
	}
	return n < 0 ? (int)n : err;
}

int merge_output__sync(struct merge_output *p)
{
	return fsync(p->fd) ? -errno : 0;
}

/* EINVAL: a file system that cannot sync directories. */
static int sync_dir(const struct merge_output *p)
{
	return fsync(p->dir) && errno != EINVAL ? -errno : 0;
}

/* Like rename within a directory, but -EEXIST where something is there. */
static int rename_new(int dir, const char *from, const char *to)
{
	if (!renameat2(dir, from, dir, to, RENAME_NOREPLACE))
		return 0;
	/* Some network file systems know no flags. */
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (!faccessat(dir, to, F_OK, AT_SYMLINK_NOFOLLOW))
		return -EEXIST;
	return renameat(dir, from, dir, to) ? -errno : 0;
}

static bool old_unchanged(const struct merge_output *p)
{
	struct merge_stamp is;
	struct stat st;

	if (fstatat(p->dir, p->base, &st, AT_SYMLINK_NOFOLLOW))
		return false;
	is = merge_file__stamp(&st);
	return merge_file__same(&is, &p->old_stamp);
}

/* From now on nothing is removed. */
static void forget_temporary(struct merge_output *p)
{
	temporary__forget();
	*p->tmp = 0;
}

/* Removes what was made. */
static void drop_temporary(struct merge_output *p)
{
	if (p->fd >= 0 && *p->tmp)
		unlinkat(p->dir, p->tmp, 0);
	forget_temporary(p);
}

int merge_output__keep(struct merge_output *p)
{
	int err;

	drop_temporary(p); /* who is killed while the inputs are deleted leaves nothing */
	err = fsync(p->old) ? -errno : sync_dir(p);
	return err ? err : old_unchanged(p) ? 0 : -ESTALE;
}

/* A job file that is extended keeps its owner and its mode. */
static int keep_mode(const struct merge_output *p)
{
	struct stat st;

	if (fstat(p->old, &st))
		return -errno;
	if (!geteuid() && fchown(p->fd, st.st_uid, st.st_gid))
		log_debug("%s: stays root's: %s", p->path, strerror(errno));
	return fchmod(p->fd, st.st_mode & 0777) ? -errno : 0;
}

/* What is deleted in the same file system is gone from the disk after the rename is there, since
 * its journal keeps the order. */
static int sync_elsewhere(const struct merge_output *p, int inputs)
{
	struct stat here, there;

	if (inputs < 0)
		return 0;
	if (fstat(p->dir, &here) || fstat(inputs, &there))
		return -errno;
	return here.st_dev == there.st_dev ? 0 : publish__sync_dir(p->dir);
}

int merge_output__commit(struct merge_output *p, int inputs)
{
	struct stat st;
	int err;

	/* Readers lock what they open, and may do so from the rename on. Shared, the lock still
	 * keeps others from taking the file for a leftover; changing it lets it go for a moment.
	 */
	if (flock(p->fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK)
		return -ESTALE;
	if (fstat(p->fd, &st) || !is_at(p->dir, p->tmp, st.st_dev, st.st_ino))
		return -ESTALE;
	if (p->old < 0)
		err = rename_new(p->dir, p->tmp, p->base);
	else if (!old_unchanged(p))
		err = -ESTALE;
	else
		err = keep_mode(p);
	if (!err && p->old >= 0)
		err = renameat(p->dir, p->tmp, p->dir, p->base) ? -errno : 0;
	if (err)
		return err;
	forget_temporary(p);
	flock(p->fd, LOCK_UN);
	return sync_elsewhere(p, inputs);
}

void merge_output__end(struct merge_output *p)
{
	drop_temporary(p);
	if (p->fd >= 0)
		close(p->fd);
	if (p->old >= 0)
		close(p->old);
	if (p->dir >= 0)
		close(p->dir);
	free(p->path);
	*p = (struct merge_output){.dir = -1, .fd = -1, .old = -1};
}
