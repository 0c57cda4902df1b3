/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hardware counters: corrected for the time in which they did not count, carried from the bursts
 * that measured them to all bursts of a cluster, and as a stack of the cycles per instruction. A
 * value that is not known is NaN.
 */
#ifndef JP_ANALYSIS_COUNTERS_H
#define JP_ANALYSIS_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/status.h"

/* A counter of an interval, corrected for multiplexing. */
struct mux_count {
	double scaled;		/* count * enabled / running, in events */
	double running_part;	/* running / enabled */
	bool is_low_confidence; /* less than a tenth of the time was counted */
};

/* The arguments are differences over the interval: events, and two times in one unit, as perf has
 * them. ANALYSIS_UNAVAILABLE, and NaN: the counter did not run. */
enum analysis_status mux__scale(double count, double enabled, double running, struct mux_count *m);

/* What is known of a counter in a cluster. */
struct projection {
	size_t n_measured;	/* bursts that measured it */
	double mean;		/* events per burst that measured it */
	double per_ins;		/* events by instructions, both of these bursts */
	double total;		/* per_ins * instructions of all bursts of the cluster */
	bool is_low_confidence; /* fewer than 5 bursts measured it */
};

/* A cluster's bursts. Cluster 0 is noise: its projection mixes unlike bursts. */
struct projected_cluster {
	size_t n;
	double ins;
};

/*
 * Counter sets rotate, so that a burst measures some counters and all instructions. cluster[i] in
 * 0..nclusters and ins[i] are of burst i of n; counts is n rows of ncounters, NaN where the burst
 * did not measure. Fills nclusters + 1 clusters, and as many rows of ncounters projections. A
 * burst without instructions (NaN) counts in n only. ANALYSIS_UNSUITABLE: a cluster is larger than
 * nclusters. ANALYSIS_INSUFFICIENT: no burst.
 */
enum analysis_status counters__project(const unsigned *cluster, const double *ins,
				       const double *counts, size_t n, size_t ncounters,
				       unsigned nclusters, struct projected_cluster *clusters,
				       struct projection *projections);

/* How a processor counts what its pipeline's slots were used for. */
enum cpi_kind {
	CPI_INTEL_PRE_ICL, /* Intel before Ice Lake: 4 slots per cycle */
	CPI_INTEL_ICL,	   /* Intel from Ice Lake on: the topdown events of the event slots */
	CPI_AMD_ZEN4,	   /* 6 slots per cycle */
	CPI_AMD_ZEN5,	   /* 8 */
	CPI_AMD_STALLS,	   /* AMD before Zen 4: cycles with a stalled front end or back end */
	CPI_ARM_SBSA,	   /* slots per cycle: CPI_WIDTH */
	CPI_ARM_STALLS,	   /* Neoverse N1, A64FX: cycles with a stalled front end or back end */
	N_CPI_KINDS,
};

/* The counts that the kinds use; CPI_CYCLES and CPI_INSTRUCTIONS are of all. */
enum cpi_count {
	CPI_CYCLES,
	CPI_INSTRUCTIONS,
	CPI_WIDTH, /* CPI_ARM_SBSA: slots per cycle, not a count */
	/* IDQ_UOPS_NOT_DELIVERED.CORE; topdown-fe-bound; DE_NO_DISPATCH_PER_SLOT's
	 * NO_OPS_FROM_FRONTEND; STALL_SLOT_FRONTEND; STALL_FRONTEND */
	CPI_FRONTEND,
	/* topdown-be-bound; DE_NO_DISPATCH_PER_SLOT.BACKEND_STALLS; STALL_SLOT_BACKEND;
	 * STALL_BACKEND */
	CPI_BACKEND,
	CPI_ISSUED,   /* UOPS_ISSUED.ANY; DE_SRC_OP_DISP.ALL; OP_SPEC */
	CPI_RETIRED,  /* UOPS_RETIRED.RETIRE_SLOTS; topdown-retiring; EX_RET_OPS; OP_RETIRED */
	CPI_BAD_SPEC, /* topdown-bad-spec */
	CPI_RECOVERY, /* INT_MISC.RECOVERY_CYCLES */
	CPI_SMT,      /* DE_NO_DISPATCH_PER_SLOT.SMT_CONTENTION */
	CPI_STALLED,  /* STALL_SLOT */
	N_CPI_COUNTS,
};

enum cpi_part {
	CPI_PART_FRONTEND,
	CPI_PART_BAD_SPEC,
	CPI_PART_RETIRING,
	CPI_PART_BACKEND,
	CPI_PART_SMT,
	CPI_PART_OTHER, /* 1 less the known parts; below 0 when multiplexing misled */
	N_CPI_PARTS,
};

/* Fractions of the slots, and of the cycles per instruction: stack[i] = fraction[i] * cpi, so that
 * the known parts of the stack add up to cpi. A part that the kind does not have is NaN. */
struct cpi_stack {
	double fraction[N_CPI_PARTS], stack[N_CPI_PARTS], cpi;
};

bool cpi_kind__has(enum cpi_kind kind, enum cpi_part part);

/* counts[] are sums over the bursts, NaN for those that were not counted. Formulae: Intel's and
 * Arm's top-down methods, perf's metrics for Zen. ANALYSIS_UNAVAILABLE: no part is known. With SMT
 * on, CPI_INTEL_PRE_ICL is right only for whole cores. */
enum analysis_status cpi__stack(enum cpi_kind kind, const double counts[N_CPI_COUNTS],
				struct cpi_stack *s);

/* Level 2 of the stack: stalled cycles per instruction by the level of memory that was waited for.
 */
struct cpi_memory {
	double l1, l2, l3, dram;
	bool is_clipped; /* a negative difference became 0 */
};

/* Intel's CYCLE_ACTIVITY.STALLS_MEM_ANY, STALLS_L1D_MISS, STALLS_L2_MISS and STALLS_L3_MISS.
 * ANALYSIS_UNAVAILABLE: a result is NaN. */
enum analysis_status cpi__memory(double mem_any, double l1d_miss, double l2_miss, double l3_miss,
				 double instructions, struct cpi_memory *m);

#endif
