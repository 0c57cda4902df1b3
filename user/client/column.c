// SPDX-License-Identifier: GPL-2.0-or-later
/* Parses names of users' columns, series and marks. */
#include "client/column.h"

#include <errno.h>
#include <string.h>

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool is_printable(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
			return false;
	return true;
}

static size_t name_length(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && is_name_char(s[n]))
		n++;
	return n;
}

bool column__name_ok(const char *name, size_t max)
{
	size_t len = strlen(name);

	return len && len <= max && name_length(name, len) == len;
}

/* "[UNIT]" from the first byte; its whole length, 0 without one, or -EINVAL. */
static int parse_unit(struct jpc_column *c, const char *text, size_t len)
{
	const char *end;
	size_t n;

	if (!len || *text != '[')
		return 0;
	end = memchr(text, ']', len);
	if (!end)
		return -EINVAL;
	n = (size_t)(end - text - 1);
	if (!n || n >= sizeof(c->unit) || !is_printable(text + 1, n))
		return -EINVAL;
	memcpy(c->unit, text + 1, n);
	return (int)n + 2;
}

int column__parse(struct jpc_column *c, const char *text, size_t len)
{
	size_t at = name_length(text, len);
	int unit;

	*c = (struct jpc_column){.cell = JPC_F64, .kind = JPC_GAUGE};
	if (!at || at >= sizeof(c->name))
		return -EINVAL;
	memcpy(c->name, text, at);
	unit = parse_unit(c, text + at, len - at);
	if (unit < 0)
		return unit;
	at += (size_t)unit;
	if (at < len && text[at] == '+') {
		c->kind = JPC_DELTA;
		at++;
	}
	return at == len ? 0 : -EINVAL;
}

int column__mark_name(char to[static sizeof(((struct jpc_mark *)0)->name)], const char *name)
{
	size_t len = strlen(name), size = sizeof(((struct jpc_mark *)0)->name);

	if (!len || len >= size || !is_printable(name, len))
		return -EINVAL;
	memset(to, 0, size);
	memcpy(to, name, len);
	return 0;
}
