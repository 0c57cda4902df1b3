/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether others use the node while it is measured. */
#ifndef JP_PEAKS_BUSY_H
#define JP_PEAKS_BUSY_H

#include <stdint.h>

/* Ticks of all CPUs since boot, of /proc/stat. */
struct node_ticks {
	uint64_t busy, steal, all;
};

/* All zeros where /proc/stat cannot be read. */
void node_ticks__read(struct node_ticks *t);
/* Parts of the time between two readings, of all CPUs: 0..1; NaN: no time has passed. */
double node_ticks__busy(const struct node_ticks *from, const struct node_ticks *to);
double node_ticks__steal(const struct node_ticks *from, const struct node_ticks *to);

#endif
