/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of CPUs as in cpuset files and Slurm: "0-3,8". */
#ifndef JP_IDENTITY_CPULIST_H
#define JP_IDENTITY_CPULIST_H

#include <stddef.h>
#include <stdint.h>

/* How many CPUs the list names, "" none. -EINVAL: the text is no list, names a CPU twice, or names
 * one beyond 65535. */
int cpulist__count(const char *list);
/* As cpulist__count(), and puts the CPUs into cpus[max]. -E2BIG: the list names more than max. */
int cpulist__expand(const char *list, int *cpus, unsigned max);
/* As cpulist__count(); sets bit i of bits for each CPU i that the list names and clears the others.
 * bits has a word per 64 of n CPUs. -ERANGE: the list names a CPU that is not below n. */
int cpulist__read(const char *list, uint64_t *bits, unsigned n);
/* Writes the list of the CPUs whose bits are set, of n. 0; -E2BIG: it does not fit, text is "". */
int cpulist__format(const uint64_t *bits, unsigned n, char *text, size_t size);

/* Hardware threads per core, by the first CPU that is online; 0: not known. */
int cpulist__threads_per_core(void);
/* Cores of this machine that are online; without the number of threads per core, CPUs. */
int cpulist__node_cores(void);

#endif
