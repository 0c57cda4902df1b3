// SPDX-License-Identifier: GPL-2.0-or-later
/* RAPL by sysfs: /sys/class/powercap/intel-rapl:N[:M], also on AMD. N is no number of a package:
 * the file "name" of a zone names the part, and a subzone belongs to the package of its parent
 * zone. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "sensor/rapl/rapl.h"

#define ZONES_MAX   1024
#define CLASS	    "class/powercap"
#define PREFIX	    "intel-rapl:"
#define COUNTS	    4294967296.0 /* counts of the hardware in a counter's range */
#define PMAX_SANE_W 4000	 /* higher limits are no limits */

struct zone {
	char dir[32];
	char label[32];
	enum sensor_part part;
	int package, die; /* die -1: the package has one */
};

static int read_zone(const struct rapl *r, const char *zone, const char *file, char *text,
		     size_t len)
{
	char path[512];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/" CLASS "/%s/%s", r->roots.sys, zone, file);
	n = read_file(AT_FDCWD, path, text, len);
	if (n < 0)
		return (int)n;
	text[strcspn(text, "\n")] = '\0';
	return 0;
}

/* Reads "package-1" or "package-0-die-1". */
static int parse_package(const char *label, int *package, int *die)
{
	char text[32], *dash;
	uint32_t v;

	if (!str__starts(label, "package-") || str__copy(text, sizeof(text), label + 8))
		return -EINVAL;
	*die = -1;
	dash = strstr(text, "-die-");
	if (dash) {
		*dash = '\0';
		if (parse_u32(dash + 5, &v) || v > 255)
			return -EINVAL;
		*die = (int)v;
	}
	if (parse_u32(text, &v) || v > 65535)
		return -EINVAL;
	*package = (int)v;
	return 0;
}

static int identify_subzone(const struct rapl *r, struct zone *z)
{
	static const struct {
		const char *label;
		enum sensor_part part;
	} subzones[] = {{"core", PART_CORES}, {"uncore", PART_UNCORE}, {"dram", PART_DRAM}};
	char above[32], label[32];

	snprintf(above, sizeof(above), "%s", z->dir);
	*strrchr(above, ':') = '\0';
	if (read_zone(r, above, "name", label, sizeof(label)) ||
	    parse_package(label, &z->package, &z->die))
		return -ENOENT;
	for (unsigned i = 0; i < sizeof(subzones) / sizeof(subzones[0]); i++) {
		if (strcmp(z->label, subzones[i].label))
			continue;
		z->part = subzones[i].part;
		return 0;
	}
	return -ENOENT;
}

/* Fills in a directory's zone. 0; -ENOENT: it is no zone of a part that is read. */
static int identify(const struct rapl *r, const char *dir, struct zone *z)
{
	const char *rest = dir + strlen(PREFIX);

	memset(z, 0, sizeof(*z));
	z->die = -1;
	if (!str__starts(dir, PREFIX) || rest[strspn(rest, "0123456789:")] ||
	    str__copy(z->dir, sizeof(z->dir), dir) ||
	    read_zone(r, dir, "name", z->label, sizeof(z->label)))
		return -ENOENT;
	if (strchr(rest, ':'))
		return identify_subzone(r, z);
	z->part = PART_PACKAGE;
	if (!strcmp(z->label, "psys"))
		z->part = PART_PLATFORM;
	else if (parse_package(z->label, &z->package, &z->die))
		return -ENOENT;
	return 0;
}

static int by_dir(const void *a, const void *b)
{
	return strcmp(((const struct zone *)a)->dir, ((const struct zone *)b)->dir);
}

static int find_zones(const struct rapl *r, struct zone **out, unsigned *n)
{
	_cleanup_closedir_ DIR *d = NULL;
	struct zone *zones = calloc(ZONES_MAX, sizeof(*zones));
	const struct dirent *e;
	char path[512];

	if (!zones)
		return -ENOMEM;
	*n = 0;
	snprintf(path, sizeof(path), "%s/" CLASS, r->roots.sys);
	d = opendir(path);
	while (d && *n < ZONES_MAX && (e = readdir(d)))
		*n += !identify(r, e->d_name, &zones[*n]);
	qsort(zones, *n, sizeof(*zones), by_dir);
	*out = zones;
	return 0;
}

