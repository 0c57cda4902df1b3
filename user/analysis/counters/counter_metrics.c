// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the columns of events that metrics and the stack of cycles are made from. */
#include "analysis/counters/counter_metrics.h"

#include <math.h>
#include <string.h>

#include "analysis/derived_metrics.h"

#define LINE                                                                                     \
	64 /* B: of all processors whose events are known but A64FX, which counts no such misses \
	    */

const char *const cpi_kind_names[N_CPI_KINDS] = {
	[CPI_INTEL_PRE_ICL] = "intel_pre_icl", [CPI_INTEL_ICL] = "intel_icl",
	[CPI_AMD_ZEN4] = "amd_zen4",	       [CPI_AMD_ZEN5] = "amd_zen5",
	[CPI_AMD_STALLS] = "amd_stalls",       [CPI_ARM_SBSA] = "arm_sbsa",
	[CPI_ARM_STALLS] = "arm_stalls",
};

const char *const cpi_part_names[N_CPI_PARTS] = {
	[CPI_PART_FRONTEND] = "frontend", [CPI_PART_BAD_SPEC] = "bad speculation",
	[CPI_PART_RETIRING] = "retiring", [CPI_PART_BACKEND] = "backend",
	[CPI_PART_SMT] = "SMT",		  [CPI_PART_OTHER] = "other",
};

/* Events of the stack; two of one count are of different kinds. */
static const struct {
	const char *column;
	enum cpi_count count;
} stack_events[] = {
	{"Cycles", CPI_CYCLES},		  {"Instructions", CPI_INSTRUCTIONS},
	{"SlotsFrontend", CPI_FRONTEND},  {"StalledCyclesFrontend", CPI_FRONTEND},
	{"SlotsBackend", CPI_BACKEND},	  {"StalledCyclesBackend", CPI_BACKEND},
	{"OpsDispatched", CPI_ISSUED},	  {"OpsRetired", CPI_RETIRED},
	{"RecoveryCycles", CPI_RECOVERY}, {"SlotsSmt", CPI_SMT},
	{"SlotsStalled", CPI_STALLED},
};

#define SUM(member) offsetof(struct counter_sums, member)

/* Events of the metrics; the first that is there is used. */
static const struct {
	const char *column;
	size_t at;
} metric_events[] = {
	{"Instructions", SUM(instructions)},
	{"Cycles", SUM(cycles)},
	{"Loads", SUM(loads)},
	{"Stores", SUM(stores)},
	{"L1Misses", SUM(l1_miss)},
	{"L1DcacheLoadMisses", SUM(l1_miss)},
	{"CacheMisses", SUM(llc_miss)},
	{"LlcMisses", SUM(llc_miss)},
	{"DramFills", SUM(llc_miss)},
	{"LLCLoadMisses", SUM(llc_miss)},
	{"DtlbWalks", SUM(dtlb_miss)},
	{"DTLBLoadMisses", SUM(dtlb_miss)},
	{"BranchMisses", SUM(br_miss)},
};

/* Instructions of floating point by how many operations of single precision they are worth. */
static const struct {
	const char *column;
	double worth;
} flops_events[] = {
	{"FlopsX1", 1}, {"FlopsX2", 2}, {"FlopsX4", 4}, {"FlopsX8", 8}, {"FlopsX16", 16},
};

static double total_of(const struct counter_totals *t, const char *column)
{
	for (unsigned i = 0; i < t->n; i++)
		if (!strcmp(t->events[i], column))
			return t->totals[i];
	return NAN;
}

static double *member(struct counter_sums *s, size_t at)
{
	return (void *)((char *)s + at);
}

static void fill_sums(const struct counter_totals *t, struct counter_sums *s)
{
	for (size_t i = 0; i < sizeof(*s); i += sizeof(double))
		*member(s, i) = NAN;
	s->time_s = t->run_s;
	s->line = LINE;
	for (size_t i = 0; i < sizeof(metric_events) / sizeof(*metric_events); i++) {
		double *to = member(s, metric_events[i].at);

		*to = isnan(*to) ? total_of(t, metric_events[i].column) : *to;
	}
}

static double flops_of(const struct counter_totals *t)
{
	double sum = 0;

	for (size_t i = 0; i < sizeof(flops_events) / sizeof(*flops_events); i++)
		sum += flops_events[i].worth * total_of(t, flops_events[i].column);
	return sum;
}

static void fill_stack(const struct counter_totals *t, struct counter_metrics *m)
{
	double counts[N_CPI_COUNTS];
	int kind = 0;

	while (kind < N_CPI_KINDS && (!t->kind || strcmp(cpi_kind_names[kind], t->kind)))
		kind++;
	for (int i = 0; i < N_CPI_COUNTS; i++)
		counts[i] = NAN;
	for (size_t i = 0; i < sizeof(stack_events) / sizeof(*stack_events); i++) {
		double *to = &counts[stack_events[i].count];

		*to = isnan(*to) ? total_of(t, stack_events[i].column) : *to;
	}
	counts[CPI_WIDTH] = t->width;
	if (kind == CPI_INTEL_ICL) /* its slots are counted as a whole */
		counts[CPI_BAD_SPEC] = total_of(t, "Slots") - counts[CPI_FRONTEND] -
				       counts[CPI_BACKEND] - counts[CPI_RETIRED];
	m->status = kind < N_CPI_KINDS ? cpi__stack((enum cpi_kind)kind, counts, &m->stack)
				       : ANALYSIS_UNAVAILABLE;
}

static void add_metric(struct counter_metrics *m, const char *name, const char *doc, double v)
{
	if (!isnan(v) && m->n < COUNTER_METRICS)
		m->v[m->n++] = (struct counter_metric){name, doc, v};
}

void counter_metrics__of(const struct counter_totals *t, struct counter_metrics *m)
{
	struct counter_sums s;
	struct derived_metrics d;

	memset(m, 0, sizeof(*m));
	fill_sums(t, &s);
	derived_metrics__of(&s, &d);
	m->flops_any = flops_of(t);
	fill_stack(t, m);
	add_metric(m, "ipc", "instructions per cycle", d.ipc);
	add_metric(m, "cpi", "cycles per instruction", d.cpi);
	add_metric(m, "mips", "million instructions/s", d.mips);
	add_metric(m, "ghz", "clock, GHz", d.mcps / 1e3);
	add_metric(m, "l1_mpki", "L1 misses per 1000 ins", d.l1_mpki);
	add_metric(m, "l1_hit", "L1 hits of loads+stores", d.l1_hit);
	add_metric(m, "llc_mpki", "LLC misses per 1000 ins", d.llc_mpki);
	add_metric(m, "llc_bandwidth_mbps", "LLC misses x line, MB/s", d.mem_bw);
	add_metric(m, "dtlb_per_cycle", "TLB walks per cycle", d.dtlb_miss_per_cycle);
	add_metric(m, "branch_mpki", "mispredicted per 1000", d.br_miss_pki);
	add_metric(m, "load_mix", "loads per instruction", d.load_mix);
	add_metric(m, "store_mix", "stores per instruction", d.store_mix);
	if (t->run_s > 0)
		add_metric(m, "gflops_sp", "GFLOP/s, SP + 2 DP", m->flops_any / t->run_s / 1e9);
}
