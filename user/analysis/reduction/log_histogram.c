/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts numbers in bins of the logarithm. */
#include "analysis/reduction/log_histogram.h"

#include <math.h>

/* 0: it is in the bin of 0. */
static unsigned distance(double v)
{
	int exponent;
	double m = frexp(v, &exponent); /* v is m 2^exponent, m from 0.5 to below 1 */

	exponent--;
	if (v == 0 || exponent < LOG_HISTOGRAM_LEAST)
		return 0;
	if (exponent >= LOG_HISTOGRAM_MOST)
		return LOG_HISTOGRAM_SIDE;
	return 1 + LOG_HISTOGRAM_PARTS * (unsigned)(exponent - LOG_HISTOGRAM_LEAST) +
	       (unsigned)((m - 0.5) * 2 * LOG_HISTOGRAM_PARTS);
}

void log_histogram__add(struct log_histogram *h, double v)
{
	unsigned d = distance(fabs(v));

	h->n[v < 0 ? LOG_HISTOGRAM_SIDE - d : LOG_HISTOGRAM_SIDE + d]++;
}

void log_histogram__merge(struct log_histogram *h, const struct log_histogram *from)
{
	for (unsigned i = 0; i < LOG_HISTOGRAM_BINS; i++)
		h->n[i] += from->n[i];
}

uint64_t log_histogram__sum(const struct log_histogram *h)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < LOG_HISTOGRAM_BINS; i++)
		sum += h->n[i];
	return sum;
}

/* Returns where a bin of positive numbers begins. */
static double lower_bound(unsigned d)
{
	int exponent = (int)((d - 1) / LOG_HISTOGRAM_PARTS) + LOG_HISTOGRAM_LEAST;

	if (d > LOG_HISTOGRAM_SIDE)
		return INFINITY;
	return ldexp(1 + (d - 1) % LOG_HISTOGRAM_PARTS / (double)LOG_HISTOGRAM_PARTS, exponent);
}

struct log_bin log_histogram__bin(unsigned bin)
{
	double least = lower_bound(1);

	if (bin == LOG_HISTOGRAM_SIDE)
		return (struct log_bin){-least, least};
	if (bin > LOG_HISTOGRAM_SIDE)
		return (struct log_bin){lower_bound(bin - LOG_HISTOGRAM_SIDE),
					lower_bound(bin - LOG_HISTOGRAM_SIDE + 1)};
	return (struct log_bin){-lower_bound(LOG_HISTOGRAM_SIDE - bin + 1),
				-lower_bound(LOG_HISTOGRAM_SIDE - bin)};
}

struct log_bin log_histogram__quantile(const struct log_histogram *h, double q)
{
	uint64_t sum = log_histogram__sum(h), below = 0;

	for (unsigned i = 0; i < LOG_HISTOGRAM_BINS; i++) {
		below += h->n[i];
		if (h->n[i] && (double)below >= q * (double)sum)
			return log_histogram__bin(i);
	}
	return (struct log_bin){NAN, NAN};
}
