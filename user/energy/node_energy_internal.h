/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of struct node_energy, for the files node_*.c. */
#ifndef JP_ENERGY_NODE_ENERGY_INTERNAL_H
#define JP_ENERGY_NODE_ENERGY_INTERNAL_H

#include "energy/core_alloc.h"
#include "energy/energy_calib.h"
#include "energy/energy_lag.h"
#include "energy/meter.h"
#include "energy/node_energy.h"

/* A channel that energy is read from. */
struct role {
	enum sensor_part part; /* PART_NODE, PART_PACKAGE, PART_DRAM or PART_GPU */
	unsigned channel;      /* of the sensor set */
	unsigned of; /* index of the package or GPU, in the order in which they are found */
	int index;   /* index as the channel has it */
	struct meter meter;
	double joules; /* of the interval; NAN: not measured */
};

/* What is learnt: written to a file as it is. */
struct learnt {
	struct calib_min other;
	struct calib_package package[]; /* [npackages] */
};

struct node_energy {
	struct core_alloc_topology topo;
	struct core_alloc_cpu *cpu; /* [topo.ncpus] */
	unsigned *cores;	    /* [npackages] physical cores it has */
	int *package_id;	    /* [npackages] as the kernel numbers them */
	unsigned *next;		    /* [ncpus] the next hardware thread of its core, in a circle */
	struct role *role;
	unsigned nroles;
	unsigned ngpus;
	unsigned seen; /* channels that roles were chosen among */
	const struct channel_state *channel;
	uint64_t since_ns; /* where the interval began; 0: none has */
	struct energy_lag lag;
	double lag_s;	  /* the lag that was found last; NAN: none yet */
	unsigned unasked; /* intervals since the lag was last searched */
	struct learnt *learnt;
	struct node_interval last; /* for the rule's text */
	bool any_last;
};

/* node_roles.c: chooses the channels that energy is read from, if the set has new ones; meters that
 * run go on. 0 or -ENOMEM. */
int node_roles__choose(struct node_energy *e, const struct sensor_set *b);
/* Reads all meters: sets joules of each role. */
void node_roles__take(struct node_energy *e, uint64_t now_ns);
/* The sum of a part's roles, J; NAN: there is none, or one was not measured. */
double node_roles__sum(const struct node_energy *e, enum sensor_part part);
/* The first role of that part, or NULL. */
const struct role *node_roles__first(const struct node_energy *e, enum sensor_part part);

#endif
