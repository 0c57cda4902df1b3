/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes apart what a browser sends. */
#include "http/request.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static int digit_of(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* Decodes in place. 0 or -EINVAL. */
static int decode(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++, to++) {
		*to = *p == '+' ? ' ' : *p;
		if (*p != '%')
			continue;
		if (digit_of(p[1]) < 0 || digit_of(p[2]) < 0)
			return -EINVAL;
		*to = (char)(digit_of(p[1]) * 16 + digit_of(p[2]));
		if (!*to)
			return -EINVAL;
		p += 2;
	}
	*to = '\0';
	for (const char *p = text; *p; p = utf8__next(p))
		if (!utf8__visible(p))
			return -EINVAL;
	return 0;
}

/* Nothing that a file system could take for another directory; no path here needs an escape. */
static bool is_path(const char *path)
{
	if (*path != '/')
		return false;
	for (const char *p = path; *p; p++) {
		if (*p == '.' && p[-1] == '/')
			return false;
		if (!isalnum((unsigned char)*p) && !strchr("_-+./", *p))
			return false;
	}
	return true;
}

static int take_arg(struct http_address *a, char *text)
{
	char *value = strchr(text, '=');

	if (value)
		*value++ = '\0';
	else
		value = text + strlen(text);
	if (decode(text) || decode(value) || !*text || a->nargs == HTTP_ARGS_MAX ||
	    http_address__arg(a, text))
		return -EINVAL;
	a->args[a->nargs++] = (struct http_arg){text, value};
	return 0;
}

int http_address__parse(struct http_address *a, const char *raw)
{
	char *query, *next;
	int err = 0;

	if (strnlen(raw, HTTP_ADDRESS_MAX + 1) > HTTP_ADDRESS_MAX)
		return -EINVAL;
	a->text = strdup(raw);
	if (!a->text)
		return -ENOMEM;
	query = strchr(a->text, '?');
	if (query)
		*query++ = '\0';
	a->path = a->text;
	if (!is_path(a->path))
		return -EINVAL;
	for (; !err && query; query = next) {
		next = strchr(query, '&');
		if (next)
			*next++ = '\0';
		if (*query)
			err = take_arg(a, query);
	}
	return err;
}

void http_address__free(struct http_address *a)
{
	free(a->text);
	*a = (struct http_address){0};
}

const char *http_address__arg(const struct http_address *a, const char *name)
{
	for (unsigned i = 0; i < a->nargs; i++)
		if (!strcmp(a->args[i].name, name))
			return a->args[i].value;
	return NULL;
}

bool http_name__is_user(const char *text)
{
	static const char others[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789_.-";
	const size_t n = strspn(text, others);

	return n && n <= 64 && !text[n] && *text != '-' && *text != '.';
}

bool http_host__is_loopback(const char *text)
{
	static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const size_t n = strlen(names[i]);

		if (strncasecmp(text, names[i], n))
			continue;
		if (!text[n] || (text[n] == ':' && text[n + 1] &&
				 !text[n + 1 + strspn(text + n + 1, "0123456789")]))
			return true;
	}
	return false;
}
