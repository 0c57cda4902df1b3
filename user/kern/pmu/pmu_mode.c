/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How counters are counted here. Reading them at every switch between slots is exact, and cheap on
 * bare metal; a virtual machine may trap each access. So the cost is measured before the load (that
 * of a sample where it comes to that), and the budget decides: exact, sampled, or off.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "kern/internal.h"
#include "kern/probe.h"

/* ---- arithmetic on what reading and sampling cost, and on what a budget affords */

#define TRAPPED_NS	  500 /* an access that takes longer goes to a hypervisor */
#define SAMPLE_NS	  2000
#define SAMPLE_TRAPPED_NS 15000 /* end to end, measured in a virtual machine */

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double pmu_cost__sample(const struct pmu_round *rounds, unsigned n)
{
	double ns[PMU_ROUNDS_MAX], median;
	unsigned i, known = 0;

	for (i = 0; i < n && known < PMU_ROUNDS_MAX; i++) {
		const struct pmu_round *r = &rounds[i];
		double without = (r->before + r->after) / 2;

		if (r->samples && !isnan(without) && !isnan(r->with))
			ns[known++] = (r->with - without) / r->samples;
	}
	if (known < PMU_ROUNDS_MIN)
		return NAN;
	qsort(ns, known, sizeof(*ns), by_size);
	median = (ns[(known - 1) / 2] + ns[known / 2]) / 2;
	if (ns[known - 1 - known / 4] - ns[known / 4] > median / 2)
		return NAN;
	return median >= PMU_SAMPLE_LEAST && median <= PMU_SAMPLE_MOST ? median : NAN;
}

double pmu_cost__assumed(double read_ns, unsigned n)
{
	double ns = fmax(SAMPLE_NS, 3.0 * read_ns);

	/* one event alone is cheap to read there, its interrupt is not */
	return read_ns > n * TRAPPED_NS ? fmax(ns, SAMPLE_TRAPPED_NS) : ns;
}

bool pmu_cost__affords_reads(double read_ns, double percent)
{
	return read_ns * PMU_SWITCHES_PER_S <= percent / 100 * 1e9;
}

double pmu_cost__rate(double sample_ns, unsigned n, double percent, double limit)
{
	return fmin(percent / 100 * 1e9 / sample_ns, limit / 4) / n;
}

/* ---- the cost of a reading of the counters and of a sample on this CPU. A sample is an interrupt:
 * only the work that it delays shows all of its time, so a loop is timed with samples and without
 */

#define READ_ROUNDS	  50
#define PROGRAM_READ_NS	  100 /* what a program takes for a counter in addition to reading it */
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

/* Sets read_ns: by read(2), and what a program takes in addition. */
static void kern_pmu_measure_read(struct kern *k)
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

/* Sets sample_ns: measured in at most 50 ms or, where that gives no number to be trusted, assumed.
 */
static void kern_pmu_measure_sample(struct kern *k)
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

#define RATE_SYSCTL "/proc/sys/kernel/perf_event_max_sample_rate"

