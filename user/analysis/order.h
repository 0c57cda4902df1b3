/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Orders of doubles, and of indices by doubles, for qsort(). */
#ifndef JP_ANALYSIS_ORDER_H
#define JP_ANALYSIS_ORDER_H

#include <stddef.h>

/* A value and where it was. */
struct ranked {
	double v;
	size_t at;
};

/* Ascending; no NaN. */
int order__doubles(const void *a, const void *b);
/* struct ranked, ascending, equal values by their place; no NaN. */
int order__ranked(const void *a, const void *b);

/* The indices of n numbers from 0 to k, those of number j at order[start[j]..start[j + 1]),
 * ascending. start has k + 2 elements. */
void order__by_number(const unsigned *number, size_t n, unsigned k, size_t *order, size_t *start);

#endif
