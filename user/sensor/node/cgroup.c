// SPDX-License-Identifier: GPL-2.0-only
/* Opens and reads the files of a step's cgroup. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "sensor/node/cgroup.h"
#include "sensor/node/throttled.h"

/* "max" and v1's page-aligned LONG_MAX both mean: no limit. */
#define NO_LIMIT 9.0e18

#define YOUNG_NS	(3 * NSEC_PER_SEC)
#define YOUNG_RESCAN_NS (NSEC_PER_SEC / 5)
#define RESCAN_NS	(30 * NSEC_PER_SEC)
/* Descriptors that all steps together may keep. */
#define KEPT_MAX 1024

enum place { IN_V2, IN_V1_MEMORY, PLACES };

/* Of the sources of one value the first that is there counts. */
static const struct source {
	enum cg_value value;
	enum place place;
	const char *file;
	const char *key; /* what stands before the number; NULL: the file is the number */
	double unit;
} sources[] = {
	{CG_MEM, IN_V2, "memory.current", NULL, 1},
	{CG_MEM, IN_V1_MEMORY, "memory.usage_in_bytes", NULL, 1},
	{CG_MEM_PEAK, IN_V2, "memory.peak", NULL, 1},
	{CG_MEM_PEAK, IN_V1_MEMORY, "memory.max_usage_in_bytes", NULL, 1},
	{CG_PSI_CPU, IN_V2, "cpu.pressure", "total=", 1e6},
	{CG_PSI_MEM, IN_V2, "memory.pressure", "total=", 1e6},
	{CG_PSI_IO, IN_V2, "io.pressure", "total=", 1e6},
};

#define SOURCES (sizeof(sources) / sizeof(sources[0]))

struct cgroup_files {
	int fd[SOURCES];
	struct throttled throttled;
	double limit;
	uint64_t first_ns, next_ns; /* looks */
};

static unsigned kept;

static double read_limit(const char *dir, const char *file)
{
	char path[640], text[64];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return read_file(AT_FDCWD, path, text, sizeof(text)) < 0 ? NAN
								 : cgroup_value__parse(text, NULL);
}

/* The lowest limit from dir up to the mount: a job's limit is often set above its steps. */
static double lowest_limit(const char *dir, const char *mount, const char *file)
{
	double low = NAN, v;
	char path[512] = "";
	bool more = cgroup_value__begin(path, sizeof(path), dir, mount);

	for (; more; more = cgroup_value__up(path, mount)) {
		v = read_limit(path, file);
		if (!isnan(v) && v < NO_LIMIT && (isnan(low) || v < low))
			low = v;
	}
	return low;
}

struct cgroup_files *cgroup_files__new(double base)
{
	struct cgroup_files *f = calloc(1, sizeof(*f));
	size_t i;

	for (i = 0; f && i < SOURCES; i++)
		f->fd[i] = -1;
	if (f)
		f->throttled.base = base;
	return f;
}

static void forget(struct cgroup_files *f, size_t i)
{
	if (f->fd[i] < 0)
		return;
	close(f->fd[i]);
	f->fd[i] = -1;
	kept--;
}

void cgroup_files__free(struct cgroup_files *f)
{
	size_t i;

	for (i = 0; f && i < SOURCES; i++)
		forget(f, i);
	if (f)
		kept -= throttled__close(&f->throttled);
	free(f);
}

double cgroup_files__base(const struct cgroup_files *f)
{
	return f ? f->throttled.base : NAN;
}

bool cgroup_files__stale(const struct cgroup_files *f, uint64_t now_ns)
{
	return now_ns >= f->next_ns;
}

static void keep(struct cgroup_files *f, size_t i, const char *dir)
{
	char path[640];

	snprintf(path, sizeof(path), "%s/%s", dir, sources[i].file);
	f->fd[i] = open(path, O_RDONLY | O_CLOEXEC);
	kept += f->fd[i] >= 0;
}

void cgroup_files__rescan(struct cgroup_files *f, const struct cgroup_dirs *d, uint64_t now_ns)
{
	const char *const dirs[PLACES] = {d->v2, d->v1_memory};
	size_t i;

	for (i = 0; i < SOURCES; i++)
		if (f->fd[i] < 0 && dirs[sources[i].place])
			keep(f, i, dirs[sources[i].place]);
	kept += throttled__open(&f->throttled, d);
	f->limit = lowest_limit(d->v2, d->v2_mount, "memory.max");
	if (isnan(f->limit))
		f->limit = lowest_limit(d->v1_memory, d->v1_mount, "memory.limit_in_bytes");
	if (!f->first_ns)
		f->first_ns = now_ns;
	f->next_ns = now_ns + (now_ns < f->first_ns + YOUNG_NS ? YOUNG_RESCAN_NS : RESCAN_NS);
}

void cgroup_files__read(struct cgroup_files *f, double v[CG_N])
{
	bool crowded = kept > KEPT_MAX;
	size_t i;

	for (i = 0; i < CG_N; i++)
		v[i] = NAN;
	v[CG_MEM_LIMIT] = f->limit;
	for (i = 0; i < SOURCES; i++) {
		double *value = &v[sources[i].value];

		if (f->fd[i] < 0)
			continue;
		if (isnan(*value))
			*value = cgroup_value__read(f->fd[i], sources[i].key) / sources[i].unit;
		if (crowded || isnan(*value))
			forget(f, i); /* until the next look */
	}
	v[CG_THROTTLED] = throttled__read(&f->throttled);
	if (!crowded)
		return;
	kept -= throttled__close(&f->throttled);
	f->next_ns = 0;
}
