/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sensor cpu: clocks, heat, pressure and memory of the node. */
#include "sensor/node/cpu.h"

#include <dirent.h>
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
#include "base/room.h"
#include "base/str.h"
#include "sensor/core/counter_set.h"
#include "sensor/core/cpus.h"
#include "sensor/core/file.h"

/* ---- which of the node's temperatures are those of processor packages */

#define FILES_MAX 64
#define MILLI_MAX 200000 /* thousandths of a degree; more is an impossible value */

/* Drivers, and their label of a package's temperature. The first line with a match is used. */
static const struct {
	const char *chip, *label;
} known[] = {
	{"coretemp", "Package id *"}, {"k10temp", "Tdie"},
	{"k10temp", "Tctl"}, /* on some processors this is Tdie plus an offset */
	{"zenpower", "Tdie"},	      {"cpu_thermal", "*"},
};

static void read_line(const char *path, char *buf, size_t size)
{
	if (read_file(AT_FDCWD, path, buf, size) < 0)
		buf[0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
}

/* Writes the path of a file in the same directory: the part of path after its last character `at`
 * is replaced by name. False: there is no such character, or out is too small. */
static bool sibling_path(char out[PATH_MAX], const char *path, char at, const char *name)
{
	const char *end = strrchr(path, at);

	return end &&
	       snprintf(out, PATH_MAX, "%.*s%s", (int)(end - path + 1), path, name) < PATH_MAX;
}

static int add_file(struct cpu_heat *h, const char *path)
{
	if (room__grow(&h->file, h->n, 1, sizeof(*h->file)))
		return -ENOMEM;
	h->file[h->n] = strdup(path);
	if (!h->file[h->n])
		return -ENOMEM;
	h->n++;
	return 0;
}

/* A search in a directory. */
struct search {
	struct cpu_heat *heat;
	unsigned line; /* index of known[] */
};

/* Looks at DIR/temp1_label of a chip: its value is in DIR/temp1_input. */
static int try_label(void *arg, const char *dir, const char *file)
{
	struct search *s = arg;
	char chip[64], label[64], path[PATH_MAX], other[PATH_MAX];

	if (!str__glob1("temp*_label", file) || s->heat->n == FILES_MAX ||
	    snprintf(path, PATH_MAX, "%s/%s", dir, file) >= PATH_MAX ||
	    !sibling_path(other, path, '/', "name"))
		return 0;
	read_line(other, chip, sizeof(chip));
	read_line(path, label, sizeof(label));
	if (strcmp(chip, known[s->line].chip) != 0 || !str__glob1(known[s->line].label, label) ||
	    !sibling_path(other, path, '_', "input"))
		return 0;
	return add_file(s->heat, other);
}

static int try_chip(void *arg, const char *class, const char *chip)
{
	char dir[PATH_MAX];
	int err = 0;

	if (str__glob1("hwmon*", chip) && snprintf(dir, PATH_MAX, "%s/%s", class, chip) < PATH_MAX)
		err = sensor__each_entry(dir, try_label, arg);
	return err == -ENOMEM ? err : 0;
}

/* Looks at DIR/thermal_zone0/type: its value is in DIR/thermal_zone0/temp. */
static int try_zone(void *arg, const char *class, const char *zone)
{
	struct search *s = arg;
	char type[64], path[PATH_MAX], other[PATH_MAX];

	if (!str__glob1("thermal_zone*", zone) || s->heat->n == FILES_MAX ||
	    snprintf(path, PATH_MAX, "%s/%s/type", class, zone) >= PATH_MAX)
		return 0;
	read_line(path, type, sizeof(type));
	if (strcmp(type, "x86_pkg_temp") != 0 || !sibling_path(other, path, '/', "temp"))
		return 0;
	return add_file(s->heat, other);
}

int cpu_heat__find(struct cpu_heat *h, const struct sensor_roots *roots)
{
	struct search s = {.heat = h};
	char dir[PATH_MAX];
	int err = 0;

	*h = (struct cpu_heat){0};
	if (snprintf(dir, sizeof(dir), "%s/class/hwmon", roots->sys) >= PATH_MAX)
		return 0;
	for (; s.line < sizeof(known) / sizeof(known[0]) && !h->n && err != -ENOMEM; s.line++)
		err = sensor__each_entry(dir, try_chip, &s);
	if (!h->n && err != -ENOMEM &&
	    snprintf(dir, sizeof(dir), "%s/class/thermal", roots->sys) < PATH_MAX)
		err = sensor__each_entry(dir, try_zone, &s);
	if (err == -ENOMEM)
		cpu_heat__free(h);
	return err == -ENOMEM ? err : 0;
}

/* Reads thousandths of a degree, with a sign. */
static int read_one(const char *path, double *celsius)
{
	char text[32];
	ssize_t n = read_file(AT_FDCWD, path, text, sizeof(text));
	bool below = n > 0 && text[0] == '-';
	uint32_t milli;

	if (n < 0)
		return (int)n;
	text[strcspn(text, "\n")] = '\0';
	if (parse_u32(text + below, &milli) || milli > MILLI_MAX)
		return -ENODATA;
	*celsius = (below ? -1e-3 : 1e-3) * milli;
	return 0;
}

int cpu_heat__read(const struct cpu_heat *h, double *celsius)
{
	int err = -ENODATA;
	bool any = false;

	for (unsigned i = 0; i < h->n; i++) {
		double c = 0;
		int e = read_one(h->file[i], &c);

		if (e) {
			err = e;
			continue;
		}
		*celsius = any && *celsius > c ? *celsius : c;
		any = true;
	}
	return any ? 0 : err;
}

void cpu_heat__free(struct cpu_heat *h)
{
	for (unsigned i = 0; i < h->n; i++)
		free(h->file[i]);
	free(h->file);
	*h = (struct cpu_heat){0};
}

/* ---- the sensor */

#define CPUS_MAX 65536
#define MAX_KHZ	 100000000 /* kHz; more is an impossible value */

/* read_clocks() writes the first three in this order; sums begin at FIRST_SUM. */
enum { MEAN, LEAST, MOST, CORE_COUNT, CORE_TIME, PKG_COUNT, PKG_TIME, HEAT, N_KINDS };

#define FIRST_SUM CORE_COUNT
#define N_SUMS	  (HEAT - FIRST_SUM)

static const struct {
	const char *name, *unit, *column;
	const char *file; /* file of a CPU that is added up; NULL: no sum */
	double scale;	  /* from the file's number to the unit */
	enum sensor_quantity quantity;
	bool of_core; /* read on one CPU per core, else per package */
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
	int dir;  /* directory of the CPUs */
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

/* Reads the mean, lowest and highest clock of the CPUs that are online, in MHz. */
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

/* Finds the first CPU of each core, or package, that has the file. */
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
