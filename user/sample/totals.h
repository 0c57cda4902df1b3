/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Totals of one slot, task or step so far: made by snapshots, and used to make rows. */
#ifndef JP_SAMPLE_TOTALS_H
#define JP_SAMPLE_TOTALS_H

#include <stdint.h>

#include "schema/quantities.h"

struct totals {
	uint64_t v[T_N];
};

/* sum += add; T_RISE, T_EXIT_PEAK and T_ALLOWED_CPUS become the larger of the two. */
void totals__add(struct totals *sum, const struct totals *add);

/* The counters of these families become 0, as where their maps begin anew. */
void totals__forget(struct totals *t, unsigned families);

/* Anonymous + file + shared, bytes. */
uint64_t totals__rss(const struct totals *t);

/*
 * Scales T_USER and T_SYSTEM of now, which the tick has sampled, so that they add up to T_CPU
 * and neither falls below that of prev, as cputime_adjust() in the kernel's kernel/sched/cputime.c
 * does for /proc/<pid>/stat and getrusage(2). (Threads that ran for long have scaled times already:
 * modes() in bpf/task.bpf.h.)
 */
void totals__split(struct totals *now, const struct totals *prev);

/* Raises counters of now that are below those of prev (a task that exits can tear a reading, and
 * the next reading corrects that); then totals__split(). rested: families that rested between the
 * two, kern__rested(). Nobody has seen what threads did last, whose open waits are in prev alone:
 * their counters may fall. */
void totals__clamp(struct totals *now, const struct totals *prev, unsigned rested);

#endif
