/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why one run took longer than another. The wall time of a run is that of its critical path, cut
 * into seconds of CPU time, of waiting and of the serial tail; the change of each of these is a
 * change in seconds, and they add up to that of the wall time. The CPU time of the path is
 * instructions / (IPC x clock x cores x parallelism per core), where parallelism is the CPU time of
 * all tasks divided by that of the path; the change of the path's CPU time is split among these
 * factors by the logarithmic mean (B. W. Ang, "The LMDI approach to decomposition analysis: a
 * practical guide", Energy Policy 33, 2005): what did not change has a term of 0, the terms add up,
 * and exchanging A and B changes only the signs.
 */
#ifndef JP_ANALYSIS_COMPARE_H
#define JP_ANALYSIS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

enum compare_term {
	TERM_WORK,    /* instructions; without counters the CPU time */
	TERM_IPC,     /* instructions per cycle */
	TERM_CLOCK,   /* cycles per CPU second */
	TERM_CORES,   /* that were given */
	TERM_BALANCE, /* parallelism: how much was done at the same time */
	TERM_WAIT,    /* runnable without a CPU */
	TERM_DISK,    /* blocked on a disk */
	TERM_QUOTA,  /* kept from the CPU by a quota; this and the next are columns of TimeBudget */
	TERM_NET_FS, /* blocked on a network file system */
	TERM_KERNEL, /* in the kernel: its locks, the memory map, drivers */
	TERM_FUTEX,
	TERM_PIPE,
	TERM_SOCKET,
	TERM_POLL,
	TERM_SLEEP,
	TERM_CHILD,
	TERM_SIGNAL,
	TERM_BLOCKED, /* blocked on something else */
	TERM_TAIL,    /* the end, in which one core works and the others are idle */
	TERM_UNKNOWN, /* time of which there are no rows */
	N_TERMS
};

#define COMPARE_CAUSES (TERM_BLOCKED - TERM_QUOTA)

static inline bool compare_term__is_cause(enum compare_term term)
{
	return term >= TERM_QUOTA && term < TERM_BLOCKED;
}

/* One run. NaN: not known. */
struct compare_run {
	double wall_s, cores;
	/* These are of the whole job, until the tail begins: */
	double cpu_s, instructions, cycles;
	/* These are of the critical path: */
	double path_cpu_s, path_wait_s, path_disk_s, tail_s, unknown_s;
	double path_cause_s[COMPARE_CAUSES]; /* seconds of TERM_QUOTA and the terms after it */
};

/* The change of a term: in seconds of the wall time, and as its part of ln(T2 / T1). */
struct compare_change {
	double s, ln;		 /* NaN: it is part of another term */
	double before, after;	 /* the quantity behind it, in its own unit; NaN: not known */
	enum compare_term is_in; /* itself, or the term that it is part of */
};

struct comparison {
	double s, ln; /* of the wall time */
	struct compare_change change[N_TERMS];
	enum compare_term cause; /* the term that explains most of it; N_TERMS: nothing changed */
};

#define COMPARE_SAME 0.02 /* a change by a smaller part of the wall time is called none */

/* Both need wall_s and path_cpu_s. */
void compare__of(struct comparison *out, const struct compare_run *a, const struct compare_run *b);

#define COMPARE_RUNS_LEAST 5 /* fewer do not tell how much runs differ */
#define COMPARE_Z	   3.5 /* B. Iglewicz, D. Hoaglin, "How to detect and handle outliers", 1993 */
#define COMPARE_LEAST	   0.01 /* a smaller change of ln(T2 / T1) is not called unusual */

/* A term among those of k earlier runs. */
struct compare_spread {
	double median, mad; /* of their ln, against the same run A; mad is multiplied by 1.4826, as
			       a standard deviation */
	double z;	    /* of run B; NaN: not judged; infinite where all earlier ones agree */
	bool is_unusual;
};

/* earlier[k]: comparisons of A with each of them. Terms that are parts of others are not judged. 0
 * or -ENOMEM. */
int compare__spread(struct compare_spread out[N_TERMS], const struct comparison *b,
		    const struct comparison *earlier, size_t k);

#endif
