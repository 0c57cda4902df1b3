/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of two doubles, with some 105 bits: sums of them hardly depend on their order. Y. Hida,
 * X. Li, D. Bailey, "Algorithms for quad-double precision floating point arithmetic", 2001. */
#ifndef JP_ANALYSIS_WIDE_H
#define JP_ANALYSIS_WIDE_H

/* hi + lo; hi is what a double can hold of it. */
struct wide {
	double hi, lo;
};

#endif
