// SPDX-License-Identifier: GPL-2.0-only
/* Time that a CPU quota has held a cgroup. */
#include "sensor/node/throttled.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "sensor/node/cgroup.h"

static const struct throttled_way {
	const char *file, *key;
	double unit;
	bool v2, local; /* local: of the nearest cgroup that has it; else the sum of all */
} ways[] = {
	{"cpu.stat.local", "throttled_usec ", 1e6, true, true},
	{"cpu.stat.local", "throttled_time ", 1e9, false, true},
	{"cpu.stat", "throttled_usec ", 1e6, true, false},
	{"cpu.stat", "throttled_time ", 1e9, false, false},
};

/* -1: there is no such file, or the controller is not enabled there. */
static int open_one(const char *dir, const struct throttled_way *way)
{
	char path[640];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, way->file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !isnan(cgroup_value__read(fd, way->key)))
		return fd;
	close(fd);
	return -1;
}

static void open_way(struct throttled *t, const struct throttled_way *way,
		     const struct cgroup_dirs *d)
{
	const char *mount = way->v2 ? d->v2_mount : d->v1_mount;
	char path[512];
	bool more = cgroup_value__begin(path, sizeof(path), way->v2 ? d->v2 : d->v1_cpu, mount);
	bool own = true;
	double above = 0;

	for (; more && t->n < (way->local ? 1 : THROTTLED_LEVELS);
	     more = cgroup_value__up(path, mount)) {
		int fd = open_one(path, way);

		if (fd >= 0) {
			t->fd[t->n++] = fd;
			above += own ? 0 : cgroup_value__read(fd, way->key) / way->unit;
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
	for (i = 0; !t->n && i < sizeof(ways) / sizeof(ways[0]); i++)
		open_way(t, &ways[i], d);
	return t->n;
}

double throttled__read(const struct throttled *t)
{
	double sum = t->n ? -t->base : NAN;
	unsigned i;

	for (i = 0; i < t->n; i++)
		sum += cgroup_value__read(t->fd[i], t->way->key) / t->way->unit;
	return sum;
}

unsigned throttled__close(struct throttled *t)
{
	unsigned n = t->n;

	while (t->n)
		close(t->fd[--t->n]);
	return n;
}
