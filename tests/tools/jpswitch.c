/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Context switches of both kinds: a ping-pong through pipes, or spinners that share one CPU. */
#include "tests/tools/tool.h"

static const char help[] =
	"[-p] [-o FILE] N | -s SECONDS [-o FILE]\n"
	"Sends a byte to and fro between two processes N times (voluntary switches), or lets two\n"
	"processes spin on one CPU (involuntary). Both accounts: the child's in FILE.child.\n"
	"  -p          both on one CPU\n"
	"  -s SECONDS  two spinners on one CPU\n"
	"  -o FILE     account of the parent to FILE instead of stdout";

static void pass(int in, int out, unsigned long n, bool first)
{
	char c = 'x';

	while (n--) {
		if (first)
			write_all(out, &c, 1);
		if (read(in, &c, 1) != 1)
			die("the other side has gone");
		if (!first)
			write_all(out, &c, 1);
	}
}

static void child(const int *in, const int *out, unsigned long n, double spin, const char *path)
{
	char name[4096];

	close(in[1]);
	close(out[0]);
	if (spin > 0)
		spin_s(spin);
	else
		pass(in[0], out[1], n, false);
	if (path) {
		snprintf(name, sizeof(name), "%s.child", path);
		account__write(name);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	int ping[2], pong[2], status;
	const char *out = NULL;
	unsigned long n = 0;
	bool pin = false;
	double spin = 0;
	pid_t pid;
	const struct opt opts[] = {OPT('p', &pin), OPT('o', &out), OPT('s', &spin), {}};

	options(argc, argv, opts, help);
	if (argc - optind != (spin > 0 ? 0 : 1))
		usage(help, false);
	if (spin <= 0)
		n = to_ulong(argv[optind]);
	if (pin || spin > 0)
		pin_to_cpu(first_cpu());
	if (pipe(ping) || pipe(pong))
		die("pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid)
		child(ping, pong, n, spin, out);
	close(ping[0]);
	close(pong[1]);
	if (spin > 0)
		spin_s(spin);
	else
		pass(pong[0], ping[1], n, true);
	if (waitpid(pid, &status, 0) != pid || status)
		die("the child failed");
	account__write(out);
	return 0;
}
