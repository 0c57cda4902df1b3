/* SPDX-License-Identifier: GPL-2.0-only */
/* Threads that begin a piece of work together, and how long it took them. */
#ifndef JP_PEAKS_CREW_H
#define JP_PEAKS_CREW_H

struct crew_time {
	double seconds;	  /* from the first beginning to the last end */
	double cpu_share; /* CPU time of the threads / (threads x seconds) */
};

/* Calls work(ctx, 0) to work(ctx, n - 1), each in a thread, pinned to cpus[i] unless cpus is NULL.
 * 0 or -errno: a thread could not be started or pinned, and no work was done. */
int crew__run(const int *cpus, unsigned n, void (*work)(void *ctx, unsigned i), void *ctx,
	      struct crew_time *t);

#endif
