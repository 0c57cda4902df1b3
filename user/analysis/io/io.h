/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The I/O of a job as its servers see it: how much, how often, by how many servers at the same time
 * (El Sayed et al., PDSW-DISCS 2016). A server is anything that has counters of bytes: a node, a
 * mount, a storage target. What is not known is NaN.
 */
#ifndef JP_ANALYSIS_IO_H
#define JP_ANALYSIS_IO_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/matrix.h"
#include "analysis/status.h"

#define IO_DT_S 120.0 /* the paper's interval */

/* How many whole intervals there are from start to end, at least 1; 0: times make no sense. */
unsigned io_grid__intervals(double start_s, double end_s, double dt_s);

/* I/O in one direction. A server is active in an interval in which it moves more than c bytes. */
struct io_character {
	struct analysis_verdict verdict; /* UNAVAILABLE: no servers, or nothing is known;
					  * INSUFFICIENT: no intervals */
	double volume;			 /* B, with the rest after the last interval */
	double bw_max, bw_mean;		 /* B/s, of all servers */
	double bw_max_server;		 /* B/s, of one */
	double iops_max;		 /* 1/s, of all servers */
	bool is_active;	  /* a server is active in some interval; else burstiness has no meaning */
	double intensity; /* active intervals of all */
	double l_io, l_noio; /* mean length of runs of active and other intervals */
	double burstiness;   /* 1 - tanh(l_io / l_noio), 0 without other intervals */
	/* Mean part of the servers that are active in an active interval: as a fraction, and scaled
	 * from 0 (one server) to 1 (all). NaN: none is active; parallel_norm also where there is
	 * only one server. */
	double parallel, parallel_norm;
};

/* bytes and ops have a unit per server and a bin per interval of dt_s; ops without units is not
 * known. Where one server's value is not known it counts as 0. rest_bytes came after the last
 * interval. c: see struct io_character. active[bytes->bins], or NULL: whether an interval is. */
void io_character__of(const struct matrix *bytes, const struct matrix *ops, double rest_bytes,
		      double dt_s, double c, bool *active, struct io_character *out);

#endif
