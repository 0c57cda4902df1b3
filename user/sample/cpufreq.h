/* SPDX-License-Identifier: GPL-2.0-only */
/* The clock of each CPU. */
#ifndef JP_SAMPLE_CPUFREQ_H
#define JP_SAMPLE_CPUFREQ_H

/* The present frequency of a CPU, kHz, read at most once a second per CPU. Where there is no
 * cpufreq it is the nominal clock of /proc/cpuinfo. 0: not known. now_ns: of any steady clock. */
unsigned cpufreq__khz(unsigned cpu, unsigned long long now_ns);

#endif
