/* SPDX-License-Identifier: GPL-2.0-only */
#include "pool/anew.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "pool/pool.h"

#define NAME	   "JOBPROF_LEFT_BY"
#define PROGRAM	   "/proc/self/exe"
#define STACK	   (64u << 10) /* of the handler: the other one may be used up */
#define CHILDREN   64
#define SIGNAL_MAX 64

/* Those that end who does not handle them, but for SIGKILL and real-time ones. */
static const int signals[] = {
	SIGHUP,	 SIGINT,  SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,
	SIGFPE,	 SIGUSR1, SIGSEGV, SIGUSR2, SIGPIPE, SIGALRM, SIGTERM,
	SIGPOLL, SIGPWR,  SIGSYS,  SIGXCPU, SIGXFSZ, SIGPROF, SIGVTALRM,
};
#define N_SIGNALS (sizeof(signals) / sizeof(*signals))

/* A handler may use what is made before it is set, and little else. */
static struct {
	char **argv, **env;
	char mark[sizeof(NAME) + 4]; /* NAME=number */
	pid_t owner;		     /* a child has the handlers too */
	sigset_t mask;
	struct sigaction was[N_SIGNALS];
	pid_t children[CHILDREN];
} self;

static int found = -1; /* of the start before */
static char stack[STACK];

void anew__init(char **argv)
{
	const char *mark = getenv(NAME);
	uint32_t n;

	self.argv = argv;
	if (mark)
		found = !parse_u32(mark, &n) && n <= SIGNAL_MAX ? (int)n : 0;
	unsetenv(NAME);
}

int anew__left_by(void)
{
	return found;
}

bool anew__possible(void)
{
	return self.argv;
}

static void set_mark(int n)
{
	char *p = self.mark + sizeof(NAME);

	memcpy(self.mark, NAME "=", sizeof(NAME));
	*p++ = (char)('0' + n / 10 % 10);
	*p++ = (char)('0' + n % 10);
	*p = 0;
}

/* Only children: what was registered may have been overwritten. */
static void end_children(void)
{
	for (unsigned i = 0; i < CHILDREN; i++) {
		const pid_t pid = self.children[i];
		siginfo_t info;

		if (pid > 1 && !waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT)) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
		}
	}
}

/* May be called by a handler. */
static void start(int sig)
{
	set_mark(sig);
	end_children();
	pool__leave();
	sigprocmask(SIG_SETMASK, &self.mask, NULL);
	execve(PROGRAM, self.argv, self.env);
}

static void on_signal(int sig)
{
	if (getpid() == self.owner)
		start(sig);
	signal(sig, SIG_DFL);
	raise(sig);
}

/* The environment with the mark. */
static int prepare(void)
{
	size_t n = 0;

	while (environ[n])
		n++;
	free(self.env);
	self.env = calloc(n + 2, sizeof(*self.env));
	if (!self.env)
		return -ENOMEM;
	memcpy(self.env, environ, n * sizeof(*self.env));
	self.env[n] = self.mark;
	self.owner = getpid();
	sigprocmask(SIG_SETMASK, NULL, &self.mask);
	return 0;
}

static void catch_signals(void)
{
	const stack_t s = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESETHAND};

	sigaltstack(&s, NULL);
	for (unsigned i = 0; i < N_SIGNALS; i++) {
		sigaction(signals[i], NULL, &self.was[i]);
		if (self.was[i].sa_handler != SIG_IGN)
			sigaction(signals[i], &a, NULL);
	}
}

static void release_signals(void)
{
	for (unsigned i = 0; i < N_SIGNALS; i++)
		sigaction(signals[i], &self.was[i], NULL);
}

int anew__run(int (*fn)(void *), void *arg, const struct pool_limits *l)
{
	int result = prepare();

	if (result)
		return result;
	pool__enter(l);
	catch_signals();
	result = fn(arg);
	release_signals();
	pool__leave();
	return result;
}

void anew__start(int left_by)
{
	if (self.env)
		start(left_by);
}

void anew__child(pid_t pid)
{
	for (unsigned i = 0; i < CHILDREN; i++) {
		if (!self.children[i]) {
			self.children[i] = pid;
			return;
		}
	}
}

void anew__child_gone(pid_t pid)
{
	for (unsigned i = 0; i < CHILDREN; i++)
		if (self.children[i] == pid)
			self.children[i] = 0;
}
