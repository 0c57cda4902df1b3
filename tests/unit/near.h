/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers that are equal but for rounding; after unit.h. */
#ifndef JP_TESTS_NEAR_H
#define JP_TESTS_NEAR_H

#include <math.h>

#define near(a, b) near_at(a, b, __LINE__)

static inline void near_at(double is, double should, int line)
{
	if (!(fabs(is - should) <= 1e-9 * fmax(fabs(should), 1)))
		fail_msg("line %d: is %.12g, should be %.12g", line, is, should);
}

#endif
