/* SPDX-License-Identifier: GPL-2.0-only */
/* A line of the parts of a whole. */
#ifndef JP_VIEW_REPORT_SHARES_H
#define JP_VIEW_REPORT_SHARES_H

#include <stddef.h>
#include <stdio.h>

struct report_share {
	const char *name;
	double amount; /* NaN: not known, which counts nothing */
};

/* Prints "  name  a 60 %, b 30 %", the largest first, without what is less than half a per cent of
 * all; what does not fit the width is on another line. Sorts parts. Nothing where all are 0. */
void report_shares__print(const char *name, struct report_share *parts, size_t n, FILE *out);

#endif
