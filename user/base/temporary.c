/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A signal that ends a process removes the file that has no final name yet. */
#include "base/temporary.h"

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#define SIGNALS 9
static const int signals[SIGNALS] = {SIGINT,  SIGTERM, SIGHUP,	SIGQUIT, SIGPIPE,
				     SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU};
static struct sigaction actions[SIGNALS];

static const char *volatile watched;
static volatile int watched_in;
static volatile pid_t watched_by;

static void on_signal(int sig)
{
	if (watched && watched_by == getpid())
		unlinkat(watched_in, watched, 0);
	signal(sig, SIG_DFL);
	raise(sig);
}

void temporary__block(sigset_t *before)
{
	sigset_t set;

	sigemptyset(&set);
	for (unsigned i = 0; i < SIGNALS; i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, before);
}

void temporary__unblock(const sigset_t *before)
{
	sigprocmask(SIG_SETMASK, before, NULL);
}

void temporary__watch(int dir, const char *name)
{
	const struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_NODEFER};

	watched_in = dir;
	watched_by = getpid();
	watched = name;
	for (unsigned i = 0; i < SIGNALS; i++) {
		sigaction(signals[i], NULL, &actions[i]);
		if (actions[i].sa_handler != SIG_IGN)
			sigaction(signals[i], &sa, NULL);
	}
}

void temporary__forget(void)
{
	for (unsigned i = 0; watched && i < SIGNALS; i++)
		sigaction(signals[i], &actions[i], NULL);
	watched = NULL;
}
