/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of many numbers that are read again and again: /proc/diskstats, /proc/net/dev. */
#ifndef JP_SENSOR_CORE_TEXT_H
#define JP_SENSOR_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_MAX (4u << 20) /* bytes of a file; larger ones are refused */

/* Begins as {.path = ..., .fd = -1}. The file stays open, unless it was removed or cannot be read.
 */
struct sensor_text {
	const char *path; /* the caller's */
	int fd;
	bool stays; /* the open file is never replaced by another one */
	char *buf;  /* its contents and a NUL */
	size_t len, room;
};

/* Reads all of the file. 0, -EFBIG, -ENOMEM, or another -errno. */
int sensor_text__read(struct sensor_text *t);
/* Closes the file: the next reading opens path again, which may be another file then. */
void sensor_text__close(struct sensor_text *t);
/* Closes the file and frees the buffer; path stays. NULL is fine. */
void sensor_text__free(struct sensor_text *t);

/* The line at *at; *len becomes its length without the newline, and *at the line after it. NULL:
 * the text has ended. */
const char *text__line(const char **at, size_t *len);
/* Reads the unsigned number at *at; blanks may come before it, and a blank, a newline or the end
 * must follow. *at becomes the end of the number. False: there is no number, or it has more than 64
 * bits. */
bool text__u64(const char **at, uint64_t *v);
/* Reads numbers into v[max], up to the line's end or to something else; returns how many. */
unsigned text__numbers(const char *at, uint64_t *v, unsigned max);

#endif
