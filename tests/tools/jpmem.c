/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Holds anonymous, file-backed and shared memory for a time. */
#include "tests/tools/tool.h"

static const char help[] =
	"[-a MB] [-m MB -p PATH] [-s MB] [-t SECONDS] [-g SECONDS] [-f SECONDS] [-o FILE]\n"
	"Maps and touches memory, holds it, prints the kernel's account of it.\n"
	"  -a MB       anonymous\n"
	"  -m MB       of a file made at PATH, read only\n"
	"  -s MB       shared anonymous\n"
	"  -g SECONDS  grow the anonymous part in 16 steps over this time\n"
	"  -t SECONDS  hold (default 0)\n"
	"  -f SECONDS  free all after the account and live on for so long\n"
	"  -o FILE     account to FILE instead of stdout";

static char *map_touch(size_t len, int flags, int fd, bool write, double grow)
{
	char *p;
	int i;

	if (!len)
		return NULL;
	p = mmap(NULL, len, write ? PROT_READ | PROT_WRITE : PROT_READ, flags, fd, 0);
	if (p == MAP_FAILED)
		die("cannot map %zu bytes: %s", len, strerror(errno));
	if (grow <= 0) {
		touch_pages(p, len, write);
		return p;
	}
	for (i = 0; i < 16; i++) {
		touch_pages(p + len / 16 * i, len / 16, write);
		sleep_s(grow / 16);
	}
	return p;
}

static char *map_file(const char *path, size_t len)
{
	static const char block[65536];
	size_t done;
	char *p;
	int fd;

	if (!len)
		return NULL;
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		die("cannot make %s: %s", path, strerror(errno));
	for (done = 0; done < len; done += sizeof(block))
		write_all(fd, block, sizeof(block));
	p = map_touch(len, MAP_SHARED, fd, false, 0);
	close(fd);
	return p;
}

int main(int argc, char **argv)
{
	double anon = 0, file = 0, shm = 0, hold = 0, grow = 0, linger = 0;
	const char *out = NULL, *path = NULL;
	char *a, *m, *s;
	const struct opt opts[] = {OPT('a', &anon),   OPT('m', &file), OPT('p', &path),
				   OPT('s', &shm),    OPT('t', &hold), OPT('g', &grow),
				   OPT('f', &linger), OPT('o', &out),  {}};

	options(argc, argv, opts, help);
	if (argc != optind || (file > 0 && !path))
		usage(help, false);
	anon *= MB;
	file *= MB;
	shm *= MB;
	a = map_touch((size_t)anon, MAP_PRIVATE | MAP_ANONYMOUS, -1, true, grow);
	m = map_file(path, (size_t)file);
	s = map_touch((size_t)shm, MAP_SHARED | MAP_ANONYMOUS, -1, true, 0);
	sleep_s(hold);
	account__write(out);
	if (linger > 0) {
		if (a)
			munmap(a, (size_t)anon);
		if (m)
			munmap(m, (size_t)file);
		if (s)
			munmap(s, (size_t)shm);
		sleep_s(linger);
	}
	return 0;
}