/* Raises pmax_w to the highest power that the zone's own files give. */
static void set_pmax(const struct rapl *r, struct rapl_counter *c)
{
	char text[32];
	uint64_t uw;

	if (!read_zone(r, c->zone, "constraint_0_max_power_uw", text, sizeof(text)) &&
	    !parse_u64(text, &uw) && uw < PMAX_SANE_W * 1000000ull && (double)uw / 1e6 > c->pmax_w)
		c->pmax_w = (double)uw / 1e6;
}

static int open_zone(const struct rapl *r, struct rapl_counter *c)
{
	char path[512], text[32];
	int err = read_zone(r, c->zone, "name", text, sizeof(text));

	if (err)
		return err;
	/* zones that were removed may return in another order */
	if (strcmp(text, c->label))
		return -ENODEV;
	snprintf(path, sizeof(path), "%s/" CLASS "/%s/energy_uj", r->roots.sys, c->zone);
	c->fd = open(path, O_RDONLY | O_CLOEXEC);
	return c->fd < 0 ? -errno : 0;
}

/* Adds a zone's counter. 0 or -ENOMEM. *err: 0 if the counter can be read, else why not. */
static int add_zone(struct rapl *r, const struct zone *z, int *err)
{
	unsigned from = 0;
	int cpu = cpus__next(&r->cpus, z->package, z->die, &from), failed = 0;
	struct rapl_counter *c;
	char text[32];
	uint64_t range;

	*err = -ENOENT;
	if (read_zone(r, z->dir, "max_energy_range_uj", text, sizeof(text)) ||
	    parse_u64(text, &range) || !range || range == UINT64_MAX)
		return 0;
	c = rapl__add(r, z->part, z->package, z->die, z->part == PART_PLATFORM ? -1 : cpu, &failed);
	if (!c)
		return failed;
	strcpy(c->zone, z->dir);
	strcpy(c->label, z->label);
	c->unit = 1e-6;
	c->range = range + 1;
	c->late_j = (double)c->range * c->unit;
	r->channels[r->n - 1].step = (double)c->range * 1e-6 / COUNTS;
	set_pmax(r, c);
	*err = open_zone(r, c);
	return 0;
}

static int error_text(char *reason, size_t len, int err)
{
	if (err == -ENOENT)
		snprintf(reason, len, "no zones of energy in /sys/" CLASS);
	else if (err == -EACCES || err == -EPERM)
		snprintf(reason, len, "energy_uj: not permitted: run as root");
	else
		snprintf(reason, len, "energy_uj: %s", strerror(-err));
	return err;
}

/* Counts the dies that the zones name, where the topology does not have their number. */
static void count_dies(struct rapl *r, const struct zone *zones, unsigned n)
{
	/* on AMD, kernels of 2024 have a zone for each die, all with one package's counter */
	for (unsigned i = 0; i < n && r->cpus.vendor != VENDOR_AMD; i++)
		if (zones[i].die >= r->cpus.dies)
			r->cpus.dies = zones[i].die + 1;
}

static int powercap_open(struct rapl *r, char *reason, size_t len)
{
	int err, failed, all = -ENOENT;
	struct rapl_model m;
	struct zone *zones;
	unsigned n;

	if (r->cores) {
		snprintf(reason, len, "has no single cores");
		return -ENOENT;
	}
	err = find_zones(r, &zones, &n);
	if (err)
		return error_text(reason, len, err);
	rapl_model__find(&m, &r->cpus);
	count_dies(r, zones, n);
	for (unsigned i = 0; !err && i < n; i++) {
		if (m.lead_core && zones[i].part == PART_CORES)
			continue;
		err = add_zone(r, &zones[i], &failed);
		if (all && failed != -ENOENT)
			all = failed;
	}
	free(zones);
	err = err ? err : all;
	return err ? error_text(reason, len, err) : 0;
}

static int read_count(struct rapl_counter *c, uint64_t *count)
{
	char text[32];
	ssize_t n = pread(c->fd, text, sizeof(text) - 1, 0);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return parse_u64(text, count) ? -ENODATA : 0;
}

static void powercap_read(struct rapl *r)
{
	for (unsigned i = 0; i < r->n; i++) {
		struct rapl_counter *c = &r->counters[i];
		struct rapl_raw *raw = &r->raw[i];

		raw->err = c->fd < 0 ? open_zone(r, c) : 0;
		raw->count = 0;
		if (!raw->err)
			raw->err = read_count(c, &raw->count);
		raw->time_ns = rapl_clock();
		if (raw->err && c->fd >= 0) {
			close(c->fd);
			c->fd = -1;
		}
	}
}

const struct rapl_way rapl_powercap = {"powercap", powercap_open, powercap_read};
