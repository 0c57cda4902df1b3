/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cores of a node that are allocated to each step, for the split of energy. A core that several
 * jobs have is divided among them by their hardware threads (a job with one of two threads gets all
 * of it where the other one is free). Inside a job the core is divided equally among the ordinary
 * steps that have it; batch, extern and interactive steps get it only where no ordinary one does.
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
	bool by_core; /* the bits of held are cores (as Slurm tells a plugin), not CPUs (as in a
			 cpuset) */
	const uint64_t *held; /* bit n: CPU or core n is allocated; as many bits as the topology
				 has. NULL: not known. cpulist__read() makes it of text */
};

/*
 * Sets out[nsteps][npackages] to the cores that each step has in each package; NAN in all packages
 * of a step whose cores are not known. 0; -EINVAL: the topology has numbers beyond its own counts;
 * -ENOMEM.
 */
int core_alloc__count(const struct core_alloc_topology *topo, const struct core_alloc_step *steps,
		      unsigned nsteps, double *out);

#endif
