/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does what its arguments say, one after the other, and parks between them, so that a test can
 * compare what /proc/<pid> says of it at rest with what somebody else has counted. */
#include "tests/tools/tool.h"

#include <pthread.h>

static const char help[] =
	"[-f FIFO] [-s STATE] [-o FILE] STEP ...\n"
	"  park            say so in STATE, wait for a byte through FIFO (without: for a signal)\n"
	"  spin=SECONDS    spin without system calls\n"
	"  sleep=SECONDS\n"
	"  naps=N          N sleeps of 1 ms: voluntary switches\n"
	"  threads=N       N threads spin 50 ms each and stay\n"
	"  anon=MB, shmem=MB, huge=MB, file=PATH:MB   map and touch\n"
	"  free            unmap all of it\n"
	"  write=PATH:MB, append=PATH:MB, read=PATH:MB, dwrite=PATH:MB   d: O_DIRECT and fsync\n"
	"  drop=PATH       drop PATH from the page cache\n"
	"  -o FILE  the kernel's account, at the end";

#define MAX_MAPS 64

static struct {
	void *p;
	size_t len;
} maps[MAX_MAPS];
static unsigned n_maps;
static struct park park;

/* "PATH:MB": cuts s at the colon. */
static size_t split_size(char *s)
{
	char *colon = strrchr(s, ':');

	if (!colon)
		die("'%s' is not PATH:MB", s);
	*colon = '\0';
	return (size_t)(to_number(colon + 1) * MB);
}

static void keep_map(size_t len, int flags, int fd, bool write)
{
	void *p;

	if (n_maps == MAX_MAPS)
		die("more than %d mappings", MAX_MAPS);
	p = mmap(NULL, len, write ? PROT_READ | PROT_WRITE : PROT_READ, flags, fd, 0);
	if (p == MAP_FAILED)
		die("cannot map %zu bytes: %s", len, strerror(errno));
	touch_pages(p, len, write);
	maps[n_maps].p = p;
	maps[n_maps++].len = len;
}

static void step_park(char *arg)
{
	park__wait(&park);
}

static void step_spin(char *arg)
{
	spin_s(to_number(arg));
}

static void step_sleep(char *arg)
{
	sleep_s(to_number(arg));
}

static void step_naps(char *arg)
{
	unsigned long n = to_ulong(arg);

	while (n--)
		sleep_s(0.001);
}

static void *spin_and_stay(void *arg)
{
	pthread_barrier_t *all = arg;
	uint64_t end = now_ns() + 50000000;

	while (now_ns() < end)
		;
	pthread_barrier_wait(all);
	while (pause() < 0)
		;
	return NULL;
}

static void step_threads(char *arg)
{
	unsigned long n = to_ulong(arg);
	static pthread_barrier_t all;
	pthread_t t;

	pthread_barrier_init(&all, NULL, n + 1);
	while (n--)
		if (pthread_create(&t, NULL, spin_and_stay, &all))
			die("cannot start a thread");
	pthread_barrier_wait(&all);
}

static void step_anon(char *arg)
{
	keep_map(to_ulong(arg) * MB, MAP_PRIVATE | MAP_ANONYMOUS, -1, true);
}

static void step_shmem(char *arg)
{
	keep_map(to_ulong(arg) * MB, MAP_SHARED | MAP_ANONYMOUS, -1, true);
}

static void step_huge(char *arg)
{
	keep_map(to_ulong(arg) * MB, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, true);
}

static void step_file(char *arg)
{
	size_t len = split_size(arg);
	int fd = open(arg, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0 || ftruncate(fd, len))
		die("cannot make %s: %s", arg, strerror(errno));
	keep_map(len, MAP_SHARED, fd, false);
	close(fd);
}

static void step_free(char *arg)
{
	while (n_maps) {
		n_maps--;
		munmap(maps[n_maps].p, maps[n_maps].len);
	}
}

/* Moves what PATH:MB says in calls of 64 KiB. */
static void transfer(char *arg, int flags)
{
	size_t len = split_size(arg), n;
	static char buf[65536] __attribute__((aligned(4096)));
	int fd = open(arg, flags | O_CLOEXEC, 0644);

	if (fd < 0)
		die("cannot open %s: %s", arg, strerror(errno));
	for (; len; len -= n) {
		n = len < sizeof(buf) ? len : sizeof(buf);
		if ((flags & O_ACCMODE) != O_RDONLY)
			write_all(fd, buf, n);
		else if (read(fd, buf, n) != (ssize_t)n)
			die("%s is too short", arg);
	}
	if ((flags & O_DIRECT) && fsync(fd))
		die("fsync %s: %s", arg, strerror(errno));
	close(fd);
}

static void step_write(char *arg)
{
	transfer(arg, O_WRONLY | O_CREAT | O_TRUNC);
}

static void step_append(char *arg)
{
	transfer(arg, O_WRONLY | O_CREAT | O_APPEND);
}

static void step_dwrite(char *arg)
{
	transfer(arg, O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT);
}

static void step_read(char *arg)
{
	transfer(arg, O_RDONLY);
}

static void step_drop(char *arg)
{
	int fd = open(arg, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		die("cannot drop %s from the page cache", arg);
	close(fd);
}

static const struct {
	const char *name;
	void (*run)(char *arg);
	bool needs_arg;
} steps[] = {
	{"park", step_park, false},  {"spin", step_spin, true},	      {"sleep", step_sleep, true},
	{"naps", step_naps, true},   {"threads", step_threads, true}, {"anon", step_anon, true},
	{"shmem", step_shmem, true}, {"file", step_file, true},	      {"free", step_free, false},
	{"write", step_write, true}, {"append", step_append, true},   {"dwrite", step_dwrite, true},
	{"read", step_read, true},   {"drop", step_drop, true},	      {"huge", step_huge, true},
};

static void run_step(char *s)
{
	char *arg = strchr(s, '=');
	size_t i, len = arg ? (size_t)(arg - s) : strlen(s);

	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (strlen(steps[i].name) != len || strncmp(s, steps[i].name, len))
			continue;
		if (steps[i].needs_arg != !!arg)
			break;
		steps[i].run(arg ? arg + 1 : NULL);
		return;
	}
	fprintf(stderr, "%s: '%s' is no step; see --help\n", program_invocation_short_name, s);
	exit(2);
}

int main(int argc, char **argv)
{
	const char *fifo = NULL, *state = NULL, *out = NULL;
	const struct opt opts[] = {OPT('f', &fifo), OPT('s', &state), OPT('o', &out), {}};

	options(argc, argv, opts, help);
	if (optind == argc)
		usage(help, false);
	park__open(&park, state, fifo);
	for (; optind < argc; optind++)
		run_step(argv[optind]);
	account__write(out);
	return 0;
}
