// SPDX-License-Identifier: GPL-2.0-only
/* The family stack: its clock on every CPU, and taking what was counted out of the kernel. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "kern/internal.h"

#define PERIOD_NS      (NSEC_PER_SEC / STACK_HZ) /* a prime: no beat with loops of a tick */
#define ENTRIES	       4096
#define ENTRIES_OF_CPU 256
#define ENTRIES_MAX    65536
#define BATCH	       512u

unsigned kern_stack_entries(const struct kern *k)
{
	unsigned n = ENTRIES + ENTRIES_OF_CPU * k->ncpus;

	return n < ENTRIES_MAX ? n : ENTRIES_MAX;
}

static int open_clock(const struct kern *k, unsigned cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = PERIOD_NS,
		.exclude_idle = 1,
		.disabled = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, k->prog[P_STACK]) ||
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
		int fd;

		if (k->stack_clock[cpu] >= 0)
			continue;
		fd = open_clock(k, cpu);
		if (fd < 0 && fd != -ENODEV) /* a CPU that is not there */
			return kern_fail(fd, "cannot take stacks on CPU %u: %s", cpu,
					 strerror(-fd));
		k->stack_clock[cpu] = fd < 0 ? -1 : fd;
		nanosleep(&pause, NULL);
	}
	return 0;
}

int kern_stack_start(struct kern *k)
{
	if (!(k->families & FAM_STACK) || k->readonly)
		return 0;
	if (!k->stack_clock) {
		k->stack_clock = malloc(k->ncpus * sizeof(*k->stack_clock));
		if (!k->stack_clock)
			return kern_fail(-ENOMEM, "out of memory");
		memset(k->stack_clock, -1, k->ncpus * sizeof(*k->stack_clock));
	}
	return open_clocks(k);
}

void kern_stack_stop(struct kern *k)
{
	for (unsigned cpu = 0; k->stack_clock && cpu < k->ncpus; cpu++)
		kern_close_fd(&k->stack_clock[cpu]);
	free(k->stack_clock);
	k->stack_clock = NULL;
}

int kern__take_stacks(struct kern *k,
		      void (*fn)(void *ctx, const struct jp_stack_key *key,
				 const struct jp_stack *s),
		      void *ctx)
{
	struct jp_stack_key *keys;
	struct jp_stack *stacks;
	uint32_t at = 0, n;
	bool first = true;
	int err = 0;

	if (!(k->families & FAM_STACK))
		return 0;
	keys = malloc(BATCH * sizeof(*keys));
	stacks = malloc(BATCH * sizeof(*stacks));
	while (keys && stacks && !err) {
		n = BATCH;
		if (bpf_map_lookup_and_delete_batch(k->map[M_STACKS], first ? NULL : &at, &at, keys,
						    stacks, &n, NULL))
			err = -errno;
		if (err && err != -ENOENT)
			break;
		for (uint32_t i = 0; i < n; i++)
			fn(ctx, &keys[i], &stacks[i]);
		first = false;
	}
	if (!keys || !stacks)
		err = -ENOMEM;
	free(keys);
	free(stacks);
	return err == -ENOENT ? 0 : err;
}
