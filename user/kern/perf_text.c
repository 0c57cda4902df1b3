// SPDX-License-Identifier: GPL-2.0-only
/* Numbers in a list of events, and the message on what is wrong with it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kern/perf_names.h"

int perf_why__say(const struct perf_why *why, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why->err, why->errlen, fmt, ap);
	va_end(ap);
	return code;
}

bool perf_number(const char *text, uint64_t *v)
{
	int base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
	const char *digits = base == 16 ? text + 2 : text;

	if (!*digits ||
	    digits[strspn(digits, base == 16 ? "0123456789abcdefABCDEF" : "0123456789")])
		return false;
	errno = 0;
	*v = strtoull(digits, NULL, base);
	return !errno;
}
