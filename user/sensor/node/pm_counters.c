// SPDX-License-Identifier: GPL-2.0-or-later
/* The sensor pm_counters: measurements of the controller of a blade of HPE/Cray. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "sensor/core/counter_set.h"
#include "sensor/core/file.h"
#include "sensor/core/text.h"

#define SCAN_HZ	  10	       /* where the blade does not give its rate */
#define MAX_TRIES 3	       /* tries to read all files of one scan */
#define MAX_AGE	  NSEC_PER_SEC /* time stamps further from now come from a wrong clock */

/* Numbers of the controller; UINT64_MAX: it lacks the number. */
struct marks {
	uint64_t freshness; /* counts scans */
	uint64_t startup;   /* changes when the controller is restarted */
};

struct sensor {
	struct sensor_files files;
	char dir[PATH_MAX];
	uint64_t period_ns; /* of the controller's scans */
	struct marks marks;
	bool read_once;
};

/* A file's name has the part, a number if there are several, and the quantity. */
static const struct {
	const char *part_name;
	const char *name;
	enum sensor_part part;
} measured[] = {
	{"", "node", PART_NODE},
	{"cpu", "cpu", PART_PACKAGE},
	{"memory", "memory", PART_DRAM},
	{"accel", "accel", PART_GPU},
};

static const struct {
	const char *suffix;
	const char *unit;
	enum sensor_quantity quantity;
} quantities[] = {
	{"energy", "J", QUANTITY_ENERGY},
	{"power", "W", QUANTITY_POWER},
	{"temp", "C", QUANTITY_LEVEL},
};

/* Length of the part at the beginning of a file's name, and its number: "accel3_" of "accel3_power"
 * has 7 and 3. *index -1: no number; length 0: it is another part. */
static size_t part_length(const char *file, const char *part_name, int *index)
{
	size_t len = strlen(part_name), digits;
	char number[8];
	uint32_t n;

	*index = -1;
	if (strncmp(file, part_name, len) != 0)
		return 0;
	digits = strspn(file + len, "0123456789");
	if (digits >= sizeof(number) || file[len + digits] != '_')
		return 0;
	memcpy(number, file + len, digits);
	number[digits] = '\0';
	if (digits && !parse_u32(number, &n))
		*index = (int)n;
	return len + digits + 1;
}

static bool known_file(const char *file, struct sensor_channel *c)
{
	if (!strcmp(file, "generation")) {
		*c = sensor__channel("power cap changes");
		c->part = PART_NODE;
		c->quantity = QUANTITY_COUNT;
		c->step = 1;
		return true;
	}
	for (size_t i = 0; i < sizeof(measured) / sizeof(measured[0]); i++) {
		int index = -1;
		size_t len = *measured[i].part_name
				     ? part_length(file, measured[i].part_name, &index)
				     : 0;

		if (*measured[i].part_name && !len)
			continue;
		for (size_t q = 0; q < sizeof(quantities) / sizeof(quantities[0]); q++) {
			char name[SENSOR_NAME], number[16] = "";

			if (strcmp(file + len, quantities[q].suffix) != 0)
				continue;
			if (index >= 0)
				snprintf(number, sizeof(number), "-%d", index);
			snprintf(name, sizeof(name), "%s%s %s", measured[i].name, number,
				 quantities[q].suffix);
			*c = sensor__channel(name);
			snprintf(c->unit, sizeof(c->unit), "%s", quantities[q].unit);
			c->part = measured[i].part;
			c->quantity = quantities[q].quantity;
			c->index = index;
			c->step = 1;
			return true;
		}
	}
	return false;
}

static int read_mark(const struct sensor *s, const char *name, uint64_t *v)
{
	char path[PATH_MAX + 32], buf[64];
	const char *at = buf;
	ssize_t n;

	*v = UINT64_MAX;
	snprintf(path, sizeof(path), "%s/%s", s->dir, name);
	n = read_file(AT_FDCWD, path, buf, sizeof(buf));
	return n < 0 ? (int)n : text__u64(&at, v) ? 0 : -EINVAL;
}

static int add_file(void *arg, const char *dir, const char *file)
{
	struct sensor *s = arg;
	char path[PATH_MAX + NAME_MAX + 2];
	struct sensor_channel c;

	if (!known_file(file, &c))
		return 0;
	c.period_ns = s->period_ns;
	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return sensor_files__add(&s->files, &c, path, 1);
}

static void pm_close(struct sensor *s)
{
	sensor_files__free(&s->files);
}

