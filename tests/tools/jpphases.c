// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A loop of three phases, each a function of its own, of set lengths, which touch new pages at set
 * rates. Prints where in the loop the phases end, as parts of it, how many pages each has touched
 * in a second, by its own clock, and with -i how many instructions it has executed, as the kernel
 * counts those of the thread: no others of the machine.
 */
#include <linux/perf_event.h>
#include <sys/syscall.h>

#include "tool.h"
#include "user/client/libjobprof.h"

#define HELP                                                                                       \
	"[-n] [-i] [-j PERCENT] [-r REGION] [-f A,B,C] [-s PHASE] SECONDS PERIOD_MS SHARE SHARE, " \
	"or "                                                                                      \
	"-c ROUNDS\n"                                                                              \
	"-n: names no region; -j: periods differ by so much; -c: times begin and end\n"            \
	"-s: the phase 0, 1 or 2 sleeps; -i: counts instructions outside of the kernel\n"          \
	"-f: pages that each phase touches in a millisecond (0,50,0)"
#define PAGES 64
#define CALLS 2000 /* of a round */
#define LOOPS 100000

static volatile uint64_t kept;
static char *room;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The pages that phases touch in a millisecond, and what they have touched. */
static double per_ms[3] = {0, 50, 0};
static unsigned long touched[3];
static int sleeping = -1; /* phase */

/* When all are touched they are given back: anywhere in the loop. */
static inline __attribute__((always_inline)) void touch(void)
{
	static unsigned page;

	if (page % PAGES == 0)
		madvise(room, PAGES * 4096, MADV_DONTNEED);
	room[4096 * (page++ % PAGES)] = 1;
}

static void sleep_until(double until)
{
	struct timespec t = {(time_t)until, (long)((until - (double)(time_t)until) * 1e9)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* Has code of its own in each phase. */
static inline __attribute__((always_inline)) void compute(unsigned phase, double until)
{
	unsigned rounds = per_ms[phase] > 0 ? 200 : 2000; /* between looks at the clock */
	double every = per_ms[phase] > 0 ? 1e-3 / per_ms[phase] : 1e9, next = now_s();

	if ((int)phase == sleeping)
		sleep_until(until);
	while (now_s() < until) {
		if (per_ms[phase] > 0) {
			touch();
			touched[phase]++;
		}
		next += every;
		while (now_s() < next && now_s() < until)
			for (unsigned i = 0; i < rounds; i++)
				kept += i;
	}
}

__attribute__((noinline, aligned(4096))) static void first_phase(double until)
{
	compute(0, until);
}

__attribute__((noinline, aligned(4096))) static void second_phase(double until)
{
	compute(1, until);
}

__attribute__((noinline, aligned(4096))) static void third_phase(double until)
{
	compute(2, until);
}

/* The fastest of n rounds: others may disturb. */
static void measure_calls(unsigned n)
{
	int region = jobprof_region("calls");
	double best = 1;

	usleep(100000); /* the ring comes */
	jobprof_region_begin(region);
	jobprof_region_end(region);
	usleep(100000);
	for (unsigned k = 0; k < n; k++) {
		double from = now_s(), took;

		for (unsigned i = 0; i < CALLS / 2; i++) {
			jobprof_region_begin(region);
			jobprof_region_end(region);
		}
		took = (now_s() - from) / CALLS;
		best = took < best ? took : best;
	}
	printf("ns %.1f\n", best * 1e9);
}

static int counter = -1;

static void open_counter(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_HW_INSTRUCTIONS,
				       .exclude_kernel = 1};

	counter = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (counter < 0)
		die("instructions: %s", strerror(errno));
}

static double counted(void)
{
	uint64_t n = 0;

	if (counter >= 0 && read(counter, &n, sizeof(n)) != sizeof(n))
		die("instructions: %s", strerror(errno));
	return (double)n;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Others delay the end of a phase, and with that of the third the begin of the next first one. */
static double median(double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), by_value);
	return n ? v[n / 2] : 0;
}

struct bound {
	double t, instructions;
};

static struct bound bound_now(void)
{
	return (struct bound){now_s(), counted()};
}

/* Sets begin, end of the first phase, of the second, of all. */
__attribute__((noinline, noclone)) static void one_loop(double at, double length,
							const double *share, struct bound b[4])
{
	b[0] = bound_now();
	first_phase(at + length * share[0]);
	b[1] = bound_now();
	second_phase(at + length * (share[0] + share[1]));
	b[2] = bound_now();
	third_phase(at + length);
	b[3] = bound_now();
}

static void loop(double seconds, double period, const double *share, double jitter, int region)
{
	double end = now_s() + seconds, all = 0, spent[3] = {0}, executed[3] = {0};
	static double first[LOOPS], second[LOOPS];
	unsigned n = 0;

	for (double at = now_s(), length; at < end && n < LOOPS; at += length) {
		struct bound b[4];
		double all_of;

		length = period * (1 + jitter * (rand() / (RAND_MAX / 2.0) - 1));
		if (region >= 0)
			jobprof_region_begin(region);
		one_loop(at, length, share, b);
		if (region >= 0)
			jobprof_region_end(region);
		all_of = b[3].t - b[0].t;
		first[n] = (b[1].t - b[0].t) / all_of;
		second[n++] = (b[2].t - b[0].t) / all_of;
		all += all_of;
		for (int i = 0; i < 3; i++) {
			spent[i] += b[i + 1].t - b[i].t;
			executed[i] += b[i + 1].instructions - b[i].instructions;
		}
	}
	printf("loops %u\nperiod %.9f\nfirst %.6f\nsecond %.6f\n", n, all / n, median(first, n),
	       median(second, n));
	printf("faults %.1f %.1f %.1f\n", (double)touched[0] / spent[0],
	       (double)touched[1] / spent[1], (double)touched[2] / spent[2]);
	printf("instructions %.0f %.0f %.0f\n", executed[0] / spent[0], executed[1] / spent[1],
	       executed[2] / spent[2]);
}

int main(int argc, char **argv)
{
	double share[2], jitter = 0;
	const char *name = "loop";
	bool named = true;
	int c;

	while ((c = getopt(argc, argv, "nij:r:f:s:c:h")) != -1) {
		if (c == 'n')
			named = false;
		else if (c == 'i')
			open_counter();
		else if (c == 'j')
			jitter = atof(optarg) / 100;
		else if (c == 'r')
			name = optarg;
		else if (c == 'f' &&
			 sscanf(optarg, "%lf,%lf,%lf", &per_ms[0], &per_ms[1], &per_ms[2]) == 3)
			continue;
		else if (c == 's')
			sleeping = atoi(optarg);
		else if (c == 'c')
			return measure_calls((unsigned)atoi(optarg)), 0;
		else
			usage(HELP, c == 'h');
	}
	if (argc - optind != 4)
		usage(HELP, false);
	share[0] = atof(argv[optind + 2]);
	share[1] = atof(argv[optind + 3]);
	room = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	loop(atof(argv[optind]), atof(argv[optind + 1]) * 1e-3, share, jitter,
	     named ? jobprof_region(name) : -1);
	return 0;
}
