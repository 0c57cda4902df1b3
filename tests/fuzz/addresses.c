/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a browser or a proxy sends: addresses, and names in headers. */
#include "tests/fuzz/addresses.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "http/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
	if (!condition)
		abort();
}

/* No control character, nothing that is invisible, and no byte that is none of UTF-8. */
static void check_text(const char *text)
{
	unsigned replaced = 1;
	char *shown = utf8__shown(text, &replaced);

	must(shown && !replaced && !strcmp(shown, text));
	free(shown);
}

static void check_path(const char *path)
{
	must(*path == '/' && !strstr(path, "/."));
	for (const char *p = path; *p; p++)
		must(isalnum((unsigned char)*p) || strchr("_-+./", *p));
}

/* What stands in an address is all that there is in it. */
static void check_address(const struct http_address *a, const char *raw)
{
	size_t n = strlen(a->path);

	check_path(a->path);
	must(!strncmp(raw, a->path, n) && (!raw[n] || raw[n] == '?'));
	must(a->nargs <= HTTP_ARGS_MAX);
	for (unsigned i = 0; i < a->nargs; i++) {
		must(*a->args[i].name);
		check_text(a->args[i].name);
		check_text(a->args[i].value);
		must(http_address__arg(a, a->args[i].name) == a->args[i].value);
		n += strlen(a->args[i].name) + strlen(a->args[i].value);
	}
	must(n <= strlen(raw));
}

static bool try_address(const char *raw)
{
	struct http_address a = {0};
	bool taken = !http_address__parse(&a, raw);

	if (taken)
		check_address(&a, raw);
	http_address__free(&a);
	return taken;
}

static bool try_user(const char *text)
{
	if (!http_name__is_user(text))
		return false;
	check_text(text);
	must(*text && strlen(text) <= 64 && *text != '-' && *text != '.' &&
	     !strpbrk(text, "/\\'\"<>&;:,@ "));
	return true;
}

static bool try_host(const char *text)
{
	if (!http_host__is_loopback(text))
		return false;
	check_text(text);
	must(!strncasecmp(text, "localhost", 9) || !strncmp(text, "127.0.0.1", 9) ||
	     !strncmp(text, "[::1]", 5));
	must(!strpbrk(text, "/@?#\\ "));
	return true;
}

bool addresses__fuzz(const uint8_t *data, size_t size)
{
	/* of its very length: what reads behind its end is seen */
	char *text = size ? malloc(size) : NULL;
	bool taken;

	if (!text)
		return false;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	taken = data[0] % 8 == 1   ? try_user(text)
		: data[0] % 8 == 2 ? try_host(text)
				   : try_address(text);
	free(text);
	return taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	addresses__fuzz(data, size);
	return 0;
}
