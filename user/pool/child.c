/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One limited child process: sets its limits, waits for it, and explains how it ended. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/read_note.h"
#include "pool/pool_internal.h"

#define DESCENDANTS_MS 5000 /* they are killed when the child dies, but not at once */

static const struct {
	int sig, err;
} deaths[] = {
	{SIGSEGV, -EBADMSG}, {SIGBUS, -EBADMSG},  {SIGABRT, -EBADMSG}, {SIGFPE, -EBADMSG},
	{SIGILL, -EBADMSG},  {SIGTRAP, -EBADMSG}, {SIGSYS, -EBADMSG},  {SIGPROF, -ETIME},
	{SIGXCPU, -ETIME},   {SIGVTALRM, -ETIME}, {SIGALRM, -ETIME},   {SIGKILL, -EOWNERDEAD},
};

/* A child ended last by this signal. */
static int last_signal;

void *pool__share(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void pool__unshare(void *p, size_t size)
{
	if (p)
		munmap(p, size);
}

/* Handlers of the parent's would run in the child, and hide what it dies of. */
static void forget_handlers(void)
{
	for (size_t i = 0; i < sizeof(deaths) / sizeof(*deaths); i++)
		if (deaths[i].sig != SIGKILL)
			signal(deaths[i].sig, SIG_DFL);
}

pid_t pool_child__fork(struct pool_child *c, const struct pool_limits *l, int parent_died)
{
	const pid_t parent = getpid();

	*c = (struct pool_child){.note = pool__share(sizeof(*c->note))};
	if (!c->note)
		return -ENOMEM;
	c->note->seconds = l->seconds;
	c->pid = fork();
	if (c->pid < 0) {
		int err = -errno;

		pool_child__forget(c);
		return err;
	}
	if (c->pid)
		return c->pid;
	prctl(PR_SET_PDEATHSIG, parent_died);
	if (getppid() != parent)
		_exit(1);
	forget_handlers();
	pool_child__limit_memory(l->memory);
	pool_child__lower_limit(RLIMIT_CORE, 0);
	read_note__keep_in(c->note);
	pool_child__arm(parent_died);
	return 0;
}

void pool_child__forget(struct pool_child *c)
{
	if (c->note)
		read_note__join(c->note);
	pool__unshare(c->note, sizeof(*c->note));
	*c = (struct pool_child){0};
}

static int signal_error(int sig)
{
	last_signal = sig;
	for (size_t i = 0; i < sizeof(deaths) / sizeof(*deaths); i++)
		if (sig == deaths[i].sig)
			return deaths[i].err;
	return -EINTR;
}

int pool_child__result(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : signal_error(WTERMSIG(status));
}

/* One line: how the process ended whose note it is. */
static void log_death(int err, int sig, struct read_note *n)
{
	const char *file = *n->file ? n->file : "no file yet";

	/* A process that crashed may have written anything. */
	n->file[sizeof(n->file) - 1] = n->object[sizeof(n->object) - 1] = 0;
	if (err == -EBADMSG)
		log_error("%s: %sdamaged: reading it crashed the HDF5 library (%s)", file,
			  n->object, strsignal(sig));
	else if (err == -ETIME)
		log_error("%s: %sdamaged: reading it takes too long for its size", file, n->object);
	else
		log_error("%s: %sthe process that read it was killed", file, n->object);
}

static void run_child(int (*fn)(void *), void *arg)
{
	int status = fn(arg);

	if (fflush(stdout) || ferror(stdout)) {
		log_error("cannot write the output: %s", strerror(errno));
		status = 1;
	}
	_exit(status);
}

/* Waits until the child is gone. What the terminal sends, it sends to the child too. Returns a
 * status of wait(2), or -errno. */
static int await_child(pid_t pid, const sigset_t *signals)
{
	siginfo_t info;
	pid_t got;
	int status;

	while ((got = waitpid(pid, &status, WNOHANG)) != pid) {
		if (got < 0 && errno != EINTR)
			return -errno;
		if (sigwaitinfo(signals, &info) > 0 && info.si_signo != SIGCHLD &&
		    info.si_code != SI_KERNEL)
			kill(pid, info.si_signo);
	}
	return status;
}

static void block_signals(sigset_t *blocked, sigset_t *before)
{
	sigemptyset(blocked);
	sigaddset(blocked, SIGCHLD);
	sigaddset(blocked, SIGINT);
	sigaddset(blocked, SIGTERM);
	sigaddset(blocked, SIGHUP);
	sigaddset(blocked, SIGQUIT);
	sigprocmask(SIG_BLOCK, blocked, before);
}

/* All descendants of the child have the pipe's other end: it is closed when the last one ends. */
static void await_descendants(int pipe_fd)
{
	struct pollfd p = {.fd = pipe_fd, .events = POLLIN};

	poll(&p, 1, DESCENDANTS_MS);
}

/* A status of wait(2), or -errno; *where is what the child was reading when it ended. */
static int run_and_await(int (*fn)(void *), void *arg, const struct pool_limits *l,
			 struct read_note *where)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL}, before;
	struct pool_child c;
	sigset_t blocked, mask;
	int alive[2], status;
	pid_t pid;

	if (pipe2(alive, O_CLOEXEC))
		return -errno;
	pool_alive__add(alive[1]);
	fflush(NULL);
	sigaction(SIGCHLD, &dfl, &before); /* where it is ignored, no child could be waited for */
	block_signals(&blocked, &mask);
	pid = pool_child__fork(&c, l, SIGTERM);
	if (!pid) {
		sigprocmask(SIG_SETMASK, &mask, NULL);
		run_child(fn, arg);
	}
	pool_alive__remove(alive[1]);
	close(alive[1]);
	status = pid < 0 ? (int)pid : await_child(pid, &blocked);
	if (c.note) {
		await_descendants(alive[0]);
		*where = *c.note;
		pool_child__forget(&c);
	}
	close(alive[0]);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	sigaction(SIGCHLD, &before, NULL);
	return status;
}

void pool__follow_signal(void)
{
	raise(last_signal); /* to a handler that removes an output */
	signal(last_signal, SIG_DFL);
	raise(last_signal);
}

int pool__try(int (*fn)(void *), void *arg, const struct pool_limits *l)
{
	struct read_note where;
	int status = run_and_await(fn, arg, l, &where);

	return status < 0 ? status : pool_child__result(status);
}

int pool__call(int (*fn)(void *), void *arg, const struct pool_limits *l)
{
	int result = pool__try(fn, arg, l);

	if (result == -EINTR)
		pool__follow_signal();
	return result;
}

int pool__call_verb(int (*fn)(void *), void *arg, const struct pool_limits *l)
{
	struct read_note where = {0};
	int status = run_and_await(fn, arg, l, &where);
	int result = status < 0 ? status : pool_child__result(status);

	if (result >= 0)
		return result;
	if (status < 0)
		log_error("cannot start a process to read files: %s", strerror(-status));
	else if (result == -EINTR)
		pool__follow_signal();
	else
		log_death(result, WTERMSIG(status), &where);
	return 1;
}
