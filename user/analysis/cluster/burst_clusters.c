// SPDX-License-Identifier: GPL-2.0-only
/* Clusters of bursts: the steps from columns to a table. */
#include "analysis/cluster/burst_clusters.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/order.h"
#include "analysis/reduce.h"
#include "base/cleanup.h"

#define SEED 1 /* of the subset: the same bursts give the same clusters */

const struct burst_feature_info burst_features[BURST_FEATURES] = {
	[FEATURE_RUN] = {"run", "run time", true},
	[FEATURE_GAP] = {"gap", "time blocked before", true},
	[FEATURE_DURATION] = {"duration", "time from begin to end", true},
	[FEATURE_SHARE] = {"share", "part of that time on a CPU", false},
};

/* A thread's first burst has no gap before it: such bursts are like each other, and at a distance
 * from all that have one. */
#define NO_GAP	     1e-9
#define NO_GAP_PLACE (-0.2)

double burst_clusters__feature(const struct burst_columns *b, size_t i, enum burst_feature f)
{
	switch (f) {
	case FEATURE_RUN:
		return b->run[i];
	case FEATURE_GAP:
		return b->gap[i] > NO_GAP ? b->gap[i] : NO_GAP;
	case FEATURE_DURATION:
		return b->wall[i];
	default:
		return b->wall[i] > 0 ? b->on_cpu[i] / b->wall[i] : NAN;
	}
}

/* The bursts that are used, one after the other. */
struct points {
	const struct burst_columns *b;
	const struct cluster_request *q;
	struct cluster_feature features[CLUSTER_MAX_DIMS];
	size_t *at; /* of burst */
	double *v;  /* normalised */
	unsigned *labels;
	size_t n;
};

static enum analysis_status verdict(struct burst_clusters *c, enum analysis_status s,
				    const char *reason)
{
	c->verdict = (struct analysis_verdict){s, reason};
	return s;
}

static void set_features(struct points *p)
{
	for (unsigned d = 0; d < p->q->dims; d++)
		p->features[d] = burst_features[p->q->by[d]].log ? CLUSTER_LOG : CLUSTER_LINEAR;
}

/* Raw features of all, and which are used. */
static enum analysis_status choose(struct burst_clusters *c, struct points *p)
{
	const unsigned dims = p->q->dims;
	_cleanup_free_ bool *used = calloc(p->b->n + 1, sizeof(*used));

	if (!used)
		return ANALYSIS_NO_MEMORY;
	for (size_t i = 0; i < p->b->n; i++)
		for (unsigned d = 0; d < dims; d++)
			c->v[i * dims + d] = burst_clusters__feature(p->b, i, p->q->by[d]);
	cluster__filter(c->v, p->b->n, dims, p->features, NULL, 0, used);
	for (size_t i = 0; i < p->b->n; i++) {
		if (used[i])
			p->at[p->n++] = i;
		else
			c->unused_run += p->b->run[i];
	}
	for (size_t i = 0; i < p->n; i++)
		memcpy(&p->v[i * dims], &c->v[p->at[i] * dims], dims * sizeof(double));
	c->used = p->n;
	return ANALYSIS_OK;
}

/* cluster__range() of the gaps that there are. */
static void range_gaps(const struct points *p, unsigned d, double *lo, double *hi)
{
	*lo = *hi = NAN;
	for (size_t i = 0; i < p->n; i++) {
		double v = p->v[i * p->q->dims + d];

		if (!(v > NO_GAP))
			continue;
		*lo = fmin(*lo, log10(v));
		*hi = fmax(*hi, log10(v));
	}
	if (isnan(*lo))
		*lo = *hi = 0;
}

static void place_gaps(const struct points *p, unsigned d)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i * p->q->dims + d] < 0)
			p->v[i * p->q->dims + d] = NO_GAP_PLACE;
}

/* Times that are all within a factor of 10 are no further apart than they would be in a wider
 * range: else the noise of times that are all the same would be their features. */
#define LEAST_DECADES 1.0

/* What has a scale of its own keeps it. */
static enum analysis_status scale(struct points *p)
{
	double lo[CLUSTER_MAX_DIMS], hi[CLUSTER_MAX_DIMS];
	enum analysis_status s = cluster__range(p->v, p->n, p->q->dims, p->features, lo, hi);

