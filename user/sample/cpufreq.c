// SPDX-License-Identifier: GPL-2.0-only
/* The present frequency of each CPU, kept for a second. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/cpuinfo.h"
#include "sample/cpufreq.h"

#define MAX_CPUS 4096

/* A driver may be loaded later: what is not there is looked for again after that time. */
#define ABSENT_NS (60 * NSEC_PER_SEC)

static struct {
	unsigned khz;
	unsigned long long next_ns;
} cache[MAX_CPUS];

/* A virtual machine shows its clock here only; it does not change. */
static unsigned nominal_khz(void)
{
	static int known = -1;

	if (known < 0)
		known = (int)(cpuinfo__highest_mhz("/proc") * 1000);
	return known;
}

static unsigned read_khz(unsigned cpu, unsigned long long *good_ns)
{
	char path[96];
	unsigned khz = 0;
	FILE *f;

	*good_ns = NSEC_PER_SEC;
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq", cpu);
	f = fopen(path, "re");
	if (!f) {
		*good_ns = ABSENT_NS;
		return nominal_khz();
	}
	if (fscanf(f, "%u", &khz) != 1)
		khz = 0;
	fclose(f);
	return khz;
}

unsigned cpufreq__khz(unsigned cpu, unsigned long long now_ns)
{
	unsigned long long good_ns;

	if (cpu >= MAX_CPUS)
		return 0;
	if (now_ns >= cache[cpu].next_ns) {
		cache[cpu].khz = read_khz(cpu, &good_ns);
		cache[cpu].next_ns = now_ns + good_ns;
	}
	return cache[cpu].khz;
}
