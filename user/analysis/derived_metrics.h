/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metrics from hardware counters of a burst, a cluster of bursts or a job, as in BSC's cluster
 * tables (J. Labarta, 2009). All are made of sums. A metric is NaN where a counter that it needs
 * is, or where it would be divided by 0. Fractions are 0..1.
 */
#ifndef JP_ANALYSIS_DERIVED_METRICS_H
#define JP_ANALYSIS_DERIVED_METRICS_H

/* Sums; NaN: not counted. */
struct counter_sums {
	double time_s, preempted_s; /* on CPU; waiting for it */
	double instructions, cycles;
	double loads, stores;	   /* instructions */
	double l1_miss, llc_miss;  /* of data; of the last level of cache */
	double line;		   /* B per line of the last level */
	double dtlb_miss, br_miss; /* page walks; mispredicted branches */
	double flops_sp, flops_dp; /* operations in single and in double precision */
	double fp_ls;		   /* loads and stores of floating point */
	double fp, fxu;		   /* instructions of floating point and of integers */
};

struct derived_metrics {
	double ipc, cpi;
	double mips, mcps;	  /* 1e6/s: instructions, cycles */
	double mem_bw;		  /* MB/s, 1e6 B/s: misses of the last level x line */
	double llc_mpki, l1_mpki; /* misses per 1000 instructions */
	double ls_per_l1_miss;	  /* loads and stores */
	double l1_hit;		  /* 1 - 1 / ls_per_l1_miss */
	double mem_mix, load_mix; /* loads and stores; loads, by instructions */
	double store_mix;	  /* stores by instructions */
	double ins_per_ls;	  /* instructions per load or store */
	double mem_ins;		  /* 1e6/s: loads and stores */
	double br_miss_pki;	  /* per 1000 instructions */
	double flops_any;	  /* SP + 2 DP, operations */
	double mflops;		  /* 1e6/s: SP + DP */
	double comp_intensity;	  /* operations per load and store of floating point */
	double loads_per_dtlb_miss;
	double dtlb_miss_per_cycle;
	double bytes_per_flop;	/* from memory */
	double fp_mix, fxu_mix; /* by instructions */
	double preempted_share; /* of on-CPU time and preempted time */
};

void derived_metrics__of(const struct counter_sums *c, struct derived_metrics *out);

#endif
