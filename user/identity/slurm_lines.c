// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs a command of Slurm's within limits, and cuts what it prints into lines. */
#include "identity/slurm_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define LINE_LEN   (1u << 20)
#define NO_PROGRAM 127
#define END_S	   5 /* a command that has closed its output ends within this time, or is killed */

enum { OUT, SAID, N_PIPES };

struct reading {
	struct slurm_lines *l;
	pid_t pid;
	int fd[N_PIPES]; /* -1: it has ended */
	char *line;	 /* LINE_LEN bytes */
	size_t len;
	uint64_t taken;	    /* bytes */
	double left_s;	    /* that it may be waited for */
	size_t said;	    /* bytes of l->said */
	bool said_is_whole; /* its first line ended */
};

/* ---- the command */

static void set_environment(void)
{
	setenv("SLURM_TIME_FORMAT", "%s", 1);
	setenv("TZ", "UTC", 1);
	setenv("LC_ALL", "C", 1);
}

static void __attribute__((noreturn))
run(const struct slurm_lines *l, const int to[N_PIPES], pid_t parent)
{
	int null = open("/dev/null", O_RDWR);
	char *path = NULL;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(NO_PROGRAM);
	dup2(null, STDIN_FILENO);
	dup2(to[OUT], STDOUT_FILENO);
	dup2(to[SAID], STDERR_FILENO);
	signal(SIGPIPE, SIG_DFL);
	set_environment();
	if (!l->dir)
		execvp(l->argv[0], l->argv);
	else if (asprintf(&path, "%s/%s", l->dir, l->argv[0]) > 0)
		execv(path, l->argv);
	_exit(NO_PROGRAM);
}

static int start(struct reading *r)
{
	int p[N_PIPES][2], to[N_PIPES];
	const pid_t parent = getpid();

	if (pipe2(p[OUT], O_CLOEXEC))
		return -errno;
	if (pipe2(p[SAID], O_CLOEXEC)) {
		int err = -errno;

		close(p[OUT][0]);
		close(p[OUT][1]);
		return err;
	}
	for (int i = 0; i < N_PIPES; i++) {
		r->fd[i] = p[i][0];
		to[i] = p[i][1];
	}
	r->pid = fork();
	if (!r->pid)
		run(r->l, to, parent);
	if (r->pid > 0)
		setpgid(r->pid, r->pid); /* whoever of the two comes first */
	close(to[OUT]);
	close(to[SAID]);
	return r->pid < 0 ? -errno : 0;
}

/* ---- its output */

/* Takes the whole lines, and what is more than a line may have. */
static int take_lines(struct reading *r)
{
	char *from = r->line, *end;
	int err = 0;

	r->line[r->len] = '\0';
	while (!err && (end = memchr(from, '\n', r->len - (size_t)(from - r->line)))) {
		*end = '\0';
		err = r->l->take(r->l->arg, from);
		from = end + 1;
	}
	r->len -= (size_t)(from - r->line);
	memmove(r->line, from, r->len + 1);
	if (!err && r->len == LINE_LEN - 1) {
		err = r->l->take(r->l->arg, r->line);
		r->len = 0;
	}
	return err;
}

static int read_out(struct reading *r)
{
	ssize_t n = read(r->fd[OUT], r->line + r->len, LINE_LEN - 1 - r->len);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (!n) {
		close(r->fd[OUT]);
		r->fd[OUT] = -1;
		return 0;
	}
	r->len += (size_t)n;
	r->taken += (size_t)n;
	return r->taken > r->l->most ? -EFBIG : take_lines(r);
}

/* Of what it says the first line is kept: the others follow from it. */
static int read_said(struct reading *r)
{
	char text[512];
	ssize_t n = read(r->fd[SAID], text, sizeof(text));

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (!n) {
		close(r->fd[SAID]);
		r->fd[SAID] = -1;
	}
	for (ssize_t i = 0; i < n && !r->said_is_whole; i++) {
		r->said_is_whole = text[i] == '\n' || r->said == sizeof(r->l->said) - 1;
		if (!r->said_is_whole)
			r->l->said[r->said++] = text[i];
	}
	return 0;
}

static int read_more(struct reading *r)
{
	struct pollfd p[N_PIPES] = {{r->fd[OUT], POLLIN, 0}, {r->fd[SAID], POLLIN, 0}};
	const uint64_t began = clock__mono_ns();
	const double wait_ms = fmin(fmax(r->left_s * 1000 + 1, 0), 1e6);
	int n = poll(p, N_PIPES, (int)wait_ms), err = 0;

	r->left_s -= (double)(clock__mono_ns() - began) / 1e9;
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (!n)
		return r->left_s > 0 ? 0 : -ETIME;
	if (p[SAID].revents)
		err = read_said(r);
	if (!err && p[OUT].revents)
		err = read_out(r);
	return err;
}

/* ---- its end */

static int status_of(struct reading *r, int status)
{
	char *said = r->l->said;

	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_PROGRAM && !r->said)
		return -ENOENT;
	if (!r->said && WIFSIGNALED(status))
		snprintf(said, sizeof(r->l->said), "it was killed (%s)",
			 strsignal(WTERMSIG(status)));
	else if (!r->said)
		snprintf(said, sizeof(r->l->said), "it ended with status %d", WEXITSTATUS(status));
	return -EIO;
}

/* Its process group is killed before the command is reaped: later the number may be another's. */
static int end(struct reading *r, int err)
{
	const uint64_t until = clock__mono_ns() + (err ? 0 : END_S * NSEC_PER_SEC);
	siginfo_t info = {0};
	int status;

	while (!waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOHANG | WNOWAIT) && !info.si_pid &&
	       clock__mono_ns() < until)
		usleep(1000);
	kill(-r->pid, SIGKILL);
	while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
		;
	return err ? err : status_of(r, status);
}

int slurm_lines__read(struct slurm_lines *l)
{
	struct reading r = {.l = l, .fd = {-1, -1}, .line = malloc(LINE_LEN), .left_s = l->seconds};
	int err = r.line ? start(&r) : -ENOMEM;

	l->said[0] = '\0';
	while (!err && (r.fd[OUT] >= 0 || r.fd[SAID] >= 0))
		err = read_more(&r);
	if (!err && r.len) /* a last line without its end */
		err = l->take(l->arg, r.line);
	l->said[r.said] = '\0';
	if (r.pid > 0)
		err = end(&r, err);
	for (int i = 0; i < N_PIPES; i++)
		if (r.fd[i] >= 0)
			close(r.fd[i]);
	free(r.line);
	return err;
}
