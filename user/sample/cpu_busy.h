/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long each CPU was busy, by the kernel's own account in /proc/stat (ticks of 10 ms). */
#ifndef JP_SAMPLE_CPU_BUSY_H
#define JP_SAMPLE_CPU_BUSY_H

struct cpu_busy;

/* Opens PROC/stat and keeps it open. NULL: out of memory, or there is no such file. */
struct cpu_busy *cpu_busy__new(const char *proc, unsigned ncpus);
void cpu_busy__free(struct cpu_busy *b);
/* Sets busy_s[ncpus] to the seconds since the last call in which each CPU was busy; 0 for CPUs that
 * do not exist, and for all CPUs in the first call. Time that a hypervisor took is not busy. 0 or
 * -errno. */
int cpu_busy__take(struct cpu_busy *b, double *busy_s);

/* The present frequency of a CPU, kHz, read at most once a second per CPU. Where there is no
 * cpufreq it is the nominal clock of /proc/cpuinfo. 0: not known. now_ns: of any steady clock. */
unsigned cpufreq__khz(unsigned cpu, unsigned long long now_ns);

#endif
