// SPDX-License-Identifier: GPL-2.0-or-later
/* The sensor hwmon: power and energy that drivers report in /sys/class/hwmon. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "sensor/core/counter_set.h"
#include "sensor/core/file.h"

#define LABEL_LEN 64

struct sensor {
	struct sensor_files files;
	char dir[PATH_MAX];
};

/* The parts of the node that chips and labels stand for. '#' is the index of the part. The first
 * row that fits is used. */
static const struct {
	const char *chip;
	const char *label;
	enum sensor_part part;
} known[] = {
	{"power_meter", "Module Power Socket #", PART_PLATFORM},
	{"power_meter", "Grace Power Socket #", PART_PACKAGE},
	{"power_meter", "CPU Power Socket #", PART_CORES},
	{"power_meter", "SysIO Power Socket #", PART_UNCORE},
	{"amd_energy", "Esocket#", PART_PACKAGE},
	{"amd_energy", "Ecore#", PART_CORE},
	{"apm_xgene", "CPU power", PART_CORES},
	{"apm_xgene", "IO power", PART_UNCORE},
	{"ibmpowernv", "System", PART_NODE},
	{"ibmpowernv", "Chip #", PART_PACKAGE},
	{"amdgpu", "*", PART_GPU},
	{"i915", "*", PART_GPU},
	{"xe", "card", PART_GPU},
};

/* Supplies of devices, not of the machine. */
static const char *const ignored[] = {"BAT*", "AC", "ADP*", "ucsi_source_psy_*", "hidpp_battery_*"};

/* Whether text matches the pattern; sets *index to the number at its '#', if it has one. */
static bool label_fits(const char *pattern, const char *text, int *index)
{
	const char *hash = strchr(pattern, '#');
	uint32_t n;

	if (!hash)
		return str__glob1(pattern, text);
	if (strncmp(pattern, text, (size_t)(hash - pattern)) != 0 ||
	    parse_u32(text + (hash - pattern), &n) || n > INT_MAX)
		return false;
	*index = (int)n;
	return true;
}

/* Joins a path. One that is too long becomes "", so that no file is found. */
static void join_path(char path[PATH_MAX], const char *dir, const char *name, const char *suffix)
{
	if (snprintf(path, PATH_MAX, "%s/%s%s", dir, name, suffix) >= PATH_MAX)
		path[0] = '\0';
}

/* Sets part and index of a channel by the chip's name and the label. */
static void set_part(const char *chip, const char *label, struct sensor_channel *c)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i].chip, chip) && label_fits(known[i].label, label, &c->index)) {
			c->part = known[i].part;
			return;
		}
}

