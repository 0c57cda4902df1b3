/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Expands a host list of Slurm to names of hosts. */
#include "base/hostlist.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTS_MAX     262144u
#define HOST_NAME_LEN 255
#define DIGITS_MAX    18 /* fit 64 bits, and one more than the last does too */
#define SEPARATORS    ", \t\n"

struct expansion {
	struct string_list *out;
	char name[HOST_NAME_LEN + 1];
};

static int add_name(struct expansion *x)
{
	return x->out->n == HOSTS_MAX ? -E2BIG : string_list__append(x->out, x->name);
}

/* One number: digits at *p, before end. Its width, or -EINVAL. */
static int read_number(const char **p, const char *end, uint64_t *v)
{
	int n = 0;

	for (*v = 0; *p + n < end && (*p)[n] >= '0' && (*p)[n] <= '9'; n++) {
		if (n == DIGITS_MAX)
			return -EINVAL;
		*v = *v * 10 + (uint64_t)((*p)[n] - '0');
	}
	*p += n;
	return n ? n : -EINVAL;
}

/* "7" or "01-16" at *p. The width of its first number, or -EINVAL. */
static int read_range(const char **p, const char *end, uint64_t *from, uint64_t *to)
{
	int width = read_number(p, end, from);

	*to = *from;
	if (width < 0 || *p == end || **p != '-')
		return width;
	++*p;
	if (read_number(p, end, to) < 0 || *to < *from)
		return -EINVAL;
	return width;
}

static int expand(struct expansion *x, size_t len, const char *rest, const char *end);

/* Every number of a bracket's inside [p, close), each followed by what comes after it. Every level
 * adds a digit at least, so the length of a name bounds the depth. */
static int expand_bracket(struct expansion *x, size_t len, const char *p, const char *close,
			  const char *end)
{
	for (;;) {
		uint64_t from, to;
		int width = read_range(&p, close, &from, &to), err = 0;

		if (width < 0 || (p < close && *p != ','))
			return -EINVAL;
		for (; from <= to; from++) {
			int n = snprintf(x->name + len, sizeof(x->name) - len, "%0*llu", width,
					 (unsigned long long)from);

			if (len + (size_t)n > HOST_NAME_LEN)
				return -EINVAL;
			err = expand(x, len + (size_t)n, close + 1, end);
			if (err)
				return err;
		}
		if (p++ == close)
			return 0;
	}
}

/* x->name[0, len) stands; [rest, end) is still to be read. */
static int expand(struct expansion *x, size_t len, const char *rest, const char *end)
{
	const char *open = memchr(rest, '[', (size_t)(end - rest));
	const char *close = memchr(rest, ']', (size_t)(end - rest));
	size_t n = (size_t)((open ? open : end) - rest);

	if (!open != !close || (open && close < open) || len + n > HOST_NAME_LEN)
		return -EINVAL;
	memcpy(x->name + len, rest, n);
	x->name[len + n] = '\0';
	return open ? expand_bracket(x, len + n, open + 1, close, end) : add_name(x);
}

/* The end of the element that begins at text: a separator within brackets is part of the element.
 * */
static const char *element_end(const char *text)
{
	int depth = 0;

	for (; *text && (depth || !strchr(SEPARATORS, *text)); text++)
		depth += *text == '[' ? 1 : *text == ']' && depth ? -1 : 0;
	return text;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_unique(struct string_list *l)
{
	unsigned n = 0;

	qsort(l->v, l->n, sizeof(*l->v), by_name);
	for (unsigned i = 0; i < l->n; i++) {
		if (n && !strcmp(l->v[n - 1], l->v[i]))
			free(l->v[i]);
		else
			l->v[n++] = l->v[i];
	}
	l->n = n;
}

int hostlist__parse(struct string_list *out, const char *text, char *bad, size_t badlen)
{
	struct expansion x = {.out = out};
	const char *end = text;
	int err = 0;

	*out = (struct string_list){0};
	for (;;) {
		text += strspn(text, SEPARATORS);
		if (!*text)
			break;
		end = element_end(text);
		err = expand(&x, 0, text, end);
		if (err)
			break;
		text = end;
	}
	if (!err && !out->n)
		err = -EINVAL; /* a list of no hosts is a mistake */
	if (!err) {
		sort_unique(out);
		return 0;
	}
	if (badlen)
		snprintf(bad, badlen, "%.*s", (int)(end > text ? end - text : 0), text);
	string_list__free(out);
	return err;
}

bool hostlist__has(const struct string_list *l, const char *name)
{
	return l->n && bsearch(&name, l->v, l->n, sizeof(*l->v), by_name);
}

/* The first number of a bracket whose '[' is at *p, and past its ']'. */
static int first_number(const char **p, const char *end, const char **number)
{
	const char *close = memchr(*p, ']', (size_t)(end - *p)), *at = *p + 1;
	uint64_t from, to;
	int width;

	if (!close)
		return -EINVAL;
	*number = at;
	width = read_range(&at, close, &from, &to);
	if (width < 0 || (at < close && *at != ','))
		return -EINVAL;
	*p = close + 1;
	return width;
}

int hostlist__first(const char *text, char *name, size_t size)
{
	const char *end, *p = text + strspn(text, SEPARATORS), *number;
	size_t len = 0;

	end = element_end(p);
	while (p < end) {
		int n = 1;

		number = p;
		if (*p == ']')
			return -EINVAL;
		if (*p == '[')
			n = first_number(&p, end, &number);
		else
			p++;
		if (n < 0 || len + (size_t)n >= size)
			return -EINVAL;
		memcpy(name + len, number, (size_t)n);
		len += (size_t)n;
	}
	if (!len)
		return -EINVAL;
	name[len] = '\0';
	return 0;
}
