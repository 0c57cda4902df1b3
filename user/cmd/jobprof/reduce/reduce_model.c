/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes clusters of a sample of bursts, and applies them to other bursts. */
#include "cmd/jobprof/reduce/reduce_model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

const char *const model_features[MODEL_DIMS] = {"RunTime", "Gap"};

static const struct cluster_feature features[MODEL_DIMS] = {{true, 1, -INFINITY, INFINITY},
							    {true, 1, -INFINITY, INFINITY}};

void reduce_model__free(struct reduce_model *m)
{
	free(m->points);
	free(m->labels);
	*m = (struct reduce_model){0};
}

void reduce_model__column(char *name, size_t size, unsigned label, unsigned feature)
{
	snprintf(name, size, "%u/%s", label, model_features[feature]);
}

static int column_of(const struct reduction *r, const char *name)
{
	for (unsigned i = 0; i < r->ncolumns; i++)
		if (!strcmp(r->columns[i]->name, name))
			return (int)i;
	return -1;
}

/* Moves the points that have all features to the front of v. Returns how many. */
static size_t keep_used(double *v, size_t n)
{
	_cleanup_free_ bool *used = malloc(n + 1);
	size_t kept = 0;

	if (!used)
		return 0;
	cluster__filter(v, n, MODEL_DIMS, features, NULL, 0, used);
	for (size_t i = 0; i < n; i++)
		if (used[i])
			memmove(v + MODEL_DIMS * kept++, v + MODEL_DIMS * i,
				MODEL_DIMS * sizeof(*v));
	return kept;
}

/* The raw features of the sample; NULL: a column is not there. */
static double *sample_of(const struct reduction *r, size_t *n)
{
	double *v = calloc(r->nitems + 1, MODEL_DIMS * sizeof(*v));
	int at[MODEL_DIMS];

	for (unsigned d = 0; d < MODEL_DIMS; d++)
		at[d] = column_of(r, model_features[d]);
	for (unsigned i = 0; v && i < r->nitems; i++)
		for (unsigned d = 0; d < MODEL_DIMS; d++)
			v[MODEL_DIMS * i + d] = at[d] < 0 ? NAN : r->items[i].values[at[d]];
	*n = v ? keep_used(v, r->nitems) : 0;
	return v;
}

/* The extremes of all bursts count, not those of the sample, where they have a logarithm. */
static void widen(struct reduce_model *m, const struct reduction *r)
{
	for (unsigned d = 0; d < MODEL_DIMS; d++) {
		const struct moments *all = &r->columns[column_of(r, model_features[d])]->moments;

		m->lo[d] = all->min > 0 ? log10(all->min) : m->lo[d];
		m->hi[d] = fmax(m->hi[d], log10(all->max));
	}
}

/* DBSCAN over the normalised points. */
static enum analysis_status find_clusters(struct reduce_model *m)
{
	_cleanup_free_ double *kdist = malloc((m->n + 1) * sizeof(*kdist));
	struct cluster_kdist knee;
	enum analysis_status status =
		kdist ? cluster__kdist(m->points, m->n, MODEL_DIMS, m->min_pts, kdist, &knee)
		      : ANALYSIS_NO_MEMORY;

	if (status == ANALYSIS_OK) {
		m->eps = knee.eps;
		status = cluster__dbscan(m->points, m->n, MODEL_DIMS, m->eps, m->min_pts, m->labels,
					 &m->k);
	}
	return status;
}

/* The clusters with the most run time come first, and too many are none. */
static enum analysis_status name_clusters(struct reduce_model *m, const double *v)
{
	_cleanup_free_ double *run = malloc((m->n + 1) * sizeof(*run));
	enum analysis_status status = run ? ANALYSIS_OK : ANALYSIS_NO_MEMORY;

	for (size_t i = 0; run && i < m->n; i++)
		run[i] = v[MODEL_DIMS * i];
	if (run)
		status = cluster__relabel(m->labels, run, m->n, m->k);
	for (size_t i = 0; i < m->n; i++)
		m->labels[i] = m->labels[i] > MODEL_CLUSTERS ? 0 : m->labels[i];
	m->k = m->k > MODEL_CLUSTERS ? MODEL_CLUSTERS : m->k;
	return status;
}

