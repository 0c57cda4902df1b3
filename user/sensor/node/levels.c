// SPDX-License-Identifier: GPL-2.0-only
/* How often limits were met, of a cgroup and of those above it. */
#include "sensor/node/levels.h"

#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"
#include "sensor/node/cgroup.h"

static const struct levels_way {
	enum levels_kind kind;
	enum { IN_V2, IN_V1_CPU, IN_V1_MEMORY } place;
	const char *own, *above;	/* files of the nearest cgroup, and of those above */
	const char *key[LEVELS_COUNTS]; /* "": the file is the number; NULL: not counted */
	const char *limit[2];		/* files of which one has a limit */
} ways[] = {
	{LEVELS_QUOTA, IN_V2, "cpu.stat", "cpu.stat", {"nr_throttled "}, {"cpu.max"}},
	{LEVELS_QUOTA, IN_V1_CPU, "cpu.stat", "cpu.stat", {"nr_throttled "}, {"cpu.cfs_quota_us"}},
	/* memory.events has the events of cgroups below too, and so it would count them twice */
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
	return cgroup_value__read(fd, w->key[i][0] ? w->key[i] : NULL);
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
	const char *const dirs[] = {d->v2, d->v1_cpu, d->v1_memory};
	const char *mount = l->way->place == IN_V2 ? d->v2_mount : d->v1_mount;
	char path[512];
	bool more = cgroup_value__begin(path, sizeof(path), dirs[l->way->place], mount);
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
		more = cgroup_value__up(path, mount);
	}
	return n;
}

unsigned levels__open(struct levels *l, enum levels_kind kind, const struct cgroup_dirs *d)
{
	if (l->open)
		return open_way(l, d);
	for (size_t i = 0; !l->open && i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (ways[i].kind != kind)
			continue;
		l->way = &ways[i];
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
