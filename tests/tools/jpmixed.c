/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program of which each thread blocks in another way, again and again, for lengths that differ.
 */
#include "tests/tools/tool.h"

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

static const char help[] = "SECONDS DIRECTORY\n"
			   "Runs so long; files are made in the directory, of a real disk.\n";

#define FILE_MB 64

static struct timespec end;
static const char *directory;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_over(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec > end.tv_sec || (t.tv_sec == end.tv_sec && t.tv_nsec > end.tv_nsec);
}

/* Up to ms. */
static void rest(unsigned *seed, unsigned ms)
{
	usleep(200 + (unsigned)rand_r(seed) % (ms * 1000));
}

static void *sleeps(void *seed)
{
	while (!is_over())
		rest(seed, 9);
	return NULL;
}

static void *locks(void *seed)
{
	while (!is_over()) {
		pthread_mutex_lock(&lock);
		rest(seed, 4);
		pthread_mutex_unlock(&lock);
		sched_yield();
	}
	return NULL;
}

/* The other end of a pipe or socket. */
struct end {
	int fd;
	unsigned seed;
};

static void *writes(void *arg)
{
	struct end *e = arg;

	while (!is_over()) {
		rest(&e->seed, 5);
		if (write(e->fd, "", 1) != 1)
			break;
	}
	close(e->fd);
	return NULL;
}

static int other_end(int fd, unsigned seed)
{
	struct end *e = malloc(sizeof(*e));
	pthread_t t;

	if (!e)
		die("out of memory");
	*e = (struct end){fd, seed};
	if (pthread_create(&t, NULL, writes, e))
		die("cannot start a thread");
	return 0;
}

static void *pipes(void *seed)
{
	int p[2];
	char c;

	if (pipe(p) || other_end(p[1], *(unsigned *)seed))
		die("pipe");
	while (read(p[0], &c, 1) == 1)
		;
	return NULL;
}

static void *sockets(void *seed)
{
	int p[2];
	char c;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, p) || other_end(p[1], *(unsigned *)seed))
		die("socketpair");
	while (*(unsigned *)seed % 2 ? read(p[0], &c, 1) == 1 : recv(p[0], &c, 1, 0) == 1)
		++*(unsigned *)seed;
	return NULL;
}

static void *polls(void *seed)
{
	struct epoll_event e = {.events = EPOLLIN};
	int p[2], ep = epoll_create1(0);

	if (ep < 0 || pipe(p) || epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &e) ||
	    other_end(p[1], *(unsigned *)seed))
		die("epoll");
	for (char c = 0;; c++) {
		struct pollfd f = {.fd = p[0], .events = POLLIN};

		if (c & 1 ? epoll_wait(ep, &e, 1, -1) != 1 : poll(&f, 1, -1) != 1)
			break;
		if (read(p[0], &c, 1) != 1)
			break;
	}
	return NULL;
}

static int file(const char *name, int flags)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | flags, 0600);
	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	return fd;
}

static void fill(int fd)
{
	static char block[MB];

	for (int i = 0; i < FILE_MB; i++)
		if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			die("cannot write: %s", strerror(errno));
	fsync(fd);
}

static void *syncs(void *seed)
{
	int fd = file("synced", 0);

	while (!is_over()) {
		if (pwrite(fd, seed, sizeof(unsigned), rand_r(seed) % MB) < 0 || fsync(fd))
			die("fsync");
		rest(seed, 3);
	}
	return NULL;
}

static void *direct_reads(void *seed)
{
	int fd = file("direct", O_DIRECT);
	void *block = NULL;

	fill(file("direct", 0));
	if (posix_memalign(&block, 4096, 64 << 10))
		die("out of memory");
	while (!is_over()) {
		if (pread(fd, block, 64 << 10, (off_t)(rand_r(seed) % (FILE_MB * 16)) << 16) < 0)
			die("O_DIRECT: %s", strerror(errno));
		rest(seed, 1);
	}
	return NULL;
}

/* Pages of a file that are no longer in memory. */
static void *faults(void *seed)
{
	size_t size = FILE_MB * MB;
	int fd = file("mapped", 0);
	volatile char *map;

	fill(fd);
	map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		die("mmap");
	madvise((void *)map, size, MADV_RANDOM);
	while (!is_over()) {
		madvise((void *)map, size, MADV_DONTNEED);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		for (int i = 0; i < 50 && !is_over(); i++)
			(void)map[(size_t)(rand_r(seed) % (FILE_MB * 256)) << 12];
	}
	return NULL;
}

static void *children(void *seed)
{
	while (!is_over()) {
		pid_t pid = rand_r(seed) % 2 ? fork() : vfork();

		if (!pid) {
			usleep(3000);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	return NULL;
}

static void *signals(void *seed)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	while (!is_over()) {
		struct timespec t = {0, 1000 * (long)(500 + rand_r(seed) % 5000)};

		sigtimedwait(&set, NULL, &t);
	}
	return NULL;
}

/* Many of these hold or want the lock of the memory map. */
static void *maps(void *seed)
{
	while (!is_over()) {
		size_t size = 16 * MB;
		char *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (p == MAP_FAILED)
			die("mmap");
		munmap(p, size);
		rest(seed, 40);
	}
	return NULL;
}

static void *(*const ways[])(void *) = {sleeps,	 locks, locks, locks,	     pipes,  sockets,
					sockets, polls, syncs, direct_reads, faults, children,
					signals, maps,	maps,  maps};

int main(int argc, char **argv)
{
	enum { N = sizeof(ways) / sizeof(ways[0]) };
	static unsigned seeds[N];
	pthread_t threads[N];
	sigset_t set;

	if (argc != 3)
		usage(help, argc == 2 && !strcmp(argv[1], "-h"));
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += (time_t)to_number(argv[1]);
	directory = argv[2];
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (unsigned i = 0; i < N; i++) {
		seeds[i] = i + 1;
		if (pthread_create(&threads[i], NULL, ways[i], &seeds[i]))
			die("cannot start a thread");
	}
	for (unsigned i = 0; i < N; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
