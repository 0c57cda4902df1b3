/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens and reads the files of a step's cgroup. */
#include "sensor/node/cgroup.h"

#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "schema/quantities.h"

/* The hierarchies with files of a step. The files of a step's rows are in the first PLACES ones. */
enum place { IN_V2, IN_V1_MEMORY, PLACES, IN_V1_CPU = PLACES };

/* ---- numbers in a cgroup's files, and the walk up to the mount */

/* Reads a whole number up to the end of its line; NaN: anything else ("max"). This runs with every
 * row, and the C library's functions would take as long as the kernel takes to write the number. */
static double parse_number(const char *text)
{
	const char *p = text;
	uint64_t v = 0;

	for (; *p >= '0' && *p <= '9'; p++)
		v = 10 * v + (*p - '0');
	return p == text || p - text > 19 || (*p && *p != '\n') ? NAN : v;
}

/* Finds a key in lines "KEY VALUE", and in those of pressure: "some" is the line, and the key
 * stands before the number. */
static double parse_key(const char *text, const char *key)
{
	const char *line = text, *at, *end;
	size_t len = strlen(key);

	for (; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		if (!strncmp(line, key, len))
			return parse_number(line + len);
		if (!strncmp(line, "some ", 5) && (at = memmem(line, end - line, key, len)))
			return parse_number(at + len);
	}
	return NAN;
}

/* The number after key in a file's text; key NULL: the whole text is the number. NaN: there is
 * none. */
static double cgroup_value_parse(const char *text, const char *key)
{
	return key ? parse_key(text, key) : parse_number(text);
}

/* As cgroup_value_parse(), for an open file. NaN also if the file cannot be read, or its cgroup was
 * removed. */
static double cgroup_value_read(int fd, const char *key)
{
	char text[2048];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return NAN;
	text[n] = 0;
	return cgroup_value_parse(text, key);
}

/* Begins a walk from a cgroup to the mount of its hierarchy, for limits that a parent sets: path
 * becomes dir. False: path is the mount itself, or dir is not below it. */
static bool cgroup_value_begin(char *path, size_t size, const char *dir, const char *mount)
{
	if (!dir || !mount || strncmp(dir, mount, strlen(mount)))
		return false;
	snprintf(path, size, "%s", dir);
	return strlen(path) > strlen(mount);
}

static bool cgroup_value_up(char *path, const char *mount)
{
	char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return false;
	*slash = 0;
	return strlen(path) > strlen(mount);
}

/* ---- how often limits were met, of a cgroup and of those above it */

static const struct levels_way {
	enum levels_kind kind;
	enum place place;
	const char *own, *above;	/* file of the nearest cgroup, and of cgroups above it */
	const char *key[LEVELS_COUNTS]; /* "": the whole file is the number; NULL: not counted */
	const char *limit[2];		/* files, one of which sets the limit */
} level_ways[] = {
	{LEVELS_QUOTA, IN_V2, "cpu.stat", "cpu.stat", {"nr_throttled "}, {"cpu.max"}},
	{LEVELS_QUOTA, IN_V1_CPU, "cpu.stat", "cpu.stat", {"nr_throttled "}, {"cpu.cfs_quota_us"}},
	/* memory.events includes cgroups below: a sum over both would count events twice */
	{LEVELS_MEMORY,
	 IN_V2,
	 "memory.events",
	 "memory.events.local",
	 {"high ", "max "},
	 {"memory.high", "memory.max"}},
	{LEVELS_MEMORY,
	 IN_V1_MEMORY,
	 "memory.failcnt",
	 "memory.failcnt",
	 {NULL, ""},
	 {"memory.limit_in_bytes"}},
};

static double read_count(int fd, const struct levels_way *w, unsigned i)
{
	if (!w->key[i])
		return NAN;
	return cgroup_value_read(fd, w->key[i][0] ? w->key[i] : NULL);
}

static bool is_counted(int fd, const struct levels_way *w)
{
	for (unsigned i = 0; i < LEVELS_COUNTS; i++)
		if (!isnan(read_count(fd, w, i)))
			return true;
	return false;
}

static bool is_limited(const char *dir, const struct levels_way *w)
{
	char path[640], text[64];

	for (unsigned i = 0; i < sizeof(w->limit) / sizeof(w->limit[0]) && w->limit[i]; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, w->limit[i]);
		/* "max", "-1" and v1's page-aligned LONG_MAX all mean: no limit */
		if (read_file(AT_FDCWD, path, text, sizeof(text)) >= 0 &&
		    isdigit((unsigned char)text[0]) && strtod(text, NULL) < CGROUP_NO_LIMIT)
			return true;
	}
	return false;
}

