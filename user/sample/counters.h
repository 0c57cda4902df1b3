/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums over CPUs of those counters of a slot that have maps of their own; histograms. */
#ifndef JP_SAMPLE_COUNTERS_H
#define JP_SAMPLE_COUNTERS_H

#include "sample/totals.h"
#include "kern/kern.h"

/* Adds the slot's counters, over all CPUs, of the families with maps of their own (block, network,
 * files, perf ...). */
void counters__add(const struct kern *k, uint32_t slot, struct totals *t);
/* Adds an account of the time of threads. */
void counters__add_wait(struct totals *t, const struct jp_wait *w);
/* Adds what had this CPU while the slot's threads waited for it. Returns how long these waited: the
 * sum of what it adds, if the family is on. */
uint64_t counters__delay(const struct kern *k, unsigned cpu, uint32_t slot, struct totals *t);
/* The slot's histogram, summed over CPUs. Cells that the histogram does not use are 0, and so are
 * all cells if its family is off. */
void counters__hist(const struct kern *k, enum hist h, uint32_t slot, uint64_t out[HIST_CELLS]);

#endif
