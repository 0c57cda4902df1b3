/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A task that is mostly idle and does a little of everything, never twice the same amount: its rows
 * are as hard to compress as a real program's. */
#include "tests/tools/tool.h"

#include <arpa/inet.h>
#include <sys/socket.h>

static const char help[] =
	"[-b FILE] [-r FILE] [-p MS] SECONDS\n"
	"  -b FILE  write the wall clock of the first instructions to FILE, in ns; %p is the pid\n"
	"  -r FILE  read blocks of FILE past the page cache now and then\n"
	"  -p MS    mean period (default 50)";

static uint64_t seed;

static unsigned draw(unsigned below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(seed >> 33) % below;
}

static void tell_birth(const char *path, uint64_t ns)
{
	char name[4096], text[32];
	const char *at = strstr(path, "%p");
	int fd, n;

	if (at)
		snprintf(name, sizeof(name), "%.*s%d%s", (int)(at - path), path, getpid(), at + 2);
	else
		snprintf(name, sizeof(name), "%s", path);
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		die("cannot write %s: %s", name, strerror(errno));
	n = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)ns);
	write_all(fd, text, n);
	close(fd);
}

static int loop_socket(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (void *)&a, len) || getsockname(fd, (void *)&a, &len) ||
	    connect(fd, (void *)&a, len))
		die("no socket over loopback: %s", strerror(errno));
	return fd;
}

static void move_bytes(int zero, int null, int sock, int file)
{
	static char buf[65536] __attribute__((aligned(4096)));
	unsigned n, i;

	n = draw(sizeof(buf)) + 1;
	if (read(zero, buf, n) > 0)
		write_all(null, buf, draw(n) + 1);
	for (i = draw(4); i; i--) {
		n = draw(1000) + 1;
		if (send(sock, buf, n, 0) > 0 && recv(sock, buf, sizeof(buf), 0) < 0)
			die("recv: %s", strerror(errno));
	}
	if (file >= 0 && !draw(4) && pread(file, buf, 4096, (off_t)draw(256) * 4096) < 0)
		die("read: %s", strerror(errno));
	for (i = draw(6); i; i--)
		close(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

static void spin_us(unsigned us)
{
	uint64_t end = now_ns() + us * 1000ull;

	while (now_ns() < end)
		;
}

static void use_memory(void)
{
	static char *p;
	static size_t len;

	if (p)
		munmap(p, len);
	len = (draw(256) + 1) * 4096;
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		die("no memory");
	touch_pages(p, len, true);
}

int main(int argc, char **argv)
{
	const char *birth = NULL, *path = NULL;
	int c, zero, null, sock, file = -1;
	double period_ms = 50;
	struct timespec t;
	uint64_t end;

	clock_gettime(CLOCK_REALTIME, &t);
	while ((c = getopt(argc, argv, "b:r:p:h")) != -1) {
		if (c == 'b')
			birth = optarg;
		else if (c == 'r')
			path = optarg;
		else if (c == 'p')
			period_ms = to_number(optarg);
		else
			usage(help, c == 'h');
	}
	if (argc - optind != 1)
		usage(help, false);
	if (birth)
		tell_birth(birth, (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec);
	end = now_ns() + (uint64_t)(to_number(argv[optind]) * 1e9);
	seed = (uint64_t)getpid() * 2654435761u;
	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	sock = loop_socket();
	if (path)
		file = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	while (now_ns() < end) {
		move_bytes(zero, null, sock, file);
		use_memory();
		spin_us(draw(300));
		sleep_s((draw(1000) + 500) / 1000.0 * period_ms / 1000);
	}
	return 0;
}
