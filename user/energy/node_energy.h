/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Energy of the node from one reading of its sensors to the next: the energy of its parts, the work
 * of each step, and each step's share of the energy.
 */
#ifndef JP_ENERGY_NODE_ENERGY_H
#define JP_ENERGY_NODE_ENERGY_H

#include <stdbool.h>
#include <stdint.h>

#include "energy/energy.h"
#include "sensor/core/sensor_set.h"

/* A step in the interval. */
struct node_step {
	uint64_t id;  /* any numbers, one for each step and for each job */
	uint64_t job; /* as in core_alloc.h, like the next three */
	bool support;
	bool by_core;
	const uint64_t *held; /* NULL: not known */
	double alive;	      /* part of the interval in which it existed, 0..1 */
	const double *run_s;  /* [ncpus] CPU time by CPU, s */
	const double *cycles; /* [npackages]; NULL: not counted; NAN: not counted on that package */
	const double *misses;
	const double *gpu;	   /* [ngpus] part that it owns, 0..1; NULL: none */
	struct energy_share share; /* the answer: NAN in all where nothing was measured */
};

/* J in the interval; NAN: not measured. */
struct node_interval {
	double seconds;
	double node, pkg, dram, gpu;
	double power; /* W: of the node, else of all parts that were measured */
	double measured, system, unallocated; /* with all shares: measured */
	bool split;			      /* false: nothing was measured, shares are NAN */
	bool static_known, alloc_known, node_known, clamped;
	enum energy_weight weight;
};

struct node_energy;

/* Reads once, below the roots, which packages, cores and CPUs the node has. 0, -ENOMEM, -ENOENT:
 * the tree does not say where CPUs are. */
int node_energy__new(struct node_energy **out, const struct sensor_roots *roots);
void node_energy__free(struct node_energy *e); /* NULL is fine */

/* Shape of the arrays of struct node_step. CPUs by the kernel's numbers, below ncpus. */
unsigned node_energy__ncpus(const struct node_energy *e);
unsigned node_energy__ncores(const struct node_energy *e);
unsigned node_energy__npackages(const struct node_energy *e);
int node_energy__package(const struct node_energy *e, unsigned cpu); /* -1: no such CPU */
/* GPUs among the channels that are known now. */
unsigned node_energy__ngpus(const struct node_energy *e);
int node_energy__gpu_index(const struct node_energy *e, unsigned gpu); /* as the channel has it */
/* Whether energy is read from that channel of the sensor set. */
bool node_energy__uses(const struct node_energy *e, unsigned channel);
/* Whether any energy or power of the node is measured. */
bool node_energy__any(const struct node_energy *e);

/* Finds the channels that measure energy among the new ones of the set; the functions below do so
 * too. 0 or -ENOMEM. */
int node_energy__find_channels(struct node_energy *e, const struct sensor_set *b);
/* Begins an interval at the present readings of the sensor set; energy before them is not split. */
void node_energy__begin(struct node_energy *e, const struct sensor_set *b, uint64_t now_ns);
/*
 * Splits the interval from the last call of this function or the one above to now. busy_s[ncpus]:
 * seconds that each CPU was not idle. Fills in the shares of the steps and out. 0, -ENOMEM,
 * -EAGAIN: no time has passed.
 */
int node_energy__end(struct node_energy *e, const struct sensor_set *b, uint64_t now_ns,
		     const double *busy_s, struct node_step *steps, unsigned nsteps,
		     struct node_interval *out);

/* One line on which sources are used and how parts are split, for people. */
void node_energy__rule(const struct node_energy *e, char *buf, size_t len);
/* Idle power that was learnt, W: all packages, all DRAM, the rest of the node; NAN: not yet. */
void node_energy__idle(const struct node_energy *e, double *pkg_w, double *dram_w, double *other_w);
/* How late the node's sensor was found to be, and how often it makes a new value, s; NAN: not
 * known. */
void node_energy__lag(const struct node_energy *e, double *lag_s, double *period_s);
/* Stores what was learnt in a file, for a later start on this node, and reads it. 0 or -errno;
 * -EBADMSG: it is of another node or version, and nothing was taken. */
int node_energy__save(const struct node_energy *e, const char *path);
int node_energy__load(struct node_energy *e, const char *path);

#endif
