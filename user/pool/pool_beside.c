/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/beside.h"
#include "pool/pool_internal.h"

pid_t pool__beside(struct pool_beside *b)
{
	struct pool_note *its = pool__share(sizeof(*its));
	const pid_t parent = getpid();

	*b = (struct pool_beside){.note = its};
	if (!its)
		return -ENOMEM;
	b->pid = beside__fork();
	if (!b->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		pool__write_to(its);
	} else if (b->pid < 0) {
		b->pid = -errno;
	}
	return b->pid;
}

static void let_go(struct pool_beside *b)
{
	pool__unshare(b->note, sizeof(*b->note));
	*b = (struct pool_beside){0};
}

/* 0: it is not known. */
static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

void pool__beside_failed(struct pool_beside *b)
{
	int status, sig;

	if (b->pid <= 0)
		return;
	kill(b->pid, SIGKILL); /* one that has died stays dead of what it died of */
	status = wait_for(b->pid);
	sig = WIFSIGNALED(status) ? WTERMSIG(status) : SIGKILL;
	pool__say(pool__signal_error(sig), sig, b->note);
	let_go(b);
}

static bool leave_to_parent(pid_t pid)
{
	struct pool_note *n = pool__note();

	for (unsigned i = 0; n->adopts && i < POOL_BESIDE_MAX; i++) {
		if (n->beside[i])
			continue;
		n->beside[i] = pid;
		return true;
	}
	return false;
}

void pool__beside_done(struct pool_beside *b)
{
	if (b->pid > 0 && !leave_to_parent(b->pid))
		wait_for(b->pid);
	let_go(b);
}

void pool__beside_end(struct pool_beside *b)
{
	if (b->pid > 0) {
		kill(b->pid, SIGKILL);
		wait_for(b->pid);
	}
	let_go(b);
}

void pool__reap(const struct pool_note *n)
{
	for (unsigned i = 0; i < POOL_BESIDE_MAX; i++)
		if (n->beside[i] > 0)
			wait_for(n->beside[i]);
}
