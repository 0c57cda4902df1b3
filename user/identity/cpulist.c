// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads and writes lists of CPUs: "0-3,8". */
#include "identity/cpulist.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

#define CPU_LAST 65535

/* Where the CPUs of a list are written to. */
struct target {
	int *cpus; /* [max], or NULL */
	long max;
	uint64_t *bits; /* of limit CPUs, or NULL */
	long limit;
};

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

/* Writes a range behind the n CPUs before it. */
static int put_range(const struct target *t, long first, long last, long n)
{
	if (t->cpus && last - first >= t->max - n)
		return -E2BIG;
	if (t->bits && last >= t->limit)
		return -ERANGE;
	for (long cpu = first; cpu <= last; cpu++) {
		if (t->cpus)
			t->cpus[n + cpu - first] = (int)cpu;
		if (t->bits)
			t->bits[cpu / 64] |= 1ULL << (cpu % 64);
	}
	return 0;
}

static int walk_list(const char *list, const struct target *t)
{
	long first, last, before = -1, n = 0;
	int err;

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
		err = put_range(t, first, last, n);
		if (err)
			return err;
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
	return walk_list(list, &(struct target){});
}

int cpulist__expand(const char *list, int *cpus, unsigned max)
{
	return walk_list(list, &(struct target){.cpus = cpus, .max = max});
}

int cpulist__read(const char *list, uint64_t *bits, unsigned n)
{
	memset(bits, 0, ((size_t)n + 63) / 64 * sizeof(*bits));
	return walk_list(list, &(struct target){.bits = bits, .limit = n});
}

static bool has(const uint64_t *bits, unsigned cpu)
{
	return bits[cpu / 64] >> (cpu % 64) & 1;
}

int cpulist__format(const uint64_t *bits, unsigned n, char *text, size_t size)
{
	size_t len = 0;

	*text = '\0';
	for (unsigned first = 0, last; first < n; first = last + 1) {
		int more;

		last = first;
		if (!has(bits, first))
			continue;
		while (last + 1 < n && has(bits, last + 1))
			last++;
		more = snprintf(text + len, size - len, last > first ? "%s%u-%u" : "%s%u",
				len ? "," : "", first, last);
		if (more >= (int)(size - len)) {
			*text = '\0';
			return -E2BIG;
		}
		len += (size_t)more;
	}
	return 0;
}

int cpulist__threads_per_core(void)
{
	char path[96], list[256];

	for (int cpu = 0; cpu < 64; cpu++) {
		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
		if (read_file(AT_FDCWD, path, list, sizeof(list)) < 0)
			continue;
		list[strcspn(list, "\n")] = '\0';
		return cpulist__count(list) > 0 ? cpulist__count(list) : 0;
	}
	return 0;
}

int cpulist__node_cores(void)
{
	int threads = cpulist__threads_per_core();
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return (int)(threads > 0 ? (cpus + threads - 1) / threads : cpus);
}
