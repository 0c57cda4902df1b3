/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers of which one may not be known (NaN): then the other one is the result. fmin() and fmax()
 * of math.h do the same for the least and the highest. */
#ifndef JP_BASE_KNOWN_H
#define JP_BASE_KNOWN_H

#include <math.h>

static inline double known__sum(double a, double b)
{
	return isnan(a) ? b : isnan(b) ? a : a + b;
}

/* v, but 0 where it is less; what is not known stays so, other than with fmax(). */
static inline double known__not_negative(double v)
{
	return v < 0 ? 0 : v;
}

#endif
