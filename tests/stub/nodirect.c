// SPDX-License-Identifier: GPL-2.0-or-later
/* Preloaded: a file system that takes no direct requests. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int open(const char *path, int flags, ...)
{
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, int) : 0;
	va_end(ap);
	if (!(flags & O_DIRECT))
		return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
	errno = EINVAL;
	return -1;
}

int mkostemp(char *template, int flags)
{
	if (!(flags & O_DIRECT))
		return mkstemp(template);
	errno = EINVAL;
	return -1;
}
