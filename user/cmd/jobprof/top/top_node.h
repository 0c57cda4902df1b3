/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The node as a whole, as the kernel shows it to everybody: jobs and all else that runs. */
#ifndef JP_CMD_JOBPROF_TOP_NODE_H
#define JP_CMD_JOBPROF_TOP_NODE_H

#include <stdint.h>

/* Sums since boot, by which the next look counts; NaN: not known. */
struct top_sums {
	uint64_t at_ns;
	double busy, waiting_disk, all; /* ticks of all CPUs */
	double waiting_cpu;		/* us in which some task waited for a CPU */
	double read, written;		/* bytes, of whole disks */
	double in, out;			/* bytes, of interfaces but loopback */
};

struct top_node {
	char name[65];
	unsigned cpus; /* online; 0: not known */
	double load[3], up_s;
	double memory, memory_used, swap_used; /* bytes */
	/* of the time since the look before; NaN at the first */
	double busy, waiting_disk, waiting_cpu; /* % */
	double read, written, in, out;		/* bytes a second */
	struct top_sums sums;
};

/* Looks; n begins zeroed, and stays what the look before made of it. */
void top_node__look(struct top_node *n);

#endif
