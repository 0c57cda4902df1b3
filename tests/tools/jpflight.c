/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ends while its reads are under way: io_uring lets go of a process that asks and does not wait. */
#include "tests/tools/tool.h"

#include <linux/io_uring.h>
#include <sys/syscall.h>

static const char help[] =
	"[-n READS] [-b BYTES] PATH\n"
	"Asks for READS reads of BYTES from the start of PATH with O_DIRECT through\n"
	"io_uring and exits at once. Prints how many bytes it asked for.\n"
	"  -n READS  power of two up to 1024 (default 32)\n"
	"  -b BYTES  size of one read (default 1048576)";

struct ring {
	int fd;
	struct io_uring_params p;
	struct io_uring_sqe *sqes;
	char *sq;
};

static void *map(const struct ring *r, size_t len, off_t what)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd, what);

	if (p == MAP_FAILED)
		die("cannot map the ring: %s", strerror(errno));
	return p;
}

static void ring__open(struct ring *r, unsigned entries)
{
	memset(r, 0, sizeof(*r));
	r->fd = (int)syscall(SYS_io_uring_setup, entries, &r->p);
	if (r->fd < 0)
		die("no io_uring: %s", strerror(errno));
	r->sq = map(r, r->p.sq_off.array + r->p.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
	r->sqes = map(r, r->p.sq_entries * sizeof(*r->sqes), IORING_OFF_SQES);
}

static void ring__read(struct ring *r, unsigned i, int fd, void *buf, size_t len, off_t at)
{
	r->sqes[i] = (struct io_uring_sqe){.opcode = IORING_OP_READ,
					   .fd = fd,
					   .addr = (uintptr_t)buf,
					   .len = (unsigned)len,
					   .off = (uint64_t)at};
	((unsigned *)(r->sq + r->p.sq_off.array))[i] = i;
}

int main(int argc, char **argv)
{
	unsigned n = 32, i;
	size_t len = MB;
	struct ring r;
	void *buf;
	int fd;
	const struct opt opts[] = {OPT('n', &n), OPT('b', &len), {}};

	options(argc, argv, opts, help);
	if (argc - optind != 1 || !n || n > 1024)
		usage(help, false);
	fd = open(argv[optind], O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (fd < 0)
		die("cannot open %s: %s", argv[optind], strerror(errno));
	if (posix_memalign(&buf, 4096, n * len))
		die("out of memory");
	memset(buf, 0, n * len);
	ring__open(&r, n);
	for (i = 0; i < n; i++)
		ring__read(&r, i, fd, (char *)buf + i * len, len, (off_t)(i * len));
	__atomic_store_n((unsigned *)(r.sq + r.p.sq_off.tail), n, __ATOMIC_RELEASE);
	printf("%zu\n", n * len);
	fflush(stdout);
	if (syscall(SYS_io_uring_enter, r.fd, n, 0, 0, NULL, 0) != (long)n)
		die("io_uring took less than it was given: %s", strerror(errno));
	_exit(0);
}
