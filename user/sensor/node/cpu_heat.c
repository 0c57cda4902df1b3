// SPDX-License-Identifier: GPL-2.0-only
/* Which of the node's temperatures are those of processor packages. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
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
	void *p = realloc(h->file, (h->n + 1) * sizeof(*h->file));

	if (!p)
		return -ENOMEM;
	h->file = p;
	h->file[h->n] = strdup(path);
	if (!h->file[h->n])
		return -ENOMEM;
	h->n++;
	return 0;
}

/* path: ".../hwmon3/temp1_label"; its value is in ".../hwmon3/temp1_input". */
static int try_label(struct cpu_heat *h, const char *path, unsigned line)
{
	char chip[64], label[64], other[PATH_MAX];

	if (!sibling_path(other, path, '/', "name"))
		return 0;
	read_line(other, chip, sizeof(chip));
	read_line(path, label, sizeof(label));
	if (strcmp(chip, known[line].chip) != 0 || !str__glob1(known[line].label, label) ||
	    !sibling_path(other, path, '_', "input"))
		return 0;
	return add_file(h, other);
}

/* path: ".../thermal_zone0/type" */
static int try_zone(struct cpu_heat *h, const char *path, unsigned line)
{
	char type[64], other[PATH_MAX];

	read_line(path, type, sizeof(type));
	if (strcmp(type, "x86_pkg_temp") != 0 || !sibling_path(other, path, '/', "temp"))
		return 0;
	return add_file(h, other);
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

/* Visits everything in dir whose name fits, in the order of names. */
static int each(struct cpu_heat *h, const char *dir, const char *pattern, unsigned line,
		int (*visit)(struct cpu_heat *h, const char *path, unsigned line))
{
	struct dirent **entries = NULL;
	int n = scandir(dir, &entries, NULL, compare_names), err = 0;

	for (int i = 0; i < n; i++) {
		char path[PATH_MAX];

		if (!err && h->n < FILES_MAX && str__glob1(pattern, entries[i]->d_name) &&
		    snprintf(path, sizeof(path), "%s/%s", dir, entries[i]->d_name) < PATH_MAX)
			err = visit(h, path, line);
		free(entries[i]);
	}
	free(entries);
	return err;
}

static int visit_chip(struct cpu_heat *h, const char *path, unsigned line)
{
	return each(h, path, "temp*_label", line, try_label);
}

static int visit_zone(struct cpu_heat *h, const char *path, unsigned line)
{
	return each(h, path, "type", line, try_zone);
}

int cpu_heat__find(struct cpu_heat *h, const struct sensor_roots *roots)
{
	char dir[PATH_MAX];
	int err = 0;

	*h = (struct cpu_heat){0};
	if (snprintf(dir, sizeof(dir), "%s/class/hwmon", roots->sys) >= PATH_MAX)
		return 0;
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]) && !h->n && !err; i++)
		err = each(h, dir, "hwmon*", i, visit_chip);
	if (!h->n && !err && snprintf(dir, sizeof(dir), "%s/class/thermal", roots->sys) < PATH_MAX)
		err = each(h, dir, "thermal_zone*", 0, visit_zone);
	if (err)
		cpu_heat__free(h);
	return err;
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
