// SPDX-License-Identifier: GPL-2.0-only
/* Values of a step's cgroup files. */
#include "sensor/node/cgroup_value.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A whole number up to the end of its line, as all of these are; NaN: something else ("max"). Read
 * with every row: what the C library has for it takes as long as the kernel does to write it. */
static double parse_number(const char *text)
{
	const char *p = text;
	uint64_t v = 0;

	for (; *p >= '0' && *p <= '9'; p++)
		v = 10 * v + (*p - '0');
	return p == text || p - text > 19 || (*p && *p != '\n') ? NAN : v;
}

/* "key value" lines, and those of pressure, where "some" is the line and the key what stands before
 * the number. */
static double parse_key(const char *text, const char *key)
{
	const char *line = text, *at, *end;
	size_t len = strlen(key);

	for (; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		if (!strncmp(line, key, len))
			return parse_number(line + len);
		if (!strncmp(line, "some ", 5) && (at = memmem(line, end - line, key, len)))
			return parse_number(at + len);
	}
	return NAN;
}

double cgroup_value__parse(const char *text, const char *key)
{
	return key ? parse_key(text, key) : parse_number(text);
}

double cgroup_value__read(int fd, const char *key)
{
	char text[2048];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return NAN;
	text[n] = 0;
	return cgroup_value__parse(text, key);
}

bool cgroup_value__begin(char *path, size_t size, const char *dir, const char *mount)
{
	if (!dir || !mount || strncmp(dir, mount, strlen(mount)))
		return false;
	snprintf(path, size, "%s", dir);
	return strlen(path) > strlen(mount);
}

bool cgroup_value__up(char *path, const char *mount)
{
	char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return false;
	*slash = 0;
	return strlen(path) > strlen(mount);
}
