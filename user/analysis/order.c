// SPDX-License-Identifier: GPL-2.0-or-later
/* The order of doubles and of indices by doubles. */
#include "analysis/order.h"

int order__doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int order__ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->v != y->v)
		return x->v < y->v ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

void order__by_number(const unsigned *number, size_t n, unsigned k, size_t *order, size_t *start)
{
	for (size_t j = 0; j <= (size_t)k + 1; j++)
		start[j] = 0;
	for (size_t i = 0; i < n; i++)
		start[number[i] + 1]++;
	for (unsigned j = 0; j <= k; j++)
		start[j + 1] += start[j];
	for (size_t i = n; i-- > 0;)
		order[--start[number[i] + 1]] = i;
	for (unsigned j = 0; j <= k; j++)
		start[j] = start[j + 1];
	start[k + 1] = n;
}
