// SPDX-License-Identifier: GPL-2.0-only
/* Which of the node's temperatures are those of processor packages. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "base/str.h"
#include "sensor/core/counter_set.h"
#include "sensor/node/cpu.h"

#define FILES_MAX 64
#define MILLI_MAX 200000 /* more is no temperature of something that runs */

/* By driver, and its label of a package. The first line that fits anything counts. */
static const struct {
	const char *chip, *label;
} known[] = {
	{"coretemp", "Package id *"}, {"k10temp", "Tdie"},
	{"k10temp", "Tctl"}, /* on some it is Tdie and an offset */
	{"zenpower", "Tdie"},	      {"cpu_thermal", "*"},
};

static void read_line(const char *path, char *buf, size_t size)
{
	if (read_file(AT_FDCWD, path, buf, size) < 0)
		buf[0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
}

/* The path with what follows its last character `at` replaced by name: a file of the same
 * directory. False: there is no such character, or out is too small. */
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

/* A search below a directory. */
struct search {
	struct cpu_heat *heat;
	unsigned line; /* of known[] */
};

/* DIR/temp1_label of a chip's directory: the value is in DIR/temp1_input. */
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

/* DIR/thermal_zone0/type: the value is in DIR/thermal_zone0/temp. */
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

/* Thousandths of a degree, with a sign. */
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
