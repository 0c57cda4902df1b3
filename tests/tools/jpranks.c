/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ranks as a launcher of MPI starts them, which follow one plan: they compute, meet, wait for each
 * other, write and take memory. */
#include "tests/tools/tool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>

static const char help[] =
	"[-n RANKS] [-r TIMES] STEP ...\n"
	"Starts RANKS processes with OMPI_COMM_WORLD_RANK set; each does the steps TIMES times.\n"
	"  work=SECONDS          CPU time of each thread\n"
	"  every=SECONDS         works until the time since the start is a multiple of that\n"
	"  threads=N             from now on (default 1)\n"
	"  pin=CPU               on this CPU only\n"
	"  sleep=SECONDS\n"
	"  grow=MB               takes so much memory more\n"
	"  write=PATH:MB:BYTES   in calls of so many bytes; flush=PATH:MB:BYTES: each waits for "
	"the disk\n"
	"  meet                  all ranks wait for the last, asleep; yield: by sched_yield\n"
	"STEP@RANK is a step of that rank alone.";

#define MAX_STEPS 32

/* Shared by all ranks. */
struct meeting {
	unsigned here;	/* ranks that have come */
	unsigned round; /* meetings that are over */
};

static struct meeting *meeting;
static unsigned nranks = 1, rank, nthreads = 1;
static uint64_t start_ns;

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *burn(void *arg)
{
	double end = cpu_s() + *(double *)arg;

	while (cpu_s() < end)
		for (volatile int i = 0; i < 100000; i++)
			;
	return NULL;
}

static void work(const char *arg)
{
	pthread_t t[64];
	double s = to_number(arg);

	for (unsigned i = 1; i < nthreads; i++)
		if (pthread_create(&t[i], NULL, burn, &s))
			die("cannot start thread %u", i);
	burn(&s);
	for (unsigned i = 1; i < nthreads; i++)
		pthread_join(t[i], NULL);
}

/* As programs do that write each so many seconds. */
static void every(const char *arg)
{
	uint64_t period = (uint64_t)(to_number(arg) * 1e9), end = start_ns;

	if (!period)
		die("every=%s is no period", arg);
	end += ((now_ns() - start_ns) / period + 1) * period;
	while (now_ns() < end)
		for (volatile int i = 0; i < 100000; i++)
			;
}

static void set_threads(const char *arg)
{
	nthreads = (unsigned)to_ulong(arg);
	if (!nthreads || nthreads > 64)
		die("threads=%s is not from 1 to 64", arg);
}

static void pin(const char *arg)
{
	pin_to_cpu((int)to_ulong(arg));
}

static void nap(const char *arg)
{
	sleep_s(to_number(arg));
}

static void grow(const char *arg)
{
	size_t len = (size_t)(to_number(arg) * (double)MB);
	char *p = malloc(len);

	if (!p)
		die("out of memory");
	touch_pages(p, len, true);
}

static void put(const char *arg, bool flush)
{
	static char block[1 << 20];
	char path[512];
	unsigned mb, size;
	int fd;

	if (sscanf(arg, "%511[^:]:%u:%u", path, &mb, &size) != 3 || !size || size > sizeof(block))
		die("%s is not PATH:MB:BYTES", arg);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | (flush ? O_DSYNC : 0), 0644);
	if (fd < 0)
		die("cannot write %s: %s", path, strerror(errno));
	for (size_t left = (size_t)mb * MB; left >= size; left -= size)
		write_all(fd, block, size);
	close(fd);
}

static void write_it(const char *arg)
{
	put(arg, false);
}

static void flush_it(const char *arg)
{
	put(arg, true);
}

/* Whether this rank came last, which ends the meeting. */
static bool is_last(void)
{
	if (__atomic_add_fetch(&meeting->here, 1, __ATOMIC_SEQ_CST) < nranks)
		return false;
	__atomic_store_n(&meeting->here, 0, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&meeting->round, 1, __ATOMIC_SEQ_CST);
	return true;
}

static void meet(const char *arg)
{
	unsigned round = __atomic_load_n(&meeting->round, __ATOMIC_SEQ_CST);

	(void)arg;
	if (is_last()) {
		syscall(SYS_futex, &meeting->round, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
		return;
	}
	while (__atomic_load_n(&meeting->round, __ATOMIC_SEQ_CST) == round)
		syscall(SYS_futex, &meeting->round, FUTEX_WAIT, round, NULL, NULL, 0);
}

static void yield(const char *arg)
{
	unsigned round = __atomic_load_n(&meeting->round, __ATOMIC_SEQ_CST);

	(void)arg;
	if (is_last())
		return;
	while (__atomic_load_n(&meeting->round, __ATOMIC_SEQ_CST) == round)
		sched_yield();
}

static const struct {
	const char *name;
	void (*run)(const char *arg);
} steps[] = {
	{"work", work},	  {"every", every},    {"threads", set_threads}, {"pin", pin},
	{"sleep", nap},	  {"grow", grow},      {"meet", meet},		 {"write", write_it},
	{"yield", yield}, {"flush", flush_it},
};

/* NAME[=ARG][@RANK] */
static void step(const char *text)
{
	char word[600], *at, *arg;

	snprintf(word, sizeof(word), "%s", text);
	at = strrchr(word, '@');
	if (at) {
		*at = '\0';
		if (to_ulong(at + 1) != rank)
			return;
	}
	arg = strchr(word, '=');
	if (arg)
		*arg++ = '\0';
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		if (!strcmp(steps[i].name, word)) {
			steps[i].run(arg ? arg : "");
			return;
		}
	die("there is no step %s", word);
}

/* What is shared is a file without a name, for a rank is a program of its own. */
static void map_meeting(int fd)
{
	meeting = mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (meeting == MAP_FAILED)
		die("cannot map memory: %s", strerror(errno));
}

/* Starts this program once for each rank, with the same arguments. */
static int launch(char **argv)
{
	char text[16], self[512];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int fd = memfd_create("ranks", 0), status, worst = 0;

	if (fd < 0 || ftruncate(fd, sizeof(*meeting)))
		die("cannot share memory: %s", strerror(errno));
	self[n > 0 ? n : 0] = '\0';
	snprintf(text, sizeof(text), "%d", fd);
	setenv("JPRANKS_FD", text, 1);
	for (unsigned i = 0; i < nranks; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("cannot fork: %s", strerror(errno));
		if (pid)
			continue;
		snprintf(text, sizeof(text), "%u", i);
		setenv("OMPI_COMM_WORLD_RANK", text, 1);
		execv(self, argv);
		die("cannot start rank %u: %s", i, strerror(errno));
	}
	while (wait(&status) > 0)
		if (status && !worst)
			worst = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return worst;
}

int main(int argc, char **argv)
{
	const char *number = getenv("OMPI_COMM_WORLD_RANK"), *fd = getenv("JPRANKS_FD");
	unsigned long times = 1;
	const struct opt opts[] = {OPT('n', &nranks), OPT('r', &times), {}};

	options(argc, argv, opts, help);
	if (optind == argc || argc - optind > MAX_STEPS || !nranks)
		usage(help, false);
	if (!fd || !number)
		return launch(argv);
	rank = (unsigned)to_ulong(number);
	map_meeting((int)to_ulong(fd));
	start_ns = now_ns();
	while (times--)
		for (int i = optind; i < argc; i++)
			step(argv[i]);
	return 0;
}
