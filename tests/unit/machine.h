/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sensor on a machine that is a tree of files, mostly one of tests/data/sensors; after unit.h. A
 * test has one machine at a time, with one open sensor; machine_end() is its teardown. */
#ifndef JP_TESTS_MACHINE_H
#define JP_TESTS_MACHINE_H

#include "sensor/core/sensor.h"

#define MAX_READ 512

static struct {
	char dir[64], sys[72], proc[72], dev[72];
	struct sensor_roots roots;
	const struct sensor_ops *ops;
	struct sensor *s; /* NULL: none is open */
	const struct sensor_channel *c;
	unsigned n;
	struct sensor_value v[MAX_READ]; /* of the last reading */
	uint64_t now_ns;		 /* the time of values, 0: any */
	char why[512];			 /* what the last probe said */
} m = {.roots = {.sys = m.sys, .proc = m.proc, .dev = m.dev}};

/* PATH below the root holds text and a newline; the file stays the same one if it is there. "\n"
 * in the text, of two characters, is a newline. */
static inline void machine_put(const char *path, const char *text)
{
	char with[4096], *p = with;

	for (; *text; text++)
		*p++ = text[0] == '\\' && text[1] == 'n' ? text++, '\n' : *text;
	strcpy(p, "\n");
	put_text(m.dir, path, with);
}

/* Files below dir: "FILE=TEXT|FILE=TEXT". */
static inline void machine_puts(const char *dir, const char *files)
{
	char copy[2048], path[256], *rest = copy, *file, *text;

	assert_true(strlen(files) < sizeof(copy));
	strcpy(copy, files);
	while ((file = strsep(&rest, "|"))) {
		text = strchr(file, '=');
		assert_non_null(text);
		*text++ = '\0';
		snprintf(path, sizeof(path), "%s%s", dir, file);
		machine_put(path, text);
	}
}

static inline void machine_put_u64(const char *path, uint64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	machine_put(path, text);
}

/* A register of an msr device: 8 bytes of a file with holes. */
static inline void machine_put_msr(const char *path, uint64_t reg, uint64_t v)
{
	char full[1024];
	int fd;

	snprintf(full, sizeof(full), "%s/%s", m.dir, path);
	if (access(full, F_OK))
		put_text(m.dir, path, "");
	fd = open(full, O_WRONLY);
	assert_int_equal(pwrite(fd, &v, sizeof(v), (off_t)reg * 8), sizeof(v));
	close(fd);
}

static inline void machine_remove(const char *path)
{
	shell("rm -rf %s/%s", m.dir, path);
}

static inline void machine_close(void)
{
	if (m.s)
		sensor__close(m.ops, m.s);
	m.s = NULL;
}

static inline int machine_end(void **state)
{
	machine_close();
	machine_remove("");
	return 0;
}

/* Those of a file of tests/data/sensors, as its README says. */
static inline void machine_lines(const char *tree)
{
	char line[512], *text, *at;
	FILE *f = fopen(tree, "r");

	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		text = strchr(line, ' ');
		if (!line[0] || line[0] == '#')
			continue;
		*text++ = '\0';
		at = strchr(line, '@');
		if (at)
			*at++ = '\0';
		if (at)
			machine_put_msr(line, strtoull(at, NULL, 16), strtoull(text, NULL, 16));
		else
			machine_put(line, text);
	}
	fclose(f);
}

/* The machine tests/data/sensors/NAME.tree, or the directory of that name; "": an empty one. */
static inline void machine_make(const char *name)
{
	char tree[128];

	strcpy(m.dir, in_dir("machine"));
	machine_end(NULL);
	snprintf(m.sys, sizeof(m.sys), "%s/sys", m.dir);
	snprintf(m.proc, sizeof(m.proc), "%s/proc", m.dir);
	snprintf(m.dev, sizeof(m.dev), "%s/dev", m.dir);
	assert_int_equal(chmod(unit_dir, 0755), 0);
	assert_int_equal(mkdir(m.dir, 0755), 0);
	snprintf(tree, sizeof(tree), "tests/data/sensors/%s.tree", name);
	if (!access(tree, F_OK))
		machine_lines(tree);
	else if (*name)
		shell("cp -r tests/data/sensors/%s/. %s", name, m.dir);
}

/* A setup. */
static inline int empty_machine(void **state)
{
	machine_make("");
	return 0;
}

/* Probing fails or not, and says so. */
static inline void machine_probe(const struct sensor_ops *ops, int want, const char *says)
{
	assert_int_equal(sensor__probe(ops, &m.roots, m.why, sizeof(m.why)), want);
	if (!strstr(m.why, says))
		fail_msg("\"%s\" does not say \"%s\"", m.why, says);
}

