/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks a path part by part. */
#include "base/own_way.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_part(int at, const char *name)
{
	struct stat st;
	int fd;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (S_ISLNK(st.st_mode) && st.st_uid)
		return -ELOOP;
	fd = openat(at, name,
		    O_PATH | O_DIRECTORY | O_CLOEXEC | (S_ISLNK(st.st_mode) ? 0 : O_NOFOLLOW));
	return fd < 0 ? -errno : fd;
}

/* dir is changed. */
static int walk(char *dir)
{
	int fd = open(*dir == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC), next;
	char *part, *rest;

	if (fd < 0)
		return -errno;
	for (part = strtok_r(dir, "/", &rest); part && fd >= 0; part = strtok_r(NULL, "/", &rest)) {
		next = open_part(fd, part);
		close(fd);
		fd = next;
	}
	if (fd < 0)
		return fd;
	next = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(fd);
	return next < 0 ? -errno : next;
}

int own_way__open(const char *path, const char **base)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? strndup(path, slash == path ? 1 : slash - path) : strdup(".");
	int fd;

	*base = slash ? slash + 1 : path;
	if (!dir)
		return -ENOMEM;
	if (geteuid()) {
		fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		fd = fd < 0 ? -errno : fd;
	} else {
		fd = walk(dir);
	}
	free(dir);
	return fd;
}
