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

#define YOUNG_NS	(3 * NSEC_PER_SEC)
#define YOUNG_RESCAN_NS (NSEC_PER_SEC / 5)
#define RESCAN_NS	(30 * NSEC_PER_SEC)
/* Descriptors that all steps together may keep. */
#define KEPT_MAX 1024
/* v1's memory.stat has some 2500 bytes. */
#define TEXT_MAX 8192

enum place { IN_V2, IN_V1_MEMORY, PLACES };

/* Each is read once per row, however many values it has. */
enum file {
	MEMORY_CURRENT,
	MEMORY_PEAK,
	MEMORY_STAT,
	CPU_PRESSURE,
	MEMORY_PRESSURE,
	IO_PRESSURE,
	V1_MEMORY_USAGE,
	V1_MEMORY_PEAK,
	V1_MEMORY_KERNEL,
	V1_MEMORY_STAT,
	FILES
};

static const struct {
	enum place place;
	const char *name;
} files[FILES] = {
	[MEMORY_CURRENT] = {IN_V2, "memory.current"},
	[MEMORY_PEAK] = {IN_V2, "memory.peak"},
	[MEMORY_STAT] = {IN_V2, "memory.stat"},
	[CPU_PRESSURE] = {IN_V2, "cpu.pressure"},
	[MEMORY_PRESSURE] = {IN_V2, "memory.pressure"},
	[IO_PRESSURE] = {IN_V2, "io.pressure"},
	[V1_MEMORY_USAGE] = {IN_V1_MEMORY, "memory.usage_in_bytes"},
	[V1_MEMORY_PEAK] = {IN_V1_MEMORY, "memory.max_usage_in_bytes"},
	[V1_MEMORY_KERNEL] = {IN_V1_MEMORY, "memory.kmem.usage_in_bytes"},
	[V1_MEMORY_STAT] = {IN_V1_MEMORY, "memory.stat"},
};

/* The first source of a value that is there counts. */
static const struct source {
	enum file file;
	enum cg_value value;
	const char *key; /* what stands before the number; NULL: the file is the number */
	double unit;
} sources[] = {
	{MEMORY_CURRENT, CG_MEM, NULL, 1},
	{V1_MEMORY_USAGE, CG_MEM, NULL, 1},
	{MEMORY_PEAK, CG_MEM_PEAK, NULL, 1},
	{V1_MEMORY_PEAK, CG_MEM_PEAK, NULL, 1},
	{MEMORY_STAT, CG_MEM_ANON, "anon ", 1},
	{MEMORY_STAT, CG_MEM_SHMEM, "shmem ", 1},
	{MEMORY_STAT, CG_MEM_KERNEL, "kernel ", 1},
	{MEMORY_STAT, CG_REFAULT_ANON, "workingset_refault_anon ", 1},
	{MEMORY_STAT, CG_REFAULT_FILE, "workingset_refault_file ", 1},
	/* before Linux 5.9 only pages of files were counted */
	{MEMORY_STAT, CG_REFAULT_FILE, "workingset_refault ", 1},
	{V1_MEMORY_STAT, CG_MEM_ANON, "total_rss ", 1},
	{V1_MEMORY_STAT, CG_MEM_SHMEM, "total_shmem ", 1},
	{V1_MEMORY_KERNEL, CG_MEM_KERNEL, NULL, 1},
	{V1_MEMORY_STAT, CG_REFAULT_ANON, "total_workingset_refault_anon ", 1},
	{V1_MEMORY_STAT, CG_REFAULT_FILE, "total_workingset_refault_file ", 1},
	{V1_MEMORY_STAT, CG_REFAULT_FILE, "total_workingset_refault ", 1},
	{CPU_PRESSURE, CG_PSI_CPU, "total=", 1e6},
	{MEMORY_PRESSURE, CG_PSI_MEM, "total=", 1e6},
	{IO_PRESSURE, CG_PSI_IO, "total=", 1e6},
};

static const struct {
	enum levels_kind kind;
	unsigned count;
	enum cg_value value;
} level_values[] = {
	{LEVELS_QUOTA, 0, CG_THROTTLED_PERIODS},
	{LEVELS_MEMORY, 0, CG_MEM_HIGH},
	{LEVELS_MEMORY, 1, CG_MEM_MAX},
};

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

struct cgroup_files {
	int fd[FILES];
	struct throttled throttled;
	struct levels levels[LEVELS_KINDS];
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
		if (!isnan(v) && v < CGROUP_NO_LIMIT && (isnan(low) || v < low))
			low = v;
	}
	return low;
}