static inline void machine_open(const struct sensor_ops *ops)
{
	machine_close();
	m.ops = ops;
	assert_int_equal(sensor__open(ops, &m.s, &m.roots), 0);
	m.n = ops->channels(m.s, &m.c);
	assert_in_range(m.n, 1, MAX_READ);
}

static inline void machine_read(int want)
{
	memset(m.v, 0xff, sizeof(m.v));
	assert_int_equal(m.ops->read(m.s, m.v), want);
}

/* The sensor is open on this machine, and has been read once. */
static inline void machine_on(const char *name, const struct sensor_ops *ops)
{
	machine_make(name);
	machine_probe(ops, 0, "");
	assert_true(*m.why);
	machine_open(ops);
	machine_read(0);
}

/* The machine has no such sensor: a probe and an open say so. */
static inline void machine_lacks(const struct sensor_ops *ops)
{
	machine_probe(ops, -ENOENT, "");
	assert_int_equal(sensor__open(ops, &m.s, &m.roots), -ENOENT);
	sensor__close(ops, NULL);
	m.s = NULL;
}

/* Begins, or ends, to be nobody; root may read everything. */
static inline void be_nobody(bool nobody)
{
	if (!getuid())
		assert_int_equal(seteuid(nobody ? 65534 : 0), 0);
}

/* The channel of that name, or with a series that of its column; NULL: there is none. */
static inline const struct sensor_channel *channel_of(const char *series, const char *name)
{
	for (unsigned i = 0; i < m.n; i++)
		if (*series ? !strcmp(m.c[i].series, series) && !strcmp(m.c[i].column, name)
			    : !strcmp(m.c[i].name, name))
			return &m.c[i];
	return NULL;
}

/* The names of all channels, with blanks between them. */
static inline void channels_are(const char *names)
{
	char all[512] = "";

	for (unsigned i = 0; i < m.n; i++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? " " : "",
			 m.c[i].name);
	assert_string_equal(all, names);
}

static inline void value_is(const struct sensor_value *v, const char *name, const char *want)
{
	static const char *const words[] = {[READING_GOOD] = "good",
					    [READING_GAP] = "gap",
					    [READING_NONE] = "none",
					    [READING_DENIED] = "denied",
					    [READING_REPEATED] = "repeated"};
	char *end, word[16] = "good";
	const char *number = want;
	double value;

	if (*want >= 'a' && *want <= 'z')
		sscanf(want, "%15[a-z]", word), number += strlen(word);
	value = strtod(number, &end);
	if (end == number)
		value = NAN;
	if (strcmp(words[v->quality], word) || isnan(v->value) != isnan(value) ||
	    fabs(v->value - value) > 1e-9 * fabs(value))
		fail_msg("%s: %.17g %s, not %s", name, v->value, words[v->quality], want);
	if (m.now_ns ? v->time_ns != m.now_ns : !isnan(value) && !v->time_ns)
		fail_msg("%s: its time is %llu", name, (unsigned long long)v->time_ns);
}

/* One of "NAME=TEXT, NAME=TEXT" for each call, NULL after the last: the channel of that name, with
 * a series the one whose column has it, and the text. */
static inline const struct sensor_channel *next_channel(char **list, const char *series,
							char **text)
{
	char *name = strsep(list, ",");
	const struct sensor_channel *c;

	if (!name)
		return NULL;
	name += strspn(name, " ");
	*text = strrchr(name, '=');
	assert_non_null(*text);
	*(*text)++ = '\0';
	c = channel_of(series, name);
	if (!c)
		fail_msg("no channel \"%s\" %s", name, series);
	return c;
}

/* What channels are of: "NAME=PART INDEX, NAME=PART". */
static inline void parts_are(const char *list)
{
	char copy[1024], is[32], *rest = copy, *want;
	const struct sensor_channel *c;

	snprintf(copy, sizeof(copy), "%s", list);
	while ((c = next_channel(&rest, "", &want))) {
		snprintf(is, sizeof(is), c->index < 0 ? "%s" : "%s %d", sensor__part_name(c->part),
			 c->index);
		assert_string_equal(is, want);
	}
}

/* What the last reading gave: "NAME=VALUE, NAME=gap VALUE, NAME=none". Also repeated and denied. */
static inline void expect_list(const char *series, char *list)
{
	const struct sensor_channel *c;
	char *want;

	while ((c = next_channel(&list, series, &want)))
		value_is(&m.v[c - m.c], c->name, want);
}

/* The list is made as by printf(). */
__attribute__((format(printf, 2, 3))) static inline void expect(const char *series,
								const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	expect_list(series, text);
}

/* The next reading succeeds and gives this. */
static inline void reads(const char *series, const char *list)
{
	char text[1024];

	machine_read(0);
	snprintf(text, sizeof(text), "%s", list);
	expect_list(series, text);
}

#endif
