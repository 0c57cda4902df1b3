// SPDX-License-Identifier: GPL-2.0-only
/* The clock of the families sample and stack, and the clock or cycles of points: events on every
 * CPU, which call programs. */
#include "kern/sample/sample.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kern/internal.h"
#include "kern/probe.h"

#define PERIOD_NS (NSEC_PER_SEC / SAMPLE_HZ)
#define VARIED_NS (NSEC_PER_SEC / 4)

/* prog: a program that the event calls; below 0: the event is only tried. */
static int open_event(struct perf_event_attr *attr, unsigned cpu, int prog)
{
	int fd = syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (prog >= 0 &&
	    (ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

static int open_clock(unsigned cpu, int prog, uint64_t period_ns)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.exclude_idle = 1,
		.disabled = 1,
	};

	return open_event(&attr, cpu, prog);
}

/* The kernel sets the period anew all the time, so that a busy CPU has as many samples. */
static int open_cycles(unsigned cpu, int prog, uint64_t period_ns)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.sample_freq = NSEC_PER_SEC / period_ns,
		.freq = 1,
		.disabled = 1,
	};

	return open_event(&attr, cpu, prog);
}

typedef int open_fn(unsigned cpu, int prog, uint64_t period_ns);

/* CPUs begin one after another, so that they are not interrupted together. */
static int open_all(const struct kern *k, int *fds, open_fn *open_one, int prog)
{
	const struct timespec pause = {.tv_nsec = (long)(PERIOD_NS / k->ncpus)};

	for (unsigned cpu = 0; cpu < k->ncpus; cpu++) {
		if (fds[cpu] >= 0)
			continue;
		fds[cpu] = open_one(cpu, prog, PERIOD_NS);
		if (fds[cpu] < 0 && fds[cpu] != -ENODEV) /* a CPU that is not there */
			return fds[cpu];
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* On all CPUs: a thread that moves to one without cycles would have no points there. */
void kern_sample_choose(struct kern *k)
{
	if (!(k->opts.by_cycles && k->families & FAM_FOLD))
		k->cycles_err = -ECANCELED;
	for (unsigned cpu = 0; !k->cycles_err && cpu < k->ncpus; cpu++) {
		int fd = open_cycles(cpu, -1, PERIOD_NS);

		if (fd >= 0)
			close(fd);
		else if (fd != -ENODEV)
			k->cycles_err = fd;
	}
	k->by_cycles = !k->cycles_err;
}

const char *kern_sample_points(const struct kern *k)
{
	static char text[192];
	bool counts = kern__counts_points(k);

	if (k->by_cycles)
		snprintf(text, sizeof(text),
			 "sampled: by cycles, some 97 times a second of each "
			 "CPU that is busy%s",
			 counts ? "; with counts of events" : "");
	else
		snprintf(text, sizeof(text),
			 "sampled: 78 to 116 times a second of each CPU, by turns%s%s%s",
			 counts ? "; with counts of events" : "",
			 k->opts.by_cycles ? "; SampleEvent=cycles: perf_event_open says " : "",
			 k->opts.by_cycles ? strerror(-k->cycles_err) : "");
	return text;
}

static int *new_fds(const struct kern *k)
{
	int *fds = malloc(k->ncpus * sizeof(*fds));

	for (unsigned cpu = 0; fds && cpu < k->ncpus; cpu++)
		fds[cpu] = -1;
	return fds;
}

static int start_clock(struct kern *k)
{
	int err = 0;

	if (!k->clock)
		k->clock = new_fds(k);
	if (!k->points && k->families & FAM_FOLD)
		k->points = new_fds(k);
	if (!k->clock || (k->families & FAM_FOLD && !k->points))
		return -ENOMEM;
	if (!k->booker && k->families & FAM_SAMPLE)
		err = booker__start(&k->booker, k);
	if (!err)
		err = open_all(k, k->clock, open_clock, k->prog[P_CLOCK]);
	if (!err && k->points)
		err = open_all(k, k->points, k->by_cycles ? open_cycles : open_clock,
			       k->prog[P_POINT]);
	return err;
}

void kern_sample_start(struct kern *k)
{
	const unsigned sampled = FAM_SAMPLE | FAM_STACK;

	if (!(k->families & sampled) || !start_clock(k))
		return;
	kern_sample_stop(k);
	k->families &= ~sampled;
	k->control->families &= ~sampled;
}

void kern_sample_stop(struct kern *k)
{
	for (unsigned cpu = 0; k->clock && cpu < k->ncpus; cpu++)
		kern_close_fd(&k->clock[cpu]);
	for (unsigned cpu = 0; k->points && cpu < k->ncpus; cpu++)
		kern_close_fd(&k->points[cpu]);
	free(k->clock), k->clock = NULL;
	free(k->points), k->points = NULL;
	booker__stop(k->booker), k->booker = NULL;
}

void kern__tick(struct kern *k, bool on)
{
	if (on && !k->clock)
		kern_sample_start(k);
	else if (!on && k->clock)
		kern_sample_stop(k);
}

/* The period of so many samples a second, from 0.8 to 1.2 times SAMPLE_HZ, each as likely. */
static uint64_t any_period_ns(void)
{
	double part = 0.5;
	uint32_t r;

	if (getrandom(&r, sizeof(r), GRND_NONBLOCK) == sizeof(r))
		part = r / 4294967296.0;
	return (uint64_t)(NSEC_PER_SEC / (SAMPLE_HZ * (0.8 + 0.4 * part)));
}

uint64_t kern__points_due(const struct kern *k)
{
	return k->points ? k->varied_ns + VARIED_NS : UINT64_MAX;
}

void kern__vary_points(struct kern *k, uint64_t now_ns)
{
	_cleanup_free_ uint64_t *periods = NULL;
	uint32_t zero = 0;

	if (now_ns < kern__points_due(k))
		return;
	k->varied_ns = now_ns;
	periods = calloc(k->ncpus, sizeof(*periods));
	for (unsigned cpu = 0; periods && cpu < k->ncpus; cpu++)
		periods[cpu] = any_period_ns();
	if (!periods ||
	    (!k->by_cycles && bpf_map_update_elem(k->map[M_PERIODS], &zero, periods, BPF_ANY)))
		return;
	for (unsigned cpu = 0; cpu < k->ncpus; cpu++) {
		uint64_t v = k->by_cycles ? NSEC_PER_SEC / periods[cpu] : periods[cpu];

		if (k->points[cpu] >= 0)
			ioctl(k->points[cpu], PERF_EVENT_IOC_PERIOD, &v);
	}
}

#define TRIAL_PERIOD_NS 50000 /* many samples in a short time */
#define TRIAL_NS	1500000
#define TRIALS		12

/* Computes that many rounds. ns */
static uint64_t compute_ns(uint64_t rounds)
{
	uint64_t from = clock__mono_ns();
	volatile uint64_t x = 0;

	for (uint64_t i = 0; i < rounds; i++)
		x += i;
	return clock__mono_ns() - from;
}

/* The quickest of several trials with the clock, and of as many without, for others disturb the
 * rest; in turn, for a CPU that was idle becomes faster meanwhile. */
static void quickest_ns(int clock, uint64_t rounds, uint64_t *with, uint64_t *without)
{
	*with = *without = UINT64_MAX;
	for (int i = 0; i < TRIALS; i++) {
		uint64_t ns = compute_ns(rounds);

		*without = ns < *without ? ns : *without;
		ioctl(clock, PERF_EVENT_IOC_ENABLE, 0);
		ns = compute_ns(rounds);
		ioctl(clock, PERF_EVENT_IOC_DISABLE, 0);
		*with = ns < *with ? ns : *with;
	}
}

void kern_sample_calibrate(struct kern *k)
{
	uint64_t rounds = 1000, without, with;
	int cpu = sched_getcpu(), clock;

	if (!(k->families & (FAM_SAMPLE | FAM_STACK)) || cpu < 0)
		return;
	clock = open_clock((unsigned)cpu, k->prog[P_CLOCK], TRIAL_PERIOD_NS);
	if (clock < 0)
		return;
	ioctl(clock, PERF_EVENT_IOC_DISABLE, 0);
	do {
		rounds *= 2;
		quickest_ns(clock, rounds, &with, &without);
	} while (without < TRIAL_NS / 4 && rounds < 1u << 30);
	close(clock);
	if (with > without)
		k->control->sample_ns = (with - without) * TRIAL_PERIOD_NS / with;
}
