/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Learns, while a node works, its power when idle, and the least and most dynamic power of one of
 * its busy cores. There is one struct per package (with its DRAM) and one for the rest of the node,
 * and each gets one value per interval. They are plain data, which the caller may store anywhere.
 */
#ifndef JP_ENERGY_ENERGY_CALIB_H
#define JP_ENERGY_ENERGY_CALIB_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A robust minimum: the median of each CALIB_BATCH values, and the least median of this epoch and
 * the one before. One bad reading does not change it, and values from long ago (another governor, a
 * fan that was replaced) count no more after two epochs.
 */
#define CALIB_BATCH 9
#define CALIB_EPOCH 256 /* batches */

struct calib_min {
	double batch[CALIB_BATCH];
	uint32_t n;	      /* values in the batch */
	uint32_t batches;     /* in this epoch */
	uint64_t windows;     /* values that were ever added */
	double least, before; /* of this epoch and the last one; NAN: none yet */
	double spread; /* half the width of the middle half of the batch with the least median; NAN:
			  none yet */
};

void calib_min__init(struct calib_min *m);
void calib_min__add(struct calib_min *m, double value); /* NAN is not added */
double calib_min__value(const struct calib_min *m);	/* NAN: not known yet */

/*
 * The range of power of busy cores, from windows in which one step had a package. It is not known
 * before CALIB_STEPS different steps were seen: with n steps seen, the next one lies outside their
 * range with a probability of 2 / (n + 1). The result is wider than the range by CALIB_MARGIN on
 * both sides.
 */
#define CALIB_STEPS  40
#define CALIB_MARGIN 1.25

struct calib_range {
	double batch[CALIB_BATCH]; /* W per busy core, of one step without a break */
	uint32_t n;
	uint64_t step;	    /* the step of the batch */
	uint64_t last_step; /* the step that filled the last batch */
	uint32_t steps;	    /* steps that filled a batch; a step that comes back after another one
			       counts again */
	double least_w;	    /* least and most median of a batch; NAN: none yet */
	double most_w;
};

struct calib_package {
	struct calib_min pkg;
	struct calib_min dram;
	struct calib_range core;
};

/* One interval of a package. */
struct calib_window {
	double seconds;
	double pkg, dram; /* J; NAN: not measured */
	double cores;	  /* physical cores of the package */
	double busy_s; /* busy seconds of cores, by all that ran: run time less half of the overlap
			*/
	double busy_of_step_s; /* of the step that ran most */
	uint64_t step;	       /* any number, one for each step */
};

void calib_package__init(struct calib_package *c);
/* Learns from an interval. A package is idle when less than CALIB_IDLE of its core time was busy. A
 * step has the package when it did all but CALIB_OTHERS of the work, on CALIB_CORES of the cores at
 * least. */
void calib_package__add(struct calib_package *c, const struct calib_window *w);
#define CALIB_IDLE   0.05
#define CALIB_OTHERS 0.02
#define CALIB_CORES  0.05

/* Whether values that were read from a file can be used. */
bool calib_min__sound(const struct calib_min *m);
bool calib_package__sound(const struct calib_package *c);

double calib_package__pkg_idle_w(const struct calib_package *c);
double calib_package__dram_idle_w(const struct calib_package *c);
/* W per busy core; both NAN while not known. */
void calib_package__range(const struct calib_package *c, double *pmin_w, double *pmax_w);

/* Adds the power of the rest of the node, W, if the interval was idle: busy (0..1) is the part of
 * the core time of all packages that was busy. */
void calib_other__add(struct calib_min *other, double watts, double busy);

#endif