enum analysis_status reduce_model__of(struct reduce_model *m, const struct reduction *r)
{
	size_t n = 0;
	_cleanup_free_ double *v = sample_of(r, &n);
	enum analysis_status status;

	*m = (struct reduce_model){.n = n, .eps = CLUSTER_EPS};
	m->min_pts = n < CLUSTER_FEW ? CLUSTER_FEW_MIN_PTS : CLUSTER_MIN_PTS;
	m->points = malloc((n + 1) * MODEL_DIMS * sizeof(*m->points));
	m->labels = calloc(n + 1, sizeof(*m->labels));
	if (!v || !m->points || !m->labels)
		return ANALYSIS_NO_MEMORY;
	status = cluster__range(v, n, MODEL_DIMS, features, m->lo, m->hi);
	if (status != ANALYSIS_OK)
		return status;
	widen(m, r);
	cluster__normalise(v, n, MODEL_DIMS, features, m->lo, m->hi, m->points);
	status = find_clusters(m);
	return status == ANALYSIS_OK ? name_clusters(m, v) : status;
}

/* ---- as a message */

struct numbers {
	double lo[MODEL_DIMS], hi[MODEL_DIMS], eps;
	uint64_t min_pts, n, k;
};

void reduce_model__put(struct message *to, const struct reduce_model *m)
{
	struct numbers x = {.eps = m->eps, .min_pts = m->min_pts, .n = m->n, .k = m->k};

	memcpy(x.lo, m->lo, sizeof(x.lo));
	memcpy(x.hi, m->hi, sizeof(x.hi));
	message__put(to, &x, sizeof(x));
	message__put(to, m->points, m->n * MODEL_DIMS * sizeof(*m->points));
	message__put(to, m->labels, m->n * sizeof(*m->labels));
}

int reduce_model__take(struct message *from, struct reduce_model *m)
{
	const struct numbers *x = message__take(from, sizeof(*x));
	const double *points;
	const unsigned *labels;

	*m = (struct reduce_model){0};
	if (!x || x->n > REDUCTION_K_MAX || x->k > x->n)
		return -EBADMSG;
	*m = (struct reduce_model){.eps = x->eps, .min_pts = x->min_pts, .k = (unsigned)x->k};
	memcpy(m->lo, x->lo, sizeof(m->lo));
	memcpy(m->hi, x->hi, sizeof(m->hi));
	points = message__take(from, x->n * MODEL_DIMS * sizeof(*points));
	labels = message__take(from, x->n * sizeof(*labels));
	if (!points || !labels)
		return -EBADMSG;
	m->points = malloc((x->n + 1) * MODEL_DIMS * sizeof(*points));
	m->labels = malloc((x->n + 1) * sizeof(*labels));
	if (!m->points || !m->labels)
		return -ENOMEM;
	m->n = x->n;
	memcpy(m->points, points, m->n * MODEL_DIMS * sizeof(*points));
	memcpy(m->labels, labels, m->n * sizeof(*labels));
	for (uint64_t i = 0; i < m->n; i++)
		if (m->labels[i] > m->k)
			return -EBADMSG;
	return 0;
}

/* ---- all bursts */

enum analysis_status reduce_model__classify(const struct reduce_model *m, const double *v, size_t n,
					    unsigned *labels)
{
	_cleanup_free_ bool *used = malloc(n + 1);
	_cleanup_free_ double *points = malloc((n + 1) * MODEL_DIMS * sizeof(*points));
	_cleanup_free_ unsigned *found = malloc((n + 1) * sizeof(*found));
	enum analysis_status status;
	size_t kept = 0;

	if (!used || !points || !found)
		return ANALYSIS_NO_MEMORY;
	cluster__filter(v, n, MODEL_DIMS, features, NULL, 0, used);
	for (size_t i = 0; i < n; i++)
		if (used[i])
			cluster__normalise(v + MODEL_DIMS * i, 1, MODEL_DIMS, features, m->lo,
					   m->hi, points + MODEL_DIMS * kept++);
	status = cluster__classify(m->points, m->labels, m->n, points, kept, MODEL_DIMS, m->eps,
				   found);
	kept = 0;
	for (size_t i = 0; status == ANALYSIS_OK && i < n; i++)
		labels[i] = used[i] ? found[kept++] : MODEL_UNUSED;
	return status;
}
