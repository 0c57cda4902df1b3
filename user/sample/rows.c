// SPDX-License-Identifier: GPL-2.0-or-later
/* The cells of a row: each column's value is computed from two readings. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "sample/rows.h"

/*
 * Seconds are stored as multiples of 2^-20 s: a quotient by 10^9 fills the mantissa with noise that
 * does not compress. The running total is rounded, not the difference, so a column's sum is exact.
 * Whole seconds apart, so that the rest needs no 128 bits, whose division is a call.
 */
static uint64_t ticks20(uint64_t ns)
{
	return (ns / NSEC_PER_SEC << 20) + (ns % NSEC_PER_SEC << 20) / NSEC_PER_SEC;
}

static double seconds_between(uint64_t now, uint64_t prev)
{
	return (double)(ticks20(now) - ticks20(prev)) / 1048576.0;
}

static double interval_s(const struct reading *prev, const struct reading *now)
{
	return (double)(now->boot_ns - prev->boot_ns) / 1e9;
}

static double utilization(const struct reading *prev, const struct reading *now)
{
	double s = interval_s(prev, now);

	return s > 0 ? 100.0 * seconds_between(now->totals.v[T_CPU], prev->totals.v[T_CPU]) / s : 0;
}

/* The run-time weighted clock, kHz; 0: no slice has ended, or the clock is not known. */
static uint64_t frequency(const struct reading *prev, const struct reading *now)
{
	uint64_t cycles = now->totals.v[T_NOMINAL_CYCLES] - prev->totals.v[T_NOMINAL_CYCLES];
	uint64_t ran = now->totals.v[T_HARVESTED] - prev->totals.v[T_HARVESTED];

	if (!ran) {
		cycles = now->totals.v[T_NOMINAL_CYCLES];
		ran = now->totals.v[T_HARVESTED];
	}
	return ran ? (uint64_t)((double)cycles / (double)ran * 1e6 + 0.5) : 0;
}

/* The part of the time that an event was on the hardware; 1 if it was not wanted. */
static double running_fraction(const struct reading *prev, const struct reading *now, int event)
{
	uint64_t wanted = now->totals.v[T_PMU_ENABLED] - prev->totals.v[T_PMU_ENABLED];
	uint64_t ran = now->totals.v[T_PMU_RUNNING + event] - prev->totals.v[T_PMU_RUNNING + event];

	return wanted ? (double)ran / (double)wanted : 1;
}

/* Less of the time than that says nothing of the rest: an event whose set had its turn just before
 * the row begins, for example. */
#define LEAST_FRACTION 0.05

/* An event that had to share the hardware is scaled to the whole time, as perf stat does. */
static double scaled_count(const struct row_context *c, const struct reading *prev,
			   const struct reading *now, int event)
{
	double n = (double)(now->totals.v[T_PMU + event] - prev->totals.v[T_PMU + event]);
	double part = running_fraction(prev, now, event);

	if ((unsigned)event >= c->npmu || (c->missing >> event & 1) || part < LEAST_FRACTION)
		return NAN;
	return part < 1 ? n / part : n;
}

/* running_fraction() of the event that had the least; those of a set that was not open had none. */
static double least_running(const struct row_context *c, const struct reading *prev,
			    const struct reading *now)
{
	double least = c->npmu ? 1 : NAN;

	for (unsigned i = 0; i < c->npmu; i++) {
		double part = running_fraction(prev, now, (int)i);

		if (!(c->missing >> i & 1) && part >= LEAST_FRACTION)
			least = fmin(least, part);
	}
	return least;
}

static uint64_t own_ns(const struct row_context *c, const uint64_t *v)
{
	/* both families share one interrupt */
	uint64_t samples = v[T_SAMPLES] > v[T_STACK_SAMPLES] ? v[T_SAMPLES] : v[T_STACK_SAMPLES];

	return v[T_PROBES] * c->probe_ns + v[T_PMU_READS] * c->pmu_ns + samples * c->sample_ns +
	       v[T_STACK_NS];
}

/* Whether a column's family has programs of its own that are not loaded, or rested. */
static bool is_missing(const struct row_context *c, const struct column *col)
{
	unsigned own = FAM_BLOCK | FAM_NETWORK | FAM_PERF | FAM_FILES | FAM_LATENCY | FAM_WAIT |
		       FAM_CULPRIT | FAM_SAMPLE | FAM_BURST;

	return (col->family & own) && !(col->family & c->families & ~c->rested);
}

/* Whether a column's family is missing, or the machine cannot measure the column. */
static bool is_unknown(const struct row_context *c, const struct column *col)
{
	if (is_missing(c, col))
		return true;
	if (col->arg == T_DISK_WAIT && col->how == HOW_SECONDS)
		return c->rested & (FAM_SCHED | FAM_WAIT);
	if (col->arg == T_BLOCKED + JP_CAUSE_THROTTLED && col->how == HOW_SECONDS)
		return c->blind & JP_BLIND_THROTTLE;
	return col->arg == T_TCP_RETRANS && col->how == HOW_DELTA && (c->blind & JP_BLIND_RETRANS);
}

/* Whether a living process can have the gauge. A process that is ending may have no memory left. */
static bool has_processes(const struct totals *t, int gauge)
{
	return gauge == T_THREADS ? t->v[T_THREADS] > 0 : totals__rss(t) > 0;
}

