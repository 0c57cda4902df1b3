/* SPDX-License-Identifier: GPL-2.0-only */
/* How long each CPU was not idle, as the kernel accounts it (ticks of 10 ms). */
#ifndef JP_SAMPLE_CPU_BUSY_H
#define JP_SAMPLE_CPU_BUSY_H

struct cpu_busy;

/* Reads PROC/stat, kept open. NULL: out of memory, or it is not there. */
struct cpu_busy *cpu_busy__new(const char *proc, unsigned ncpus);
void cpu_busy__free(struct cpu_busy *b);
/* busy_s[ncpus]: since the last call, s; 0 for CPUs that are not there, and for all of them in the
 * first call. 0 or -errno. Time that a hypervisor took away is not busy. */
int cpu_busy__take(struct cpu_busy *b, double *busy_s);

#endif
