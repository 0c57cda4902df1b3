/* SPDX-License-Identifier: GPL-2.0-only */
/* Totals of one slot, task or step so far: snapshots make them, and rows are made from them. */
#ifndef JP_SAMPLE_TOTALS_H
#define JP_SAMPLE_TOTALS_H

#include <stdint.h>

#include "schema/quantities.h"

struct totals {
	uint64_t v[T_N];
};

/* sum += add; of T_RISE, T_EXIT_MAXRSS and T_CPUS the larger of the two. */
void totals__add(struct totals *sum, const struct totals *add);

/* Anonymous + file + shared, bytes. */
uint64_t totals__rss(const struct totals *t);

/*
 * T_UTIME and T_STIME of now, which the tick has sampled (those of threads that ran for long are
 * scaled already, modes() in bpf/task.bpf.h), are scaled so that they add up to its T_RUNTIME;
 * neither falls behind prev, where they were scaled before. As cputime_adjust() in the kernel's
 * kernel/sched/cputime.c does for /proc/<pid>/stat and getrusage(2).
 */
void totals__split(struct totals *now, const struct totals *prev);

/* Counters of now that fell behind prev are raised to it (a reading torn by an exiting task is
 * made good by the next one); then totals__split(). */
void totals__clamp(struct totals *now, const struct totals *prev);

#endif
