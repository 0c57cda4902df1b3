/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many short processes, all reaped by one parent, whose account then holds them all. */
#include "tests/tools/tool.h"

static const char help[] = "[-n N] [-p P] [-u MICROSECONDS] [-m KIB] [-w BYTES] [-d SECONDS]\n"
			   "       [-f FIFO [-s STATE]] [-o FILE]\n"
			   "Makes N processes, P at a time; each spins, touches memory, writes to "
			   "/dev/null and ends.\n"
			   "  -n N      processes (default 100)\n"
			   "  -p P      at a time (default 2)\n"
			   "  -u US     spin (default 500)\n"
			   "  -m KIB    touch so much memory (default 64)\n"
			   "  -w BYTES  write so much (default 1000)\n"
			   "  -d S      instead of N: go on for S seconds\n"
			   "  -f FIFO   park before the forks and after the last reap\n"
			   "  -s STATE  file that says when it is parked\n"
			   "  -o FILE   account to FILE instead of stdout";

struct job {
	unsigned long n, parallel, us, kib, bytes;
	double seconds;
};

static void work(const struct job *j)
{
	uint64_t end = now_ns() + j->us * 1000;
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	size_t len = j->kib * 1024;
	char *p;

	if (len) {
		p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			_exit(1);
		touch_pages(p, len, true);
	}
	if (j->bytes) {
		char *buf = calloc(1, j->bytes);

		if (!buf || fd < 0)
			_exit(1);
		write_all(fd, buf, j->bytes);
	}
	while (now_ns() < end)
		;
	_exit(0);
}

static void reap(unsigned long *running)
{
	int status;

	if (wait(&status) < 0)
		die("wait: %s", strerror(errno));
	if (status)
		die("a child failed with wait status %d", status);
	--*running;
}

static unsigned long forks(const struct job *j)
{
	uint64_t end = now_ns() + (uint64_t)(j->seconds * 1e9);
	unsigned long made, running = 0;
	pid_t pid;

	for (made = 0; j->seconds > 0 ? now_ns() < end : made < j->n; made++) {
		if (running == j->parallel)
			reap(&running);
		pid = fork();
		if (pid < 0)
			die("fork: %s", strerror(errno));
		if (!pid)
			work(j);
		running++;
	}
	while (running)
		reap(&running);
	return made;
}

int main(int argc, char **argv)
{
	struct job j = {.n = 100, .parallel = 2, .us = 500, .kib = 64, .bytes = 1000};
	const char *out = NULL, *fifo = NULL, *state = NULL;
	unsigned long made;
	struct park park;
	const struct opt opts[] = {OPT('n', &j.n),     OPT('p', &j.parallel),
				   OPT('u', &j.us),    OPT('m', &j.kib),
				   OPT('w', &j.bytes), OPT('d', &j.seconds),
				   OPT('f', &fifo),    OPT('s', &state),
				   OPT('o', &out),     {}};

	options(argc, argv, opts, help);
	if (argc != optind || !j.parallel)
		usage(help, false);
	park__open(&park, state, fifo);
	if (fifo)
		park__wait(&park);
	made = forks(&j);
	if (fifo)
		park__wait(&park);
	printf("children=%lu\n", made);
	account__write(out);
	return 0;
}
