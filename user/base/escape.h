/* SPDX-License-Identifier: GPL-2.0-only */
/* Names that users chose, on their way to a terminal or into JSON. */
#ifndef JP_BASE_ESCAPE_H
#define JP_BASE_ESCAPE_H

#include <stdio.h>

/* s with everything but printable ASCII as \xNN. */
void print__escaped(FILE *out, const char *s);

#endif
