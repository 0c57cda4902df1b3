// SPDX-License-Identifier: GPL-2.0-or-later
/* RAPL by perf's PMUs "power" and "power_core". Events have 64 bits; one CPU of each package (or
 * core) counts for all of it, and one read(2) returns all events of a CPU. The kernel's own timer
 * reads the hardware often enough for 400 W: up to this power nothing is lost, however late this
 * program reads. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "identity/cpulist.h"
#include "sensor/core/event.h"
#include "sensor/rapl/rapl.h"

#define CPUS_MAX   8192
#define EVENTS_MAX 8 /* events of one CPU */

/* The kernel's timer (rapl_timer_ms) fires once in 5 ms * 2^31 units, in which 400 W count through
 * the whole range. Counters that may take more power are read as often as if they had 32 bits of a
 * common unit, since the PMU does not tell theirs. */
#define TIMER_W	      400
#define RANGE_INTEL_J 262144 /* 2^-14 J */
#define RANGE_J	      65536  /* 2^-16 J: AMD */

static const struct {
	const char *name;
	enum sensor_part part;
} events[] = {
	{"energy-pkg", PART_PACKAGE}, {"energy-ram", PART_DRAM},      {"energy-cores", PART_CORES},
	{"energy-gpu", PART_UNCORE},  {"energy-psys", PART_PLATFORM}, {"energy-core", PART_CORE},
};

#define N_EVENTS (sizeof(events) / sizeof(events[0]))

struct found_event {
	enum sensor_part part;
	uint64_t config;
	double scale;
};

static int read_text(const struct rapl *r, const char *file, char *text, size_t len)
{
	char path[512];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/bus/event_source/devices/%s/%s", r->roots.sys,
		 r->cores ? "power_core" : "power", file);
	n = read_file(AT_FDCWD, path, text, len);
	if (n < 0)
		return (int)n;
	text[strcspn(text, "\n")] = '\0';
	return 0;
}

/* Reads "event=0x02". */
static int parse_config(const char *text, uint64_t *config)
{
	char *end;

	if (!str__starts(text, "event=0x") || !text[8])
		return -EINVAL;
	*config = strtoull(text + 8, &end, 16);
	return *end || *config > 0xff ? -EINVAL : 0;
}

static int find_event(const struct rapl *r, unsigned i, struct found_event *ev)
{
	char file[64], text[64];

	ev->part = events[i].part;
	snprintf(file, sizeof(file), "events/%s", events[i].name);
	if (read_text(r, file, text, sizeof(text)) || parse_config(text, &ev->config))
		return -ENOENT;
	snprintf(file, sizeof(file), "events/%s.unit", events[i].name);
	if (read_text(r, file, text, sizeof(text)) || strcmp(text, "Joules"))
		return -ENOENT;
	snprintf(file, sizeof(file), "events/%s.scale", events[i].name);
	return read_text(r, file, text, sizeof(text)) || sensor_event__scale(text, &ev->scale) ||
			       ev->scale >= 1
		       ? -ENOENT
		       : 0;
}

static unsigned find_events(const struct rapl *r, struct found_event found[static N_EVENTS])
{
	struct rapl_model m;
	unsigned n = 0;

	rapl_model__find(&m, &r->cpus);
	for (unsigned i = 0; i < N_EVENTS; i++) {
		if ((events[i].part == PART_CORE) != r->cores ||
		    (events[i].part == PART_CORES && m.lead_core))
			continue;
		n += !find_event(r, i, &found[n]);
	}
	return n;
}

/* Opens an event in the group; the group's fd is that of its first event. 0 or -errno. */
static int open_event(struct rapl *r, struct rapl_group *g, struct rapl_counter *c)
{
	struct perf_event_attr attr = {
		.type = r->perf_type,
		.size = sizeof(attr),
		.config = c->config,
		.read_format = PERF_FORMAT_GROUP,
	};

	c->fd = sensor_event_open(&attr, g->cpu, g->fd);
	if (c->fd < 0)
		return c->fd;
	if (g->fd < 0)
		g->fd = c->fd;
	return 0;
}

static void close_group(struct rapl *r, struct rapl_group *g)
{
	for (unsigned i = g->first; i < g->first + g->n; i++) {
		if (r->counters[i].fd >= 0)
			close(r->counters[i].fd);
		r->counters[i].fd = -1;
	}
	g->fd = -1;
}

/* Opens all events of a group, or none. read(2) returns values in the order of opening. */
static int open_group(struct rapl *r, struct rapl_group *g)
{
	int err = 0;

	for (unsigned i = g->first; !err && i < g->first + g->n; i++)
		err = open_event(r, g, &r->counters[i]);
	if (err)
		close_group(r, g);
	return err;
}

