/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A daemon that outlives its parent: its own session, no parent but init, and it works on. */
#include "tests/tools/tool.h"

static const char help[] =
	"-o FILE SECONDS\n"
	"Returns at once; the daemon it leaves spins and then writes its account.\n"
	"  -o FILE  the daemon's account";

static void daemon_main(double seconds, const char *out)
{
	int fd = open("/dev/null", O_RDWR);

	if (fd >= 0) {
		dup2(fd, 0);
		dup2(fd, 1);
		dup2(fd, 2);
		if (fd > 2)
			close(fd);
	}
	spin_s(seconds);
	account__write(out);
}

int main(int argc, char **argv)
{
	const char *out = option_out(argc, argv, help);
	double seconds;
	pid_t pid;

	if (argc - optind != 1 || !out)
		usage(help, false);
	seconds = to_number(argv[optind]);
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid)
		_exit(0);
	if (setsid() < 0)
		die("setsid: %s", strerror(errno));
	pid = fork(); /* no session leader: it can never get a terminal */
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid)
		daemon_main(seconds, out);
	_exit(0);
}
