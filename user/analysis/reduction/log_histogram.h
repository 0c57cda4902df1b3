/* SPDX-License-Identifier: GPL-2.0-only */
/* A histogram of numbers of any size and sign: four bins of equal width for each power of 2 of
 * their absolute values, so that no bin is wider than a quarter of its lower bound. */
#ifndef JP_ANALYSIS_REDUCTION_LOG_HISTOGRAM_H
#define JP_ANALYSIS_REDUCTION_LOG_HISTOGRAM_H

#include <stdint.h>

#define LOG_HISTOGRAM_PARTS 4	/* bins per power of 2 */
#define LOG_HISTOGRAM_LEAST -40 /* smaller ones than 2^-40 are in the bin of 0, */
#define LOG_HISTOGRAM_MOST  64	/* 2^64 and larger ones are in the last bin */
#define LOG_HISTOGRAM_SIDE  (LOG_HISTOGRAM_PARTS * (LOG_HISTOGRAM_MOST - LOG_HISTOGRAM_LEAST))
#define LOG_HISTOGRAM_BINS  (2 * LOG_HISTOGRAM_SIDE + 1)

/* Negative numbers, the farthest from 0 first; 0; positive ones. */
struct log_histogram {
	uint64_t n[LOG_HISTOGRAM_BINS];
};

/* A finite number. */
void log_histogram__add(struct log_histogram *h, double v);
void log_histogram__merge(struct log_histogram *h, const struct log_histogram *from);
uint64_t log_histogram__sum(const struct log_histogram *h);

/* What is in a bin: numbers from low to high. The outermost bins end at infinity. */
struct log_bin {
	double low, high;
};
struct log_bin log_histogram__bin(unsigned bin);
/* The bin with the number at quantile q, 0..1: at least the part q of all is not above it. NaN of
 * an empty histogram. */
struct log_bin log_histogram__quantile(const struct log_histogram *h, double q);

#endif