/* Adds the counters of the package, die or core for which this CPU counts. */
static int add_cpu(struct rapl *r, int cpu, const struct found_event *ev, unsigned n)
{
	const struct cpu_place *p = cpus__find(&r->cpus, cpu);
	struct rapl_group *g = &r->groups[r->ngroups];
	struct rapl_counter *c;
	int err = 0;

	*g = (struct rapl_group){.fd = -1, .cpu = cpu, .first = r->n};
	for (unsigned i = 0; !err && i < n; i++) {
		/* without a topology, each CPU of the mask is a package of its own */
		c = rapl__add(r, ev[i].part, p ? p->package : (int)r->ngroups, p ? p->die : -1, cpu,
			      &err);
		if (!c)
			continue;
		c->config = ev[i].config;
		c->unit = ev[i].scale;
		if (c->pmax_w > TIMER_W)
			c->late_j = r->cpus.vendor == VENDOR_INTEL ? RANGE_INTEL_J : RANGE_J;
	}
	g->n = r->n - g->first;
	/* a group may be empty: kernels of 2024 name a CPU for each die of AMD's, all with one
	 * package's counter */
	r->ngroups += g->n > 0;
	return err;
}

static int open_groups(struct rapl *r)
{
	int err = -ENOENT, one;
	bool open = false;

	for (unsigned i = 0; i < r->ngroups; i++) {
		one = open_group(r, &r->groups[i]);
		open |= !one;
		err = one ? one : err;
	}
	return open ? 0 : err;
}

static int error_text(char *reason, size_t len, int err, const char *pmu)
{
	if (err == -EACCES || err == -EPERM)
		snprintf(reason, len,
			 "not permitted: run as root, with CAP_PERFMON, or with "
			 "kernel.perf_event_paranoid=0");
	else
		snprintf(reason, len, "events of the PMU \"%s\": %s", pmu, strerror(-err));
	return err;
}

static int add_cpus(struct rapl *r, const struct found_event *ev, unsigned n, char *list)
{
	int *cpus = calloc(CPUS_MAX, sizeof(*cpus));
	int err = 0, ncpus = cpus ? cpulist__expand(list, cpus, CPUS_MAX) : -ENOMEM;

	if (ncpus > 0)
		r->groups = calloc((unsigned)ncpus, sizeof(*r->groups));
	if (ncpus > 0 && !r->groups)
		err = -ENOMEM;
	for (int i = 0; !err && i < ncpus; i++)
		err = add_cpu(r, cpus[i], ev, n);
	free(cpus);
	return ncpus < 0 ? ncpus : err;
}

static int perf_open(struct rapl *r, char *reason, size_t len)
{
	const char *pmu = r->cores ? "power_core" : "power";
	struct found_event ev[N_EVENTS];
	char text[32], list[8192];
	unsigned n;
	int err;

	if (read_text(r, "type", text, sizeof(text)) || parse_u32(text, &r->perf_type)) {
		snprintf(reason, len, "no PMU \"%s\"", pmu);
		return -ENOENT;
	}
	n = find_events(r, ev);
	if (!n) {
		snprintf(reason, len, "the PMU \"%s\" has no events of energy here", pmu);
		return -ENOENT;
	}
	if (!sensor_event__may_open(&r->roots)) {
		snprintf(reason, len, "the events of another machine cannot be opened");
		return -ENOENT;
	}
	err = read_text(r, "cpumask", list, sizeof(list));
	if (!err)
		err = add_cpus(r, ev, n, list);
	if (!err)
		err = open_groups(r);
	return err ? error_text(reason, len, err, pmu) : 0;
}

static void read_group(struct rapl *r, struct rapl_group *g)
{
	uint64_t values[1 + EVENTS_MAX];
	ssize_t want = (ssize_t)((1 + g->n) * sizeof(values[0])), got;
	uint64_t now;
	int err = 0;

	if (g->fd < 0)
		err = open_group(r, g);
	got = err ? -1 : read(g->fd, values, sizeof(values));
	if (!err && got < 0)
		err = -errno;
	/* a read of 0 bytes: the CPUs are offline */
	if (!err && (got != want || values[0] != g->n))
		err = -ENODEV;
	if (err)
		close_group(r, g);
	now = rapl_clock();
	for (unsigned i = 0; i < g->n; i++)
		r->raw[g->first + i] = (struct rapl_raw){err ? 0 : values[1 + i], now, err};
}

static void perf_read(struct rapl *r)
{
	for (unsigned i = 0; i < r->ngroups; i++)
		read_group(r, &r->groups[i]);
}

const struct rapl_way rapl_perf = {"perf events", perf_open, perf_read};
