/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The address that a browser asks for: taken apart, decoded and checked. */
#ifndef JP_HTTP_REQUEST_H
#define JP_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#define HTTP_ADDRESS_MAX 4096 /* bytes of path and query, as they come */
#define HTTP_ARGS_MAX	 32

/* "/jobs?user=ann&since=7d". Begins zeroed; http_address__free() ends it. */
struct http_address {
	char *text; /* what the others point into */
	const char *path;
	struct http_arg {
		const char *name, *value; /* value "": there is no "=" */
	} args[HTTP_ARGS_MAX];
	unsigned nargs;
};

/* 0; -EINVAL: it is longer than HTTP_ADDRESS_MAX, has more arguments than HTTP_ARGS_MAX, one
 * without a name or one name twice, a path with anything but letters, digits, "_", "-", "+", "." at
 * no beginning, and "/", a bad escape, a control character or what is no UTF-8; -ENOMEM. */
int http_address__parse(struct http_address *a, const char *raw);
void http_address__free(struct http_address *a);
/* NULL: there is no such argument. */
const char *http_address__arg(const struct http_address *a, const char *name);

/* Whether it can be the name of a user: of Debian's characters, 1 to 64. */
bool http_name__is_user(const char *text);
/* Whether a Host header names this machine's loopback: against pages that reach us by a name of
 * theirs. */
bool http_host__is_loopback(const char *text);

#endif