	for (unsigned d = 0; d < p->q->dims; d++) {
		if (p->q->by[d] == FEATURE_GAP)
			range_gaps(p, d, &lo[d], &hi[d]);
		if (!p->features[d].log) {
			lo[d] = 0;
			hi[d] = 1;
		} else if (hi[d] - lo[d] < LEAST_DECADES) {
			hi[d] = lo[d] + LEAST_DECADES;
		}
	}
	if (s == ANALYSIS_OK)
		cluster__normalise(p->v, p->n, p->q->dims, p->features, lo, hi, p->v);
	for (unsigned d = 0; s == ANALYSIS_OK && d < p->q->dims; d++)
		if (p->q->by[d] == FEATURE_GAP)
			place_gaps(p, d);
	return s;
}

/* The subset's points, in the order of the bursts. */
static enum analysis_status take_subset(struct burst_clusters *c, const struct points *p,
					double **out)
{
	static const struct cluster_subset all = {SIZE_MAX, 0, 1, SIZE_MAX};
	const struct cluster_subset how = CLUSTER_SUBSET;
	_cleanup_free_ unsigned *thread = malloc((p->n + 1) * sizeof(*thread));
	_cleanup_free_ uint64_t *key = malloc((p->n + 1) * sizeof(*key));
	_cleanup_free_ bool *take = malloc((p->n + 1) * sizeof(*take));
	enum analysis_status s;
	size_t n = 0;

	if (!thread || !key || !take)
		return ANALYSIS_NO_MEMORY;
	for (size_t i = 0; i < p->n; i++) {
		thread[i] = p->b->thread[p->at[i]];
		key[i] = sample_item__of(SEED, 0, p->at[i]).key;
	}
	s = cluster__subset(thread, key, p->n, p->b->nthreads, SEED, p->q->whole ? &all : &how,
			    take, &c->subset);
	if (s != ANALYSIS_OK)
		return s;
	*out = malloc((c->subset + 1) * p->q->dims * sizeof(double));
	for (size_t i = 0; *out && i < p->n; i++)
		if (take[i])
			memcpy(&(*out)[n++ * p->q->dims], &p->v[i * p->q->dims],
			       p->q->dims * sizeof(double));
	return *out ? ANALYSIS_OK : ANALYSIS_NO_MEMORY;
}

static enum analysis_status measure_eps(struct burst_clusters *c, const struct points *p,
					const double *v)
{
	_cleanup_free_ double *kdist = calloc(c->subset + 1, sizeof(*kdist));
	struct cluster_kdist r;
	enum analysis_status s;

	if (!kdist)
		return ANALYSIS_NO_MEMORY;
	s = cluster__kdist(v, c->subset, p->q->dims, c->min_pts, kdist, &r);
	c->eps = r.eps;
	return s;
}

static enum analysis_status label(struct burst_clusters *c, const struct points *p)
{
	_cleanup_free_ double *v = NULL;
	_cleanup_free_ unsigned *of_subset = NULL;
	enum analysis_status s = take_subset(c, p, &v);

	c->eps = p->q->eps;
	if (s == ANALYSIS_OK && !(c->eps > 0))
		s = measure_eps(c, p, v);
	if (s != ANALYSIS_OK)
		return s;
	of_subset = calloc(c->subset + 1, sizeof(*of_subset));
	if (!of_subset)
		return ANALYSIS_NO_MEMORY;
	s = cluster__dbscan(v, c->subset, p->q->dims, c->eps, c->min_pts, of_subset, &c->k);
	if (s == ANALYSIS_OK && c->subset < p->n)
		s = cluster__classify(v, of_subset, c->subset, p->v, p->n, p->q->dims, c->eps,
				      p->labels);
	else
		memcpy(p->labels, of_subset, p->n * sizeof(*of_subset));
	return s;
}

/* ---- the table */

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), order__doubles);
	return !n ? NAN : n % 2 ? v[n / 2] : v[n / 2 - 1] / 2 + v[n / 2] / 2;
}

