/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cores of a node that each step holds, for the split of energy. A core that several jobs hold goes
 * to them by the hardware threads that each holds (all of it to a job that holds one of two threads
 * whose other is free); inside a job it goes in equal parts to the ordinary steps that hold it, and
 * to batch, extern and interactive steps only where no ordinary one does.
 */
#ifndef JP_ENERGY_CORE_ALLOC_H
#define JP_ENERGY_CORE_ALLOC_H

#include <stdbool.h>
#include <stdint.h>

struct core_alloc_cpu {
	uint16_t core;	  /* number of its core on the node: cores of a package next to each other,
			   * as Slurm numbers them */
	uint16_t package; /* number of its package, from 0 */
	bool there;	  /* false: no such CPU, or it is off line */
};

struct core_alloc_topology {
	const struct core_alloc_cpu *cpu; /* [ncpus] by the kernel's number */
	unsigned ncpus;
	unsigned ncores;
	unsigned npackages;
};

struct core_alloc_step {
	uint64_t job; /* any number, one for each job */
	bool support; /* batch, extern or interactive */
	bool by_core; /* held counts cores (what Slurm tells a plugin), not CPUs (a cpuset) */
	const uint64_t *held; /* bit n: it holds CPU or core n; as many as the topology has. NULL:
			       * not known. From text: cpulist__read() */
};

/*
 * Cores held, by step and package: out[nsteps][npackages], NAN in all of those of a step for which
 * it is not known. 0; -EINVAL: a topology whose numbers are beyond its own; -ENOMEM.
 */
int core_alloc__count(const struct core_alloc_topology *topo, const struct core_alloc_step *steps,
		      unsigned nsteps, double *out);

#endif
