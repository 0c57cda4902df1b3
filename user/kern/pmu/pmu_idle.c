// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds out whether counters go on while a CPU idles. Clocks do. Counters of the processor stand
 * still in a CPU that is halted; but a CPU may be set to wait in a loop (idle=poll), and Arm leaves
 * open whether cycles are counted in WFI. Counts of idle time must then not go to the slot that ran
 * before.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "kern/internal.h"

#define SPIN_NS	 200000ull
#define NAP_NS	 1000000
#define NAPS	 10    /* other tasks may run while we sleep: the lowest count is used */
#define MIN_SPUN 10000 /* in SPIN_NS; a slower event says nothing */

static uint64_t msr_type(void)
{
	uint64_t type;

	return read_file_u64(AT_FDCWD, "/sys/bus/event_source/devices/msr/type", &type) ? UINT64_MAX
											: type;
}

uint32_t kern_pmu_clocks(const struct pmu *p)
{
	uint64_t msr = msr_type();
	uint32_t clocks = 0;
	unsigned i;

	for (i = 0; i < p->n; i++) {
		const struct perf_event *e = &p->events[i];

		if (e->type == PERF_TYPE_SOFTWARE
			    ? e->config == PERF_COUNT_SW_CPU_CLOCK ||
				      e->config == PERF_COUNT_SW_TASK_CLOCK ||
				      e->config == PERF_COUNT_SW_CONTEXT_SWITCHES
			    : e->type == msr)
			clocks |= 1u << i;
	}
	return clocks;
}

static void spin(void)
{
	uint64_t from = clock__mono_ns();

	while (clock__mono_ns() - from < SPIN_NS)
		;
}

static void nap(void)
{
	const struct timespec t = {.tv_nsec = NAP_NS};

	nanosleep(&t, NULL);
}

/* What the event counts in run, and how long that took: at least, and at most. */
struct trial {
	uint64_t counts, least_ns, most_ns;
};

static bool try_out(int fd, void (*run)(void), struct trial *t)
{
	uint64_t before, after, start = clock__mono_ns(), from, to;

	if (read(fd, &before, sizeof(before)) < 0)
		return false;
	from = clock__mono_ns();
	run();
	to = clock__mono_ns();
	if (read(fd, &after, sizeof(after)) < 0)
		return false;
	t->counts = after - before;
	t->least_ns = to - from;
	t->most_ns = clock__mono_ns() - start;
	return true;
}

/* The event counts in idle if it ran at least half as fast as when busy in each nap: another task
 * on the CPU makes the event look faster, never slower. */
static bool moves_in_idle(int fd)
{
	struct trial busy, idle;
	int i;

	if (!try_out(fd, spin, &busy) || busy.counts < MIN_SPUN)
		return false;
	for (i = 0; i < NAPS; i++)
		if (!try_out(fd, nap, &idle) ||
		    (double)idle.counts / idle.least_ns < 0.5 * (double)busy.counts / busy.most_ns)
			return false;
	return true;
}

uint32_t kern_pmu_counting_in_idle(const int *fds)
{
	uint32_t moving = 0;
	unsigned i;

	for (i = 0; i < JP_PMU_EVENTS; i++)
		if (fds[i] >= 0 && moves_in_idle(fds[i]))
			moving |= 1u << i;
	return moving;
}

void kern_cpu_idle(uint64_t *ns, unsigned ncpus)
{
	const uint64_t tick_ns = NSEC_PER_SEC / sysconf(_SC_CLK_TCK);
	_cleanup_fclose_ FILE *f = fopen("/proc/stat", "re");
	unsigned long long idle, iowait;
	char line[512];
	unsigned cpu;

	for (cpu = 0; cpu < ncpus; cpu++)
		ns[cpu] = UINT64_MAX;
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "cpu%u %*u %*u %*u %llu %llu", &cpu, &idle, &iowait) == 3 &&
		    cpu < ncpus)
			ns[cpu] = (idle + iowait) * tick_ns;
}
