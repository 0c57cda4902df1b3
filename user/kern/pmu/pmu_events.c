// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Opening the perf family's events. They belong to the CPU, not to a task, and are never pinned, so
 * that other programs can count, too. The map holds the events: jobprofd's own descriptors are
 * closed at once.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kern/internal.h"

#define FOR_USERS 2  /* counters of a CPU that our groups leave free */
#define MANY	  16 /* more counters than that make no difference */

bool kern_pmu_keeps_events(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, o, .map_flags = BPF_F_PRESERVE_ELEMS);
	int fd = bpf_map_create(BPF_MAP_TYPE_PERF_EVENT_ARRAY, NULL, 4, 4, 1, &o);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int open_attr(struct perf_event_attr *attr, unsigned cpu, int group_fd)
{
	int fd;

	attr->size = sizeof(*attr);
	attr->disabled = group_fd < 0;
	fd = syscall(SYS_perf_event_open, attr, -1, cpu, group_fd, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int kern_pmu_event(const struct pmu *p, unsigned i, unsigned cpu, int group_fd, uint64_t period)
{
	const struct perf_event *e = &p->events[i];
	struct perf_event_attr attr = {
		.type = e->type,
		.config = e->config,
		.config1 = e->config1,
		.config2 = e->config2,
		.exclude_user = e->exclude_user,
		.exclude_kernel = e->exclude_kernel,
		.sample_period = period,
	};

	return open_attr(&attr, cpu, group_fd);
}

/* The generic kinds are all of the CPU's own PMU; software events need no counter. */
uint32_t kern_pmu_of(const struct perf_event *e)
{
	return e->type == PERF_TYPE_HARDWARE || e->type == PERF_TYPE_HW_CACHE ? PERF_TYPE_RAW
									      : e->type;
}

/*
 * A CPU has as many counters as the kernel accepts events of one kind in a group. Branches are
 * used: cycles and instructions have counters of their own on some processors.
 */
static unsigned count_counters(const struct pmu *p, unsigned i, unsigned cpu)
{
	struct perf_event_attr branches = {.type = PERF_TYPE_HARDWARE,
					   .config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS};
	int fds[MANY];
	unsigned n = 0;

	while (n < MANY) {
		fds[n] = open_attr(&branches, cpu, n ? fds[0] : -1);
		if (fds[n] < 0)
			break;
		n++;
	}
	if (!n)
		while (n < MANY) {
			fds[n] = kern_pmu_event(p, i, cpu, n ? fds[0] : -1, 0);
			if (fds[n] < 0)
				break;
			n++;
		}
	for (i = n; i-- > 0;)
		close(fds[i]);
	return n;
}

static unsigned group_max(struct pmu *p, unsigned i, unsigned cpu)
{
	if (!p->group_max) {
		unsigned n = count_counters(p, i, cpu);

		p->group_max = n > FOR_USERS + 1 ? n - FOR_USERS : 1;
	}
	return p->group_max;
}

/* An event joins the group of an earlier event of the same PMU, if there is room: events of a group
 * are on the hardware at the same time, so that their ratios are right. */
static int join_group(struct pmu *p, unsigned i, unsigned cpu, const int *fds, int *leader)
{
	unsigned j, m, size;
	int fd;

	for (j = 0; j < i; j++) {
		if (fds[j] < 0 || leader[j] != (int)j || p->events[i].type == PERF_TYPE_SOFTWARE ||
		    kern_pmu_of(&p->events[i]) != kern_pmu_of(&p->events[j]))
			continue;
		for (size = 0, m = 0; m < i; m++)
			size += leader[m] == (int)j;
		if (size >= group_max(p, i, cpu))
			continue;
		fd = kern_pmu_event(p, i, cpu, fds[j], 0);
		if (fd >= 0) {
			leader[i] = j;
			return fd;
		}
	}
	return -ENOENT;
}

static int open_one(struct kern *k, unsigned i, unsigned cpu, const int *fds, int *leader)
{
	struct pmu *p = &k->pmu;
	bool sampled = p->mode == JP_PMU_SAMPLED;
	int fd = sampled ? -ENOENT : join_group(p, i, cpu, fds, leader);

	if (fd >= 0)
		return fd;
	leader[i] = i;
	fd = kern_pmu_event(p, i, cpu, -1, sampled ? p->period[i] : 0);
	if (fd >= 0 && sampled && ioctl(fd, PERF_EVENT_IOC_SET_BPF, k->prog[P_SAMPLE + i])) {
		close(fd);
		return -errno;
	}
	return fd;
}

/* Usable events of the set that is open. */
static uint32_t in_turn(const struct pmu *p)
{
	return p->usable & p->sets[p->set];
}

void kern_pmu_find_sets(struct pmu *p)
{
	memset(p->sets, 0, sizeof(p->sets));
	p->set = p->nsets = 0;
	for (unsigned i = 0; i < p->n; i++)
		for (unsigned s = 0; s < JP_PMU_EVENTS; s++) {
			if (!(p->events[i].sets >> s & 1))
				continue;
			p->sets[s] |= 1u << i;
			if (p->nsets <= s)
				p->nsets = s + 1;
		}
}

unsigned kern_pmu_at_once(const struct pmu *p)
{
	unsigned most = 0;

	for (unsigned s = 0; s < p->nsets; s++) {
		unsigned n = (unsigned)__builtin_popcount(p->usable & p->sets[s]);

		most = n > most ? n : most;
	}
	return most;
}

uint32_t kern_pmu_open_set(struct kern *k, unsigned cpu, int *fds)
{
	int leader[JP_PMU_EVENTS];
	uint32_t open = 0;
	unsigned i;

	for (i = 0; i < JP_PMU_EVENTS; i++) {
		leader[i] = fds[i] = -1;
		if (in_turn(&k->pmu) >> i & 1)
			fds[i] = open_one(k, i, cpu, fds, leader);
		if (fds[i] >= 0)
			open |= 1u << i;
	}
	for (i = 0; i < JP_PMU_EVENTS; i++)
		if (fds[i] >= 0 && leader[i] == (int)i)
			ioctl(fds[i], PERF_EVENT_IOC_ENABLE, 0);
	return open;
}

void kern_pmu_close_set(int *fds)
{
	int i;

	/* leaders come before their groups, and a group falls apart when its leader goes */
	for (i = JP_PMU_EVENTS; i-- > 0;) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}
