// SPDX-License-Identifier: GPL-2.0-or-later
/* The sensor memory: bytes that memory controllers read and wrote, by the events that their PMUs
 * name in sysfs. The driver gives scale and unit of a count; where it does not, the vendor's
 * description of that event is used. One CPU of each package counts for the whole package. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/room.h"
#include "base/str.h"
#include "identity/cpulist.h"
#include "kern/pmu/perf_names.h"
#include "sensor/core/counter_set.h"
#include "sensor/core/event.h"
#include "sensor/core/file.h"

#define DEVICES	 "bus/event_source/devices"
#define CPUS_MAX 256  /* CPUs in a PMU's mask: one per package */
#define PART_MIN 0.05 /* least share of the time that a counter must run */

enum { READS, WRITES, N_KINDS };

/* Intel's PMUs may all exist and count the same bytes: the first that exist are used. AMD's drivers
 * (amd_umc, amd_df) and those of most Arm interconnects name no events of memory. */
static const struct source {
	const char *pmus; /* beginning of their names */
	const char *names[N_KINDS];
	double bytes[N_KINDS]; /* bytes of one count; 0: by sysfs */
} sources[] = {
	{"uncore_imc", {"cas_count_read", "cas_count_write"}, {0, 0}},
	{"uncore_imc", {"data_reads", "data_writes"}, {0, 0}},
	{"uncore_imc", {"data_read", "data_write"}, {0, 0}},
	{"uncore_imc", {"read", "write"}, {0, 0}},
	{"nvidia_scf_pmu", {"cmem_rd_data", "cmem_wr_total_bytes"}, {32, 1}},
};

/* The answer of a read(2) of an event. */
struct counted {
	uint64_t count, enabled_ns, running_ns;
};

struct event {
	struct perf_event ev;
	double bytes; /* bytes of one count */
	int kind, cpu, fd;
	struct counted last;
	double total;
	bool away; /* it could not be read after `last` */
};

struct sensor {
	const char *sys;
	const struct source *source;
	struct event *event;
	unsigned n, pmus;
	size_t room;
	struct sensor_channel channel[N_KINDS];
};

