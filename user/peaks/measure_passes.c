// SPDX-License-Identifier: GPL-2.0-only
/* The passes of a measure: whether another one may begin, and what they come to. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "peaks/measure.h"

bool measure__goes_on(const struct measure *m, const struct measure_opts *o, uint64_t began)
{
	if (m->error[0] || m->npasses >= o->passes || m->npasses >= PASSES_MAX)
		return false;
	return !m->npasses || (double)(clock__mono_ns() - began) / NSEC_PER_SEC < o->seconds;
}

void measure__fail(struct measure *m, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(m->error, sizeof(m->error), fmt, ap);
	va_end(ap);
	m->npasses = 0;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct peak measure__peak(const struct measure *m)
{
	double sorted[PASSES_MAX];
	unsigned n = m->npasses;

	if (!n)
		return (struct peak){NAN, NAN, NAN};
	memcpy(sorted, m->pass, n * sizeof(sorted[0]));
	qsort(sorted, n, sizeof(sorted[0]), compare);
	return (struct peak){(sorted[(n - 1) / 2] + sorted[n / 2]) / 2, sorted[0], sorted[n - 1]};
}

double measure__spread(const struct measure *m)
{
	struct peak p = measure__peak(m);

	return m->npasses < 2 ? NAN : (p.max - p.min) / p.value;
}
