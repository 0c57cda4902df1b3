/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that compute for known times between sleeps, and measure both by their own clocks. */
#include "tests/tools/tool.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "user/client/libjobprof.h"

static const char help[] =
	"[-n ROUNDS] [-t THREADS] [-g MS] [-p PAGES]... [-r N] MS...\n"
	"Each thread computes for MS milliseconds of its CPU time and sleeps for 2 ms\n"
	"(-g), of each MS, ROUNDS times, then prints \"TID RAN GAP\" in seconds of each as "
	"measured:\n"
	"GAP is before it, 0 of the first.\n"
	"-p touches so many new pages first in each burst of the first MS, another -p in those of\n"
	"the second, and a fourth number in a line is how many faults the thread had in the burst\n"
	"and in the nap before it.\n"
	"-r: those of the first N MS are regions, \"burst 1\" ..., in another one, \"all\".\n";

#define MAX_NOTES 100000

struct thread {
	pthread_t id;
	pid_t tid;
	size_t n;
	struct {
		double ran, gap, faults;
	} note[MAX_NOTES];
};

static double ms[16];
static int nms;
static unsigned long rounds = 1;
static double gap_ms = 2;
static unsigned long pages[16];
static int npages;
static int nregions, outer = -1, region[16];

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void touch(unsigned long n)
{
	size_t size = n * (size_t)getpagesize();
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || madvise(p, size, MADV_NOHUGEPAGE))
		die("no memory");
	for (unsigned long i = 0; i < n; i++)
		((volatile char *)p)[i * (size_t)getpagesize()] = 1;
	munmap(p, size);
}

static double faults(void)
{
	struct rusage r;

	getrusage(RUSAGE_THREAD, &r);
	return (double)(r.ru_minflt + r.ru_majflt);
}

static void *work(void *arg)
{
	const struct timespec nap = {.tv_nsec = (long)(gap_ms * 1e6)};
	struct thread *t = arg;
	double from, slept = 0, had;

	t->tid = (pid_t)syscall(SYS_gettid);
	memset(t->note, 0, sizeof(t->note)); /* no faults of its own later */
	had = faults();
	for (unsigned long i = 0; i < rounds * (unsigned)nms && i < MAX_NOTES; i++) {
		if (i == (unsigned)nms) /* pages of its own are there by now */
			jobprof_region_begin(outer);
		jobprof_region_begin(region[i % (unsigned)nms]);
		from = seconds(CLOCK_THREAD_CPUTIME_ID);
		if (pages[i % (unsigned)nms])
			touch(pages[i % (unsigned)nms]);
		while (seconds(CLOCK_THREAD_CPUTIME_ID) - from < ms[i % (unsigned)nms] / 1e3)
			;
		jobprof_region_end(region[i % (unsigned)nms]);
		t->note[i].ran = seconds(CLOCK_THREAD_CPUTIME_ID) - from;
		t->note[i].gap = slept;
		t->note[i].faults = faults() - had;
		had += t->note[i].faults;
		t->n++;
		slept = seconds(CLOCK_MONOTONIC);
		nanosleep(&nap, NULL);
		slept = seconds(CLOCK_MONOTONIC) - slept;
	}
	jobprof_region_end(outer);
	return NULL;
}

/* jobprofd has answered: its ring is mapped. What is begun before that is lost, and counted. */
static bool have_ring(void)
{
	char line[512];
	bool found = false;
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, "jobprof regions");
	if (f)
		fclose(f);
	return found;
}

static void name_regions(void)
{
	for (int i = 0; i < 16; i++) {
		char name[16];

		snprintf(name, sizeof(name), "burst %d", i + 1);
		region[i] = i < nregions ? jobprof_region(name) : -1;
	}
	if (nregions)
		outer = jobprof_region("all");
	for (int i = 0; nregions && i < 2000 && !have_ring(); i++) {
		usleep(10000);
		jobprof_region("all");
	}
}

static void add_pages(const char *text)
{
	if (npages == 16)
		usage(help, false);
	pages[npages++] = to_ulong(text);
}

int main(int argc, char **argv)
{
	unsigned long nthreads = 1;
	struct thread *t;
	const struct opt opts[] = {OPT('n', &rounds),	OPT('t', &nthreads), OPT('g', &gap_ms),
				   OPT('r', &nregions), OPT('p', add_pages), {}};

	options(argc, argv, opts, help);
	for (nms = 0; optind + nms < argc && nms < 16; nms++)
		ms[nms] = to_number(argv[optind + nms]);
	t = calloc(nthreads, sizeof(*t));
	if (!nms || !t)
		usage(help, false);
	name_regions();
	for (unsigned long i = 0; i < nthreads; i++)
		if (pthread_create(&t[i].id, NULL, work, &t[i]))
			die("no thread");
	for (unsigned long i = 0; i < nthreads; i++)
		pthread_join(t[i].id, NULL);
	for (unsigned long i = 0; i < nthreads; i++)
		for (size_t k = 0; k < t[i].n; k++)
			printf(npages ? "%d %.9f %.9f %.0f\n" : "%d %.9f %.9f\n", t[i].tid,
			       t[i].note[k].ran, t[i].note[k].gap, t[i].note[k].faults);
	free(t);
	return 0;
}
