/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens files that others wrote, or asks a process with more rights to open them. */
#include "base/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd_message.h"

#define OWN_FILE "/proc/self/fd/"

struct question {
	int flags;
	char path[PATH_MAX];
};

#define USERS_MAX 16
#define THOSE_MAX 2

static int (*confine_with)(int fd);
static int opener = -1;
static uid_t users[USERS_MAX]; /* whose files are opened; nusers 0: anybody's */
static struct {
	dev_t dev;
	ino_t ino;
} those[THOSE_MAX]; /* are opened, too */
static unsigned nusers, nthose;

int foreign__only_of(uid_t uid)
{
	for (unsigned i = 0; i < nusers; i++)
		if (users[i] == uid)
			return 0;
	if (nusers == USERS_MAX)
		return -ENOSPC;
	users[nusers++] = uid;
	return 0;
}

int foreign__only_this(int fd)
{
	struct stat st;

	if (nthose == THOSE_MAX || fstat(fd, &st))
		return -ENOSPC;
	those[nthose].dev = st.st_dev;
	those[nthose++].ino = st.st_ino;
	return 0;
}

void foreign__of_all(void)
{
	nusers = nthose = 0;
}

static bool may_open(const struct stat *st)
{
	for (unsigned i = 0; i < nusers; i++)
		if (users[i] == st->st_uid)
			return true;
	for (unsigned i = 0; i < nthose; i++)
		if (those[i].dev == st->st_dev && those[i].ino == st->st_ino)
			return true;
	return (!nusers && !nthose) || (!st->st_uid && st->st_mode & S_IROTH);
}

static int check(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : S_ISLNK(st.st_mode) ? -ELOOP : -EBADMSG;
	return may_open(&st) ? 0 : -EACCES;
}

/* A name of a directory that is no link leads to no device, but where somebody may make one there:
 * a pipe is opened without waiting, and closed. That is one question less to a file server. */
static int open_named(int dir, const char *path, int flags)
{
	int fd = openat(dir, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
	int err = fd < 0 ? (errno == ENXIO ? -EBADMSG : -errno) : check(fd);

	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	return err;
}

/* Other users make links, and profiles name files, while this may be root: O_PATH opens nothing, so
 * that a device or a pipe is seen before it is opened. */
static int open_here(int dir, const char *path, int flags)
{
	const bool named = flags & O_NOFOLLOW && !strchr(path, '/');
	int at = named ? -1 : openat(dir, path, O_PATH | O_CLOEXEC | flags), fd;
	char link[32];

	if (at < 0)
		return named ? open_named(dir, path, flags) : -errno;
	snprintf(link, sizeof(link), OWN_FILE "%d", at);
	fd = check(at);
	if (!fd && (fd = open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC)) < 0)
		fd = -errno;
	close(at);
	return fd;
}

static int ask(int dir, const char *path, int flags)
{
	struct question q = {.flags = flags};
	int ends[2], got[FD_MESSAGE_FILES], answer, err;
	ssize_t n = -1;

	if (strlen(path) >= sizeof(q.path))
		return -ENAMETOOLONG;
	strcpy(q.path, path);
	/* the answer comes to this process: others may have the same socket to ask by */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	err = fd_message__send(opener, &q, sizeof(q), (const int[FD_MESSAGE_FILES]){ends[1], dir},
			       0);
	close(ends[1]);
	if (!err)
		n = fd_message__receive(ends[0], &answer, sizeof(answer), got);
	close(ends[0]);
	if (err || n != sizeof(answer))
		return err ? err : n < 0 ? (int)n : -EPIPE;
	return answer ? answer : got[0] < 0 ? -EMFILE : got[0];
}

/* The number of a descriptor of this process; -1: the path is another one. */
static int own_file(const char *path)
{
	int fd = -1, end = 0;

	if (sscanf(path, OWN_FILE "%d%n", &fd, &end) != 1 || path[end])
		return -1;
	return fd;
}

int foreign__begin(int fd)
{
	int (*confine)(int fd) = confine_with;

	confine_with = NULL;
	return confine ? confine(fd) : 0;
}

int foreign__open(int dir, const char *path, int flags)
{
	int fd = own_file(path), err;

	if (fd >= 0) {
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		fd = fd < 0 ? -errno : fd;
	} else {
		fd = opener < 0 ? open_here(dir, path, flags) : ask(dir, path, flags);
	}
	err = fd < 0 ? fd : foreign__begin(fd);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

void foreign__confine_with(int (*confine)(int fd))
{
	confine_with = confine;
}

void foreign__ask(int socket)
{
	opener = socket;
}

/* ---- the other side */

/* Of HDF5, for which the library looks at 0, 512 and all powers of 2 above, and of ELF. */
static bool has_signature(int fd, off_t size)
{
	static const char hdf5[] = "\x89HDF\r\n\x1a\n", elf[] = "\x7f"
								"ELF";
	const size_t n = sizeof(hdf5) - 1;
	char bytes[sizeof(hdf5)];

	/* no size is so large that the last step goes over the end of 64 bits */
	for (uint64_t at = 0; at < (uint64_t)size; at = at ? 2 * at : 512) {
		if (pread(fd, bytes, n, (off_t)at) != (ssize_t)n)
			continue;
		if (!memcmp(bytes, hdf5, n) || (!at && !memcmp(bytes, elf, sizeof(elf) - 1)))
			return true;
	}
	return false;
}

/* 0, or why the other process does not get the file. */
static int refuses(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	return has_signature(fd, st.st_size) ? 0 : -ENOEXEC;
}

void foreign__serve(int socket)
{
	struct question q;
	int came[FD_MESSAGE_FILES]; /* where the answer goes, and a directory */

	while (fd_message__receive(socket, &q, sizeof(q), came) == sizeof(q)) {
		int fd, answer;

		q.path[sizeof(q.path) - 1] = 0;
		fd = open_here(came[1] < 0 ? AT_FDCWD : came[1], q.path, q.flags & O_NOFOLLOW);
		answer = fd < 0 ? fd : refuses(fd);
		fd_message__send(came[0], &answer, sizeof(answer),
				 (const int[FD_MESSAGE_FILES]){answer ? -1 : fd, -1}, 0);
		if (fd >= 0)
			close(fd);
		for (unsigned i = 0; i < FD_MESSAGE_FILES && came[i] >= 0; i++)
			close(came[i]);
	}
}
