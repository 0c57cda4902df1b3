// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of a reading of the counters and of a sample on this CPU. A sample is an interrupt: only
 * the work that it delays shows all of its time, so a loop is timed with samples and without.
 */
#include <linux/perf_event.h>
#include <math.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "kern/internal.h"
#include "kern/pmu/pmu_cost.h"

#define READ_ROUNDS	  50
#define PROGRAM_READ_NS	  100 /* what a program takes for a counter besides reading it */
#define PROGRAM_SAMPLE_NS 100 /* what our program does at a sample, over one that counts it */
#define STRETCH_NS	  400000
#define STRETCH_SAMPLES	  8
#define LEAST_PERIOD	  1000 /* of less than that the loop's use is not even */
#define MEASURE_MAX_NS	  40000000ull

/* Shortest time of a round that reads all of them from here. */
static uint64_t time_reads(const int *fds, unsigned n)
{
	uint64_t value, best = UINT64_MAX;
	unsigned round, i;

	for (round = 0; round < READ_ROUNDS; round++) {
		uint64_t from = clock__mono_ns(), took;

		for (i = 0; i < n; i++)
			if (fds[i] >= 0 && read(fds[i], &value, sizeof(value)) < 0)
				continue;
		took = clock__mono_ns() - from;
		if (took < best)
			best = took;
	}
	return best;
}

static uint64_t time_dummy(unsigned cpu)
{
	struct pmu one = {.n = 1};
	int fd;
	uint64_t ns;

	one.events[0].type = PERF_TYPE_SOFTWARE;
	one.events[0].config = PERF_COUNT_SW_DUMMY;
	fd = kern_pmu_event(&one, 0, cpu, -1, 0);
	ns = time_reads(&fd, 1);
	if (fd >= 0)
		close(fd);
	return ns;
}

/* Binds this process to its CPU; -1: that CPU is not known. */
static int stay_here(cpu_set_t *before)
{
	int cpu = sched_getcpu();
	cpu_set_t here;

	if (cpu < 0 || sched_getaffinity(0, sizeof(*before), before))
		return -1;
	CPU_ZERO(&here);
	CPU_SET(cpu, &here);
	return sched_setaffinity(0, sizeof(here), &here) ? -1 : cpu;
}

void kern_pmu_measure_read(struct kern *k)
{
	unsigned n = kern_pmu_at_once(&k->pmu);
	int fds[JP_PMU_EVENTS], cpu;
	uint64_t all = 0, one, call;
	cpu_set_t before;

	cpu = stay_here(&before);
	if (cpu < 0)
		return;
	for (k->pmu.set = 0; k->pmu.set < k->pmu.nsets; k->pmu.set++) {
		kern_pmu_open_set(k, cpu, fds);
		one = time_reads(fds, JP_PMU_EVENTS);
		all = one > all ? one : all;
		k->pmu.counts_idle |= kern_pmu_counting_in_idle(fds);
		kern_pmu_close_set(fds);
	}
	k->pmu.set = 0;
	/* less what the system call takes for an event that is none */
	call = n * time_dummy(cpu);
	sched_setaffinity(0, sizeof(before), &before);
	k->pmu.read_ns = (all > call ? all - call : 0) + n * PROGRAM_READ_NS;
}

/* A loop on a CPU, and a program that counts the samples it meets. */
struct bench {
	int cpu, map, prog;
	uint64_t turns; /* of the loop, in one stretch */
	uint64_t deadline;
};

static int load_program(struct bench *b)
{
	struct bpf_insn count[] = {
		/* r1 = where the map's only element is; *r1 += 1; return 0 */
		{.code = BPF_LD | BPF_DW, /* both words of an immediate */
		 .dst_reg = BPF_REG_1,
		 .src_reg = BPF_PSEUDO_MAP_VALUE},
		{0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 1},
		{.code = BPF_STX | BPF_DW | BPF_ATOMIC,
		 .dst_reg = BPF_REG_1,
		 .src_reg = BPF_REG_2,
		 .imm = BPF_ADD},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};

	b->map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "jp_try", 4, 8, 1, NULL);
	count[0].imm = b->map;
	b->prog = b->map < 0 ? -1
			     : bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "jp_try", "GPL", count,
					     sizeof(count) / sizeof(count[0]), NULL);
	return b->prog < 0 ? -1 : 0;
}

