// SPDX-License-Identifier: GPL-2.0-only
/* A user's directory below ProfileHDF5Dir: made by root, opened as the user. */
#include "daemon/child/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

#define TRIES	10
#define WAIT_US 10000

#define NO_GROUP ((gid_t)-1)

static gid_t share = NO_GROUP;

void user_dir__share(const char *group)
{
	const struct group *g = group ? getgrnam(group) : NULL;

	share = g ? g->gr_gid : NO_GROUP;
	if (group && !g)
		log_warn("ProfileGroup=%s: there is no such group: files are for their users alone",
			 group);
}

/* The group reads, and files that are made there are its own. The mode comes last: a change of the
 * group clears bits of it. */
static int share_dir(int fd, uid_t uid)
{
	return fchown(fd, uid, share) || fchmod(fd, 02750) ? -errno : 0;
}

/* Root gives away only a directory that root has just made. */
static int make_as_root(int top, const struct child_user *u)
{
	struct stat st;
	int fd, err = 0;

	if (mkdirat(top, u->user, 0700))
		return -errno;
	fd = openat(top, u->user, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (st.st_uid)
		err = -EPERM;
	else if (share != NO_GROUP)
		err = share_dir(fd, u->uid);
	else if (fchown(fd, u->uid, u->gid))
		err = -errno;
	close(fd);
	return err;
}

/* As the user, with the group: a directory that was just made, or that the group does not have yet.
 * One that its user has closed to the group since stays closed. */
static void share_own(int top, const struct child_user *u, bool made)
{
	int fd = openat(top, u->user, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), err = 0;
	struct stat st;

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && st.st_uid == u->uid && (made || st.st_gid != share))
		err = share_dir(fd, (uid_t)-1);
	close(fd);
	if (err)
		log_warn("%s's directory cannot be given to the group of ProfileGroup: %s", u->user,
			 strerror(-err));
}

static int make_as_user(int top, const struct child_user *u)
{
	struct child_user as = {u->user, u->uid, share != NO_GROUP ? share : u->gid};
	int err = child__act_as(&as), back;

	if (!err && mkdirat(top, u->user, 0700))
		err = -errno;
	if (share != NO_GROUP && (!err || err == -EEXIST))
		share_own(top, u, !err);
	back = child__act_as_root();
	if (back) { /* neither root nor the user: the process may do nothing now */
		log_error("cannot become root again: %s", strerror(-back));
		_exit(1);
	}
	return err;
}

int user_dir__make(const char *top, const struct child_user *u)
{
	int fd, err;

	/* Making a directory in top needs no right to list top. */
	fd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = make_as_user(fd, u);
	if (err == -EACCES || err == -EPERM)
		err = make_as_root(fd, u);
	close(fd);
	return err == -EEXIST ? 0 : err;
}

/* Prints why the directory is not there. made: the result of user_dir__make(). */
static void describe_absent(const char *top, const struct child_user *u, int made, char *error,
			    size_t len)
{
	struct stat st;

	if (stat(top, &st))
		snprintf(error, len, "%s: %s: mount the file system, or make the directory", top,
			 strerror(made ? -made : errno));
	else if (!S_ISDIR(st.st_mode))
		snprintf(error, len, "%s: %s", top, strerror(ENOTDIR));
	else if (made == -EACCES || made == -EPERM)
		snprintf(error, len,
			 "there is no %s/%s and neither root nor the user may make it: make it, "
			 "with mode 0700, as uid %u's",
			 top, u->user, u->uid);
	else
		snprintf(error, len, "%s/%s cannot be made: %s", top, u->user,
			 strerror(made ? -made : ENOENT));
}

static int describe_error(const char *top, const struct child_user *u, int err, int made,
			  char *error, size_t len)
{
	struct stat st;
	char path[1024];

	snprintf(path, sizeof(path), "%s/%s", top, u->user);
	if (err == -ENOENT)
		describe_absent(top, u, made, error, len);
	else if (!lstat(path, &st) && S_ISLNK(st.st_mode))
		snprintf(error, len, "%s is a symbolic link, which is not followed: remove it",
			 path);
	else if (!lstat(path, &st) && st.st_uid != u->uid && st.st_uid)
		snprintf(error, len, "%s belongs to uid %u and is not used: remove it", path,
			 st.st_uid);
	else
		snprintf(error, len, "%s: %s", path, strerror(-err));
	return err;
}

int user_dir__open(const char *top, const struct child_user *u, int made, char *error, size_t len)
{
	char path[1024];
	struct stat st;
	int fd, tries = 0, err;

	snprintf(path, sizeof(path), "%s/%s", top, u->user);
	do { /* another step's child may have made it and not yet given it to the user */
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	} while (fd < 0 && errno == EACCES && ++tries < TRIES && !usleep(WAIT_US));
	if (fd < 0)
		return describe_error(top, u, -errno, made, error, len);
	if (!fstat(fd, &st) && (st.st_uid == u->uid || !st.st_uid))
		return fd;
	err = describe_error(top, u, -EPERM, made, error, len);
	close(fd);
	return err;
}
