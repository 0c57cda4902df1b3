// SPDX-License-Identifier: GPL-2.0-only
/* Clusters: how alike the sequences of the tasks are. */
#include "analysis/cluster/cluster.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"

/* A burst, named by its position in its task and by its cluster. */
struct position {
	size_t at;
	unsigned label;
};

static int compare_positions(const void *a, const void *b)
{
	const struct position *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->label > y->label) - (x->label < y->label);
}

/* Counts the bursts of the commonest cluster among sorted bursts p[0..n) of one position. */
static size_t count_mode(const struct position *p, size_t n)
{
	size_t mode = 0, run = 0;

	for (size_t i = 0; i < n; i++) {
		run = i && p[i].label == p[i - 1].label ? run + 1 : 1;
		mode = run > mode ? run : mode;
	}
	return mode;
}

enum analysis_status cluster__spmdness(const unsigned *labels, const unsigned *task, size_t n,
				       unsigned ntasks, double *spmdness)
{
	_cleanup_free_ size_t *count = calloc((size_t)ntasks + 1, sizeof(*count));
	_cleanup_free_ struct position *p = calloc(n + 1, sizeof(*p));
	size_t end, npositions = 0;
	double sum = 0;

	*spmdness = NAN;
	if (!count || !p)
		return ANALYSIS_NO_MEMORY;
	for (size_t i = 0; i < n; i++) {
		if (task[i] >= ntasks)
			return ANALYSIS_UNSUITABLE;
		p[i] = (struct position){count[task[i]]++, labels[i]};
	}
	if (!n)
		return ANALYSIS_INSUFFICIENT;
	qsort(p, n, sizeof(*p), compare_positions);
	for (size_t i = 0; i < n; i = end, npositions++) {
		for (end = i; end < n && p[end].at == p[i].at;)
			end++;
		sum += (double)count_mode(p + i, end - i) / (double)(end - i);
	}
	*spmdness = sum / (double)npositions;
	return ANALYSIS_OK;
}
