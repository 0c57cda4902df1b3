// SPDX-License-Identifier: GPL-2.0-only
/* Clusters of bursts: the steps from columns to labels. */
#include "analysis/cluster/burst_clusters.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define SEED 1 /* of the subset: the same bursts give the same clusters */

double burst_times__feature(const struct burst_times *b, enum burst_feature f)
{
	switch (f) {
	case FEATURE_RUN:
		return b->run;
	case FEATURE_GAP:
		return b->gap > BURST_NO_GAP ? b->gap : BURST_NO_GAP;
	case FEATURE_DURATION:
		return b->wall;
	default:
		return b->wall > 0 ? b->on_cpu / b->wall : NAN;
	}
}

/* The bursts that are used, one after the other. */
struct points {
	const struct burst_columns *b;
	const struct cluster_request *q;
	size_t *at; /* of burst */
	double *v;  /* scaled */
	unsigned *labels;
	bool *take; /* it is of the subset */
	size_t n;
};

static enum analysis_status verdict(struct burst_clusters *c, enum analysis_status s,
				    const char *reason)
{
	c->verdict = (struct analysis_verdict){s, reason};
	return s;
}

/* Raw features of all, and which are used. */
static enum analysis_status choose_subset(struct burst_clusters *c, struct points *p)
{
	const unsigned dims = p->q->dims;
	const struct burst_columns *b = p->b;
	_cleanup_free_ bool *used = calloc(b->n + 1, sizeof(*used));

	if (!used)
		return ANALYSIS_NO_MEMORY;
	for (size_t i = 0; i < b->n; i++) {
		const struct burst_times t = {b->run[i], b->wall[i], b->on_cpu[i], b->gap[i]};

		for (unsigned d = 0; d < dims; d++)
			c->v[i * dims + d] = burst_times__feature(&t, p->q->by[d]);
	}
	burst_model__filter(&c->model, c->v, b->n, used);
	for (size_t i = 0; i < b->n; i++) {
		if (used[i])
			p->at[p->n++] = i;
	}
	for (size_t i = 0; i < p->n; i++)
		memcpy(&p->v[i * dims], &c->v[p->at[i] * dims], dims * sizeof(double));
	c->used = p->n;
	c->unused = b->n - p->n;
	return ANALYSIS_OK;
}

static enum analysis_status scale(struct burst_clusters *c, struct points *p)
{
	struct burst_model *m = &c->model;
	enum analysis_status s = burst_model__range(m, p->v, p->n);

	for (unsigned d = 0; p->b->least && d < m->dims; d++)
		if (m->by[d] != FEATURE_SHARE)
			burst_model__widen(m, d, p->b->least[m->by[d]], p->b->most[m->by[d]]);
	if (s == ANALYSIS_OK)
		burst_model__scale(m, p->v, p->n, p->v);
	return s;
}

/* The subset's points become the model's, in the order of the bursts. */
static enum analysis_status take_subset(struct burst_clusters *c, struct points *p)
{
	static const struct cluster_subset all = {SIZE_MAX, 0, 1, SIZE_MAX};
	const struct cluster_subset how = CLUSTER_SUBSET;
	_cleanup_free_ unsigned *thread = malloc((p->n + 1) * sizeof(*thread));
	_cleanup_free_ uint64_t *key = malloc((p->n + 1) * sizeof(*key));
	struct burst_model *m = &c->model;
	enum analysis_status s;
	size_t subset, n = 0;

	if (!thread || !key)
		return ANALYSIS_NO_MEMORY;
	for (size_t i = 0; i < p->n; i++) {
		thread[i] = p->b->thread[p->at[i]];
		key[i] = sample_item__of(SEED, 0, p->at[i]).key;
	}
	s = cluster__subset(thread, key, p->n, p->b->nthreads, SEED, p->q->whole ? &all : &how,
			    p->take, &subset);
	if (s != ANALYSIS_OK)
		return s;
	m->n = subset;
	m->points = malloc((m->n + 1) * m->dims * sizeof(double));
	for (size_t i = 0; m->points && i < p->n; i++)
		if (p->take[i])
			memcpy(&m->points[n++ * m->dims], &p->v[i * m->dims],
			       m->dims * sizeof(double));
	return m->points ? ANALYSIS_OK : ANALYSIS_NO_MEMORY;
}