static void add_text(struct pmu *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Appends to the mode's text. */
static void add_text(struct pmu *p, const char *fmt, ...)
{
	size_t len = strlen(p->text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->text + len, sizeof(p->text) - len, fmt, ap);
	va_end(ap);
}

static void add_events(struct pmu *p, uint32_t which)
{
	const char *sep = "";
	unsigned i;

	for (i = 0; i < p->n; i++) {
		if (!(which >> i & 1))
			continue;
		add_text(p, "%s%s", sep, p->events[i].text);
		sep = ", ";
	}
}

/* On any CPU: processors with two kinds of cores have events of one kind only. */
static int try_event(const struct kern *k, unsigned i, uint64_t period)
{
	int fd, err = -ENODEV;
	unsigned cpu;

	for (cpu = 0; cpu < k->ncpus; cpu++) {
		fd = kern_pmu_event(&k->pmu, i, cpu, -1, period);
		if (fd >= 0) {
			close(fd);
			return 0;
		}
		if (fd != -ENODEV) /* of an offline CPU */
			err = fd;
	}
	return err;
}

/* 0, or the error of the last event that cannot be opened. */
static int find_usable(struct kern *k, bool sampled)
{
	struct pmu *p = &k->pmu;
	int err, last = 0;
	unsigned i;

	p->usable = 0;
	for (i = 0; i < p->n; i++) {
		err = try_event(k, i, sampled ? 1u << 30 : 0);
		if (!err)
			p->usable |= 1u << i;
		else
			last = err;
	}
	return last;
}

/* Samples per second, CPU and event that the budget and a quarter of what the kernel allows every
 * user allow: from there on it lowers its limit for all. */
static double affordable(const struct kern *k)
{
	const struct pmu *p = &k->pmu;
	uint64_t limit;

	if (read_file_u64(AT_FDCWD, RATE_SYSCTL, &limit))
		limit = UINT64_MAX;
	return pmu_cost__rate(p->sample_ns, __builtin_popcount(p->usable), k->opts.perf_budget,
			      limit);
}

static void add_cost(const struct kern *k, struct pmu *p)
{
	unsigned n = kern_pmu_at_once(p);

	add_text(p, "one reading of %u event%s costs %.3g us here, PerfBudget %g %% allows %.3g us",
		 n, n == 1 ? "" : "s", p->read_ns / 1e3, k->opts.perf_budget,
		 k->opts.perf_budget / 100 * 1e6 / PMU_SWITCHES_PER_S);
}

static void add_sample_cost(struct pmu *p)
{
	add_text(p, "; a sample costs %.3g us (%s)", p->sample_ns / 1e3,
		 p->sample_measured ? "measured" : "assumed");
}

static void use_exact(struct kern *k, uint32_t missing, int err)
{
	struct pmu *p = &k->pmu;

	p->mode = JP_PMU_EXACT;
	p->cost_ns = p->read_ns;
	add_text(p, "exact");
	if (p->nsets > 1)
		add_text(p, ", %u sets in turn", p->nsets);
	if (!missing)
		return;
	add_text(p, ", but this machine has no ");
	add_events(p, missing);
	add_text(p, " (perf_event_open: %s)", strerror(-err));
}

static void add_periods(struct pmu *p)
{
	unsigned i;

	add_text(p, "; periods");
	for (i = 0; i < p->n; i++)
		if (p->usable >> i & 1)
			add_text(p, " %s=%llu", p->events[i].column,
				 (unsigned long long)p->period[i]);
	add_text(p, ", error about 1/sqrt(n/period)");
	if (p->usable != (1u << p->n) - 1) {
		add_text(p, "; cannot be sampled: ");
		add_events(p, ((1u << p->n) - 1) & ~p->usable);
	}
}

bool kern_pmu_lengthen_periods(struct kern *k)
{
	struct pmu *p = &k->pmu;
	double most = 0, longer;
	uint64_t limit;
	unsigned i;
	char *old;

	if (read_file_u64(AT_FDCWD, RATE_SYSCTL, &limit) || !limit)
		return false;
	for (i = 0; i < p->n; i++)
		if (p->period[i])
			most = fmax(most, p->events[i].max_rate / p->period[i]);
	if (most <= limit / 2.0)
		return false;
	longer = most / (limit / 4.0);
	for (i = 0; i < p->n; i++)
		p->period[i] = ceil(p->period[i] * longer);
	str__copy(p->text, sizeof(p->text), k->control->pmu_text);
	old = strstr(p->text, "; periods");
	if (old)
		*old = 0;
	add_periods(p);
	memcpy(k->control->pmu_text, p->text, sizeof(p->text));
	memcpy(k->control->pmu_period, p->period, sizeof(p->period));
	log_info("perf: the kernel allows %llu samples per second now: periods %.3g times longer",
		 (unsigned long long)limit, longer);
	return true;
}

static void use_sampled(struct kern *k, double rate)
{
	struct pmu *p = &k->pmu;
	unsigned i;

	p->mode = JP_PMU_SAMPLED;
	p->cost_ns = p->sample_ns;
	add_text(p, "sampled: ");
	if (k->opts.perf_mode == PERF_SAMPLED)
		add_text(p, "as configured");
	else
		add_cost(k, p);
	add_sample_cost(p);
	if (p->left_out)
		add_text(p, "; only the first of %u sets", p->left_out + 1);
	for (i = 0; i < p->n; i++)
		if (p->usable >> i & 1)
			p->period[i] = fmax(1, ceil(p->events[i].max_rate / rate));
	add_periods(p);
}

/* Samples of one set at a time would leave too few of each. */
static void keep_first_set(struct pmu *p)
{
	p->n = __builtin_popcount(p->sets[0]);
	p->left_out = p->nsets - 1;
	p->nsets = 1;
}

static bool programs_can_read(struct pmu *p)
{
	if (kern_has_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_perf_event_read_value) == 1)
		return true;
	add_text(p, "off: this kernel's programs cannot read counters");
	return false;
}

static void choose_mode(struct kern *k)
{
	struct pmu *p = &k->pmu;
	uint32_t all = (1u << p->n) - 1;
	double rate;
	int err;

	err = find_usable(k, false);
	if (!p->usable) {
		add_text(p, "off: this machine counts no ");
		add_events(p, all);
		add_text(p, " (perf_event_open: %s)", strerror(-err));
		return;
	}
	p->counts_idle = kern_pmu_clocks(p);
	kern_pmu_measure_read(k);
	if (k->opts.perf_mode == PERF_EXACT ||
	    (k->opts.perf_mode == PERF_AUTO &&
	     pmu_cost__affords_reads(p->read_ns, k->opts.perf_budget))) {
		use_exact(k, all & ~p->usable, err);
		return;
	}
	keep_first_set(p);
	all = (1u << p->n) - 1;
	err = find_usable(k, true);
	if (!p->usable) {
		add_text(p, "off: this machine cannot sample ");
		add_events(p, all);
		add_text(p, " (perf_event_open: %s)", strerror(-err));
		return;
	}
	kern_pmu_measure_sample(k);
	rate = affordable(k);
	if (k->opts.perf_mode == PERF_SAMPLED || rate >= PMU_SAMPLES_MIN) {
		use_sampled(k, fmax(rate, PMU_SAMPLES_MIN));
		return;
	}
	add_text(p, "off: ");
	add_cost(k, p);
	add_sample_cost(p);
	add_text(p, ", which allows %.3g per second of each", rate);
}

void kern_pmu_choose(struct kern *k)
{
	struct pmu *p = &k->pmu;

	p->mode = JP_PMU_OFF;
	p->text[0] = 0;
	memset(p->period, 0, sizeof(p->period));
	if (!(k->families & FAM_PERF))
		return;
	p->loses_events = !kern_pmu_keeps_events();
	if (k->opts.perf_mode == PERF_OFF)
		add_text(p, "off: as configured");
	else if (!p->n)
		add_text(p, "off: no events are configured");
	else if (programs_can_read(p))
		choose_mode(k);
	if (p->mode == JP_PMU_OFF)
		k->families &= ~FAM_PERF;
}
