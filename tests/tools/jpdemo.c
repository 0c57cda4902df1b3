/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A mixed workload of about 10 s that shows something in every column: compute, memory, file I/O,
 * short processes, more work than CPUs, sleep. */
#include "tests/tools/tool.h"

static const char help[] = "[-x FACTOR] [-d DIR] [-q]\n"
			   "  -x FACTOR  lengthen or shorten every phase (default 1: 10 s)\n"
			   "  -d DIR     where its file goes (default .)\n"
			   "  -q         do not name the phases";

static const char *dir = ".";
static bool quiet;

static void phase(const char *what)
{
	if (!quiet)
		fprintf(stderr, "  demo: %s\n", what);
}

static void grow_memory(double seconds)
{
	size_t len = 256 * MB, part = len / 16;
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	if (p == MAP_FAILED)
		die("cannot map %zu bytes: %s", len, strerror(errno));
	for (i = 0; i < 16; i++) {
		touch_pages(p + part * i, part, true);
		sleep_s(seconds / 16);
	}
	munmap(p, len);
}

static void file_io(double seconds)
{
	static char block[1 << 20];
	uint64_t end = now_ns() + (uint64_t)(seconds * 1e9);
	char path[4096];
	int fd, i;

	snprintf(path, sizeof(path), "%s/jpdemo.%d.tmp", dir, (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		die("cannot make %s: %s", path, strerror(errno));
	unlink(path);
	while (now_ns() < end) {
		if (lseek(fd, 0, SEEK_SET))
			die("lseek: %s", strerror(errno));
		for (i = 0; i < 16; i++)
			write_all(fd, block, sizeof(block));
		if (fsync(fd))
			die("fsync: %s", strerror(errno));
		for (i = 0; i < 16; i++)
			if (pread(fd, block, sizeof(block), (off_t)i * (off_t)sizeof(block)) < 0)
				die("read: %s", strerror(errno));
		sleep_s(0.05); /* enough to be seen, not to wear a disk */
	}
	close(fd);
}

static void short_processes(double seconds)
{
	uint64_t end = now_ns() + (uint64_t)(seconds * 1e9);
	pid_t pid;

	while (now_ns() < end) {
		pid = fork();
		if (pid < 0)
			die("fork: %s", strerror(errno));
		if (!pid)
			_exit(0);
		if (waitpid(pid, NULL, 0) != pid)
			die("waitpid: %s", strerror(errno));
	}
}

/* Three spinners on every CPU: two of three always wait. */
static void too_many_spinners(double seconds)
{
	long i, n = 3 * sysconf(_SC_NPROCESSORS_ONLN);
	pid_t pid;

	for (i = 0; i < n; i++) {
		pid = fork();
		if (pid < 0)
			die("fork: %s", strerror(errno));
		if (!pid) {
			spin_s(seconds);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
}

int main(int argc, char **argv)
{
	double x = 1;
	const struct opt opts[] = {OPT('x', &x), OPT('d', &dir), OPT('q', &quiet), {}};

	options(argc, argv, opts, help);
	if (argc != optind)
		usage(help, false);
	phase("compute");
	spin_s(2 * x);
	phase("memory grows to 256 MB");
	grow_memory(2 * x);
	phase("file I/O with fsync");
	file_io(2 * x);
	phase("short processes");
	short_processes(1.5 * x);
	phase("three spinners per CPU");
	too_many_spinners(2 * x);
	phase("sleep");
	sleep_s(0.5 * x);
	return 0;
}
