// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events as pmu/terms/: reads the terms of a PMU from its directory in sysfs. format/TERM has the
 * bits that a value goes to ("config:0-7,32-35"), events/NAME the terms that an event's name stands
 * for.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "kern/pmu/perf_names.h"

#define DEVICES	  "bus/event_source/devices"
#define TERMS_MAX 32
#define NAME_LEN  64
#define NEAR_MAX  256 /* names looked through for the nearest */

struct terms {
	int dir; /* the PMU's */
	const char *pmu;
	struct perf_event *ev;
	const struct perf_error *error;
	const char *seen[TERMS_MAX];
	unsigned nseen;
	bool in_alias;
};

/* A component of a path that cannot lead elsewhere. */
static bool is_name(const char *s)
{
	size_t len = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");

	return len && len < NAME_LEN && !s[len] && s[0] != '.';
}

/* One line of DIR/NAME; -errno. */
static int read_line(int dirfd, const char *dir, const char *name, char *buf, size_t size)
{
	char path[2 * NAME_LEN + 2];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	n = read_file(dirfd, path, buf, size);
	if (n < 0)
		return (int)n;
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

/* Adds the names in a directory; how many there are then. */
static unsigned list_names(int dirfd, const char *dir, char (*names)[NAME_LEN], unsigned n)
{
	_cleanup_closedir_ DIR *d = NULL;
	const struct dirent *e;
	int fd = openat(dirfd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return n;
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return n;
	}
	while (n < NEAR_MAX && (e = readdir(d)))
		if (is_name(e->d_name) && !str__copy(names[n], NAME_LEN, e->d_name))
			n++;
	return n;
}

/* " did you mean ..." for a word that neither directory has (b may be NULL). */
static void hint(const char *word, int dirfd, const char *a, const char *b, char *buf, size_t size)
{
	_cleanup_free_ char(*names)[NAME_LEN] = calloc(NEAR_MAX, NAME_LEN);
	const char *list[NEAR_MAX], *near;
	unsigned n;

	buf[0] = '\0';
	if (!names)
		return;
	n = list_names(dirfd, a, names, 0);
	if (b)
		n = list_names(dirfd, b, names, n);
	for (unsigned i = 0; i < n; i++)
		list[i] = names[i];
	near = str__nearest(word, list, n);
	if (near)
		snprintf(buf, size, "; did you mean \"%s\"?", near);
}

static uint64_t *config_word(struct perf_event *ev, const char *name, size_t len)
{
	static const char *const names[] = {"config", "config1", "config2"};
	uint64_t *const words[] = {&ev->config, &ev->config1, &ev->config2};

	for (int i = 0; i < 3; i++)
		if (strlen(names[i]) == len && !memcmp(names[i], name, len))
			return words[i];
	return NULL;
}

/* A bit number at *p; false: none below 64. */
static bool take_bit(const char **p, unsigned *bit)
{
	const char *s = *p;

	for (*bit = 0; *s >= '0' && *s <= '9' && *bit < 64; s++)
		*bit = 10 * *bit + (unsigned)(*s - '0');
	if (s == *p || *bit > 63)
		return false;
	*p = s;
	return true;
}

/* Spreads value over "config1:0-7,32-35", lowest bits first. */
static int put_value(struct terms *t, const char *term, const char *format, uint64_t value)
{
	const char *p = strchr(format, ':');
	uint64_t *word = p ? config_word(t->ev, format, (size_t)(p - format)) : NULL;
	unsigned from, to;

	if (!word)
		goto bad;
	do {
		p++;
		if (!take_bit(&p, &from))
			goto bad;
		to = from;
		if (*p == '-' && (p++, !take_bit(&p, &to)))
			goto bad;
		if (to < from)
			goto bad;
		for (; from <= to; from++, value >>= 1)
			*word |= (value & 1) << from;
	} while (*p == ',');
	if (*p)
		goto bad;
	if (value)
		return perf_error__set(t->error, -EINVAL,
				       "the value of %s has more bits than %s/%s (%s)", term,
				       t->pmu, term, format);
	return 0;
bad:
	return perf_error__set(t->error, -EINVAL, "%s/%s has a format that is not known here: %s",
			       t->pmu, term, format);
}

static bool is_identifier(const char *s)
{
	size_t len = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return len && !s[len] && (s[0] < '0' || s[0] > '9');
}

static int take_name(struct terms *t, const char *value)
{
	if (!value || !is_identifier(value) ||
	    str__copy(t->ev->column, sizeof(t->ev->column), value))
		return perf_error__set(t->error, -EINVAL,
				       "name=%s: want letters, digits and \"_\", at most %zu",
				       value ? value : "", sizeof(t->ev->column) - 1);
	return 0;
}

/* Two values for the same bits would be mixed. */
static int note_term(struct terms *t, const char *term)
{
	if (t->in_alias)
		return 0;
	for (unsigned i = 0; i < t->nseen; i++)
		if (!strcmp(t->seen[i], term))
			return perf_error__set(t->error, -EINVAL, "\"%s\" is given twice", term);
	if (t->nseen == TERMS_MAX)
		return perf_error__set(t->error, -EINVAL, "more than %d terms", TERMS_MAX);
	t->seen[t->nseen++] = term;
	return 0;
}

static int take_terms(struct terms *t, char *list);

/* True when the word is an event's name; *err is what came of it. */
static bool take_alias(struct terms *t, const char *term, int *err)
{
	char text[1024], scale[NAME_LEN + 8], path[NAME_LEN + 16];

	if (t->in_alias || read_line(t->dir, "events", term, text, sizeof(text)))
		return false;
	snprintf(scale, sizeof(scale), "%s.scale", term);
	snprintf(path, sizeof(path), "events/%s", scale);
	if (!faccessat(t->dir, path, F_OK, 0)) {
		*err = perf_error__set(t->error, -EINVAL,
				       "%s counts in a unit of its own (%s), not in events", term,
				       scale);
		return true;
	}
	t->in_alias = true;
	*err = take_terms(t, text);
	t->in_alias = false;
	return true;
}

static int unknown_term(struct terms *t, const char *term)
{
	char near[NAME_LEN + 32];

	hint(term, t->dir, "format", "events", near, sizeof(near));
	return perf_error__set(t->error, -ENOENT, "PMU %s has no term and no event \"%s\"%s",
			       t->pmu, term, near);
}

static int take_term(struct terms *t, char *term)
{
	char *value = strchr(term, '=');
	uint64_t number = 1, *word;
	char format[256];
	int err = 0;

	if (value)
		*value++ = '\0';
	if (!is_name(term) || strchr(term, '.'))
		return perf_error__set(t->error, -EINVAL, "\"%s\" is not the name of a term", term);
	err = note_term(t, term);
	if (err)
		return err;
	if (!strcmp(term, "name") && !t->in_alias)
		return take_name(t, value);
	if (!value && take_alias(t, term, &err))
		return err;
	if (value && !perf_number(value, &number))
		return perf_error__set(t->error, -EINVAL,
				       "%s=%s: want a number of at most 64 bits, as 194 or 0xc2",
				       term, value);
	if (!read_line(t->dir, "format", term, format, sizeof(format)))
		return put_value(t, term, format, number);
	word = value ? config_word(t->ev, term, strlen(term)) : NULL;
	if (!word)
		return unknown_term(t, term);
	*word |= number;
	return 0;
}

static int take_terms(struct terms *t, char *list)
{
	char *term;
	int err = 0;

	while (!err && (term = strsep(&list, ",")))
		err = take_term(t, term);
	return err;
}

static int no_pmu(const char *pmu, const char *sysfs, const struct perf_error *error)
{
	int dir = open(sysfs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char near[NAME_LEN + 32];

	hint(pmu, dir, DEVICES, NULL, near, sizeof(near));
	if (dir >= 0)
		close(dir);
	return perf_error__set(error, -ENOENT, "this machine has no PMU \"%s\"%s", pmu, near);
}

/* PMUs whose events are no counts, or not those of the task that runs on a CPU. */
static int check_kind(const struct terms *t)
{
	static const char *const no_counter[] = {"tracepoint", "breakpoint", "kprobe", "uprobe"};

	for (size_t i = 0; i < sizeof(no_counter) / sizeof(no_counter[0]); i++)
		if (!strcmp(t->pmu, no_counter[i]))
			return perf_error__set(t->error, -EINVAL, "PMU %s has no counters", t->pmu);
	if (!faccessat(t->dir, "cpumask", F_OK, 0))
		return perf_error__set(t->error, -EINVAL,
				       "PMU %s counts for several CPUs at once, not for a task",
				       t->pmu);
	return 0;
}

int perf_pmu__parse(const char *pmu, char *terms, const char *sysfs, struct perf_event *ev,
		    const struct perf_error *error)
{
	struct terms t = {.pmu = pmu, .ev = ev, .error = error};
	_cleanup_close_ int dir = -1;
	char path[PATH_MAX], type[32];
	int err;

	if (!is_name(pmu))
		return perf_error__set(error, -EINVAL, "\"%s\" is not the name of a PMU", pmu);
	if (snprintf(path, sizeof(path), "%s/" DEVICES "/%s", sysfs, pmu) >= (int)sizeof(path))
		return perf_error__set(error, -EINVAL, "the path of sysfs is too long");
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return no_pmu(pmu, sysfs, error);
	t.dir = dir;
	err = check_kind(&t);
	if (err)
		return err;
	if (read_line(dir, ".", "type", type, sizeof(type)) || parse_u32(type, &ev->type))
		return perf_error__set(error, -ENOENT, "PMU %s does not say its type", pmu);
	if (!*terms)
		return perf_error__set(error, -EINVAL,
				       "PMU %s: which event? Nothing is between the "
				       "slashes",
				       pmu);
	return take_terms(&t, terms);
}

int perf_pmu__named(const char *pmu, const char *event, const char *sysfs, struct perf_event *ev)
{
	char path[PATH_MAX], type[32], text[1024], reason[256];
	const struct perf_error error = {reason, sizeof(reason)};
	struct terms t = {.pmu = pmu, .ev = ev, .error = &error, .in_alias = true};
	_cleanup_close_ int dir = -1;

	if (!is_name(pmu) ||
	    snprintf(path, sizeof(path), "%s/" DEVICES "/%s", sysfs, pmu) >= (int)sizeof(path))
		return -ENOENT;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	t.dir = dir;
	if (dir < 0 || read_line(dir, ".", "type", type, sizeof(type)) ||
	    parse_u32(type, &ev->type) || read_line(dir, "events", event, text, sizeof(text)))
		return -ENOENT;
	return take_terms(&t, text) ? -ENOENT : 0;
}
