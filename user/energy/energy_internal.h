/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files energy_*.c: the work of energy__split(), and how one amount of energy is
 * divided among its consumers. */
#ifndef JP_ENERGY_ENERGY_INTERNAL_H
#define JP_ENERGY_ENERGY_INTERNAL_H

#include <math.h>
#include <stddef.h>

#include "energy/energy.h"

/* The share of one consumer in one amount. */
struct portion {
	double weight;
	double busy_low_s,
		busy_high_s; /* busy seconds of cores, to which pmin_w and pmax_w apply */
	double point;	     /* J */
	double low, high;
};

/* Limits of the energy per weight. */
struct portion_range {
	double ratio;	       /* the largest factor by which it differs; INFINITY: not known */
	double pmin_w, pmax_w; /* per second of busy_low_s, busy_high_s; NAN: not known */
};

/*
 * Divides joules among p[n] by weight, and sets point, low and high, each point within its range.
 * Returns what could not be divided: 0, or joules where no weight is above 0.
 */
double portion__split(struct portion *p, unsigned n, double joules,
		      const struct portion_range *range);

/* The sums of one consumer while parts are split one after another; J if not said otherwise. */
struct consumer {
	double fixed, dynamic;
	double low, high; /* bounds of the two together, by what is not known of the split */
	double gpu;
	double other;			     /* of the rest of the node */
	double act, act_low, act_high;	     /* dynamic of packages, DRAM and GPUs */
	double share, share_low, share_high; /* of the cores of a package */
	double held, held_low, held_high;    /* allocated cores of the node */
	double load, load_low, load_high;    /* share of what follows the load, per joule */
	double weight, misses;		     /* on the whole node */
	double total;
};

/* A counter, of a package or its DRAM. Each has an error of its own. */
struct part {
	double joules;
	double idle; /* the part of joules that an idle node takes */
};

/* One interval at work. Consumers are the steps, then the system, then what is unallocated. */
struct energy_work {
	const struct energy_input *in;
	struct energy_split *out;
	struct consumer *t; /* [n + 1]: unallocated last */
	struct portion *p;  /* [n] */
	unsigned n;	    /* steps and the system */
	struct part *part;  /* [nparts], at most two for each package */
	double *of;	    /* [nparts][n + 1]: J of each part, by consumer */
	unsigned nparts;
	double clock; /* mean of all counted CPU time, cycles/s; NAN: none was counted */
	double cores; /* of the node */
	double parts, gpu, other;
	double parts_idle, other_idle; /* what an idle node takes of parts and of other */
	double steps;		       /* J of all of them */
	bool measured, misses_known, dram_known;
};

static inline const struct energy_use *energy__use(const struct energy_work *w, unsigned consumer,
						   unsigned package)
{
	const struct energy_input *in = w->in;

	if (consumer == in->nsteps)
		return &in->system[package];
	return &in->use[(size_t)consumer * in->npackages + package];
}

/* Busy seconds of a core: two threads of one core that run at the same time count half each. */
static inline double energy__busy(const struct energy_use *u)
{
	return isnan(u->overlap_s) ? u->run_s : u->run_s - fmin(u->overlap_s, u->run_s) / 2;
}

#endif
