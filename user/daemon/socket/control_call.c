// SPDX-License-Identifier: GPL-2.0-only
/* The reply to one message, and texts in it that must end. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "daemon/socket/control_internal.h"

int control_call__refuse(struct call *k, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(k->reply.text, sizeof(k->reply.text), fmt, ap);
	va_end(ap);
	return err;
}

bool control_call__is_terminated(const char *text, size_t size)
{
	return memchr(text, 0, size) != NULL;
}