static uint64_t samples(const struct bench *b)
{
	uint32_t key = 0;
	uint64_t n = 0;

	bpf_map_lookup_elem(b->map, &key, &n);
	return n;
}

static uint64_t time_loop(uint64_t turns)
{
	uint64_t from = clock__mono_ns(), x = turns | 1;

	for (; turns; turns--) {
		x ^= x << 13;
		x ^= x >> 7;
		__asm__ volatile("" : "+r"(x));
	}
	return clock__mono_ns() - from;
}

/* ns of a stretch; NaN: another task had the CPU meanwhile. */
static double stretch(const struct bench *b)
{
	struct rusage before, after;
	uint64_t ns;

	getrusage(RUSAGE_THREAD, &before);
	ns = time_loop(b->turns);
	getrusage(RUSAGE_THREAD, &after);
	return after.ru_nivcsw == before.ru_nivcsw ? ns : NAN;
}

static void set_length(struct bench *b)
{
	uint64_t ns;

	b->turns = 1000;
	while ((ns = time_loop(b->turns)) < STRETCH_NS / 4)
		b->turns *= 2;
	b->turns = b->turns * STRETCH_NS / ns;
}

/* How much of event i the loop uses in a stretch, over the samples it shall have; 0: too little. */
static uint64_t find_period(const struct kern *k, const struct bench *b, unsigned i)
{
	int fd = kern_pmu_event(&k->pmu, i, b->cpu, -1, 0);
	uint64_t n = 0;

	if (fd < 0)
		return 0;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	stretch(b);
	if (read(fd, &n, sizeof(n)) != sizeof(n))
		n = 0;
	close(fd);
	n /= STRETCH_SAMPLES;
	return n < LEAST_PERIOD ? 0 : n;
}

static double time_samples(const struct bench *b, int fd)
{
	struct pmu_round rounds[PMU_ROUNDS_MAX] = {};
	double last = NAN;
	unsigned n = 0;

	while (n < PMU_ROUNDS_MAX && clock__mono_ns() < b->deadline) {
		struct pmu_round *r = &rounds[n];
		uint64_t from = samples(b);

		r->before = isnan(last) ? stretch(b) : last;
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		r->with = stretch(b);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		r->samples = samples(b) - from;
		r->after = last = stretch(b);
		n += !isnan(r->before + r->with + r->after);
	}
	return pmu_cost__sample(rounds, n);
}

static double sample_of(const struct kern *k, const struct bench *b, unsigned i)
{
	uint64_t period = find_period(k, b, i);
	int fd = period ? kern_pmu_event(&k->pmu, i, b->cpu, -1, period) : -1;
	double ns = NAN;

	if (fd < 0)
		return NAN;
	if (!ioctl(fd, PERF_EVENT_IOC_SET_BPF, b->prog))
		ns = time_samples(b, fd);
	close(fd);
	return ns;
}

/* The highest cost of a sample, by one event of each PMU: events of a PMU cost the same. */
static double dearest(const struct kern *k, const struct bench *b)
{
	const struct pmu *p = &k->pmu;
	double most = NAN, ns;
	uint32_t done = 0;
	unsigned i, j;

	for (i = 0; i < p->n; i++) {
		for (j = 0; j < i; j++)
			if ((done >> j & 1) &&
			    kern_pmu_of(&p->events[i]) == kern_pmu_of(&p->events[j]))
				break;
		if (j < i || !(p->usable >> i & 1))
			continue;
		ns = sample_of(k, b, i);
		if (isnan(ns))
			continue;
		done |= 1u << i;
		most = fmax(most, ns);
	}
	return most;
}

void kern_pmu_measure_sample(struct kern *k)
{
	struct bench b = {.map = -1, .prog = -1};
	struct pmu *p = &k->pmu;
	double ns = NAN;
	cpu_set_t before;

	b.cpu = stay_here(&before);
	if (b.cpu >= 0) {
		b.deadline = clock__mono_ns() + MEASURE_MAX_NS;
		if (!load_program(&b)) {
			set_length(&b);
			ns = dearest(k, &b);
		}
		sched_setaffinity(0, sizeof(before), &before);
	}
	kern_close_fd(&b.prog);
	kern_close_fd(&b.map);
	p->sample_measured = !isnan(ns);
	p->sample_ns = p->sample_measured
			       ? ns + PROGRAM_SAMPLE_NS
			       : pmu_cost__assumed(p->read_ns, __builtin_popcount(p->usable));
}
