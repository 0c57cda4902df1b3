// SPDX-License-Identifier: GPL-2.0-only
/* An open journal whose name another program has taken away is found, and gets its name back. */
#include "journal/journal_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io_full.h"
#include "journal/journal.h"

bool journal_file__is_at(int fd, const char *path)
{
	struct stat open_file, named;

	return !fstat(fd, &open_file) && !lstat(path, &named) && open_file.st_dev == named.st_dev &&
	       open_file.st_ino == named.st_ino;
}

static int copy_bytes(int from, int to, uint64_t size)
{
	char part[65536];
	uint64_t at = 0;

	while (at < size) {
		size_t want = size - at < sizeof(part) ? size - at : sizeof(part);
		ssize_t n = pread_full(from, part, want, at);
		int err = n > 0 ? pwrite_full(to, part, n, at) : n ? (int)n : -EIO;

		if (err)
			return err;
		at += n;
	}
	return 0;
}

int journal_file__put_back(int fd, const char *path, uint64_t size)
{
	char copy[4096];
	int to, err = 0;

	if (snprintf(copy, sizeof(copy), "%s" JOURNAL_UNBORN, path) >= (int)sizeof(copy))
		return -ENAMETOOLONG;
	unlink(copy);
	to = open(copy, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return -errno;
	if (flock(to, LOCK_EX | LOCK_NB))
		err = -errno;
	if (!err)
		err = copy_bytes(fd, to, size);
	if (!err && rename(copy, path))
		err = -errno;
	if (!err)
		return to;
	unlink(copy);
	close(to);
	return err;
}
