// SPDX-License-Identifier: GPL-2.0-or-later
/* The topology of the CPUs, read from sysfs and /proc/cpuinfo. */
#include "sensor/core/cpus.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cpuinfo.h"
#include "base/room.h"
#include "base/str.h"

#define CPUS_MAX 65536

/* Reads an id. -1: no such file or no number in it; the kernel writes -1 for an unknown id. */
static int read_id(int dirfd, const char *cpu, const char *name)
{
	char path[64], text[24];
	uint32_t v;

	snprintf(path, sizeof(path), "%.16s/topology/%s", cpu, name);
	if (read_file(dirfd, path, text, sizeof(text)) < 0)
		return -1;
	text[strcspn(text, "\n")] = '\0';
	return parse_u32(text, &v) || v > CPUS_MAX ? -1 : (int)v;
}

static int add_cpu(struct cpus *c, int dirfd, const char *name)
{
	struct cpu_place p = {};
	uint32_t cpu;

	if (!str__starts(name, "cpu") || parse_u32(name + 3, &cpu) || cpu >= CPUS_MAX)
		return 0;
	p.cpu = (int)cpu;
	p.package = read_id(dirfd, name, "physical_package_id");
	if (p.package < 0)
		return 0;
	p.die = read_id(dirfd, name, "die_id");
	p.core = read_id(dirfd, name, "core_id");
	if (room__grow(&c->at, c->n, 1, sizeof(*c->at)))
		return -ENOMEM;
	c->at[c->n++] = p;
	return 0;
}

static int read_places(struct cpus *c, const char *sys)
{
	_cleanup_closedir_ DIR *d = NULL;
	const struct dirent *e;
	char path[512];
	int err = 0;

	snprintf(path, sizeof(path), "%s/devices/system/cpu", sys);
	d = opendir(path);
	while (!err && d && (e = readdir(d)))
		err = add_cpu(c, dirfd(d), e->d_name);
	return err;
}

static void read_maker(struct cpus *c, const char *proc)
{
	struct cpuinfo info;

	cpuinfo__read(&info, proc);
	c->family = (unsigned)info.family;
	c->model = (unsigned)info.model;
	if (!strcmp(info.vendor, "GenuineIntel"))
		c->vendor = VENDOR_INTEL;
	else if (!strcmp(info.vendor, "AuthenticAMD") || !strcmp(info.vendor, "HygonGenuine"))
		c->vendor = VENDOR_AMD;
}

static int by_number(const void *a, const void *b)
{
	const struct cpu_place *x = a, *y = b;

	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

/* Sorts CPUs by package, die and core: core ids are reused in each package. */
static int by_core(const void *a, const void *b)
{
	const struct cpu_place *const *x = a, *const *y = b;

	if ((*x)->package != (*y)->package)
		return (*x)->package < (*y)->package ? -1 : 1;
	if ((*x)->die != (*y)->die)
		return (*x)->die < (*y)->die ? -1 : 1;
	if ((*x)->core != (*y)->core)
		return (*x)->core < (*y)->core ? -1 : 1;
	return by_number(*x, *y);
}

/* Numbers packages, dies and cores, by the CPUs in the order of by_core(). first[i] is the index in
 * c->at of the first CPU of the core of CPU i. */
static void rank_cpus(struct cpus *c, struct cpu_place **sorted, unsigned *first)
{
	int package = -1, die = -1, core = -1, dies = 0;
	unsigned lead = 0;

	for (unsigned i = 0; i < c->n; i++) {
		struct cpu_place *p = sorted[i];
		bool new_package = !i || p->package != package;
		bool new_die = new_package || p->die != die;

		if (new_package)
			c->packages++, dies = 0;
		if (new_die)
			dies++;
		/* without core ids from the kernel each CPU is a core of its own */
		if (new_die || p->core != core || core < 0)
			lead = (unsigned)(p - c->at);
		package = p->package;
		die = p->die;
		core = p->core;
		first[p - c->at] = lead;
		p->die = c->vendor == VENDOR_AMD ? 0 : dies - 1;
		if (p->die + 1 > c->dies)
			c->dies = p->die + 1;
	}
}

static int number_cores(struct cpus *c)
{
	_cleanup_free_ struct cpu_place **sorted = calloc(c->n + 1, sizeof(struct cpu_place *));
	_cleanup_free_ unsigned *first = calloc(c->n + 1, sizeof(*first));
	int cores = 0;

	if (!sorted || !first)
		return -ENOMEM;
	for (unsigned i = 0; i < c->n; i++)
		sorted[i] = &c->at[i];
	qsort(sorted, c->n, sizeof(struct cpu_place *), by_core);
	c->dies = 1;
	rank_cpus(c, sorted, first);
	for (unsigned i = 0; i < c->n; i++)
		c->at[i].core = first[i] == i ? cores++ : c->at[first[i]].core;
	return 0;
}

int cpus__read(struct cpus *c, const struct sensor_roots *roots)
{
	int err;

	memset(c, 0, sizeof(*c));
	read_maker(c, roots->proc);
	err = read_places(c, roots->sys);
	if (!err && c->n)
		qsort(c->at, c->n, sizeof(*c->at), by_number);
	if (!err)
		err = number_cores(c);
	if (err)
		cpus__free(c);
	return err;
}

void cpus__free(struct cpus *c)
{
	free(c->at);
	memset(c, 0, sizeof(*c));
}

int cpus__next(const struct cpus *c, int package, int die, unsigned *from)
{
	while (*from < c->n) {
		const struct cpu_place *p = &c->at[(*from)++];

		if (p->package == package && (die < 0 || p->die == die))
			return p->cpu;
	}
	return -1;
}

const struct cpu_place *cpus__find(const struct cpus *c, int cpu)
{
	for (unsigned i = 0; i < c->n; i++)
		if (c->at[i].cpu == cpu)
			return &c->at[i];
	return NULL;
}
