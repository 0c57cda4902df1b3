/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The library can crash on a damaged file. It does so in a process of its own, so that the caller
 * is left to say it and to remove what was written.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "store/extract_internal.h"

struct answer {
	int err;
	struct extract_result result;
};

/* Never returns. */
static void child(const char *path, const struct extract_options *o, int fd, int to)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct answer a = {0};

	for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	a.err = extract__run_here(path, o, fd, &a.result);
	_exit(write(to, &a, sizeof(a)) != (ssize_t)sizeof(a));
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 0;
	return status;
}

static int broke_down(const char *path, int status)
{
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (sig == SIGPIPE)
		raise(SIGPIPE); /* nobody reads the output: as if we had written it */
	if (sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGABRT)
		log_error("%s: damaged: the HDF5 library broke down over it (%s)", path,
			  strsignal(sig));
	else
		log_error("%s: the process that read it ended unexpectedly%s%s", path,
			  sig ? ": " : "", sig ? strsignal(sig) : "");
	return -ECHILD;
}

int extract__run(const char *path, const struct extract_options *o, int fd,
		 struct extract_result *result)
{
	struct answer a;
	ssize_t n = -1;
	int fds[2], status;
	pid_t pid;

	*result = (struct extract_result){0};
	if (pipe2(fds, O_CLOEXEC))
		return extract__run_here(path, o, fd, result);
	pid = fork();
	if (!pid) {
		close(fds[0]);
		child(path, o, fd, fds[1]);
	}
	close(fds[1]);
	if (pid > 0)
		while ((n = read(fds[0], &a, sizeof(a))) < 0 && errno == EINTR)
			;
	close(fds[0]);
	if (pid < 0)
		return extract__run_here(path, o, fd, result);
	status = wait_for(pid);
	if (n != (ssize_t)sizeof(a))
		return broke_down(path, status);
	*result = a.result;
	return a.err;
}
