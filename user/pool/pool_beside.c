/* SPDX-License-Identifier: GPL-2.0-only */
/* Of extraction's helpers, until those are gone. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "pool/pool_internal.h"

pid_t pool__beside(struct pool_beside *b)
{
	struct pool_note *own = pool_note__own();
	const struct pool_limits l = {UINT64_MAX, own->seconds};
	struct pool_child c;
	pid_t pid = pool_child__fork(&c, &l, SIGKILL);

	if (pid > 0)
		*b = (struct pool_beside){c.pid, c.note};
	else if (!pid)
		*c.note = *own;
	else
		*b = (struct pool_beside){pid, NULL};
	return pid;
}

static int end(struct pool_beside *b, bool kills)
{
	struct pool_child c = {b->pid, b->note};
	int status = 0;

	if (b->pid <= 0)
		return 0;
	if (kills)
		kill(b->pid, SIGKILL);
	while (waitpid(b->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (kills && WIFSIGNALED(status) && b->note)
		pool_child__log_death(pool_child__result(status), WTERMSIG(status), b->note);
	pool_child__forget(&c);
	*b = (struct pool_beside){0};
	return status;
}

void pool__beside_failed(struct pool_beside *b)
{
	end(b, true);
}

void pool__beside_done(struct pool_beside *b)
{
	end(b, false);
}

void pool__beside_end(struct pool_beside *b)
{
	if (b->pid > 0)
		kill(b->pid, SIGKILL);
	end(b, false);
}
