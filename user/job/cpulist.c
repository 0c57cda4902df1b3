// SPDX-License-Identifier: GPL-2.0-only
#include "job/cpulist.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#define CPU_LAST 65535

static int read_cpu(const char **p, long *cpu)
{
	char *end;

	if (!isdigit((unsigned char)**p))
		return -EINVAL;
	errno = 0;
	*cpu = strtol(*p, &end, 10);
	*p = end;
	return errno || *cpu > CPU_LAST ? -EINVAL : 0;
}

/* cpus NULL: they are counted only. */
static int walk(const char *list, int *cpus, long max)
{
	long first, last, before = -1, n = 0;

	while (*list) {
		if (read_cpu(&list, &first))
			return -EINVAL;
		last = first;
		if (*list == '-') {
			list++;
			if (read_cpu(&list, &last))
				return -EINVAL;
		}
		if (first <= before || last < first)
			return -EINVAL;
		before = last;
		if (cpus && last - first >= max - n)
			return -E2BIG;
		for (long cpu = first; cpus && cpu <= last; cpu++)
			cpus[n + cpu - first] = (int)cpu;
		n += last - first + 1;
		if (*list == ',' && list[1])
			list++;
		else if (*list)
			return -EINVAL;
	}
	return (int)n;
}

int cpulist__count(const char *list)
{
	return walk(list, NULL, 0);
}

int cpulist__expand(const char *list, int *cpus, unsigned max)
{
	return walk(list, cpus, max);
}
