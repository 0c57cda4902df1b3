// SPDX-License-Identifier: GPL-2.0-only
/* Whether users' directories can be made below ProfileHDF5Dir, tried in a child. */
#include "daemon/config/check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/child/child.h"

#define PATIENCE_MS 5000

struct answer {
	int err;
	char text[1024];
};

static bool everybody_may(mode_t mode)
{
	return (mode & (S_IWOTH | S_IXOTH)) == (S_IWOTH | S_IXOTH);
}

static bool is_refused(int err)
{
	return err == -EACCES || err == -EPERM;
}

/* Directories that are not root's: made for users. */
static bool has_directories(const char *dir)
{
	_cleanup_closedir_ DIR *list = opendir(dir);
	struct dirent *e;
	struct stat st;

	while (list && (e = readdir(list)))
		if (e->d_name[0] != '.' &&
		    !fstatat(dirfd(list), e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISDIR(st.st_mode) && st.st_uid)
			return true;
	return false;
}

static void explain_refusal(struct answer *a, const char *dir, const struct stat *st)
{
	if (is_refused(a->err))
		snprintf(a->text, sizeof(a->text),
			 "%s (mode %04o, of uid %u): neither root nor users may make directories "
			 "in it: make the users' directories beforehand, see SECURITY in "
			 "jobprofd(8)",
			 dir, st->st_mode & 07777, st->st_uid);
	else
		snprintf(a->text, sizeof(a->text), "%s: nothing can be made in it: %s", dir,
			 strerror(-a->err));
}

static int try_to_make(const char *dir)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/.jobprof-check-%d", dir, getpid());
	if (mkdir(path, 0700) || rmdir(path))
		return -errno;
	return 0;
}

static void check_dir(const char *dir, struct answer *a)
{
	struct stat st;

	if (stat(dir, &st)) {
		a->err = -errno;
		snprintf(a->text, sizeof(a->text), "%s: %s: %s", dir, strerror(errno),
			 errno == ENOENT ? "mount the shared file system, or make it"
					 : "ProfileHDF5Dir must be a directory");
		return;
	}
	a->err = S_ISDIR(st.st_mode) ? try_to_make(dir) : -ENOTDIR;
	if (a->err &&
	    !(is_refused(a->err) && (everybody_may(st.st_mode) || has_directories(dir)))) {
		explain_refusal(a, dir, &st);
	} else if (everybody_may(st.st_mode)) { /* also where root is mapped to the user nobody */
		a->err = DIR_CHECK_OPEN;
		snprintf(a->text, sizeof(a->text),
			 "%s (mode %04o): anybody can make the directory of another user, whose "
			 "profiles then stay in the journals%s: make the users' directories "
			 "beforehand, and chmod 0755 it, see SECURITY in jobprofd(8)",
			 dir, st.st_mode & 07777,
			 st.st_mode & S_ISVTX ? "" : ", and rename the others'");
	} else {
		snprintf(a->text, sizeof(a->text), "%s: %s", dir,
			 a->err ? "users have directories, and no more can be made by root here"
				: "root makes the users' directories");
		a->err = 0;
	}
}

static void wait_for(pid_t pid, int fd, struct answer *a)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (poll(&p, 1, PATIENCE_MS) > 0 && read(fd, a, sizeof(*a)) == sizeof(*a)) {
		waitpid(pid, NULL, 0);
		return;
	}
	kill(pid,
	     SIGKILL); /* the child ends when the file system answers; this process does not wait */
	a->err = -ETIMEDOUT;
}

int dir_check__run(const char *dir, char *text, size_t len)
{
	struct answer a = {0};
	int p[2];
	pid_t pid;

	if (pipe2(p, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid) {
		/* the caller's pipes end with the caller, also where this hangs in the kernel */
		child__silence();
		dup2(STDOUT_FILENO, STDERR_FILENO);
		check_dir(dir, &a);
		_exit(write(p[1], &a, sizeof(a)) != sizeof(a));
	}
	close(p[1]);
	if (pid < 0)
		a.err = -errno;
	else
		wait_for(pid, p[0], &a);
	close(p[0]);
	if (a.err == -ETIMEDOUT)
		snprintf(a.text, sizeof(a.text), "%s: the file system does not answer for %d s",
			 dir, PATIENCE_MS / 1000);
	snprintf(text, len, "%s", a.text);
	return a.err;
}
