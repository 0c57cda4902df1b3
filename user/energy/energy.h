/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Energy of a node, split among its steps with bounds. The daemon uses node_energy.h, which reads
 * the sensors of the node from one interval to the next, learns what is needed for the split
 * (energy_calib.h: idle and busy powers; energy_lag.h: how late a sensor is; core_alloc.h: cores of
 * each step; meter.h: joules of a channel) and calls energy__split() below. That function is pure
 * arithmetic over one interval: no clock, no files. Its rule, in short (jobprof(7) and
 * docs/energy.md explain it):
 *
 * - static: what a package takes when idle, by allocated cores; the part of other cores is
 *   unallocated.
 * - dynamic: the rest of the package, by core cycles (run time where there are none), a
 *   busy sibling thread counted by the SMT factor; what no step did is the system's.
 * - DRAM: its idle part by allocated cores, the rest by cache misses.
 * - GPUs: to their owner.
 * - other: node - packages - DRAM - GPUs. What it takes when idle goes by allocated cores,
 *   the rest (losses and fans follow the load) by dynamic energy; all of it by allocated
 *   cores where the idle part is not known.
 *
 * Every joule that was measured is in exactly one step, in system or in unallocated.
 *
 * Bounds. It is not known how much power the instructions of one step take compared with those of
 * another, only by what factor these differ at most (ENERGY_RATIO*): with weights w, W in all, and
 * energy D a step's part is from D w / (w + R (W - w)) to D w / (w + (W - w) / R). These bounds
 * hold for any mixture of steps (a range around the mean would not, because a step that has most of
 * a package is itself the mean), and are exact for a step that is alone. Where the least and most
 * power of a busy core were seen, they narrow the bounds. Where an input is unknown (allocation,
 * idle power, misses), the bounds hold for every value that it could have. The errors of the
 * sensors and of the calibration of idle power are added in quadrature.
 */
#ifndef JP_ENERGY_ENERGY_H
#define JP_ENERGY_ENERGY_H

#include <stdbool.h>
#include <stdint.h>

/* What was measured of a package in the interval, J; NAN: not measured. */
struct energy_package {
	double pkg; /* all of it, without DRAM */
	double dram;
	double pkg_idle_w; /* calibrated power when nothing runs, W; NAN: not known */
	double dram_idle_w;
	unsigned cores; /* physical ones it has */
	double pmin_w;	/* least and most dynamic power of one busy core that was ever seen */
	double pmax_w;	/* when one step had the package, W; NAN: never seen */
};

/* What a consumer did on a package. Consumers are steps, and the system for all else. */
struct energy_use {
	double run_s;	  /* CPU time, s, all hardware threads */
	double overlap_s; /* the part of run_s in which the sibling thread of its core was busy too
			   */
	double cycles;	  /* unhalted core cycles; NAN: not counted */
	double misses;	  /* last level cache misses, or bytes of memory traffic; NAN */
	double alloc_cores; /* physical cores of the package allocated to it, shares of shared ones
			     * as fractions; NAN: not known, of the system: none */
};

struct energy_input {
	double seconds;
	double node;	     /* J of the whole node; NAN: not measured */
	double node_error;   /* largest relative error of node, below 1 */
	double node_off;     /* J; a further error of node in this interval: energy_lag.h */
	double pkg_error;    /* largest relative error of packages and DRAM, below 1 */
	double gpu_error;    /* largest relative error of GPUs, below 1 */
	double pkg_step;     /* J: granularity of a package's counter */
	double pkg_edge_s;   /* how late a package's counter may be, s (RAPL: 0.001) */
	double other_idle_w; /* calibrated power of all else when nothing runs, W; NAN: not known */
	double idle_error;   /* largest relative error of idle powers: ENERGY_IDLE_ERROR */
	unsigned npackages;
	const struct energy_package *package; /* [npackages] */
	unsigned nsteps;
	const struct energy_use *use;	 /* [nsteps][npackages] */
	const struct energy_use *system; /* [npackages] */
	const double *gpu;  /* [nsteps] J of the GPUs they own, NAN: not measured; NULL:
			     * none measured */
	double gpu_unowned; /* J of GPUs that no step owns; 0: none */
};

struct energy_share {
	double total;	  /* J: static + dynamic */
	double fixed;	  /* static, idle DRAM and idle rest of the node: for its allocation */
	double dynamic;	  /* for its work */
	double low, high; /* total lies between these, by all errors that are known */
};

/* By which rule the parts were split: for the file. */
enum energy_weight { WEIGHT_CYCLES, WEIGHT_RUN_TIME };

struct energy_split {
	struct energy_share *step; /* [nsteps], the caller's */
	double system;		   /* J of work that no step did */
	double unallocated;	   /* J of what is allocated to no step */
	double measured;	   /* what was split: steps + system + unallocated, to rounding */
	enum energy_weight weight;
	bool static_known; /* idle power was known; else all of a package is dynamic */
	bool alloc_known;  /* allocations were known; else a step counts as having the cores that it
			    * kept busy
			    */
	bool node_known;   /* node was measured; else the sum of the parts is taken for it */
	bool clamped; /* the parts were more than the node, within its error or not: their sum is
			 taken for it */
};

/* The largest factors by which energy may differ among programs that run at the same time (dense
 * vectors and a waiting loop): per cycle; per second of CPU time, where clocks are not known; per
 * miss. */
#define ENERGY_RATIO	      6.0
#define ENERGY_RATIO_RUN_TIME 10.0
#define ENERGY_RATIO_MISS     4.0
/* For idle_error: the windows in which idle power was measured were not quite idle, and idle power
 * follows the temperature. */
#define ENERGY_IDLE_ERROR 0.03
/* Each thread of a core with both threads busy takes this much of what it would take alone. */
#define ENERGY_SMT 0.6

/* 0; -EINVAL: negative or infinite inputs, a package without cores, no time; -ENODATA: nothing was
 * measured; -ENOMEM. Conservation is asserted: |steps + system + unallocated - measured| <= 1e-9
 * measured. */
int energy__split(const struct energy_input *in, struct energy_split *out);

#endif
