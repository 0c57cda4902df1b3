/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Repeats reads and writes until all bytes are transferred. */
#include "base/io_full.h"

#include <errno.h>
#include <unistd.h>

/* Where the file is, not at a place of it. */
#define HERE UINT64_MAX

static ssize_t read_from(int fd, void *to, size_t n, uint64_t at)
{
	size_t done = 0;

	while (done < n) {
		char *p = (char *)to + done;
		ssize_t more = at == HERE ? read(fd, p, n - done)
					  : pread(fd, p, n - done, (off_t)(at + done));

		if (more < 0 && errno == EINTR)
			continue;
		if (more < 0)
			return -errno;
		if (!more)
			break;
		done += (size_t)more;
	}
	return (ssize_t)done;
}

static int write_to(int fd, const void *from, size_t n, uint64_t at)
{
	size_t done = 0;

	while (done < n) {
		const char *p = (const char *)from + done;
		ssize_t more = at == HERE ? write(fd, p, n - done)
					  : pwrite(fd, p, n - done, (off_t)(at + done));

		if (more < 0 && errno == EINTR)
			continue;
		if (!more)
			errno = ENOSPC;
		if (more <= 0)
			return -errno;
		done += (size_t)more;
	}
	return 0;
}

ssize_t read_full(int fd, void *to, size_t n)
{
	return read_from(fd, to, n, HERE);
}

ssize_t pread_full(int fd, void *to, size_t n, uint64_t at)
{
	return read_from(fd, to, n, at);
}

int write_full(int fd, const void *from, size_t n)
{
	return write_to(fd, from, n, HERE);
}

int pwrite_full(int fd, const void *from, size_t n, uint64_t at)
{
	return write_to(fd, from, n, at);
}
