/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts processes that answer, and ends them. */
#include "http/child.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

static void kill_child(struct dying *d, pid_t pid)
{
	kill(pid, SIGKILL);
	if (!waitpid(pid, NULL, WNOHANG) && d->n < sizeof(d->pids) / sizeof(*d->pids))
		d->pids[d->n++] = pid;
}

void dying__reap(struct dying *d)
{
	const unsigned before = d->n;

	for (unsigned i = d->n; i-- > 0;)
		if (waitpid(d->pids[i], NULL, WNOHANG))
			d->pids[i] = d->pids[--d->n];
	if (before >= DYING_MAX && d->n < DYING_MAX)
		log_warn("serve: processes that hung have ended: it answers again");
}

void child__close_file(struct child *c)
{
	if (c->out >= 0)
		close(c->out);
	c->out = -1;
}

static int fork_with_file(struct child *c)
{
	c->out = memfd_create("answer", MFD_CLOEXEC);
	c->pid = c->out < 0 ? -1 : fork();
	if (c->pid <= 0)
		return c->pid ? -errno : 0;
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	return c->pidfd < 0 ? -errno : 0;
}

pid_t child__start(struct child *c, struct dying *d, unsigned seconds)
{
	int err;

	*c = (struct child){.pidfd = -1, .out = -1};
	if (d->n >= DYING_MAX)
		return -EBUSY;
	err = fork_with_file(c);
	c->until_ns = clock__mono_ns() + seconds * UINT64_C(1000000000);
	if (!err)
		return c->pid;
	log_error("serve: no child for an answer: %s", strerror(-err));
	if (c->pid > 0)
		kill_child(d, c->pid);
	child__close_file(c);
	c->pid = 0;
	return err;
}

bool child__end(struct child *c, struct dying *d, bool is_late)
{
	int status = 0;

	if (!is_late) {
		waitpid(c->pid, &status, 0); /* it has ended: the file of its number says so */
	} else {
		kill_child(d, c->pid);
		if (d->n == DYING_MAX)
			log_error("serve: %d processes hang after they were killed, as at a file "
				  "system whose server is away: nothing is answered until they "
				  "end",
				  DYING_MAX);
	}
	close(c->pidfd);
	c->pidfd = -1;
	c->pid = 0;
	return !is_late && !status;
}
