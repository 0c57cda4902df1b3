/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists of CPUs as in cpuset files and Slurm: "0-3,8". */
#ifndef JP_JOB_CPULIST_H
#define JP_JOB_CPULIST_H

/* How many it names; -EINVAL: it is none, or names one twice, or one beyond 65535. "" is 0. */
int cpulist__count(const char *list);
/* The same, and which: cpus[max]. -E2BIG: more than max. */
int cpulist__expand(const char *list, int *cpus, unsigned max);

#endif
