/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers made of two doubles, with about 105 bits: their sums hardly depend on the order. Y. Hida,
 * X. Li, D. Bailey, "Algorithms for quad-double precision floating point arithmetic", 2001. */
#ifndef JP_ANALYSIS_WIDE_H
#define JP_ANALYSIS_WIDE_H

/* The number is hi + lo; hi is the nearest double. */
struct wide {
	double hi, lo;
};

#endif