static int pm_open(struct sensor *s, const struct sensor_ops *ops, const struct sensor_roots *roots)
{
	uint64_t hz;
	int err;

	if (snprintf(s->dir, sizeof(s->dir), "%s/cray/pm_counters", roots->sys) >=
	    (int)sizeof(s->dir))
		return -ENAMETOOLONG;
	s->period_ns = NSEC_PER_SEC /
		       (!read_mark(s, "raw_scan_hz", &hz) && hz && hz <= 1000 ? hz : SCAN_HZ);
	err = sensor__each_entry(s->dir, add_file, s);
	if (err)
		return err;
	return !s->files.n ? -ENOENT : sensor_files__readable(&s->files) ? 0 : -EACCES;
}

static void pm_describe(const struct sensor *s, const struct sensor_roots *roots, int err,
			char *text, size_t len)
{
	if (err == -EACCES)
		snprintf(text, len, "%s/cray/pm_counters: not permitted", roots->sys);
	else if (err)
		snprintf(text, len, "no %s/cray/pm_counters", roots->sys);
	else
		snprintf(text, len, "%u files in %s", s->files.n, s->dir);
}

/* Reads a time stamp, "1628682402124528 us" of the wall clock; now, if there is none or an
 * impossible one. */
static uint64_t stamp_time(const char *rest, uint64_t boot_now, uint64_t real_now)
{
	const char *at = strpbrk(rest, "0123456789");
	uint64_t us, age;

	if (!at || !text__u64(&at, &us) || !str__starts(at + strspn(at, " "), "us") ||
	    us > real_now / 1000)
		return boot_now;
	age = real_now - us * 1000;
	return age > MAX_AGE || age > boot_now ? boot_now : boot_now - age;
}

static void read_all(struct sensor *s, struct sensor_value *values)
{
	uint64_t boot_now = clock__boot_ns(), real_now = clock__real_ns();

	for (unsigned i = 0; i < s->files.n; i++) {
		char rest[64];

		sensor_files__read(&s->files, i, &values[i], rest, sizeof(rest));
		if (!isnan(values[i].value))
			values[i].time_ns = stamp_time(rest, boot_now, real_now);
	}
}

/* Energy continues from its last value when the controller lost its counts. */
static void mark_away(struct sensor *s)
{
	for (unsigned i = 0; i < s->files.n; i++)
		s->files.file[i].count.away = true;
}

/* A gap that an earlier try of this reading saw is a gap of the reading. */
static void keep_gaps(struct sensor_value *values, const bool *gap, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (gap[i] && values[i].quality == READING_GOOD)
			values[i].quality = READING_GAP;
}

static void note_repeats(struct sensor_value *values, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (values[i].quality == READING_GOOD)
			values[i].quality = READING_REPEATED;
}

static int pm_read(struct sensor *s, struct sensor_value *values)
{
	unsigned n = s->files.n;
	_cleanup_free_ bool *gap = calloc(n, sizeof(*gap));
	struct marks before, after = {.startup = UINT64_MAX};

	if (!gap)
		return -ENOMEM;
	read_mark(s, "startup", &after.startup);
	if (s->read_once && after.startup != s->marks.startup)
		mark_away(s);
	read_mark(s, "freshness", &after.freshness);
	for (unsigned tries = 0; tries < MAX_TRIES; tries++) {
		before = after;
		read_all(s, values);
		for (unsigned i = 0; i < n; i++)
			gap[i] |= values[i].quality == READING_GAP;
		read_mark(s, "freshness", &after.freshness);
		if (after.freshness == before.freshness)
			break;
	}
	keep_gaps(values, gap, n);
	if (s->read_once && after.freshness != UINT64_MAX &&
	    after.freshness == s->marks.freshness && after.startup == s->marks.startup)
		note_repeats(values, n);
	s->marks = after;
	s->read_once = true;
	return sensor__any_value(values, n);
}

/* Channels: energy and power of the node (with its accelerators), of all processors together
 * ("cpu": PART_PACKAGE, -1), of all memory ("memory": PART_DRAM, -1), of each accelerator, and of
 * single processors where the blade has them. All values of a reading are from one scan;
 * READING_REPEATED: from a scan that was read before. After a restart of the controller energies
 * are READING_GAP. */
const struct sensor_ops sensor_pm_counters = {
	.name = "pm_counters",
	.doc = "node, processor, memory and accelerator energy of HPE/Cray blades",
	.slow = true, /* up to 40 files take 5 us each */
	.size = sizeof(struct sensor),
	.open = pm_open,
	.describe = pm_describe,
	.channels = sensor_files__channels,
	.read = pm_read,
	.close = pm_close,
};
