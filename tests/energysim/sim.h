/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A node whose every joule is known: what runs on it, what that really takes, and what sensors and
 * counters say of it. The split gets only the latter. What it does not know here: voltage over
 * clock, how much switching a cycle of each workload means, what a byte of memory takes, how little
 * of memory traffic counts as misses, the uncore that wakes with the first busy core, leakage that
 * follows the heat, losses, fans, what an SMT sibling adds, and the errors of this node's sensors.
 */
#ifndef JP_TESTS_SIM_H
#define JP_TESTS_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "energy/energy.h"

#define SIM_PACKAGES  2
#define SIM_CORES     16 /* of a package */
#define SIM_ALL	      (SIM_PACKAGES * SIM_CORES)
#define SIM_THREADS   2
#define SIM_STEPS     8
#define SIM_CONSUMERS (SIM_STEPS + 1) /* and the system */

enum sim_workload {
	LOAD_SPIN,   /* waits for a message in a loop */
	LOAD_CHASE,  /* pointers in memory: stalls */
	LOAD_INT,    /* branches and integers */
	LOAD_STREAM, /* copies memory */
	LOAD_SCALAR, /* floating point, one by one */
	LOAD_AVX2,
	LOAD_AVX512, /* dense matrices: hot, and clocks lower */
	LOAD_N
};

/* What a step runs, and where. */
struct sim_step {
	enum sim_workload load;
	unsigned first, ncores;	       /* cores it runs on */
	unsigned threads;	       /* bit t: on thread t of each */
	unsigned alloc_first, alloc_n; /* cores it holds; half of each where another step of the
					* case holds it too */
	double duty;		       /* of the time each thread runs */
	double period;	/* s: of a square wave between duty and a fifth of it; 0: none */
	double cap_ghz; /* clock limit; 0: none */
	double gpu_w;	/* of its GPU under load; 0: it has none */
	double mem_gb;
};

struct sim_case {
	const char *name;
	unsigned nsteps;
	bool no_node, no_rapl, no_dram, no_cycles, no_misses, no_calib;
	double bmc_period; /* s; 0: 1 */
	struct sim_step step[SIM_STEPS];
};

/* Truth of an interval, J. */
struct sim_truth {
	double fixed[SIM_CONSUMERS + 1];   /* of what is held: nobody last; package and DRAM */
	double dynamic[SIM_CONSUMERS + 1]; /* of what is done: packages and DRAM */
	double gpu[SIM_CONSUMERS + 1];
	double other_fixed[SIM_CONSUMERS + 1];
	double other_dynamic[SIM_CONSUMERS + 1];
	double pkg[SIM_PACKAGES], dram[SIM_PACKAGES];
};

/* What the daemon would have of it. */
struct sim_seen {
	double seconds;
	double node_w; /* as the BMC last said */
	double pkg[SIM_PACKAGES], dram[SIM_PACKAGES];
	double gpu[SIM_STEPS];
	struct energy_use use[SIM_STEPS][SIM_PACKAGES];
	struct energy_use system[SIM_PACKAGES];
};

struct sim;

/* Another node of its kind: workloads, silicon and sensors differ. */
struct sim *sim__new(uint64_t seed);
void sim__free(struct sim *s);
double sim__random(struct sim *s, double from, double to);
/* What runs from now on; steps keep their numbers. */
void sim__run(struct sim *s, const struct sim_case *c);
/* One second. */
void sim__second(struct sim *s, struct sim_truth *truth, struct sim_seen *seen);
/* Cores of package p that step k holds. */
double sim__held(const struct sim_case *c, unsigned k, unsigned p);

/* Class of the sensors: the errors of a node are drawn from within. */
#define SIM_PKG_ERROR  0.04
#define SIM_NODE_ERROR 0.05
#define SIM_GPU_ERROR  0.05
#define SIM_PKG_STEP   (1.0 / 16384)
#define SIM_BMC_MEAN   3.0 /* s that it averages over */
#define SIM_BMC_LATE   1.0 /* s until it tells */

/* rules.c: energies by step of several rules, J. */
enum rule { RULE_OURS, RULE_KEPLER, RULE_CEEMS, RULE_SLURM, RULES };
struct rule_result {
	double total[RULES][SIM_STEPS];
	double dynamic[RULES][SIM_STEPS];
	struct energy_share ours[SIM_STEPS];
	double leak; /* |steps + system + unallocated - measured| / measured */
	bool clamped;
};
struct caller; /* what jobprofd keeps from one interval to the next */
struct caller *caller__new(void);
void caller__free(struct caller *c);
/* Learns from an interval of c, splits nothing. */
void caller__learn(struct caller *w, const struct sim_case *c, const struct sim_seen *seen,
		   uint64_t step_id);
int caller__split(struct caller *w, const struct sim_case *c, const struct sim_seen *seen,
		  struct rule_result *out);

/* cases.c */
extern const struct sim_case sim_cases[];
extern const unsigned n_sim_cases;

#endif
