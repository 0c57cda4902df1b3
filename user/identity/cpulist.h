/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists of CPUs as in cpuset files and Slurm: "0-3,8". */
#ifndef JP_IDENTITY_CPULIST_H
#define JP_IDENTITY_CPULIST_H

#include <stdint.h>

/* How many it names; -EINVAL: it is none, or names one twice, or one beyond 65535. "" is 0. */
int cpulist__count(const char *list);
/* The same, and which: cpus[max]. -E2BIG: more than max. */
int cpulist__expand(const char *list, int *cpus, unsigned max);
/* Sets bit i of bits for each CPU i that it names and clears the others, for n CPUs: a word per 64.
 * How many it names; -EINVAL as above; -ERANGE: it names one that is not below n. */
int cpulist__read(const char *list, uint64_t *bits, unsigned n);

#endif