static enum analysis_status label(struct burst_clusters *c, struct points *p)
{
	struct burst_model *m = &c->model;
	enum analysis_status s = take_subset(c, p);

	m->eps = p->q->eps;
	if (s == ANALYSIS_OK)
		s = burst_model__find(m);
	if (s == ANALYSIS_OK && m->n < p->n)
		s = cluster__classify(m->points, m->labels, m->n, p->v, p->n, m->dims, m->eps,
				      p->labels);
	else if (s == ANALYSIS_OK)
		memcpy(p->labels, m->labels, p->n * sizeof(*p->labels));
	return s;
}

/* Clusters are numbered by their run time, in the model too. */
static enum analysis_status number(struct burst_clusters *c, const struct points *p)
{
	_cleanup_free_ double *run = malloc((p->n + 1) * sizeof(*run));
	enum analysis_status s;
	size_t n = 0;

	if (!run)
		return ANALYSIS_NO_MEMORY;
	for (size_t i = 0; i < p->n; i++)
		run[i] = p->b->run[p->at[i]];
	c->k = c->model.k;
	s = cluster__relabel(p->labels, run, p->n, c->k);
	for (size_t i = 0; s == ANALYSIS_OK && i < p->n; i++) {
		c->labels[p->at[i]] = p->labels[i];
		if (p->take[i])
			c->model.labels[n++] = p->labels[i];
	}
	return s;
}

static enum analysis_status find_clusters(struct burst_clusters *c, struct points *p)
{
	enum analysis_status s = choose_subset(c, p);
	struct burst_model *m = &c->model;

	if (s != ANALYSIS_OK)
		return verdict(c, s, "");
	m->min_pts = p->q->min_pts	  ? p->q->min_pts
		     : p->n < CLUSTER_FEW ? CLUSTER_FEW_MIN_PTS
					  : CLUSTER_MIN_PTS;
	if (p->n < m->min_pts)
		return verdict(c, ANALYSIS_INSUFFICIENT, "too_few_bursts");
	s = scale(c, p);
	if (s == ANALYSIS_OK)
		s = label(c, p);
	if (s == ANALYSIS_OK)
		s = number(c, p);
	if (s == ANALYSIS_OK)
		s = burst_table__make(c, p->b, p->at, p->labels, p->n);
	return verdict(c, s, s == ANALYSIS_OK ? "" : "bursts_do_not_differ");
}

enum analysis_status burst_clusters__of(struct burst_clusters *c, const struct burst_columns *b,
					const struct cluster_request *q)
{
	struct points p = {.b = b, .q = q};
	_cleanup_free_ size_t *at = malloc((b->n + 1) * sizeof(*at));
	_cleanup_free_ double *v = malloc((b->n + 1) * q->dims * sizeof(*v));
	_cleanup_free_ unsigned *labels = malloc((b->n + 1) * sizeof(*labels));
	_cleanup_free_ bool *take = malloc((b->n + 1) * sizeof(*take));

	*c = (struct burst_clusters){.n = b->n, .model = {.dims = q->dims, .eps = NAN}};
	memcpy(c->model.by, q->by, sizeof(q->by));
	c->v = malloc((b->n + 1) * q->dims * sizeof(*c->v));
	c->labels = malloc((b->n + 1) * sizeof(*c->labels));
	if (!at || !v || !labels || !take || !c->v || !c->labels)
		return verdict(c, ANALYSIS_NO_MEMORY, "");
	memset(c->labels, 0xff, b->n * sizeof(*c->labels));
	p.at = at;
	p.v = v;
	p.labels = labels;
	p.take = take;
	return find_clusters(c, &p);
}

void burst_clusters__free(struct burst_clusters *c)
{
	free(c->clusters);
	free(c->labels);
	free(c->v);
	burst_model__free(&c->model);
}
