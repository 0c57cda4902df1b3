/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sampling intervals in the syntax of Slurm's JobAcctGatherFrequency and --acctg-freq. */
#ifndef JP_BASE_FREQ_H
#define JP_BASE_FREQ_H

#include <stdbool.h>
#include <stddef.h>

enum freq_name {
	FREQ_TASK,
	FREQ_ENERGY,
	FREQ_FILESYSTEM,
	FREQ_NETWORK,
	FREQ_STEP,    /* not Slurm's: the Step table */
	FREQ_LATENCY, /* not Slurm's: the histograms */
	FREQ_N
};

#define FREQ_MIN 0.1 /* seconds */
#define FREQ_MAX 86400.0

/* Seconds; 0: off; negative: not given. freq__interval() reads them. */
struct freq {
	double s[FREQ_N];
};

/* Slurm's default: task every 30 s. All other intervals follow it; in Slurm they would be off, but
 * here the families that a step asks for decide which tables it has. */
void freq__init(struct freq *f);
/*
 * Parses "30", "task=1,energy=5", "0.5,network=2": a bare number is for task and comes first; names
 * may be in any case, and empty parts between commas are skipped. Intervals that text does not name
 * keep their values. 0; -EINVAL: every reason is in err, and *f is unchanged.
 */
int freq__parse(const char *text, struct freq *f, char *err, size_t errlen);
/* Parses text as Slurm reads its slurm.conf: only the digits at the beginning of a value count, and
 * what makes no sense is skipped and named in err, which else is "". -EINVAL: nothing in text makes
 * sense. */
int freq__parse_slurms(const char *text, struct freq *f, char *err, size_t errlen);
/* The interval in force: all others follow task unless they are given. 0 is off. */
double freq__interval(const struct freq *f, enum freq_name name);
/* Whether the interval is 0 because of task=0, which in Slurm means one reading, at the end. */
bool freq__at_end(const struct freq *f, enum freq_name name);
const char *freq__name(enum freq_name name);

#endif
