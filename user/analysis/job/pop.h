/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The efficiencies of POP (pop-coe.eu): load balance x communication x with a CPU = parallel, which
 * is the useful time of all ranks divided by ranks x elapsed time. Useful time of a rank is its CPU
 * time outside of MPI: CPU time x (1 - its share of samples in MPI). Without samples it is all CPU
 * time, which is right where ranks block while they wait, and without meaning where they spin.
 *
 * POP's communication efficiency contains all time that is not useful. Here the time in which a
 * rank lacked a CPU, which is not the program's fault, is a third factor: the rank's waits for a
 * CPU, except where another thread of the rank had one; threads that wait at the same time count
 * once. Both factors are those of the rank with most useful time, for which the others wait.
 */
#ifndef JP_ANALYSIS_POP_H
#define JP_ANALYSIS_POP_H

#include "model/job/job.h"

struct pop {
	double load_balance, communication, with_cpu, parallel; /* NaN: not known */
	double samples;	 /* number of samples of the rank with fewest; NaN: useful time is not made
			    of samples */
	const char *why; /* why not all are known; NULL: they are */
};

/* The efficiencies of the ranks of a step. */
struct pop pop__of(const struct job_unit *ranks, unsigned n);
/* The efficiencies in bin k, where all ranks have time in it; only for a step of which pop__of() is
 * known. */
struct pop pop__of_bin(const struct job_unit *ranks, unsigned n, const struct time_grid *g,
		       unsigned k);
/* Useful time of a rank; NaN: not known. */
double pop__useful_s(const struct job_unit *rank);

#endif
