/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strict readers of small texts: numbers, names, files of procfs and cgroupfs. */
#ifndef JP_BASE_STR_H
#define JP_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The whole string must be the number, in decimal digits: no sign, no blank, no exponent. Doubles
 * are digits with at most one point, and have at least one digit. 0, -EINVAL (not a number),
 * -ERANGE (too large). *v is set on success only.
 */
int parse_u64(const char *s, uint64_t *v);
int parse_u32(const char *s, uint32_t *v);
int parse_double(const char *s, double *v);

bool str__starts(const char *s, const char *prefix);
/* s is the first len bytes of name, and then the number k. */
bool str__numbered(const char *s, const char *name, size_t len, unsigned k);
/* pattern holds at most one '*', which stands for any text, also none. */
bool str__glob1(const char *pattern, const char *text);
/* The word of the list that was most likely meant (edit distance, case apart), or NULL. */
const char *str__nearest(const char *word, const char *const *list, size_t n);
/* Whether s may be one component of a path that we make: no '/', no control characters, neither
 * empty nor
 * "." nor "..", at most 128 bytes. */
bool str__safe_name(const char *s);
/* Replaces each "\\ooo" (three octal digits) by its byte, in place: the kernel's tables of mounts
 * write blanks so. */
void str__unescape(char *s);
/* Copies all of src with its NUL: 0, or -E2BIG and dst is "". */
int str__copy(char *dst, size_t size, const char *src);
/* Appends a reason to a list of reasons, after "; ", unless it is "" or the same as the last one;
 * "..." stands for reasons that do not fit. */
void str__add_reason(char *list, size_t size, const char *reason);

/* Reads a whole small file and ends it with NUL; dirfd as for openat(2). Returns its length,
 * -EFBIG if it has size bytes or more, or -errno. */
ssize_t read_file(int dirfd, const char *path, char *buf, size_t size);
/* Reads a file of one number and a newline; "max", as cgroupfs writes it, is UINT64_MAX. */
int read_file_u64(int dirfd, const char *path, uint64_t *v);

#endif
