// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sensor/cgroup.h"

/* "max" and v1's page-aligned LONG_MAX both mean: no limit. */
#define NO_LIMIT 9.0e18

static double read_number(const char *dir, const char *file)
{
	char path[640], text[64], *end;
	double v = NAN;
	FILE *f;

	if (!dir)
		return NAN;
	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "re");
	if (!f)
		return NAN;
	if (fgets(text, sizeof(text), f)) {
		v = strtod(text, &end);
		if (end == text || (*end && *end != '\n'))
			v = NAN;
	}
	fclose(f);
	return v;
}

/* "key value" lines; with_prefix is what the line begins with up to the number. */
static double read_key(const char *dir, const char *file, const char *key)
{
	char path[640], line[256];
	double v = NAN;
	size_t len = strlen(key);
	FILE *f;

	if (!dir)
		return NAN;
	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "re");
	if (!f)
		return NAN;
	while (fgets(line, sizeof(line), f)) {
		const char *at = strncmp(line, key, len) ? NULL : line + len;

		if (!at && !strncmp(line, "some ", 5) && (at = strstr(line, key)))
			at += len;
		if (at && sscanf(at, "%lf", &v) == 1)
			break;
	}
	fclose(f);
	return v;
}

static double first_known(double a, double b)
{
	return isnan(a) ? b : a;
}

/* The lowest limit from dir up to the mount: a job's limit is often set above its steps. */
static double lowest_limit(const char *dir, const char *mount, const char *file)
{
	double low = NAN, v;
	char path[512], *slash;
	size_t floor = mount ? strlen(mount) : 0;

	if (!dir || !mount || strncmp(dir, mount, floor))
		return NAN;
	snprintf(path, sizeof(path), "%s", dir);
	while (strlen(path) > floor) {
		v = read_number(path, file);
		if (!isnan(v) && v < NO_LIMIT && (isnan(low) || v < low))
			low = v;
		slash = strrchr(path, '/');
		if (!slash || slash == path)
			break;
		*slash = 0;
	}
	return low;
}

void cgroup__read(const struct cg_dirs *d, double v[CG_N])
{
	v[CG_MEM] = first_known(read_number(d->v2, "memory.current"),
				read_number(d->v1_memory, "memory.usage_in_bytes"));
	v[CG_MEM_PEAK] = first_known(read_number(d->v2, "memory.peak"),
				     read_number(d->v1_memory, "memory.max_usage_in_bytes"));
	v[CG_MEM_LIMIT] =
		first_known(lowest_limit(d->v2, d->v2_mount, "memory.max"),
			    lowest_limit(d->v1_memory, d->v1_mount, "memory.limit_in_bytes"));
	v[CG_THROTTLED] = first_known(read_key(d->v2, "cpu.stat", "throttled_usec ") / 1e6,
				      read_key(d->v1_cpu, "cpu.stat", "throttled_time ") / 1e9);
	v[CG_PSI_CPU] = read_key(d->v2, "cpu.pressure", "total=") / 1e6;
	v[CG_PSI_MEM] = read_key(d->v2, "memory.pressure", "total=") / 1e6;
	v[CG_PSI_IO] = read_key(d->v2, "io.pressure", "total=") / 1e6;
}
