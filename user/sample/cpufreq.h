/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_SAMPLE_CPUFREQ_H
#define JP_SAMPLE_CPUFREQ_H

/* Present frequency of a CPU in kHz, read at most once a second per CPU; where there is no
 * cpufreq, the nominal clock of /proc/cpuinfo; 0: unknown. now_ns is any steady clock. */
unsigned cpufreq__khz(unsigned cpu, unsigned long long now_ns);

#endif
