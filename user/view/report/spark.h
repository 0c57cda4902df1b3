/* SPDX-License-Identifier: GPL-2.0-only */
/* A row of values as a row of characters. */
#ifndef JP_VIEW_SPARK_H
#define JP_VIEW_SPARK_H

#include <stdbool.h>
#include <stdio.h>

/* One character per value, from 0 to max; NaN is a blank. utf8: block elements, else ASCII. */
void spark__print(FILE *out, const double *v, unsigned n, double max, bool utf8);
/* Columns to use on out: the terminal's, within 40..200, or 80 where there is none. */
unsigned spark__width(FILE *out);
/* Whether the user's locale is UTF-8, by its name. */
bool spark__utf8(void);

#endif
