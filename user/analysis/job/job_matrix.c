/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes matrices of the bins of a job's units. */
#include "analysis/job/job_matrix.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct named {
	const char *name;
	unsigned unit;
};

static int by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->unit > y->unit) - (x->unit < y->unit);
}

int job_units__by_name(const struct job_units *u, unsigned *of, unsigned *n)
{
	struct named *v = calloc(u->n + 1, sizeof(*v));

	*n = 0;
	if (!v)
		return -ENOMEM;
	for (unsigned i = 0; i < u->n; i++)
		v[i] = (struct named){job_units__at(u, i)->name, i};
	qsort(v, u->n, sizeof(*v), by_name);
	for (unsigned i = 0; i < u->n; i++) /* the first unit of each name, */
		of[v[i].unit] =
			i && !strcmp(v[i].name, v[i - 1].name) ? of[v[i - 1].unit] : v[i].unit;
	for (unsigned i = 0; i < u->n; i++) /* and its number */
		of[i] = of[i] == i ? (*n)++ : of[of[i]];
	free(v);
	return 0;
}

bool job_units__know(const struct job_units *u, enum quantity q)
{
	for (unsigned i = 0; i < u->n; i++)
		if (!isnan(job_units__at(u, i)->total[q]))
			return true;
	return false;
}

int job_matrix__of(struct matrix *m, const struct job_units *u, enum quantity q, double scale,
		   const struct time_grid *g, unsigned bins)
{
	double *v;

	*m = (struct matrix){0, bins, NULL};
	if (!job_units__know(u, q))
		return 0;
	m->v = v = malloc(((size_t)u->n * bins + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	m->units = u->n;
	for (unsigned i = 0; i < u->n; i++) {
		const double *from = job_unit__bins(job_units__at(u, i), q, g);

		for (unsigned k = 0; k < bins; k++)
			v[(size_t)i * bins + k] = from ? from[k] * scale : NAN;
	}
	return 0;
}

void job_matrix__free(struct matrix *m)
{
	free((double *)m->v);
	*m = (struct matrix){0};
}
