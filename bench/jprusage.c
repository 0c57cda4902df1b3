/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs a command and prints its CPU seconds and peak RSS in KiB. A small process must start it: the
 * kernel counts what the starting program's own memory was into the peak of the started one. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rusage r;
	int status;
	pid_t pid;

	if (argc < 2) {
		fprintf(stderr, "usage: jprusage CMD [ARG]...\n");
		return 2;
	}
	pid = fork();
	if (!pid) {
		execv(argv[1], argv + 1);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &r) != pid)
		return 1;
	printf("%.6f %ld\n",
	       (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
		       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6,
	       r.ru_maxrss);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
