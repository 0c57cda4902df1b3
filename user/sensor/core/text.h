/* SPDX-License-Identifier: GPL-2.0-only */
/* Files of many numbers that are read again and again: /proc/diskstats, /proc/net/dev. */
#ifndef JP_SENSOR_CORE_TEXT_H
#define JP_SENSOR_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_MAX (4u << 20) /* bytes of a file; more is none of these */

/* {.path = ..., .fd = -1}. The file is kept open, unless it was removed or cannot be read. */
struct sensor_text {
	const char *path; /* the caller's */
	int fd;
	char *buf; /* its contents and a NUL */
	size_t len, room;
};

/* Reads all of the file. 0, -EFBIG, -ENOMEM, or why it cannot be read. */
int sensor_text__read(struct sensor_text *t);
/* The next reading opens it, or another path. */
void sensor_text__close(struct sensor_text *t);
/* Closes and frees; the path stays. NULL is fine. */
void sensor_text__free(struct sensor_text *t);

/* The line at *at without its newline, or its end of it all: its length goes to *len, and *at
 * behind it. NULL: there is none. */
const char *text__line(const char **at, size_t *len);
/* The unsigned number at *at, behind blanks, with a blank, a newline or the end after it; *at goes
 * behind it. False: there is none, or it has more than 64 bits. */
bool text__u64(const char **at, uint64_t *v);
/* Numbers until the line's end or what is none; how many were found, at most max. */
unsigned text__numbers(const char *at, uint64_t *v, unsigned max);

#endif
