// SPDX-License-Identifier: GPL-2.0-only
/* A child copies a journal to a pipe. */
#include "daemon/child/journal_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <unistd.h>

#define DEADLINE_S 10
#define BLOCK	   (1u << 20)

/* Never returns. */
static void copy(const char *journal, const struct child_user *u, int to, pid_t parent)
{
	int fd;

	if (dup2(to, STDOUT_FILENO) < 0)
		_exit(1);
	child__begin();
	alarm(DEADLINE_S);
	fd = open(journal, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || child__become(u) || child__end_with(parent, SIGKILL))
		_exit(1);
	while (sendfile(STDOUT_FILENO, fd, NULL, BLOCK) > 0)
		;
	_exit(0);
}

int journal_copy__start(const char *journal, const struct child_user *u)
{
	pid_t parent = getpid(), pid;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid)
		copy(journal, u, ends[1], parent);
	close(ends[1]);
	if (pid > 0)
		return ends[0];
	close(ends[0]);
	return -EAGAIN;
}
