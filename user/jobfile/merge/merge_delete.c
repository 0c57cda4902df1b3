/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Deletes a node-step file that is merged, and no other one. A file is deleted by its name, and
 * another file may get the name at any time. So NAME is renamed to .NAME.merged, which no other
 * program uses, and is looked at there: the file that was merged is deleted, any other one is given
 * its name back. What a killed merge has left under such a name, the next one names back as well.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "jobfile/merge/merge_internal.h"

#define SUFFIX	   ".merged"
#define SUFFIX_LEN (sizeof(SUFFIX) - 1)

/* Renaming changes the time of the inode, and nothing else of the stamp. */
static bool is_merged_one(int dir, const char *name, const struct merge_stamp *was)
{
	struct merge_stamp is;
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return false;
	is = merge_file__stamp(&st);
	is.ctime = was->ctime;
	return merge_file__same(&is, was);
}

static int delete_open(int dir, const char *name, const struct merge_stamp *was)
{
	char moved[MERGE_NAME_MAX + 1];
	int n = snprintf(moved, sizeof(moved), ".%s" SUFFIX, name), err;

	if (n >= (int)sizeof(moved))
		return -ENAMETOOLONG;
	err = merge_output__rename_new(dir, name, moved);
	if (err)
		return err;
	if (is_merged_one(dir, moved, was))
		err = unlinkat(dir, moved, 0) ? -errno : 0;
	else
		err = -ESTALE;
	if (err && merge_output__rename_new(dir, moved, name))
		return -EXDEV;
	return err;
}

int merge_delete__file(int dir, const char *name, const struct merge_stamp *was)
{
	/* Open, the file is locked: another merge does not take it for a leftover. */
	_cleanup_close_ int fd = merge_file__open(dir, name, was, NULL);

	return fd < 0 ? fd : delete_open(dir, name, was);
}

bool merge_delete__is_leftover(const char *name, char plain[MERGE_NAME_MAX + 1])
{
	struct merge_name m;
	size_t n = strlen(name);

	if (*name != '.' || n <= SUFFIX_LEN + 1 || n > MERGE_NAME_MAX ||
	    strcmp(name + n - SUFFIX_LEN, SUFFIX))
		return false;
	n -= SUFFIX_LEN + 1;
	memcpy(plain, name + 1, n);
	plain[n] = 0;
	return merge_name__parse(plain, &m) == NAME_FILE;
}

/* 0; -EBUSY: a merge is just deleting it; -EEXIST: another file has the name; or -errno. */
static int give_back(int dir, const char *leftover, const char *plain)
{
	_cleanup_close_ int fd =
		openat(dir, leftover, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return -EBUSY;
	return merge_output__rename_new(dir, leftover, plain);
}

const char *merge_delete__name(int dir, const char *name, char plain[MERGE_NAME_MAX + 1])
{
	int err;

	if (!merge_delete__is_leftover(name, plain))
		return name;
	err = give_back(dir, name, plain);
	return !err ? plain : err == -EBUSY || err == -ENOENT ? "" : name;
}
