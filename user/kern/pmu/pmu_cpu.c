// SPDX-License-Identifier: GPL-2.0-or-later
/* The perf family's events on one CPU, and on all: opened, read by a program, closed. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kern/internal.h"

#define ANCHOR_AGE_NS 10000000000ull

/*
 * The programs do not record when they read a CPU last, but how long the events had been enabled by
 * then. That time runs as our clock does but for a drift: the difference is taken again at every
 * flush.
 */
struct pmu_clock {
	uint64_t flushed_ns;
	uint64_t ahead_ns; /* our clock minus the time the events were enabled */
};

struct jp_pmu_cpu *kern_pmu_cpu(const struct kern *k, unsigned cpu)
{
	return (struct jp_pmu_cpu *)k->mem[M_PMU_CPU] + cpu;
}

int kern_pmu_new_clocks(struct kern *k)
{
	k->pmu.clocks = calloc(k->ncpus, sizeof(*k->pmu.clocks));
	return k->pmu.clocks ? 0 : kern_fail(-ENOMEM, "out of memory");
}

int kern_pmu_read_cpu(struct kern *k, unsigned cpu)
{
	LIBBPF_OPTS(bpf_test_run_opts, o, .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = cpu);
	struct pmu_clock *t = &k->pmu.clocks[cpu];

	if (bpf_prog_test_run_opts(k->prog[P_FLUSH], &o))
		return -errno;
	t->flushed_ns = clock__mono_ns();
	t->ahead_ns = t->flushed_ns - kern_pmu_cpu(k, cpu)->enabled;
	return 0;
}

void kern_pmu_close_cpu(struct kern *k, unsigned cpu)
{
	struct jp_pmu_cpu *c = kern_pmu_cpu(k, cpu);
	unsigned i;

	__atomic_store_n(&c->open, 0, __ATOMIC_RELEASE);
	for (i = k->pmu.n; i-- > 0;) {
		uint32_t key = i * k->ncpus + cpu;

		bpf_map_delete_elem(k->map[M_PMU_FDS], &key);
	}
}

void kern_pmu_open_cpu(struct kern *k, unsigned cpu)
{
	struct jp_pmu_cpu *c = kern_pmu_cpu(k, cpu);
	int fds[JP_PMU_EVENTS];
	uint32_t open = kern_pmu_open_set(k, cpu, fds), key;
	unsigned i;

	for (i = 0; i < JP_PMU_EVENTS; i++) {
		key = i * k->ncpus + cpu;
		if (fds[i] >= 0 && bpf_map_update_elem(k->map[M_PMU_FDS], &key, &fds[i], BPF_ANY))
			open &= ~(1u << i);
	}
	kern_pmu_close_set(fds);
	if (!open)
		return;
	memset(c, 0, sizeof(*c));
	for (i = 0; i < JP_PMU_AT_ONCE; i++)
		c->period[i] = k->pmu.period[i];
	for (i = 0; i < JP_PMU_EVENTS && c->nopen < JP_PMU_AT_ONCE; i++)
		if (open >> i & 1)
			c->which[c->nopen++] = (uint8_t)i;
	__atomic_store_n(&c->open, open, __ATOMIC_RELEASE);
	kern_pmu_read_cpu(k, cpu);
}

void kern_pmu_open_all(struct kern *k)
{
	unsigned cpu;

	for (cpu = 0; k->pmu.mode != JP_PMU_OFF && cpu < k->ncpus; cpu++)
		if (!kern_pmu_cpu(k, cpu)->open)
			kern_pmu_open_cpu(k, cpu);
}

void kern_pmu_close_all(struct kern *k)
{
	unsigned cpu;

	for (cpu = 0; k->pmu.mode != JP_PMU_OFF && cpu < k->ncpus; cpu++)
		if (kern_pmu_cpu(k, cpu)->open)
			kern_pmu_close_cpu(k, cpu);
}

void kern_pmu_flush_cpu(struct kern *k, unsigned cpu)
{
	const struct jp_pmu_cpu *c = kern_pmu_cpu(k, cpu);
	uint64_t enabled = c->enabled, reads = c->reads;
	int err = kern_pmu_read_cpu(k, cpu);

	if (k->readonly)
		return;
	if (err == -ENXIO) {
		kern_pmu_close_cpu(k, cpu);
	} else if (!err && c->reads != reads && c->enabled == enabled) {
		/* events stand still for good when their CPU has been offline */
		kern_pmu_close_cpu(k, cpu);
		kern_pmu_open_cpu(k, cpu);
	}
}

bool kern_pmu_is_old(const struct kern *k, unsigned cpu, uint64_t age_ns)
{
	const struct pmu_clock *t = &k->pmu.clocks[cpu];
	uint64_t now = clock__mono_ns();
	int64_t age = now - t->ahead_ns - kern_pmu_cpu(k, cpu)->enabled;

	return now - t->flushed_ns > ANCHOR_AGE_NS || age > (int64_t)age_ns;
}