static bool open_level(struct levels *l, unsigned level, const char *dir, bool nearest)
{
	const struct levels_way *w = l->way;
	char path[640];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, nearest ? w->own : w->above);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (!is_counted(fd, w)) {
		close(fd);
		return false;
	}
	for (unsigned i = 0; level && i < LEVELS_COUNTS && !(l->base.taken >> level & 1); i++) {
		double v = read_count(fd, w, i);

		l->base.count[i] += isnan(v) ? 0 : v;
	}
	l->base.taken |= 1u << level;
	l->fd[level] = fd;
	l->open |= 1u << level;
	return true;
}

static unsigned open_way(struct levels *l, const struct cgroup_dirs *d)
{
	const char *const dirs[] = {
		[IN_V2] = d->v2, [IN_V1_CPU] = d->v1_cpu, [IN_V1_MEMORY] = d->v1_memory};
	const char *mount = l->way->place == IN_V2 ? d->v2_mount : d->v1_mount;
	char path[512];
	bool more = cgroup_value_begin(path, sizeof(path), dirs[l->way->place], mount);
	bool nearest = true;
	unsigned n = 0;

	for (unsigned level = 0; more && level < LEVELS_MAX; level++) {
		if (l->open >> level & 1) {
			nearest = false;
		} else if ((nearest || is_limited(path, l->way)) &&
			   open_level(l, level, path, nearest)) {
			nearest = false;
			n++;
		}
		more = cgroup_value_up(path, mount);
	}
	return n;
}

unsigned levels__open(struct levels *l, enum levels_kind kind, const struct cgroup_dirs *d)
{
	if (l->open)
		return open_way(l, d);
	for (size_t i = 0; !l->open && i < sizeof(level_ways) / sizeof(level_ways[0]); i++) {
		if (level_ways[i].kind != kind)
			continue;
		l->way = &level_ways[i];
		open_way(l, d);
	}
	return (unsigned)__builtin_popcount(l->open);
}

void levels__read(const struct levels *l, double count[LEVELS_COUNTS])
{
	for (unsigned i = 0; i < LEVELS_COUNTS; i++) {
		count[i] = l->open ? -l->base.count[i] : NAN;
		for (unsigned level = 0; level < LEVELS_MAX; level++)
			if (l->open >> level & 1)
				count[i] += read_count(l->fd[level], l->way, i);
	}
}

unsigned levels__close(struct levels *l)
{
	unsigned n = 0;

	for (unsigned level = 0; level < LEVELS_MAX; level++)
		if (l->open >> level & 1) {
			close(l->fd[level]);
			n++;
		}
	l->open = 0;
	return n;
}

/* ---- throttled time of a cgroup, by a CPU quota */

static const struct throttled_way {
	const char *file, *key;
	double unit;
	bool v2, local; /* local: of the nearest cgroup that has it; else the sum of all */
} throttled_ways[] = {
	{"cpu.stat.local", "throttled_usec ", 1e6, true, true},
	{"cpu.stat.local", "throttled_time ", 1e9, false, true},
	{"cpu.stat", "throttled_usec ", 1e6, true, false},
	{"cpu.stat", "throttled_time ", 1e9, false, false},
};

/* Returns a descriptor; -1: no such file, or the controller is not enabled there. */
static int open_one(const char *dir, const struct throttled_way *way)
{
	char path[640];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, way->file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !isnan(cgroup_value_read(fd, way->key)))
		return fd;
	close(fd);
	return -1;
}

static void open_throttled(struct throttled *t, const struct throttled_way *way,
			   const struct cgroup_dirs *d)
{
	const char *mount = way->v2 ? d->v2_mount : d->v1_mount;
	char path[512];
	bool more = cgroup_value_begin(path, sizeof(path), way->v2 ? d->v2 : d->v1_cpu, mount);
	bool own = true;
	double above = 0;

	for (; more && t->n < (way->local ? 1 : THROTTLED_LEVELS);
	     more = cgroup_value_up(path, mount)) {
		int fd = open_one(path, way);

		if (fd >= 0) {
			t->fd[t->n++] = fd;
			above += own ? 0 : cgroup_value_read(fd, way->key) / way->unit;
		}
		own = false;
	}
	if (t->n && isnan(t->base))
		t->base = above;
	t->way = way;
}

