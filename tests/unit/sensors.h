/* SPDX-License-Identifier: GPL-2.0-only */
/* Machines of tests/data/sensors as trees of files. */
#ifndef JP_TESTS_SENSORS_H
#define JP_TESTS_SENSORS_H

#include "sensor/core/sensor.h"

struct machine {
	char dir[64], sys[80], proc[80], dev[80];
	struct sensor_roots roots;
};

/* Makes the directories that lead to path. */
static void machine_parents(const struct machine *m, const char *path)
{
	char full[640];
	size_t from = strlen(m->dir) + 1;

	snprintf(full, sizeof(full), "%s/%s", m->dir, path);
	for (char *slash = strchr(full + from, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		assert_true(!mkdir(full, 0755) || errno == EEXIST);
		*slash = '/';
	}
}

/* PATH below the root holds text and a newline; the file stays the same one if it is there. */
static void machine_put(const struct machine *m, const char *path, const char *text)
{
	char full[640];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", m->dir, path);
	f = fopen(full, "w");
	if (!f) {
		machine_parents(m, path);
		f = fopen(full, "w");
	}
	assert_non_null(f);
	for (; *text; text++) {
		if (text[0] == '\\' && text[1] == 'n')
			text++, putc('\n', f);
		else
			putc(*text, f);
	}
	putc('\n', f);
	fclose(f);
}

static inline void machine_put_u64(const struct machine *m, const char *path, uint64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	machine_put(m, path, text);
}

static void machine_put_msr(const struct machine *m, const char *path, uint64_t reg, uint64_t v)
{
	char full[640];
	int fd;

	snprintf(full, sizeof(full), "%s/%s", m->dir, path);
	fd = open(full, O_WRONLY | O_CREAT, 0600);
	if (fd < 0) {
		machine_parents(m, path);
		fd = open(full, O_WRONLY | O_CREAT, 0600);
	}
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &v, sizeof(v), (off_t)reg * 8), sizeof(v));
	close(fd);
}

static void machine_line(const struct machine *m, char *line)
{
	char *text = strchr(line, ' '), *at;

	assert_non_null(text);
	*text++ = '\0';
	at = strchr(line, '@');
	if (at) {
		*at = '\0';
		machine_put_msr(m, line, strtoull(at + 1, NULL, 16), strtoull(text, NULL, 16));
	} else {
		machine_put(m, line, text);
	}
}

/* The machine of tests/data/sensors/NAME.tree; tests run in the root of the repository. */
static void machine_make(struct machine *m, const char *name)
{
	char path[128], line[512];
	FILE *f;

	strcpy(m->dir, "/tmp/jobprof-sensors.XXXXXX");
	assert_non_null(mkdtemp(m->dir));
	assert_int_equal(chmod(m->dir, 0755), 0);
	snprintf(path, sizeof(path), "tests/data/sensors/%s.tree", name);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] && line[0] != '#')
			machine_line(m, line);
	}
	fclose(f);
	snprintf(m->sys, sizeof(m->sys), "%s/sys", m->dir);
	snprintf(m->proc, sizeof(m->proc), "%s/proc", m->dir);
	snprintf(m->dev, sizeof(m->dev), "%s/dev", m->dir);
	m->roots = (struct sensor_roots){.sys = m->sys, .proc = m->proc, .dev = m->dev};
}

static void machine_remove(const struct machine *m, const char *path)
{
	char cmd[256];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s/%s'", m->dir, path);
	assert_int_equal(system(cmd), 0);
}

#endif
