/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a command without its output and prints the seconds that it took, those of CPU and its peak
 * RSS in KiB. A small process must start it: the kernel counts what the starting program's own
 * memory was into the peak of the started one, and an interpreter takes a while to start and to
 * notice an end.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC), status;
	struct rusage r;
	double began;
	pid_t pid;

	if (argc < 2) {
		fprintf(stderr, "usage: jprusage CMD [ARG]...\n");
		return 2;
	}
	began = now();
	pid = fork();
	if (!pid) {
		dup2(null, STDOUT_FILENO);
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &r) != pid)
		return 1;
	printf("%.6f %.6f %ld\n", now() - began, seconds(r.ru_utime) + seconds(r.ru_stime),
	       r.ru_maxrss);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