/* Reads one line of a file in the values' directory, without its newline; "" if there is none. */
static void read_line(const char *dir, const char *name, char *buf, size_t size)
{
	char path[PATH_MAX];

	join_path(path, dir, name, "");
	if (read_file(AT_FDCWD, path, buf, size) < 0)
		buf[0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	for (size_t len = strlen(buf); len && buf[len - 1] == ' '; len--)
		buf[len - 1] = '\0';
}

/* The relative error of a meter: an ACPI meter's accuracy of "90.0%" is 0.1. NAN: not documented.
 */
static double documented_error(const char *dir, const char *kind)
{
	char name[64], text[32];
	double percent;

	snprintf(name, sizeof(name), "%.31s_accuracy", kind);
	read_line(dir, name, text, sizeof(text));
	text[strcspn(text, "%")] = '\0';
	if (parse_double(text, &percent) || percent <= 0 || percent > 100)
		return NAN;
	return 1 - percent / 100;
}

static uint64_t averaged_over(const char *dir, const char *kind)
{
	char name[64], text[32];
	uint64_t ms;

	snprintf(name, sizeof(name), "%.31s_average_interval", kind);
	read_line(dir, name, text, sizeof(text));
	return parse_u64(text, &ms) || ms > UINT64_MAX / 1000000 ? 0 : ms * 1000000;
}

/* Reads a driver's label, else the file that NVIDIA uses for labels, else "". */
static void read_label(const char *dir, const char *kind, char *label, size_t len)
{
	char name[64];

	snprintf(name, sizeof(name), "%.31s_label", kind);
	read_line(dir, name, label, len);
	if (*label)
		return;
	snprintf(name, sizeof(name), "%.31s_oem_info", kind);
	read_line(dir, name, label, len);
}

static int add_channel(struct sensor *s, const char *dir, const char *chip, const char *kind,
		       const char *file)
{
	bool energy = str__starts(kind, "energy");
	char path[PATH_MAX], label[LABEL_LEN], name[2 * LABEL_LEN + 32];
	struct sensor_channel c;

	read_label(dir, kind, label, sizeof(label));
	snprintf(name, sizeof(name), "%s %s", chip, *label ? label : kind);
	c = sensor__channel(name);
	snprintf(c.unit, sizeof(c.unit), "%s", energy ? "J" : "W");
	c.quantity = energy ? QUANTITY_ENERGY : QUANTITY_POWER;
	c.step = 1e-6;
	c.error = documented_error(dir, kind);
	c.period_ns = averaged_over(dir, kind);
	set_part(chip, label, &c);
	join_path(path, dir, file, "");
	return sensor_files__add(&s->files, &c, path, 1e-6);
}

/* Sets kind to "power1" for "power1_average" and "power1_input", to "energy12" for
 * "energy12_input". */
static bool value_file(const char *file, char *kind, size_t len)
{
	size_t word = str__starts(file, "power") ? 5 : str__starts(file, "energy") ? 6 : 0;
	size_t digits = strspn(file + word, "0123456789");
	const char *suffix = file + word + digits;

	if (!word || !digits || word + digits >= len ||
	    (strcmp(suffix, "_input") != 0 && (word != 5 || strcmp(suffix, "_average") != 0)))
		return false;
	memcpy(kind, file, word + digits);
	kind[word + digits] = '\0';
	return true;
}

static bool has_file(const char *dir, const char *kind, const char *suffix)
{
	char path[PATH_MAX];

	join_path(path, dir, kind, suffix);
	return !faccessat(AT_FDCWD, path, F_OK, AT_EACCESS);
}

/* A search for channels in a directory with values. */
struct scan {
	struct sensor *s;
	const char *chip;
	unsigned found;
};

static int scan_file(void *arg, const char *dir, const char *file)
{
	struct scan *scan = arg;
	char kind[32];

	/* the average is preferred: it misses nothing between two readings */
	if (!value_file(file, kind, sizeof(kind)) ||
	    (!strcmp(file + strlen(kind), "_input") && has_file(dir, kind, "_average")))
		return 0;
	scan->found++;
	return add_channel(scan->s, dir, scan->chip, kind, file);
}

static bool is_ignored(const char *chip)
{
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		if (str__glob1(ignored[i], chip))
			return true;
	return false;
}

/* Scans a chip. Old drivers have their files, and the name, in the device's directory. */
static int scan_chip(void *arg, const char *class, const char *hwmon)
{
	char dir[2][PATH_MAX], chip[LABEL_LEN] = "";
	struct scan scan = {.s = arg};
	int err = 0;

	join_path(dir[0], class, hwmon, "");
	join_path(dir[1], class, hwmon, "/device");
	for (unsigned i = 0; i < 2 && !*chip; i++)
		read_line(dir[i], "name", chip, sizeof(chip));
	if (is_ignored(chip))
		return 0;
	scan.chip = *chip ? chip : hwmon;
	for (unsigned i = 0; i < 2 && !scan.found && !err; i++) {
		err = sensor__each_entry(dir[i], scan_file, &scan);
		if (err != -ENOMEM && err != -E2BIG) /* a missing directory has no channels */
			err = 0;
	}
	return err;
}

/* Finds the meter of the whole node: it has no label, and its chip has no second meter. */
static void find_node_meter(struct sensor_files *f)
{
	struct sensor_channel *alone = NULL;

	for (unsigned i = 0; i < f->n; i++) {
		struct sensor_channel *c = &f->channel[i];

		if (!str__starts(c->name, "power_meter "))
			continue;
		if (alone || !str__starts(c->name, "power_meter power"))
			return;
		alone = c;
	}
	if (alone)
		alone->part = PART_NODE;
}

/* Numbers GPUs in the order of their chips, for they have no number of their own here. */
static void number_gpus(struct sensor_files *f)
{
	const char *chip = NULL;
	int index = -1;

	for (unsigned i = 0; i < f->n; i++) {
		const char *file = strrchr(f->file[i].path, '/');
		size_t len = (size_t)(file - f->file[i].path);

		if (f->channel[i].part != PART_GPU)
			continue;
		if (!chip || strncmp(chip, f->file[i].path, len) != 0 || chip[len] != '/')
			index++;
		chip = f->file[i].path;
		f->channel[i].index = index;
	}
}

/* Adds numbers to equal names: chips of one kind have the same labels, and channels are known by
 * their names. */
static void number_equal_names(struct sensor_files *f)
{
	for (unsigned i = f->n; i-- > 1;) {
		char *name = f->channel[i].name;
		unsigned same = 1;

		for (unsigned k = 0; k < i; k++)
			same += !strcmp(f->channel[k].name, name);
		if (same > 1) {
			size_t len = strnlen(name, SENSOR_NAME - 8);

			snprintf(name + len, SENSOR_NAME - len, " #%u", same);
		}
	}
}

static int scan_all(struct sensor *s)
{
	int err = sensor__each_entry(s->dir, scan_chip, s);

	find_node_meter(&s->files);
	number_gpus(&s->files);
	number_equal_names(&s->files);
	return err ? err : s->files.n ? 0 : -ENOENT;
}

static void hwmon_close(struct sensor *s)
{
	sensor_files__free(&s->files);
}

static int hwmon_open(struct sensor *s, const struct sensor_ops *ops,
		      const struct sensor_roots *roots)
{
	int err;

	if (snprintf(s->dir, sizeof(s->dir), "%s/class/hwmon", roots->sys) >= (int)sizeof(s->dir))
		return -ENAMETOOLONG;
	err = scan_all(s);
	return err ? err : sensor_files__readable(&s->files) ? 0 : -EACCES;
}

static void hwmon_describe(const struct sensor *s, const struct sensor_roots *roots, int err,
			   char *text, size_t len)
{
	if (err == -EACCES)
		snprintf(text, len, "power and energy in %s/class/hwmon: not permitted; needs root",
			 roots->sys);
	else if (err == -ENOENT)
		snprintf(text, len, "no power or energy in %s/class/hwmon", roots->sys);
	else if (err)
		snprintf(text, len, "%s/class/hwmon: %s", roots->sys, strerror(-err));
	else
		snprintf(text, len, "%u channels in %s, %u readable", s->files.n, s->dir,
			 sensor_files__readable(&s->files));
}

static int hwmon_read(struct sensor *s, struct sensor_value *values)
{
	for (unsigned i = 0; i < s->files.n; i++)
		sensor_files__read(&s->files, i, &values[i], NULL, 0);
	return sensor__any_value(values, s->files.n);
}

/* One channel per power*_average (else power*_input) and energy*_input of each chip that is no
 * battery or charger. The chip's name and the label give the part; an unknown part is PART_OTHER,
 * and never guessed to be the node. An ACPI power meter without a label is the node's if there is
 * only one. On NVIDIA Grace, "Grace Power" is the package, with its memory and regulators, and
 * "Module Power" the platform, with a GPU on the module. Slow: an ACPI meter may ask the BMC. */
const struct sensor_ops sensor_hwmon = {
	.name = "hwmon",
	.doc = "power and energy that drivers of meters, processors and GPUs show",
	.slow = true,
	.size = sizeof(struct sensor),
	.open = hwmon_open,
	.describe = hwmon_describe,
	.channels = sensor_files__channels,
	.read = hwmon_read,
	.close = hwmon_close,
};
