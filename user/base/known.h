/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two numbers of which one may be unknown (NaN): the result is then the other one, as with fmin()
 * and fmax() of math.h. */
#ifndef JP_BASE_KNOWN_H
#define JP_BASE_KNOWN_H

#include <math.h>

static inline double known__sum(double a, double b)
{
	return isnan(a) ? b : isnan(b) ? a : a + b;
}

/* v, or 0 where v is negative. NaN stays NaN, which fmax() would make 0. */
static inline double known__not_negative(double v)
{
	return v < 0 ? 0 : v;
}

#endif
