// SPDX-License-Identifier: GPL-2.0-only
/* The clock of the families sample and stack: an event on every CPU, of which the program is
 * called. */
#include "kern/sample/sample.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "kern/internal.h"
#include "kern/probe.h"

#define PERIOD_NS (NSEC_PER_SEC / SAMPLE_HZ)

static int open_clock(const struct kern *k, unsigned cpu, uint64_t period_ns)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.exclude_idle = 1,
		.disabled = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, k->prog[P_CLOCK]) ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

/* CPUs begin one after another, so that they are not interrupted together. */
static int open_clocks(struct kern *k)
{
	const struct timespec pause = {.tv_nsec = (long)(PERIOD_NS / k->ncpus)};

	for (unsigned cpu = 0; cpu < k->ncpus; cpu++) {
		if (k->clock[cpu] >= 0)
			continue;
		k->clock[cpu] = open_clock(k, cpu, PERIOD_NS);
		if (k->clock[cpu] < 0 && k->clock[cpu] != -ENODEV) /* a CPU that is not there */
			return k->clock[cpu];
		nanosleep(&pause, NULL);
	}
	return 0;
}

static int start_clock(struct kern *k)
{
	int err = 0;

	if (!k->clock) {
		k->clock = malloc(k->ncpus * sizeof(*k->clock));
		for (unsigned cpu = 0; k->clock && cpu < k->ncpus; cpu++)
			k->clock[cpu] = -1;
	}
	if (!k->clock)
		return -ENOMEM;
	if (!k->booker && k->families & FAM_SAMPLE)
		err = booker__start(&k->booker, k);
	return err ? err : open_clocks(k);
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
	free(k->clock), k->clock = NULL;
	booker__stop(k->booker), k->booker = NULL;
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

/* The quickest of several trials: others disturb the rest. */
static uint64_t quickest_ns(uint64_t rounds)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < TRIALS; i++) {
		uint64_t ns = compute_ns(rounds);

		least = ns < least ? ns : least;
	}
	return least;
}

void kern_sample_calibrate(struct kern *k)
{
	uint64_t rounds = 1000, without, with;
	int cpu = sched_getcpu(), fd;

	if (!(k->families & (FAM_SAMPLE | FAM_STACK)) || cpu < 0)
		return;
	while (rounds < 1u << 30 && quickest_ns(rounds) < TRIAL_NS / 4)
		rounds *= 2;
	without = quickest_ns(rounds);
	fd = open_clock(k, (unsigned)cpu, TRIAL_PERIOD_NS);
	if (fd < 0)
		return;
	with = quickest_ns(rounds);
	close(fd);
	if (with > without)
		k->control->sample_ns = (with - without) * TRIAL_PERIOD_NS / with;
}
