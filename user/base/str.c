/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads numbers strictly, checks names, and reads small files as text. */
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"

#define NAME_MAX_LEN 128
#define WORD_MAX_LEN 63 /* longer words have no nearest one */

int parse_u64(const char *s, uint64_t *v)
{
	uint64_t n = 0;

	if (!*s)
		return -EINVAL;
	for (const char *p = s; *p; p++)
		if (*p < '0' || *p > '9')
			return -EINVAL;
	for (; *s; s++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*s - '0'), &n))
			return -ERANGE;
	*v = n;
	return 0;
}

int parse_u32(const char *s, uint32_t *v)
{
	uint64_t n;
	int err = parse_u64(s, &n);

	if (err)
		return err;
	if (n > UINT32_MAX)
		return -ERANGE;
	*v = (uint32_t)n;
	return 0;
}

/* Not strtod: it takes signs, blanks, exponents, hex, inf and nan, and heeds the locale. */
int parse_double(const char *s, double *v)
{
	double n = 0, unit = 1;
	bool digits = false, point = false;

	for (; *s; s++) {
		if (*s == '.' && !point) {
			point = true;
			continue;
		}
		if (*s < '0' || *s > '9')
			return -EINVAL;
		digits = true;
		n = n * 10 + (*s - '0');
		if (point)
			unit *= 10;
		if (n > 1e300 || unit > 1e300)
			return -ERANGE;
	}
	if (!digits)
		return -EINVAL;
	*v = n / unit;
	return 0;
}

bool str__starts(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

bool str__numbered(const char *s, const char *name, size_t len, unsigned k)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", k);
	return !strncmp(s, name, len) && !strcmp(s + len, number);
}

bool str__glob1(const char *pattern, const char *text)
{
	const char *star = strchr(pattern, '*');
	size_t prefix, suffix, len = strlen(text);

	if (!star)
		return !strcmp(pattern, text);
	prefix = (size_t)(star - pattern);
	suffix = strlen(star + 1);
	return len >= prefix + suffix && !memcmp(text, pattern, prefix) &&
	       !memcmp(text + len - suffix, star + 1, suffix);
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

/* Levenshtein's distance without regard to case; both at most WORD_MAX_LEN long. */
static unsigned edit_distance(const char *a, const char *b)
{
	unsigned row[WORD_MAX_LEN + 1], n = (unsigned)strlen(b);

	for (unsigned j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned i = 1; a[i - 1]; i++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= n; j++) {
			bool differ = tolower((unsigned char)a[i - 1]) !=
				      tolower((unsigned char)b[j - 1]);
			unsigned above = row[j];

			row[j] = min3(diagonal + differ, above + 1, row[j - 1] + 1);
			diagonal = above;
		}
	}
	return row[n];
}

const char *str__nearest(const char *word, const char *const *list, size_t n)
{
	size_t len = strlen(word);
	unsigned best = (unsigned)len / 3 + 1;
	const char *found = NULL;

	if (!len || len > WORD_MAX_LEN)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		unsigned d;

		if (strlen(list[i]) > WORD_MAX_LEN)
			continue;
		d = edit_distance(word, list[i]);
		if (d < best || (d == best && !found)) {
			best = d;
			found = list[i];
		}
	}
	return found;
}

bool str__safe_name(const char *s)
{
	size_t len = 0;

	if (!strcmp(s, ".") || !strcmp(s, ".."))
		return false;
	for (; s[len]; len++) {
		unsigned char c = (unsigned char)s[len];

		if (len == NAME_MAX_LEN || c < 0x20 || c == 0x7f || c == '/')
			return false;
	}
	return len > 0;
}

int str__copy(char *dst, size_t size, const char *src)
{
	size_t len = strlen(src);

	if (len >= size) {
		if (size)
			dst[0] = '\0';
		return -E2BIG;
	}
	memcpy(dst, src, len + 1);
	return 0;
}

static bool is_last_reason(const char *list, const char *reason)
{
	size_t len = strlen(list), n = strlen(reason);

	if (len < n || strcmp(list + len - n, reason) != 0)
		return false;
	return len == n || (len > n + 1 && str__starts(list + len - n - 2, "; "));
}

void str__add_reason(char *list, size_t size, const char *reason)
{
	size_t len = strlen(list), room = size - len;

	if (!*reason || is_last_reason(list, reason) || is_last_reason(list, "..."))
		return;
	if ((size_t)snprintf(list + len, room, "%s%s", len ? "; " : "", reason) >= room && len)
		snprintf(list + len, room, "; ...");
}

static bool is_octal(const char *s)
{
	return s[0] >= '0' && s[0] <= '3' && s[1] >= '0' && s[1] <= '7' && s[2] >= '0' &&
	       s[2] <= '7';
}

void str__unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (*s == '\\' && is_octal(s + 1)) {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

ssize_t read_file(int dirfd, const char *path, char *buf, size_t size)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	size_t len = 0;

	if (fd < 0)
		return -errno;
	while (len < size) {
		ssize_t n = read(fd, buf + len, size - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n) {
			buf[len] = '\0';
			return (ssize_t)len;
		}
		len += (size_t)n;
	}
	return -EFBIG;
}

int read_file_u64(int dirfd, const char *path, uint64_t *v)
{
	char buf[32] = "";
	ssize_t n = read_file(dirfd, path, buf, sizeof(buf));

	if (n < 0)
		return (int)n;
	if (n > 0 && buf[n - 1] == '\n')
		buf[n - 1] = '\0';
	if (!strcmp(buf, "max")) {
		*v = UINT64_MAX;
		return 0;
	}
	return parse_u64(buf, v);
}
