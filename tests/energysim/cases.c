// SPDX-License-Identifier: GPL-2.0-or-later
/* The cases of the energy simulator: machines, and the jobs on them. */
#include "tests/energysim/sim.h"

/* load, cores from, how many, threads, held from, how many, duty, period, cap, GPU, memory */
#define ON(l, f, n)                                 \
	{                                           \
		l, f, n, 1, f, n, 0.98, 0, 0, 0, 16 \
	}
#define DUTY(l, f, n, d)                         \
	{                                        \
		l, f, n, 1, f, n, d, 0, 0, 0, 16 \
	}
#define HELD(l, f, n, hf, hn, d)                   \
	{                                          \
		l, f, n, 1, hf, hn, d, 0, 0, 0, 16 \
	}
#define SMT(l, f, n, t)                             \
	{                                           \
		l, f, n, t, f, n, 0.98, 0, 0, 0, 16 \
	}
#define CAP(l, f, n, g)                             \
	{                                           \
		l, f, n, 1, f, n, 0.98, 0, g, 0, 16 \
	}
#define WAVE(l, f, n, s)                            \
	{                                           \
		l, f, n, 1, f, n, 0.98, s, 0, 0, 16 \
	}
#define GPU(l, f, n, d, w)                       \
	{                                        \
		l, f, n, 1, f, n, d, 0, 0, w, 64 \
	}
#define MEM(l, f, n, gb)                            \
	{                                           \
		l, f, n, 1, f, n, 0.98, 0, 0, 0, gb \
	}

const struct sim_case sim_cases[] = {
	{"alone, all cores", 1, .step = {ON(LOAD_INT, 0, 32)}},
	{"alone, half of the cores", 1, .step = {ON(LOAD_SCALAR, 0, 16)}},
	{"alone, 2 of 32 cores", 1, .step = {ON(LOAD_INT, 0, 2)}},
	{"two alike, half a package each", 2, .step = {ON(LOAD_INT, 0, 8), ON(LOAD_INT, 8, 8)}},
	{"two alike, a package each", 2, .step = {ON(LOAD_INT, 0, 16), ON(LOAD_INT, 16, 16)}},
	{"AVX-512 beside pointer chasing", 2,
	 .step = {ON(LOAD_AVX512, 0, 8), ON(LOAD_CHASE, 8, 8)}},
	{"AVX-512 beside waiting in a loop", 2,
	 .step = {ON(LOAD_AVX512, 0, 8), ON(LOAD_SPIN, 8, 8)}},
	{"memory copies beside integers", 2,
	 .step = {MEM(LOAD_STREAM, 0, 8, 8), MEM(LOAD_INT, 8, 8, 64)}},
	{"alike, one held at 1.6 GHz", 2,
	 .step = {CAP(LOAD_SCALAR, 0, 8, 1.6), ON(LOAD_SCALAR, 8, 8)}},
	{"alike, sharing cores (SMT)", 2,
	 .step = {SMT(LOAD_INT, 0, 16, 1), SMT(LOAD_INT, 0, 16, 2)}},
	{"both threads beside one thread", 2,
	 .step = {SMT(LOAD_SCALAR, 0, 8, 3), SMT(LOAD_SCALAR, 8, 8, 1)}},
	{"most cores held idle beside AVX2", 2,
	 .step = {DUTY(LOAD_INT, 8, 24, 0.02), ON(LOAD_AVX2, 0, 8)}},
	{"half load beside full load", 2, .step = {DUTY(LOAD_INT, 0, 8, 0.4), ON(LOAD_AVX2, 8, 8)}},
	{"six steps, all different", 6,
	 .step = {ON(LOAD_AVX512, 0, 6), DUTY(LOAD_INT, 6, 4, 0.6), ON(LOAD_STREAM, 10, 6),
		  ON(LOAD_CHASE, 16, 6), SMT(LOAD_SCALAR, 22, 4, 3), ON(LOAD_SPIN, 26, 4)}},
	{"bursts of 8 s and of 20 s", 2, .bmc_period = 5,
	 .step = {WAVE(LOAD_AVX2, 0, 12, 8), WAVE(LOAD_SCALAR, 12, 12, 20)}},
	{"GPU job beside CPU job", 2,
	 .step = {GPU(LOAD_INT, 0, 4, 0.5, 280), ON(LOAD_AVX2, 4, 24)}},
	{"held cores that both steps hold", 2,
	 .step = {HELD(LOAD_INT, 0, 8, 0, 16, 0.98), HELD(LOAD_AVX2, 8, 8, 0, 16, 0.98)}},
	{"no counters: AVX-512, chasing", 2, .no_cycles = true, .no_misses = true,
	 .step = {ON(LOAD_AVX512, 0, 8), ON(LOAD_CHASE, 8, 8)}},
	{"no BMC: AVX2 beside integers", 2, .no_node = true,
	 .step = {ON(LOAD_AVX2, 0, 12), ON(LOAD_INT, 12, 8)}},
	{"no RAPL: AVX2 beside integers", 2, .no_rapl = true,
	 .step = {ON(LOAD_AVX2, 0, 12), ON(LOAD_INT, 12, 8)}},
	{"no DRAM counter: copies, integers", 2, .no_dram = true,
	 .step = {ON(LOAD_STREAM, 0, 12), ON(LOAD_INT, 12, 12)}},
	{"idle power not known yet", 2, .no_calib = true,
	 .step = {ON(LOAD_AVX2, 0, 12), ON(LOAD_INT, 12, 8)}},
};

const unsigned n_sim_cases = sizeof(sim_cases) / sizeof(sim_cases[0]);
