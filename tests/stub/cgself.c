// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * LD_PRELOAD for the testbed's slurmd and slurmstepd, where v1 hierarchies are mounted too. Slurm's
 * cgroup/v2 plugin does not run there: it looks at the first line of /proc/self/cgroup, and in
 * newer releases at that of /proc/1/cgroup and of other processes. Here these files have only their
 * line of v2. All that the plugin does afterwards is real.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int open_fn(const char *path, int flags, ...);

int open(const char *path, int flags, ...);
int open64(const char *path, int flags, ...);
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);

static int write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n <= 0)
			return -1;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

/* A file in memory with the lines of text that begin with "0::". */
static int v2_lines(const char *text)
{
	int fd = memfd_create("cgroup", MFD_CLOEXEC);

	for (const char *line = text; fd >= 0 && *line;) {
		size_t len = strcspn(line, "\n");

		len += line[len] == '\n';
		if (!strncmp(line, "0::", 3) && write_all(fd, line, len))
			break;
		line += len;
	}
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}

/* /proc/PID/cgroup, with "self" too. */
static bool is_cgroup_of_process(const char *path)
{
	const char *rest = strncmp(path, "/proc/", 6) ? NULL : strchr(path + 6, '/');

	return rest && !strcmp(rest, "/cgroup");
}

static int open_filtered(open_fn *real, const char *path)
{
	char text[8192];
	size_t len = 0;
	ssize_t n;
	int fd = real(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return fd;
	while (len < sizeof(text) - 1 && (n = read(fd, text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	close(fd);
	text[len] = '\0';
	return v2_lines(text);
}

static int open_as(const char *name, const char *path, int flags, mode_t mode)
{
	open_fn *real = (open_fn *)dlsym(RTLD_NEXT, name);

	return is_cgroup_of_process(path) ? open_filtered(real, path) : real(path, flags, mode);
}

static mode_t mode_of(int flags, va_list ap)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(ap, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = mode_of(flags, ap);
	va_end(ap);
	return open_as("open", path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = mode_of(flags, ap);
	va_end(ap);
	return open_as("open64", path, flags, mode);
}

/* What calls become with _FORTIFY_SOURCE. */
int __open_2(const char *path, int flags)
{
	return open_as("open", path, flags, 0);
}

int __open64_2(const char *path, int flags)
{
	return open_as("open64", path, flags, 0);
}