/* Room has as many values as there are bursts. */
static void fill_cluster(struct burst_cluster *c, const struct points *p, unsigned label,
			 double *room, double all_run)
{
	double on_cpu = 0, wall = 0, run = 0;
	struct moments m = MOMENTS_NONE;
	size_t gaps = 0;

	for (size_t i = 0; i < p->n; i++) {
		size_t at = p->at[i];

		if (p->labels[i] != label)
			continue;
		room[c->n++] = p->b->run[at];
		moments__add(&m, p->b->run[at]);
		run += p->b->run[at];
		on_cpu += p->b->on_cpu[at];
		wall += p->b->wall[at];
	}
	c->run = median(room, c->n);
	c->low_run = m.min;
	c->high_run = m.max;
	c->spread = moments__std(&m) / m.mean;
	c->share = all_run > 0 ? run / all_run : NAN;
	c->on_cpu = wall > 0 ? on_cpu / wall : NAN;
	c->used = on_cpu > 0 ? run / on_cpu : NAN;
	for (size_t i = 0; i < p->n; i++)
		if (p->labels[i] == label && !isnan(p->b->gap[p->at[i]]))
			room[gaps++] = p->b->gap[p->at[i]];
	c->gap = median(room, gaps);
}

static enum analysis_status make_table(struct burst_clusters *c, const struct points *p)
{
	_cleanup_free_ double *room = malloc((p->n + 1) * sizeof(*room));
	double all = 0;
	enum analysis_status s;

	if (!room)
		return ANALYSIS_NO_MEMORY;
	for (size_t i = 0; i < p->n; i++) {
		room[i] = p->b->run[p->at[i]];
		all += room[i];
	}
	s = cluster__relabel(p->labels, room, p->n, c->k);
	c->clusters = calloc((size_t)c->k + 1, sizeof(*c->clusters));
	if (s != ANALYSIS_OK || !c->clusters)
		return s != ANALYSIS_OK ? s : ANALYSIS_NO_MEMORY;
	for (unsigned l = 0; l <= c->k; l++)
		fill_cluster(&c->clusters[l], p, l, room, all);
	for (size_t i = 0; i < p->n; i++)
		c->labels[p->at[i]] = p->labels[i];
	return ANALYSIS_OK;
}

static enum analysis_status find(struct burst_clusters *c, struct points *p)
{
	enum analysis_status s = choose(c, p);

	if (s != ANALYSIS_OK)
		return verdict(c, s, "");
	c->min_pts = p->q->min_pts	  ? p->q->min_pts
		     : p->n < CLUSTER_FEW ? CLUSTER_FEW_MIN_PTS
					  : CLUSTER_MIN_PTS;
	if (p->n < c->min_pts)
		return verdict(c, ANALYSIS_INSUFFICIENT, "too_few_bursts");
	s = scale(p);
	if (s == ANALYSIS_OK)
		s = label(c, p);
	if (s == ANALYSIS_OK)
		s = make_table(c, p);
	return verdict(c, s, s == ANALYSIS_OK ? "" : "bursts_do_not_differ");
}

enum analysis_status burst_clusters__of(struct burst_clusters *c, const struct burst_columns *b,
					const struct cluster_request *q)
{
	struct points p = {.b = b, .q = q};
	_cleanup_free_ size_t *at = malloc((b->n + 1) * sizeof(*at));
	_cleanup_free_ double *v = malloc((b->n + 1) * q->dims * sizeof(*v));
	_cleanup_free_ unsigned *labels = malloc((b->n + 1) * sizeof(*labels));

	memset(c, 0, sizeof(*c));
	c->n = b->n;
	c->eps = NAN;
	c->v = malloc((b->n + 1) * q->dims * sizeof(*c->v));
	c->labels = malloc((b->n + 1) * sizeof(*c->labels));
	if (!at || !v || !labels || !c->v || !c->labels)
		return verdict(c, ANALYSIS_NO_MEMORY, "");
	memset(c->labels, 0xff, b->n * sizeof(*c->labels));
	p.at = at;
	p.v = v;
	p.labels = labels;
	set_features(&p);
	return find(c, &p);
}

void burst_clusters__free(struct burst_clusters *c)
{
	free(c->clusters);
	free(c->labels);
	free(c->v);
}
