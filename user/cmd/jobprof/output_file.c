/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An output file: written under another name, and renamed when it is whole. */
#include "cmd/jobprof/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own_way.h"
#include "base/temporary.h"

static struct sigaction before_xfsz;

/* A file descriptor or -errno. */
static int make_watched(char *template)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};
	sigset_t before;
	int fd;

	temporary__block(&before);
	fd = mkostemp(template, O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	else {
		temporary__watch(AT_FDCWD, template);
		sigaction(SIGXFSZ, &ignore, &before_xfsz); /* the write says EFBIG then */
	}
	temporary__unblock(&before);
	return fd;
}

/* was: what is replaced, NULL: nothing, or a link. */
static int make_temporary(struct output_file *o, const struct stat *was)
{
	mode_t mask = umask(0), mode = was ? was->st_mode & 0777 : 0666 & ~mask;

	umask(mask);
	if (asprintf(&o->tmp, "%s.XXXXXX", o->path) < 0) {
		o->tmp = NULL;
		return -ENOMEM;
	}
	o->fd = make_watched(o->tmp);
	if (o->fd < 0) {
		int err = o->fd;

		free(o->tmp);
		o->tmp = NULL;
		return err;
	}
	/* Root leaves a user's file the user's. */
	if (was && !geteuid() && fchown(o->fd, was->st_uid, was->st_gid))
		return -errno;
	return fchmod(o->fd, mode) ? -errno : 0;
}

static bool same_file(const struct stat *a, const char *path)
{
	struct stat b;

	return S_ISREG(a->st_mode) && !stat(path, &b) && a->st_dev == b.st_dev &&
	       a->st_ino == b.st_ino;
}

static bool is_link(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISLNK(st.st_mode);
}

/* What is no regular file is written in place: a terminal, a pipe to another program. In a
 * directory of another user it may be anything by that user's will, a link to a disk among it: only
 * what is this user's or root's is written to, and no open waits for a reader that may never come.
 */
static int open_in_place(const char *path)
{
	struct stat name, is;
	int fd, err = 0;

	if (lstat(path, &name))
		return -errno;
	if (name.st_uid && name.st_uid != geteuid())
		return -EPERM;
	fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY |
				(S_ISLNK(name.st_mode) ? 0 : O_NOFOLLOW));
	if (fd < 0)
		return errno == ENXIO ? -EPIPE : -errno;
	if (fstat(fd, &is) || S_ISREG(is.st_mode) ||
	    (!S_ISLNK(name.st_mode) && (is.st_dev != name.st_dev || is.st_ino != name.st_ino)))
		err = -ESTALE;
	else if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK))
		err = -errno;
	if (err)
		close(fd);
	return err ? err : fd;
}

static void log_trouble(const char *path, int err)
{
	if (err == -ENOTUNIQ)
		log_error("%s is there already: --overwrite replaces it", path);
	else
		log_error("%s: cannot be written: %s", path,
			  err == -EEXIST   ? "it is what is read"
			  : err == -EPERM  ? "it is another user's, and no regular file"
			  : err == -ELOOP  ? "another user's link on the way is not followed"
			  : err == -EPIPE  ? "no program reads this pipe"
			  : err == -ESTALE ? "another file has its name now"
					   : strerror(-err));
}

/* What root opens and renames is in the directory that was opened, whatever has its name now. */
static int find_place(struct output_file *o)
{
	const char *base;

	o->dir = -1;
	if (geteuid() || !strchr(o->name, '/')) {
		o->path = strdup(o->name);
		return o->path ? 0 : -ENOMEM;
	}
	o->dir = own_way__open(o->name, &base);
	if (o->dir < 0)
		return o->dir;
	if (asprintf(&o->path, "/proc/self/fd/%d/%s", o->dir, base) < 0) {
		o->path = NULL;
		return -ENOMEM;
	}
	return *base ? 0 : -EISDIR;
}

static int open_place(struct output_file *o, const char *from, bool replaces)
{
	struct stat st;

	if (stat(o->path, &st))
		return make_temporary(o, NULL);
	if (same_file(&st, from))
		return -EEXIST;
	if (S_ISREG(st.st_mode))
		return !replaces ? -ENOTUNIQ : make_temporary(o, is_link(o->path) ? NULL : &st);
	o->fd = open_in_place(o->path);
	return o->fd < 0 ? o->fd : 0;
}

int output_file__open(struct output_file *o, const char *path, const char *from, bool replaces)
{
	int err;

	*o = (struct output_file){.fd = STDOUT_FILENO, .dir = -1};
	if (!strcmp(path, "-"))
		return 0;
	o->name = strdup(path);
	err = !o->name ? -ENOMEM : !*path ? -ENOENT : find_place(o);
	if (!err)
		err = open_place(o, from, replaces);
	if (err) {
		log_trouble(path, err);
		o->fd = o->tmp ? o->fd : -1;
		output_file__close(o, false);
	}
	return err;
}

int output_file__close(struct output_file *o, bool keep)
{
	int err = 0;

	if (o->name && o->fd >= 0 && close(o->fd))
		err = -errno;
	if (o->tmp) {
		if (keep && !err && rename(o->tmp, o->path))
			err = -errno;
		if (!keep || err)
			unlink(o->tmp);
		temporary__forget();
		sigaction(SIGXFSZ, &before_xfsz, NULL);
	}
	if (o->dir >= 0)
		close(o->dir);
	if (keep && err)
		log_error("%s: cannot be written: %s", o->name, strerror(-err));
	free(o->tmp);
	free(o->path);
	free(o->name);
	*o = (struct output_file){.fd = -1, .dir = -1};
	return err;
}