static int read_text(const struct sensor *s, const char *pmu, const char *file, const char *suffix,
		     char *text, size_t len)
{
	char path[PATH_MAX];
	ssize_t n;

	if (snprintf(path, sizeof(path), "%s/" DEVICES "/%s/%s%s", s->sys, pmu, file, suffix) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	n = read_file(AT_FDCWD, path, text, len);
	if (n < 0)
		return (int)n;
	text[strcspn(text, "\n")] = '\0';
	return 0;
}

/* Reads an event's description. 0; -ENOENT: the PMU names no such event; -EBADMSG: it gives no
 * scale of a count. */
static int find_event(const struct sensor *s, const char *pmu, int kind, struct event *e)
{
	char file[64], text[256];
	const char *name = s->source->names[kind];

	*e = (struct event){.kind = kind, .fd = -1, .bytes = s->source->bytes[kind]};
	snprintf(file, sizeof(file), "events/%s", name);
	if (read_text(s, pmu, file, "", text, sizeof(text)))
		return -ENOENT;
	if (e->bytes > 0)
		return perf_pmu__named(pmu, name, s->sys, &e->ev);
	if (read_text(s, pmu, file, ".unit", text, sizeof(text)) || strcmp(text, "MiB") != 0 ||
	    read_text(s, pmu, file, ".scale", text, sizeof(text)) ||
	    sensor_event__scale(text, &e->bytes))
		return -EBADMSG;
	e->bytes *= 1 << 20;
	return perf_pmu__named(pmu, name, s->sys, &e->ev);
}

static int add_event(struct sensor *s, const struct event *e)
{
	if (room__make(&s->event, &s->room, s->n + 1u, sizeof(*e)))
		return -ENOMEM;
	s->event[s->n++] = *e;
	return 0;
}

/* Adds both events of a controller's PMU on each CPU of its mask; a PMU may have neither. An error
 * counts for all PMUs: the sum without this one would be too small. */
static int add_pmu(void *arg, const char *dir, const char *pmu)
{
	struct sensor *s = arg;
	int cpus[CPUS_MAX], n = 0, err = 0;
	struct event e[N_KINDS];
	char list[4096];

	if (!str__starts(pmu, s->source->pmus))
		return 0;
	for (int k = 0; k < N_KINDS && !err; k++)
		err = find_event(s, pmu, k, &e[k]);
	if (err)
		return err == -ENOENT ? 0 : err;
	err = read_text(s, pmu, "cpumask", "", list, sizeof(list));
	n = err ? err : cpulist__expand(list, cpus, CPUS_MAX);
	if (n < 0)
		return n;
	s->pmus += n > 0;
	for (int i = 0; i < n; i++)
		for (int k = 0; k < N_KINDS && !err; k++) {
			e[k].cpu = cpus[i];
			err = add_event(s, &e[k]);
		}
	return err;
}

static int find_events(struct sensor *s)
{
	char dir[PATH_MAX];
	int err = 0;

	if (snprintf(dir, sizeof(dir), "%s/" DEVICES, s->sys) >= (int)sizeof(dir))
		return -ENAMETOOLONG;
	for (size_t i = 0; !err && !s->n && i < sizeof(sources) / sizeof(sources[0]); i++) {
		s->source = &sources[i];
		err = sensor__each_entry(dir, add_pmu, s);
	}
	return err ? err : s->n ? 0 : -ENOENT;
}

static int open_event(struct event *e)
{
	struct perf_event_attr attr = {
		.type = e->ev.type,
		.size = sizeof(attr),
		.config = e->ev.config,
		.config1 = e->ev.config1,
		.config2 = e->ev.config2,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};

	e->fd = sensor_event_open(&attr, e->cpu, -1);
	e->last = (struct counted){0};
	return e->fd < 0 ? e->fd : 0;
}

static void close_event(struct event *e)
{
	if (e->fd >= 0)
		close(e->fd);
	e->fd = -1;
	e->away = true;
}

static void set_channels(struct sensor *s)
{
	static const char *const about[][2] = {{"memory read", "MemReadMB"},
					       {"memory written", "MemWriteMB"}};

	for (int k = 0; k < N_KINDS; k++) {
		struct sensor_channel *c = &s->channel[k];

		*c = sensor__channel(about[k][0]);
		str__copy(c->unit, sizeof(c->unit), "B");
		str__copy(c->series, sizeof(c->series), "CPU");
		str__copy(c->column, sizeof(c->column), about[k][1]);
		c->part = PART_NODE;
		c->quantity = QUANTITY_COUNT;
		c->step = s->event[k].bytes; /* events are in this order, too */
	}
}

static int memory_open(struct sensor *s, const struct sensor_ops *ops,
		       const struct sensor_roots *roots)
{
	int err;

	s->sys = roots->sys;
	if (!sensor_event__may_open(roots))
		return -ENOENT;
	err = find_events(s);
	if (err)
		return err == -ENOTDIR ? -ENOENT : err;
	/* all or none: the sum without one would be too small */
	for (unsigned i = 0; i < s->n && !err; i++)
		err = open_event(&s->event[i]);
	if (err == -EPERM)
		err = -EACCES;
	set_channels(s);
	return err;
}

static void memory_describe(const struct sensor *s, const struct sensor_roots *roots, int err,
			    char *text, size_t len)
{
	if (err == -ENOENT)
		snprintf(text, len, "no PMU in %s/" DEVICES " names events of memory", roots->sys);
	else if (err == -EACCES)
		snprintf(text, len,
			 "not permitted: run as root, with CAP_PERFMON, or with "
			 "kernel.perf_event_paranoid=0");
	else if (err == -EBADMSG)
		snprintf(text, len, "a PMU names %s, and not what a count is worth (.scale, .unit)",
			 s->source->names[READS]);
	else if (err)
		snprintf(text, len, "events of memory controllers: %s", strerror(-err));
	else
		snprintf(text, len, "%s and %s of %u PMUs; not tried on hardware",
			 s->source->names[READS], s->source->names[WRITES], s->pmus);
}

static unsigned memory_channels(const struct sensor *s, const struct sensor_channel **out)
{
	*out = s->channel;
	return N_KINDS;
}

/* Adds the count since the last reading, scaled up for the time of other events in the counter. */
static enum sensor_quality read_event(struct event *e)
{
	struct counted now;
	bool gap = e->away;
	int err = e->fd < 0 ? open_event(e) : 0;
	double part;

	if (!err && read(e->fd, &now, sizeof(now)) != sizeof(now))
		err = -ENODEV; /* a read of 0 bytes: the CPU is offline */
	if (err) {
		close_event(e);
		return sensor__quality_of(err);
	}
	part = (double)(now.running_ns - e->last.running_ns) /
	       (double)(now.enabled_ns - e->last.enabled_ns);
	e->away = false;
	if (part >= PART_MIN && now.count >= e->last.count)
		e->total += (double)(now.count - e->last.count) * e->bytes / part;
	else
		gap = true;
	e->last = now;
	return gap ? READING_GAP : READING_GOOD;
}

static int memory_read(struct sensor *s, struct sensor_value *values)
{
	for (int k = 0; k < N_KINDS; k++)
		values[k] =
			(struct sensor_value){.quality = READING_GOOD, .time_ns = clock__boot_ns()};
	for (unsigned i = 0; i < s->n; i++) {
		struct sensor_value *v = &values[s->event[i].kind];
		enum sensor_quality q = read_event(&s->event[i]);

		if (q != READING_GOOD && v->quality <= READING_GAP)
			v->quality = q;
		v->value += q <= READING_GAP ? s->event[i].total : NAN;
	}
	return sensor__any_value(values, N_KINDS);
}

static void memory_close(struct sensor *s)
{
	for (unsigned i = 0; i < s->n; i++)
		close_event(&s->event[i]);
	free(s->event);
}

const struct sensor_ops sensor_memory = {
	.name = "memory",
	.doc = "bytes that memory controllers read and wrote",
	.slow = true, /* each of up to 64 events is a call to another CPU */
	.size = sizeof(struct sensor),
	.open = memory_open,
	.describe = memory_describe,
	.channels = memory_channels,
	.read = memory_read,
	.close = memory_close,
};
