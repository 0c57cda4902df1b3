/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a program, reads what it prints, and ends it where it does not end. */
#include "base/call.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define TICK_MS 5   /* between looks whether it has ended, where it has closed its output */
#define LOOK_MS 100 /* the same where it has not */

static void __attribute__((noreturn)) run(const char *const argv[], int in, int out)
{
	const int null = open("/dev/null", O_RDWR);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setsid();
	dup2(in >= 0 ? in : null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	execvp(argv[0], (char *const *)argv);
	_exit(127);
}

static int left_ms(uint64_t end)
{
	const uint64_t now = clock__mono_ns();

	return now >= end ? 0 : (int)((end - now) / NSEC_PER_MSEC) + 1;
}

static bool has_ended(pid_t pid)
{
	siginfo_t info = {0};

	return !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid == pid;
}

/* Until the output is closed; what the program has left running may not close it. */
static int read_all(pid_t pid, int fd, char *text, size_t size, uint64_t end)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char rest[512] = "";
	size_t len = 0;
	ssize_t n = 1;

	while (n) {
		const bool has_room = len + 1 < size;
		const int left = left_ms(end), ready = poll(&p, 1, left < LOOK_MS ? left : LOOK_MS);

		if (!left)
			return -ETIME;
		if (!ready && has_ended(pid))
			break;
		if (ready <= 0)
			continue;
		n = read(fd, has_room ? text + len : rest,
			 has_room ? size - 1 - len : sizeof(rest));
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && has_room)
			len += (size_t)n;
		if (size)
			text[len] = '\0';
	}
	return 0;
}

/* Its exit status, or -errno: it is still there. */
static int wait_for(pid_t pid, uint64_t end)
{
	int status;

	while (!has_ended(pid)) {
		if (!left_ms(end))
			return -ETIME;
		poll(NULL, 0, TICK_MS);
	}
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int call__program(const char *const argv[], int in, char *text, size_t size, unsigned seconds)
{
	const uint64_t end = clock__mono_ns() + seconds * NSEC_PER_SEC;
	int p[2], err = 0;
	pid_t pid;

	if (size)
		*text = '\0';
	if (pipe2(p, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid)
		run(argv, in, p[1]);
	close(p[1]);
	if (pid < 0)
		err = -errno;
	if (!err)
		err = read_all(pid, p[0], text, size, end);
	if (!err)
		err = wait_for(pid, end);
	close(p[0]);
	if (err < 0 && pid > 0) {
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return err;
}
