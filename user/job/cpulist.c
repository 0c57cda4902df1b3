// SPDX-License-Identifier: GPL-2.0-only
#include "job/cpulist.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* bits may be NULL: only to count. */
static int walk(const char *list, uint64_t *bits, long limit)
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
		if (last >= limit)
			return -ERANGE;
		for (long i = first; bits && i <= last; i++)
			bits[i / 64] |= 1ULL << (i % 64);
		before = last;
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
	return walk(list, NULL, CPU_LAST + 1);
}

int cpulist__read(const char *list, uint64_t *bits, unsigned n)
{
	memset(bits, 0, ((size_t)n + 63) / 64 * sizeof(*bits));
	return walk(list, bits, n);
}