struct cgroup_files *cgroup_files__new(const struct cgroup_base *base)
{
	struct cgroup_files *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	for (unsigned i = 0; i < FILES; i++)
		f->fd[i] = -1;
	f->throttled.base = base ? base->throttled : NAN;
	for (unsigned i = 0; base && i < LEVELS_KINDS; i++)
		f->levels[i].base = base->levels[i];
	return f;
}

static void forget(struct cgroup_files *f, enum file i)
{
	if (f->fd[i] < 0)
		return;
	close(f->fd[i]);
	f->fd[i] = -1;
	kept--;
}

static void forget_levels(struct cgroup_files *f)
{
	kept -= throttled__close(&f->throttled);
	for (unsigned i = 0; i < LEVELS_KINDS; i++)
		kept -= levels__close(&f->levels[i]);
}

void cgroup_files__free(struct cgroup_files *f)
{
	if (!f)
		return;
	for (unsigned i = 0; i < FILES; i++)
		forget(f, i);
	forget_levels(f);
	free(f);
}

void cgroup_files__base(const struct cgroup_files *f, struct cgroup_base *base)
{
	memset(base, 0, sizeof(*base));
	base->throttled = f ? f->throttled.base : NAN;
	for (unsigned i = 0; f && i < LEVELS_KINDS; i++)
		base->levels[i] = f->levels[i].base;
}

bool cgroup_files__stale(const struct cgroup_files *f, uint64_t now_ns)
{
	return now_ns >= f->next_ns;
}

static void keep_file(struct cgroup_files *f, enum file i, const char *dir)
{
	char path[640];

	snprintf(path, sizeof(path), "%s/%s", dir, files[i].name);
	f->fd[i] = open(path, O_RDONLY | O_CLOEXEC);
	kept += f->fd[i] >= 0;
}

void cgroup_files__rescan(struct cgroup_files *f, const struct cgroup_dirs *d, uint64_t now_ns)
{
	const char *const dirs[PLACES] = {d->v2, d->v1_memory};

	for (unsigned i = 0; i < FILES; i++)
		if (f->fd[i] < 0 && dirs[files[i].place])
			keep_file(f, i, dirs[files[i].place]);
	kept += throttled__open(&f->throttled, d);
	for (unsigned i = 0; i < LEVELS_KINDS; i++)
		kept += levels__open(&f->levels[i], i, d);
	f->limit = lowest_limit(d->v2, d->v2_mount, "memory.max");
	if (isnan(f->limit))
		f->limit = lowest_limit(d->v1_memory, d->v1_mount, "memory.limit_in_bytes");
	if (!f->first_ns)
		f->first_ns = now_ns;
	f->next_ns = now_ns + (now_ns < f->first_ns + YOUNG_NS ? YOUNG_RESCAN_NS : RESCAN_NS);
}

/* Sets the values that the file has. False: it has none. */
static bool read_values(struct cgroup_files *f, enum file file, double v[CG_N])
{
	char text[TEXT_MAX];
	ssize_t n = pread(f->fd[file], text, sizeof(text) - 1, 0);
	bool any = false;

	text[n > 0 ? n : 0] = '\0';
	for (size_t i = 0; n > 0 && i < COUNT_OF(sources); i++) {
		double *value = &v[sources[i].value];

		if (sources[i].file != file)
			continue;
		if (isnan(*value))
			*value = cgroup_value__parse(text, sources[i].key) / sources[i].unit;
		any |= !isnan(*value);
	}
	return any;
}

void cgroup_files__read(struct cgroup_files *f, double v[CG_N])
{
	double counts[LEVELS_KINDS][LEVELS_COUNTS];
	bool crowded = kept > KEPT_MAX;

	for (unsigned i = 0; i < CG_N; i++)
		v[i] = NAN;
	v[CG_MEM_LIMIT] = f->limit;
	for (unsigned i = 0; i < FILES; i++)
		if (f->fd[i] >= 0 && (!read_values(f, i, v) || crowded))
			forget(f, i); /* until the next look */
	v[CG_THROTTLED] = throttled__read(&f->throttled);
	for (unsigned i = 0; i < LEVELS_KINDS; i++)
		levels__read(&f->levels[i], counts[i]);
	for (size_t i = 0; i < COUNT_OF(level_values); i++)
		v[level_values[i].value] = counts[level_values[i].kind][level_values[i].count];
	if (!crowded)
		return;
	forget_levels(f);
	f->next_ns = 0;
}
