/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts a program inside a cgroup by clone3(CLONE_INTO_CGROUP), as systemd and container runtimes
 * do: it never was anywhere else, and no move is told. */
#include "tests/tools/tool.h"

#include <linux/sched.h>
#include <sys/syscall.h>

static const char help[] =
	"DIR CMD ...\n"
	"Runs CMD as a member of the cgroup v2 directory DIR from its birth on, and exits "
	"with its status.";

int main(int argc, char **argv)
{
	struct clone_args args = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD};
	int fd, status;
	pid_t pid;

	if (argc < 3)
		usage(help, argc == 2 && !strcmp(argv[1], "--help"));
	fd = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		die("cannot open %s: %s", argv[1], strerror(errno));
	args.cgroup = fd;
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0)
		die("clone3 into %s: %s", argv[1], strerror(errno));
	if (!pid) {
		execvp(argv[2], argv + 2);
		fprintf(stderr, "jpinto: cannot run %s: %s\n", argv[2], strerror(errno));
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid)
		die("waitpid: %s", strerror(errno));
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
