// SPDX-License-Identifier: GPL-2.0-only
/*
 * How counters are counted here. Reading them at every switch between slots is exact, and cheap on
 * bare metal; a virtual machine may trap each access. So the cost is measured before the load (that
 * of a sample where it comes to that), and the budget decides: exact, sampled, or off.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/log.h"
#include "base/str.h"
#include "kern/internal.h"
#include "kern/pmu/pmu_cost.h"

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
	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_perf_event_read_value,
				    NULL))
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
