/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes a file and reads it back, through the page cache or past it. */
#include "tests/tools/tool.h"

#include <getopt.h>

static const char help[] = "[-w MB] [-r MB] [-b BYTES] [-d] [-f] [-c] [-o FILE] PATH\n"
			   "Writes and then reads PATH and prints the kernel's account of it.\n"
			   "  -w MB     write so much (default 16)\n"
			   "  -r MB     then read so much from the start (default 16)\n"
			   "  -b BYTES  size of one call (default 65536)\n"
			   "  -d        O_DIRECT\n"
			   "  -f        fsync after writing\n"
			   "  -c        drop the file from the page cache before reading\n"
			   "  -o FILE   account to FILE instead of stdout";

struct job {
	const char *path;
	double write_mb, read_mb;
	size_t block;
	int flags;
	bool sync, drop;
};

static void do_write(const struct job *j, char *buf)
{
	size_t left = (size_t)(j->write_mb * MB), n;
	int fd = open(j->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | j->flags, 0644);

	if (fd < 0)
		die("cannot write %s: %s", j->path, strerror(errno));
	for (; left; left -= n) {
		n = left < j->block ? left : j->block;
		write_all(fd, buf, n);
	}
	if (j->sync && fsync(fd))
		die("fsync %s: %s", j->path, strerror(errno));
	close(fd);
}

static void do_read(const struct job *j, char *buf)
{
	size_t left = (size_t)(j->read_mb * MB);
	int fd = open(j->path, O_RDONLY | O_CLOEXEC | j->flags);
	ssize_t n;

	if (fd < 0)
		die("cannot read %s: %s", j->path, strerror(errno));
	if (j->drop && (fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED)))
		die("cannot drop %s from the page cache", j->path);
	while (left) {
		n = read(fd, buf, left < j->block ? left : j->block);
		if (n < 0)
			die("read %s: %s", j->path, strerror(errno));
		if (!n)
			break;
		left -= n;
	}
	close(fd);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {{"help", no_argument, NULL, 'h'}, {0}};
	struct job j = {.write_mb = 16, .read_mb = 16, .block = 65536};
	const char *out = NULL;
	void *buf;
	int c;

	while ((c = getopt_long(argc, argv, "w:r:b:dfco:h", longs, NULL)) != -1) {
		switch (c) {
		case 'w':
			j.write_mb = to_number(optarg);
			break;
		case 'r':
			j.read_mb = to_number(optarg);
			break;
		case 'b':
			j.block = to_ulong(optarg);
			break;
		case 'd':
			j.flags = O_DIRECT;
			break;
		case 'f':
			j.sync = true;
			break;
		case 'c':
			j.drop = true;
			break;
		case 'o':
			out = optarg;
			break;
		default:
			usage(help, c == 'h');
		}
	}
	if (argc - optind != 1 || !j.block)
		usage(help, false);
	j.path = argv[optind];
	if (posix_memalign(&buf, 4096, j.block))
		die("out of memory");
	memset(buf, 'j', j.block);
	if (j.write_mb > 0)
		do_write(&j, buf);
	if (j.read_mb > 0)
		do_read(&j, buf);
	free(buf);
	account__write(out);
	return 0;
}
