// SPDX-License-Identifier: GPL-2.0-only
/* The sensor cpu: clocks, heat, pressure and memory of the node. */
#include "sensor/node/cpu.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/room.h"
#include "base/str.h"
#include "sensor/core/cpus.h"
#include "sensor/core/file.h"

#define CPUS_MAX 65536
#define MAX_KHZ	 100000000 /* more is no clock of a processor */

/* The first three are in this order; then the sums. */
enum { MEAN, LEAST, MOST, CORE_COUNT, CORE_TIME, PKG_COUNT, PKG_TIME, HEAT, N_KINDS };

#define FIRST_SUM CORE_COUNT
#define N_SUMS	  (HEAT - FIRST_SUM)

static const struct {
	const char *name, *unit, *column;
	const char *file; /* of a CPU, what is added; NULL: it is no sum */
	double scale;	  /* from the file's number to the unit */
	enum sensor_quantity quantity;
	bool of_core; /* of one CPU per core, else per package */
} kinds[N_KINDS] = {
	[MEAN] = {"clock", "MHz", "FreqMean", NULL, 1, QUANTITY_LEVEL, false},
	[LEAST] = {"least clock", "MHz", "FreqMin", NULL, 1, QUANTITY_LEVEL, false},
	[MOST] = {"most clock", "MHz", "FreqMax", NULL, 1, QUANTITY_LEVEL, false},
	[CORE_COUNT] = {"core throttles", "", "CoreThrottles", "core_throttle_count", 1,
			QUANTITY_COUNT, true},
	[CORE_TIME] = {"core throttle time", "s", "CoreThrottleTime", "core_throttle_total_time_ms",
		       1e-3, QUANTITY_COUNT, true},
	[PKG_COUNT] = {"package throttles", "", "PkgThrottles", "package_throttle_count", 1,
		       QUANTITY_COUNT, false},
	[PKG_TIME] = {"package throttle time", "s", "PkgThrottleTime",
		      "package_throttle_total_time_ms", 1e-3, QUANTITY_COUNT, false},
	[HEAT] = {"temperature", "C", "PkgTemperature", NULL, 1, QUANTITY_LEVEL, false},
};

/* Counters of several CPUs whose sum is a channel. */
struct sum {
	struct {
		int cpu;
		struct sensor_count count;
	} * at; /* [n] */
	unsigned n;
};

struct sensor {
	int dir;  /* of the CPUs */
	int *cpu; /* [ncpus] with a directory, online or not */
	unsigned ncpus;
	struct sum sum[N_SUMS];
	struct cpu_heat heat;
	unsigned n;
	unsigned kind[N_KINDS];
	struct sensor_channel channel[N_KINDS];
};

