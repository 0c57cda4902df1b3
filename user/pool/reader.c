/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A limited child of root gives up root's rights when the first file that others wrote is open. */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/foreign.h"
#include "base/ids.h"
#include "base/program.h"
#include "pool/confine.h"
#include "pool/pool_internal.h"

#define NOBODY 65534

static pid_t parent;
static int parent_died; /* the signal that tells the child so */
static bool has_workers, confined;

#define ALIVE 8 /* children of children, at most */

/* The pipes' other ends that this process has, in the order of their numbers. */
static int alive_ends[ALIVE];
static unsigned nalive;

void pool_alive__keep_and(int fd, unsigned from)
{
	unsigned i = 0;

	while (i < nalive || fd >= 0) {
		int next = i == nalive || (fd >= 0 && fd < alive_ends[i]) ? fd : alive_ends[i++];

		if (next == fd)
			fd = -1;
		if ((unsigned)next > from)
			close_range(from, (unsigned)next - 1, 0);
		if ((unsigned)next >= from)
			from = (unsigned)next + 1;
	}
	close_range(from, ~0u, 0);
}

/* A new descriptor need not have the largest number. */
void pool_alive__add(int fd)
{
	unsigned i = nalive < ALIVE ? nalive++ : ALIVE - 1;

	for (; i > 0 && alive_ends[i - 1] > fd; i--)
		alive_ends[i] = alive_ends[i - 1];
	alive_ends[i] = fd;
}

void pool_alive__remove(int fd)
{
	unsigned n = 0;

	for (unsigned i = 0; i < nalive; i++)
		if (alive_ends[i] != fd)
			alive_ends[n++] = alive_ends[i];
	nalive = n;
}

/* Opens files that this process may not open any more, and dies with this process. Does not return.
 */
static void __attribute__((noreturn)) open_for(pid_t reader, int socket)
{
	sigset_t all;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	pool_alive__keep_and(socket, 0);
	if (getppid() == reader)
		foreign__serve(socket);
	_exit(0);
}

/* 0 or -errno. */
static int start_opener(void)
{
	const pid_t reader = getpid();
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	pid = fork();
	if (!pid)
		open_for(reader, ends[1]);
	close(ends[1]);
	if (pid < 0)
		return -errno;
	foreign__ask(ends[0]);
	return 0;
}

/* Where root is one of few users that there are, as in some containers, it stays that user. */
static int become(uid_t uid)
{
	int err = ids__drop_groups();

	if (!err)
		err = ids__work_as(uid, NOBODY);
	if (err && err != -EINVAL && err != -EPERM)
		return err;
	/* a change of ids takes the signal, and may let the file's owner look into this process */
	program__close_to_user();
	if (prctl(PR_SET_PDEATHSIG, parent_died))
		return -errno;
	return getppid() == parent ? 0 : -ESRCH;
}

static int confine(int fd)
{
	struct stat st;
	int err = fstat(fd, &st) ? -errno : start_opener();

	confined = true;
	if (!err)
		err = become(st.st_uid ? st.st_uid : NOBODY);
	return err ? err : confine__process(has_workers ? CONFINE_READERS : CONFINE_READER);
}

void pool_child__arm(int sig)
{
	parent = getppid();
	parent_died = sig;
	has_workers = false;
	if (!geteuid() && !confined)
		foreign__confine_with(confine);
}

void pool__has_workers(void)
{
	has_workers = true;
}