static double float_cell(const struct row_context *c, const struct reading *prev,
			 const struct reading *now, const struct column *col)
{
	const uint64_t *n = now->totals.v, *p = prev->totals.v;

	if (is_unknown(c, col))
		return NAN;
	switch (col->how) {
	case HOW_DELTA:
		return (double)(n[col->arg] - p[col->arg]) * col->scale;
	case HOW_SECONDS:
		return seconds_between(n[col->arg], p[col->arg]);
	case HOW_TOTAL:
		return (double)n[col->arg] * col->scale;
	case HOW_GAUGE:
		return has_processes(&now->totals, col->arg) ? (double)n[col->arg] * col->scale
							     : NAN;
	case HOW_GPU:
		if (!c->gpus || (col->arg == T_GPU_UTILIZATION && n[T_GPU_UNKNOWN]))
			return NAN;
		return (double)n[col->arg] * col->scale;
	case HOW_RUNNING:
		return n[T_ALLOWED_CPUS] ? (double)n[col->arg] * col->scale : NAN;
	case HOW_KNOWN:
		return n[col->arg] ? (double)n[col->arg] * col->scale : NAN;
	case HOW_SINCE:
		return (double)(int64_t)(n[col->arg] - c->start_boot_ns) / 1e9;
	case HOW_PEAK:
		return c->peak ? (double)c->peak * col->scale : NAN;
	case HOW_UTIL:
		return utilization(prev, now);
	case HOW_PROBE:
		return c->probe_ns ? seconds_between(own_ns(c, n), own_ns(c, p)) : NAN;
	case HOW_CGROUP:
		return now->cg[col->arg] * col->scale;
	case HOW_CGROUP_DELTA:
		return (now->cg[col->arg] - prev->cg[col->arg]) * col->scale;
	case HOW_PMU:
		return scaled_count(c, prev, now, col->arg);
	case HOW_PMU_RUNNING:
		return least_running(c, prev, now);
	default:
		return NAN;
	}
}

static uint64_t integer_cell(const struct row_context *c, const struct reading *prev,
			     const struct reading *now, const struct column *col)
{
	uint64_t time_ns = c->start_real_ns + (now->boot_ns - c->start_boot_ns);
	double v;

	switch (col->how) {
	case HOW_ELAPSED:
		/* whole seconds on both sides, as Slurm counts: EpochTime - ElapsedTime is constant
		 */
		return time_ns / 1000000000u - c->start_real_ns / 1000000000u;
	case HOW_EPOCH:
		return time_ns / 1000000000u;
	case HOW_TIME_NS:
		return time_ns;
	case HOW_RSS:
		v = totals__rss(&now->totals);
		return (v ? v : c->ended_rss) / 1024;
	case HOW_FREQ: /* weighted by slices */
		return c->rested & FAM_SCHED ? 0 : frequency(prev, now);
	default:
		v = float_cell(c, prev, now, col);
		return v > 0 ? (uint64_t)v : 0;
	}
}

void rows__context(struct row_context *c, const struct jp_control *control)
{
	c->probe_ns = control->probe_ns;
	c->pmu_ns = control->pmu_read_ns;
	c->sample_ns =
		control->sample_ns * (control->families & FAM_FOLD ? 2 : 1); /* and a point */
	c->families = control->families;
	c->npmu = control->npmu;
	c->missing = control->pmu_missing;
	c->blind = control->blind;
}

void rows__fill(const struct row_context *c, const struct reading *prev, const struct reading *now,
		const struct column *const *cols, unsigned ncols, union cell *out)
{
	unsigned i;

	for (i = 0; i < ncols; i++) {
		const struct column *col = cols[i];

		if (col->how == HOW_BUCKET && !is_missing(c, col)) /* most cells */
			out[i].f = (double)(int64_t)(now->hist[col->arg] - prev->hist[col->arg]);
		else if (col->type == COL_U64)
			out[i].u = integer_cell(c, prev, now, col);
		else
			out[i].f = float_cell(c, prev, now, col);
	}
}

static void raise_to(uint64_t *to, uint64_t n)
{
	if (n > *to)
		*to = n;
}

/* The resident set of an array with the gauges T_THREADS to T_HUGETLB, or their T_LEFT_
 * counterparts. */
static uint64_t rss_of(const uint64_t *gauges)
{
	return gauges[T_ANON - T_THREADS] + gauges[T_FILE - T_THREADS] +
	       gauges[T_SHMEM - T_THREADS];
}

struct between rows__between(const struct totals *last)
{
	return (struct between){.peak = totals__rss(last)};
}

void rows__note(struct between *b, const struct totals *now)
{
	const uint64_t *left = &now->v[T_LEFT_THREADS];
	uint64_t threads = b->left[0];

	raise_to(&b->peak, totals__rss(now));
	raise_to(&b->peak, now->v[T_RISE]);
	raise_to(&b->peak, now->v[T_EXIT_PEAK]);
	raise_to(&b->peak, rss_of(left));
	if (rss_of(left) > rss_of(b->left))
		memcpy(b->left, left, sizeof(b->left));
	b->left[0] = threads;
	raise_to(&b->left[0], left[0]);
}

void rows__use_left(const struct between *b, struct totals *now)
{
	if (!now->v[T_THREADS])
		now->v[T_THREADS] = b->left[0];
	if (!totals__rss(now))
		memcpy(&now->v[T_ANON], &b->left[1], sizeof(b->left) - sizeof(b->left[0]));
}
