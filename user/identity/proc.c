// SPDX-License-Identifier: GPL-2.0-or-later
/* One process by its files in /proc: parents, user, command line. */
#include "identity/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io_full.h"
#include "base/str.h"

/* Fields of /proc/<pid>/stat, from 1. */
#define STAT_PPID  4
#define STAT_UTIME 14
#define STAT_STIME 15

#define MAPS_MAX (8u << 20) /* bytes of a memory map that are read */

static const char *proc_root = "/proc";

void proc__set_root(const char *root)
{
	proc_root = root;
}

static ssize_t read_proc(pid_t pid, const char *file, char *buf, size_t size)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%d/%s", proc_root, (int)pid, file) >= PATH_MAX)
		return -ENAMETOOLONG;
	return read_file(AT_FDCWD, path, buf, size);
}

/* comm may hold blanks and parentheses: fields are counted from its last parenthesis. */
static int stat_field(pid_t pid, unsigned field, uint64_t *v)
{
	char buf[2048], *p, *save = NULL;
	ssize_t n = read_proc(pid, "stat", buf, sizeof(buf));

	if (n < 0)
		return (int)n;
	p = strrchr(buf, ')');
	if (!p)
		return -EINVAL;
	p = strtok_r(p + 1, " \n", &save);
	for (unsigned i = 3; p && i < field; i++)
		p = strtok_r(NULL, " \n", &save);
	return p ? parse_u64(p, v) : -EINVAL;
}

int proc__ppid(pid_t pid, pid_t *ppid)
{
	uint64_t v;
	int err = stat_field(pid, STAT_PPID, &v);

	if (err)
		return err;
	if (v > INT_MAX)
		return -EINVAL;
	*ppid = (pid_t)v;
	return 0;
}

int proc__cpu_ticks(pid_t pid, uint64_t *ticks)
{
	uint64_t user, system;
	int err = stat_field(pid, STAT_UTIME, &user);

	if (!err)
		err = stat_field(pid, STAT_STIME, &system);
	if (!err)
		*ticks = user + system;
	return err;
}

int proc__comm(pid_t pid, char *buf, size_t size)
{
	ssize_t n = read_proc(pid, "comm", buf, size);

	if (n < 0)
		return (int)n;
	if (n > 0 && buf[n - 1] == '\n')
		buf[n - 1] = '\0';
	return 0;
}

int proc__open(pid_t pid, const char *file)
{
	char path[PATH_MAX];
	int fd;

	if (snprintf(path, sizeof(path), "%s/%d/%s", proc_root, (int)pid, file) >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int proc_lines__open(struct proc_lines *l, pid_t pid)
{
	int fd = proc__open(pid, "maps");

	if (fd < 0)
		return fd;
	l->left = MAPS_MAX;
	l->f = fdopen(fd, "r");
	if (l->f)
		return 0;
	close(fd);
	return -ENOMEM;
}

bool proc_lines__next(struct proc_lines *l)
{
	bool begins = true;

	while (fgets(l->line, sizeof(l->line), l->f) && strlen(l->line) < l->left) {
		bool ends = strchr(l->line, '\n');

		l->left -= strlen(l->line);
		if (begins && ends)
			return true;
		begins = ends;
	}
	fclose(l->f);
	return false;
}

/* Uid is among the first lines; what may be long (Groups) is not read. */
int proc__uid(pid_t pid, uid_t *uid)
{
	_cleanup_close_ int fd = proc__open(pid, "status");
	char buf[1024], *p;
	uint32_t v;
	ssize_t n;

	if (fd < 0)
		return fd;
	n = read(fd, buf, sizeof(buf) - 1);
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	p = strstr(buf, "\nUid:\t");
	if (!p)
		return -EINVAL;
	p += strlen("\nUid:\t");
	p[strcspn(p, "\t\n")] = '\0';
	if (parse_u32(p, &v))
		return -EINVAL;
	*uid = v;
	return 0;
}

int proc__link(pid_t pid, const char *link, char *buf, size_t size)
{
	char path[PATH_MAX];
	ssize_t n;

	if (snprintf(path, sizeof(path), "%s/%d/%s", proc_root, (int)pid, link) >= PATH_MAX)
		return -ENAMETOOLONG;
	n = readlink(path, buf, size);
	if (n < 0)
		return -errno;
	if ((size_t)n == size)
		return -E2BIG;
	buf[n] = '\0';
	return 0;
}

static int stat_root(const char *process, struct stat *st)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s/root", proc_root, process) >= PATH_MAX)
		return -ENAMETOOLONG;
	return stat(path, st) ? -errno : 0;
}

bool proc__has_our_root(pid_t pid)
{
	struct stat its, ours;
	char process[16];

	snprintf(process, sizeof(process), "%d", (int)pid);
	return !stat_root(process, &its) && !stat_root("self", &ours) &&
	       its.st_dev == ours.st_dev && its.st_ino == ours.st_ino;
}

int proc__each(int (*fn)(void *ctx, pid_t pid), void *ctx)
{
	DIR *dir = opendir(proc_root);
	struct dirent *e;
	uint32_t pid;
	int ret = 0;

	if (!dir)
		return -errno;
	while (!ret && (e = readdir(dir)))
		if (!parse_u32(e->d_name, &pid) && pid && pid <= INT_MAX)
			ret = fn(ctx, (pid_t)pid);
	closedir(dir);
	return ret;
}

ssize_t proc__args(pid_t pid, char *buf, size_t size)
{
	_cleanup_close_ int fd = proc__open(pid, "cmdline");
	ssize_t len;

	if (fd < 0)
		return fd;
	len = read_full(fd, buf, size - 1);
	if (len >= 0)
		buf[len] = '\0';
	return len;
}

int proc__title(pid_t pid, char *buf, size_t size)
{
	ssize_t len = proc__args(pid, buf, size);

	if (len < 0)
		return (int)len;
	for (ssize_t i = 0; i < len; i++)
		if (!buf[i])
			buf[i] = ' ';
	while (len && buf[len - 1] == ' ')
		len--;
	buf[len] = '\0';
	return 0;
}
