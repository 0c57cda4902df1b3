/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes files whose readers see the old or the new one. */
#include "cmd/jobprof/site_tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io_full.h"
#include "base/log.h"

#define MARK	 ".jobprof-site"
#define NEW	 ".new-"
#define NOW	 "\"now\":"
#define NAME_LEN 256

static bool is_hidden(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

static bool is_empty(int fd)
{
	DIR *d = fdopendir(dup(fd));
	struct dirent *e;
	bool empty = d;

	while (d && (e = readdir(d)))
		empty &= is_hidden(e->d_name);
	if (d)
		closedir(d);
	return empty;
}

/* Nobody else may put files or folders of an own choice there, whose owner, group or access list
 * would decide who reads the pages of others. */
static int check_owner(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	return (!st.st_uid || st.st_uid == geteuid()) && !(st.st_mode & (S_IWGRP | S_IWOTH))
		       ? 0
		       : -EPERM;
}

static void log_failure(const char *path, int err)
{
	if (err == -ENOTEMPTY)
		log_error("%s: it has files that are not of jobprof site build, which would remove "
			  "them: name a new directory",
			  path);
	else if (err == -EWOULDBLOCK)
		log_error("%s: another jobprof site build is at work there", path);
	else if (err == -EPERM)
		log_error("%s: others than root and this user may write there, and so decide who "
			  "reads the pages: name a directory of one of these two, 2750",
			  path);
	else
		log_error("%s: %s", path, strerror(-err));
}

int site_tree__open(const char *path, int *fd)
{
	int mark, err = 0;

	if (mkdir(path, 0750) && errno != EEXIST)
		err = -errno;
	*fd = err ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!err && *fd < 0)
		err = -errno;
	if (!err)
		err = check_owner(*fd);
	if (!err && flock(*fd, LOCK_EX | LOCK_NB))
		err = -errno;
	if (!err && faccessat(*fd, MARK, F_OK, AT_SYMLINK_NOFOLLOW) && !is_empty(*fd))
		err = -ENOTEMPTY;
	mark = err ? -1 : openat(*fd, MARK, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0640);
	if (!err && mark < 0)
		err = -errno;
	if (mark >= 0)
		close(mark);
	if (err)
		log_failure(path, err);
	if (err && *fd >= 0)
		close(*fd);
	return err;
}

int site_tree__folder(int at, const char *name)
{
	int fd = -1, err = 0;

	if (!mkdirat(at, name, 0750) || errno == EEXIST)
		fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	err = fd < 0 ? -errno : check_owner(fd);
	if (!err)
		return fd;
	log_failure(name, err);
	if (fd >= 0)
		close(fd);
	return err;
}

/* ---- files */

/* The digits behind the first "now"; NULL: there are none. */
static const char *digits_of(const char *text, size_t n)
{
	const char *p = memmem(text, n, NOW, strlen(NOW));

	return p ? p + strlen(NOW) : NULL;
}

static bool are_same(const char *a, size_t na, const char *b, size_t nb)
{
	const char *x = digits_of(a, na), *y = digits_of(b, nb);
	size_t head = x ? (size_t)(x - a) : na;

	if ((x && y && x - a != y - b) || !x != !y || head > nb || memcmp(a, b, head) != 0)
		return false;
	if (!x)
		return na == nb;
	while (x < a + na && isdigit((unsigned char)*x))
		x++;
	while (y < b + nb && isdigit((unsigned char)*y))
		y++;
	return a + na - x == b + nb - y && !memcmp(x, y, (size_t)(a + na - x));
}

static bool is_there(int at, const char *name, const char *text, size_t n)
{
	const int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	bool same = false;
	void *old;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0) {
		old = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (old != MAP_FAILED) {
			same = are_same(old, (size_t)st.st_size, text, n);
			munmap(old, (size_t)st.st_size);
		}
	}
	close(fd);
	return same;
}

static int write_new(int at, const char *name, const char *text, size_t n)
{
	const int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
	int err;

	if (fd < 0)
		return -errno;
	err = fchmod(fd, 0640) ? -errno : write_full(fd, text, n);
	if (close(fd) && !err)
		err = -errno;
	return err;
}

int site_tree__put(struct site_count *count, int at, const char *name, const char *text, size_t n)
{
	char new[NAME_LEN];
	int err;

	if ((size_t)snprintf(new, sizeof(new), NEW "%s", name) >= sizeof(new))
		return -ENAMETOOLONG;
	if (is_there(at, name, text, n)) {
		count->kept++;
		return 0;
	}
	unlinkat(at, new, 0); /* of a build that was killed */
	err = write_new(at, new, text, n);
	if (!err && renameat(at, new, at, name))
		err = -errno;
	if (!err) {
		count->written++;
		return 0;
	}
	log_error("%s: cannot be written: %s", name, strerror(-err));
	unlinkat(at, new, 0);
	count->failed++;
	return err;
}

/* ---- what is no longer made */

static int remove_all(struct site_count *count, int at, const char *name)
{
	struct string_list none = {0};
	int fd, err = 0;

	if (!unlinkat(at, name, 0)) {
		count->removed++;
		return 0;
	}
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = site_tree__keep(count, fd, &none);
	close(fd);
	if (!err && unlinkat(at, name, AT_REMOVEDIR))
		err = -errno;
	return err;
}

static int ascending(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool has(const struct string_list *names, const char *name)
{
	return names->n && bsearch(&name, names->v, names->n, sizeof(*names->v), ascending);
}

int site_tree__keep(struct site_count *count, int at, struct string_list *names)
{
	DIR *d = fdopendir(dup(at));
	struct dirent *e;
	int err = 0;

	if (!d)
		return -ENOMEM;
	rewinddir(d);
	if (names->n)
		qsort(names->v, names->n, sizeof(*names->v), ascending);
	while (!err && (e = readdir(d))) {
		if (is_hidden(e->d_name) || has(names, e->d_name))
			continue;
		err = remove_all(count, at, e->d_name);
		if (err)
			log_error("%s: cannot be removed: %s", e->d_name, strerror(-err));
	}
	closedir(d);
	return err;
}
