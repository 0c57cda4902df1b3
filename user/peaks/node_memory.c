// SPDX-License-Identifier: GPL-2.0-only
/* Caches of the CPUs, and free memory: of the node and of the cgroups that this process is in. */
#include "peaks/node_memory.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "identity/cpulist.h"

#define LEVELS 8 /* index0 to index7 of a CPU */

static int read_text(const char *path, char *buf, size_t size)
{
	ssize_t n = read_file(AT_FDCWD, path, buf, size);

	if (n < 0)
		return (int)n;
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

/* "32768K" */
static uint64_t size_of(const char *text)
{
	char *end;
	uint64_t v = strtoull(text, &end, 10);

	return *end == 'M' ? v << 20 : *end == 'K' ? v << 10 : v;
}

static bool is_earlier(const char *list, const int *cpus, unsigned n)
{
	uint64_t bits[1024] = {0}; /* 65536 CPUs */

	if (cpulist__read(list, bits, 65536) < 0)
		return false;
	for (unsigned i = 0; i < n; i++)
		if (bits[cpus[i] / 64] >> (cpus[i] % 64) & 1)
			return true;
	return false;
}

/* The cache of cpus[n], unless one of the CPUs before has it too. */
static uint64_t cache_of(const char *sys, const int *cpus, unsigned n)
{
	char dir[PATH_MAX], path[PATH_MAX + 32], text[4096], shared[4096] = "";
	uint64_t size = 0, highest = 0, level;

	for (unsigned i = 0; i < LEVELS; i++) {
		snprintf(dir, sizeof(dir), "%s/devices/system/cpu/cpu%d/cache/index%u", sys,
			 cpus[n], i);
		snprintf(path, sizeof(path), "%s/level", dir);
		if (read_file_u64(AT_FDCWD, path, &level) || level < highest)
			continue;
		snprintf(path, sizeof(path), "%s/size", dir);
		if (read_text(path, text, sizeof(text)))
			continue;
		size = size_of(text);
		highest = level;
		snprintf(path, sizeof(path), "%s/shared_cpu_list", dir);
		if (read_text(path, shared, sizeof(shared)))
			shared[0] = '\0';
	}
	return is_earlier(shared, cpus, n) ? 0 : size;
}

uint64_t node_memory__caches(const char *sys, const int *cpus, unsigned ncpus)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < ncpus; i++)
		sum += cache_of(sys, cpus, i);
	return sum;
}

static uint64_t node_free(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/meminfo", "re");
	unsigned long long kib = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
			break;
	return kib << 10;
}

/* limit less usage of DIR, UINT64_MAX: there is no limit. */
static uint64_t left_in(const char *dir, const char *limit, const char *usage)
{
	char path[PATH_MAX + 64];
	uint64_t most, used;

	snprintf(path, sizeof(path), "%s/%s", dir, limit);
	if (read_file_u64(AT_FDCWD, path, &most) || most == UINT64_MAX)
		return UINT64_MAX;
	snprintf(path, sizeof(path), "%s/%s", dir, usage);
	if (read_file_u64(AT_FDCWD, path, &used))
		used = 0;
	return most > used ? most - used : 0;
}

/* The least that a cgroup of this line of /proc/self/cgroup, or one above it, leaves. */
static uint64_t left_by(const char *line)
{
	bool v1 = strstr(line, ":memory:") != NULL;
	const char *at = strrchr(line, ':');
	char dir[PATH_MAX];
	uint64_t least = UINT64_MAX, left;
	char *slash;

	if (!at || (!v1 && !str__starts(line, "0::")))
		return UINT64_MAX;
	snprintf(dir, sizeof(dir), "/sys/fs/cgroup%s%.*s", v1 ? "/memory" : "",
		 (int)strcspn(at + 1, "\n"), at + 1);
	while ((slash = strrchr(dir, '/')) && strlen(dir) > strlen("/sys/fs/cgroup")) {
		left = v1 ? left_in(dir, "memory.limit_in_bytes", "memory.usage_in_bytes")
			  : left_in(dir, "memory.max", "memory.current");
		least = left < least ? left : least;
		*slash = '\0';
	}
	return least;
}

uint64_t node_memory__free(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/cgroup", "re");
	uint64_t least = node_free(), left;
	char line[PATH_MAX];

	while (f && fgets(line, sizeof(line), f)) {
		left = left_by(line);
		least = left < least ? left : least;
	}
	return least;
}
