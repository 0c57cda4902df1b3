// SPDX-License-Identifier: GPL-2.0-or-later
/* The line about the last failure; closes a descriptor once. */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "kern/internal.h"

static char last_error[512];

const char *kern__error(void)
{
	return last_error;
}

int kern_fail(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(last_error, sizeof(last_error), fmt, ap);
	va_end(ap);
	return err;
}

void kern_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}