static int open_dir(struct sensor *s, const struct sensor_roots *roots)
{
	char path[512];

	if (snprintf(path, sizeof(path), "%s/devices/system/cpu", roots->sys) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	s->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return s->dir < 0 ? -errno : 0;
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static int list_cpus(struct sensor *s)
{
	_cleanup_closedir_ DIR *d = NULL;
	const struct dirent *e;
	int fd = dup(s->dir);

	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d && fd >= 0)
		close(fd);
	if (!d)
		return -errno;
	while ((e = readdir(d))) {
		uint32_t cpu;

		if (!str__starts(e->d_name, "cpu") || parse_u32(e->d_name + 3, &cpu) ||
		    cpu >= CPUS_MAX)
			continue;
		if (room__grow(&s->cpu, s->ncpus, 1, sizeof(*s->cpu)))
			return -ENOMEM;
		s->cpu[s->ncpus++] = (int)cpu;
	}
	if (s->ncpus)
		qsort(s->cpu, s->ncpus, sizeof(*s->cpu), by_number);
	return 0;
}

static int read_of(const struct sensor *s, int cpu, const char *dir, const char *file, uint64_t *v)
{
	char path[128];

	snprintf(path, sizeof(path), "cpu%d/%s/%s", cpu, dir, file);
	return read_file_u64(s->dir, path, v);
}

/* Mean, lowest and highest clock of the CPUs that are online, MHz. */
static int read_clocks(const struct sensor *s, double clock[3])
{
	double sum = 0;
	unsigned n = 0;
	int err = -ENODATA;

	for (unsigned i = 0; i < s->ncpus; i++) {
		uint64_t khz = 0;
		int e = read_of(s, s->cpu[i], "cpufreq", "scaling_cur_freq", &khz);
		double mhz = (double)khz / 1000;

		if (e == -EACCES)
			err = e;
		if (e || !khz || khz > MAX_KHZ)
			continue;
		clock[LEAST] = n && clock[LEAST] < mhz ? clock[LEAST] : mhz;
		clock[MOST] = n && clock[MOST] > mhz ? clock[MOST] : mhz;
		sum += mhz;
		n++;
	}
	clock[MEAN] = sum / n;
	return n ? 0 : err;
}

/* The first CPU of each core, or package, that has the file. */
static int find_sum(struct sensor *s, unsigned k, const struct cpus *c)
{
	struct sum *sum = &s->sum[k - FIRST_SUM];
	_cleanup_free_ bool *seen = calloc(CPUS_MAX + 1, sizeof(*seen));

	sum->at = calloc(c->n + 1, sizeof(*sum->at));
	if (!seen || !sum->at)
		return -ENOMEM;
	for (unsigned i = 0; i < c->n; i++) {
		int id = kinds[k].of_core ? c->at[i].core : c->at[i].package;
		uint64_t v;

		if (seen[id] || read_of(s, c->at[i].cpu, "thermal_throttle", kinds[k].file, &v))
			continue;
		seen[id] = true;
		sum->at[sum->n++].cpu = c->at[i].cpu;
	}
	return 0;
}

static int read_sum(struct sensor *s, unsigned k, struct sensor_value *v)
{
	struct sum *sum = &s->sum[k - FIRST_SUM];
	bool any = false, gap = false;
	int err = -ENODATA;

	v->value = 0;
	for (unsigned i = 0; i < sum->n; i++) {
		struct sensor_count *count = &sum->at[i].count;
		double total = count->total;
		uint64_t raw;
		int e = read_of(s, sum->at[i].cpu, "thermal_throttle", kinds[k].file, &raw);

		if (e) {
			err = e;
			count->away = true;
		} else {
			any = true;
			gap |= sensor_count__add(count, raw, kinds[k].scale, &total) == READING_GAP;
		}
		v->value += total;
	}
	v->quality = gap ? READING_GAP : READING_GOOD;
	return any ? 0 : err;
}

static void add_channel(struct sensor *s, unsigned kind)
{
	struct sensor_channel *c = &s->channel[s->n];

	*c = sensor__channel(kinds[kind].name);
	snprintf(c->unit, sizeof(c->unit), "%s", kinds[kind].unit);
	snprintf(c->series, sizeof(c->series), "CPU");
	snprintf(c->column, sizeof(c->column), "%s", kinds[kind].column);
	c->part = PART_NODE;
	c->quantity = kinds[kind].quantity;
	s->kind[s->n++] = kind;
}

static int find_all(struct sensor *s, const struct sensor_roots *roots)
{
	double clock[3], celsius;
	struct cpus c = {0};
	int err = open_dir(s, roots);

	if (err)
		return err;
	err = list_cpus(s);
	if (!err)
		err = cpus__read(&c, roots);
	for (unsigned k = FIRST_SUM; k < FIRST_SUM + N_SUMS && !err; k++)
		err = find_sum(s, k, &c);
	cpus__free(&c);
	if (!err)
		err = cpu_heat__find(&s->heat, roots);
	if (err)
		return err;
	if (read_clocks(s, clock) != -ENODATA)
		for (unsigned k = MEAN; k <= MOST; k++)
			add_channel(s, k);
	for (unsigned k = FIRST_SUM; k < FIRST_SUM + N_SUMS; k++)
		if (s->sum[k - FIRST_SUM].n)
			add_channel(s, k);
	if (s->heat.n && cpu_heat__read(&s->heat, &celsius) != -ENOENT)
		add_channel(s, HEAT);
	return s->n ? 0 : -ENOENT;
}

static void cpu_close(struct sensor *s)
{
	if (s->dir >= 0)
		close(s->dir);
	for (unsigned k = 0; k < N_SUMS; k++)
		free(s->sum[k].at);
	cpu_heat__free(&s->heat);
	free(s->cpu);
}

static int cpu_open(struct sensor *s, const struct sensor_ops *ops,
		    const struct sensor_roots *roots)
{
	int err;

	s->dir = -1;
	err = find_all(s, roots);
	return err == -ENOTDIR ? -ENOENT : err;
}

static void cpu_describe(const struct sensor *s, const struct sensor_roots *roots, int err,
			 char *text, size_t len)
{
	size_t at = 0;

	if (err == -ENOENT)
		snprintf(text, len,
			 "no cpufreq and thermal_throttle in %s/devices/system/cpu, no temperature "
			 "that is known",
			 roots->sys);
	else if (err)
		snprintf(text, len, "%s/devices/system/cpu: %s", roots->sys, strerror(-err));
	else
		at = (size_t)snprintf(text, len, "%u CPUs", s->ncpus);
	for (unsigned i = 0; !err && i < s->n && at < len; i++)
		at += (size_t)snprintf(text + at, len - at, "%s %s", i ? "," : ":",
				       s->channel[i].column);
}

static unsigned cpu_channels(const struct sensor *s, const struct sensor_channel **out)
{
	*out = s->channel;
	return s->n;
}

static int cpu_read(struct sensor *s, struct sensor_value *values)
{
	double clock[3] = {NAN, NAN, NAN};
	int clocks = s->kind[0] == MEAN ? read_clocks(s, clock) : 0;

	for (unsigned i = 0; i < s->n; i++) {
		unsigned k = s->kind[i];
		struct sensor_value v = {.quality = READING_GOOD};
		int err = 0;

		if (k <= MOST) {
			err = clocks;
			v.value = clock[k];
		} else if (k == HEAT) {
			err = cpu_heat__read(&s->heat, &v.value);
		} else {
			err = read_sum(s, k, &v);
		}
		values[i] = err ? sensor__no_value(sensor__quality_of(err)) : v;
		values[i].time_ns = clock__boot_ns();
	}
	return sensor__any_value(values, s->n);
}

const struct sensor_ops sensor_cpu = {
	.name = "cpu",
	.doc = "clocks, throttling and temperature of the processors",
	.slow = true,
	.size = sizeof(struct sensor),
	.open = cpu_open,
	.describe = cpu_describe,
	.channels = cpu_channels,
	.read = cpu_read,
	.close = cpu_close,
};