unsigned throttled__open(struct throttled *t, const struct cgroup_dirs *d)
{
	size_t i;

	if (t->n)
		return 0;
	for (i = 0; !t->n && i < sizeof(throttled_ways) / sizeof(throttled_ways[0]); i++)
		open_throttled(t, &throttled_ways[i], d);
	return t->n;
}

double throttled__read(const struct throttled *t)
{
	double sum = t->n ? -t->base : NAN;
	unsigned i;

	for (i = 0; i < t->n; i++)
		sum += cgroup_value_read(t->fd[i], t->way->key) / t->way->unit;
	return sum;
}

unsigned throttled__close(struct throttled *t)
{
	unsigned n = t->n;

	while (t->n)
		close(t->fd[--t->n]);
	return n;
}

/* ---- the files of a step */

#define YOUNG_NS	(3 * NSEC_PER_SEC)
#define YOUNG_RESCAN_NS (NSEC_PER_SEC / 5)
#define RESCAN_NS	(30 * NSEC_PER_SEC)
/* descriptors that all steps together may have open */
#define KEPT_MAX 1024
/* bytes; v1's memory.stat has some 2500 */
#define TEXT_MAX 8192

/* Each of these files is read once per row, for all its values. */
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

/* The first source that exists gives the value. */
static const struct source {
	enum file file;
	enum cg_value value;
	const char *key; /* text before the number; NULL: the whole file is the number */
	double unit;
} sources[] = {
	{MEMORY_CURRENT, CG_MEM, NULL, 1},
	{V1_MEMORY_USAGE, CG_MEM, NULL, 1},
	{MEMORY_PEAK, CG_MEM_PEAK, NULL, 1},
	{V1_MEMORY_PEAK, CG_MEM_PEAK, NULL, 1},
	{MEMORY_STAT, CG_MEM_ANON, "anon ", 1},
	{MEMORY_STAT, CG_MEM_SHMEM, "shmem ", 1},
	{MEMORY_STAT, CG_MEM_KERNEL, "kernel ", 1},
	{MEMORY_STAT, CG_REFAULTS_ANON, "workingset_refault_anon ", 1},
	{MEMORY_STAT, CG_REFAULTS_FILE, "workingset_refault_file ", 1},
	/* before Linux 5.9 the kernel counted only pages of files */
	{MEMORY_STAT, CG_REFAULTS_FILE, "workingset_refault ", 1},
	{V1_MEMORY_STAT, CG_MEM_ANON, "total_rss ", 1},
	{V1_MEMORY_STAT, CG_MEM_SHMEM, "total_shmem ", 1},
	{V1_MEMORY_KERNEL, CG_MEM_KERNEL, NULL, 1},
	{V1_MEMORY_STAT, CG_REFAULTS_ANON, "total_workingset_refault_anon ", 1},
	{V1_MEMORY_STAT, CG_REFAULTS_FILE, "total_workingset_refault_file ", 1},
	{V1_MEMORY_STAT, CG_REFAULTS_FILE, "total_workingset_refault ", 1},
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
	{LEVELS_MEMORY, 0, CG_MEM_HIGH_EVENTS},
	{LEVELS_MEMORY, 1, CG_MEM_MAX_EVENTS},
};

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

struct cgroup_files {
	int fd[FILES];
	struct throttled throttled;
	struct levels levels[LEVELS_KINDS];
	double limit;
	uint64_t first_ns, next_ns; /* times of attempts to open */
};

static unsigned kept;

static double read_limit(const char *dir, const char *file)
{
	char path[640], text[64];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return read_file(AT_FDCWD, path, text, sizeof(text)) < 0 ? NAN
								 : cgroup_value_parse(text, NULL);
}

/* The lowest limit from dir to the mount: a job's limit is often set above its steps. NaN: none. */
static double lowest_limit(const char *dir, const char *mount, const char *file)
{
	double low = NAN, v;
	char path[512] = "";
	bool more = cgroup_value_begin(path, sizeof(path), dir, mount);

	for (; more; more = cgroup_value_up(path, mount)) {
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

/* Sets the values that the file gives. False: it gives none. */
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
			*value = cgroup_value_parse(text, sources[i].key) / sources[i].unit;
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
			forget(f, i); /* until the next attempt */
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
