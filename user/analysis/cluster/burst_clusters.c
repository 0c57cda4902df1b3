// SPDX-License-Identifier: GPL-2.0-or-later
/* Clusters of bursts: the steps from columns to labels. */
#include "analysis/cluster/burst_clusters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/order.h"
#include "base/cleanup.h"
#include "model/bursts.h"

#define SEED 1 /* of the subset: the same bursts give the same clusters */

struct burst_columns burst_columns__of(const struct model_bursts *b)
{
	const bool whole = b->n == b->all;

	return (struct burst_columns){.run = b->run,
				      .wall = b->wall,
				      .on_cpu = b->on_cpu,
				      .gap = b->gap,
				      .thread = b->thread,
				      .n = b->n,
				      .nthreads = b->nthreads,
				      .least = whole ? NULL : b->least,
				      .most = whole ? NULL : b->most};
}

static double feature_of(const struct burst_times *b, enum burst_feature f)
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

/* ---- the table: sums, shares and medians */

void burst_sums__add(struct burst_sums *s, const struct burst_times *b)
{
	if (!s->run.n)
		s->run = MOMENTS_NONE;
	moments__add(&s->run, b->run);
	s->on_cpu += b->on_cpu;
	s->wall += b->wall;
}

void burst_clusters__settle(struct burst_clusters *c, const struct burst_sums *sums)
{
	double all = 0;

	for (unsigned l = 0; l <= c->k; l++)
		all += sums[l].run.n ? sums[l].run.sum.hi : 0;
	for (unsigned l = 0; l <= c->k; l++) {
		const struct burst_sums *s = &sums[l];
		const struct moments none = MOMENTS_NONE, *m = s->run.n ? &s->run : &none;
		struct burst_cluster *to = &c->clusters[l];

		to->n = m->n;
		to->share = all > 0 ? m->sum.hi / all : NAN;
		to->spread = moments__std(m) / moments__mean(m);
		to->on_cpu = s->wall > 0 ? s->on_cpu / s->wall : NAN;
		to->used = s->on_cpu > 0 ? m->sum.hi / s->on_cpu : NAN;
		to->low_run = m->min;
		to->high_run = m->max;
	}
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), order__doubles);
	return !n ? NAN : n % 2 ? v[n / 2] : v[n / 2 - 1] / 2 + v[n / 2] / 2;
}

static void fill_medians(struct burst_cluster *c, const struct burst_columns *b, const size_t *at,
			 const size_t *order, size_t n, double *room)
{
	size_t gaps = 0;

	for (size_t i = 0; i < n; i++)
		room[i] = b->run[at[order[i]]];
	c->run = median(room, n);
	for (size_t i = 0; i < n; i++)
		if (!isnan(b->gap[at[order[i]]]))
			room[gaps++] = b->gap[at[order[i]]];
	c->gap = median(room, gaps);
}

enum analysis_status burst_clusters__tabulate(struct burst_clusters *c,
					      const struct burst_columns *b, const size_t *at,
					      const unsigned *labels, size_t n)
{
	_cleanup_free_ struct burst_sums *sums = calloc((size_t)c->k + 1, sizeof(*sums));
	_cleanup_free_ size_t *start = malloc(((size_t)c->k + 2) * sizeof(*start));
	_cleanup_free_ size_t *order = malloc((n + 1) * sizeof(*order));
	_cleanup_free_ double *room = malloc((n + 1) * sizeof(*room));

	c->clusters = calloc((size_t)c->k + 1, sizeof(*c->clusters));
	if (!sums || !start || !order || !room || !c->clusters)
		return ANALYSIS_NO_MEMORY;
	for (size_t i = 0; i < n; i++)
		burst_sums__add(&sums[labels[i]],
				&(struct burst_times){b->run[at[i]], b->wall[at[i]],
						      b->on_cpu[at[i]], b->gap[at[i]]});
	burst_clusters__settle(c, sums);
	order__by_number(labels, n, c->k, order, start);
	for (unsigned l = 0; l <= c->k; l++)
		fill_medians(&c->clusters[l], b, at, order + start[l], start[l + 1] - start[l],
			     room);
	return ANALYSIS_OK;
}

/* ---- from columns to labels */

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
			c->v[i * dims + d] = feature_of(&t, p->q->by[d]);
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
		s = burst_clusters__tabulate(c, p->b, p->at, p->labels, p->n);
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

/* ---- bursts that were not kept are read once more: each is in the cluster of its nearest one */

#define BLOCK (1u << 18) /* bursts that are classified at once */

struct labelling {
	const struct burst_clusters *c;
	void (*fn)(void *arg, const struct burst_row *row, unsigned label);
	void *arg;
	size_t n; /* so far; of those that were not kept: in the block */
	struct burst_row *rows;
	double *v;
	unsigned *labels;
};

static int put_kept(void *arg, const struct burst_row *row)
{
	struct labelling *l = arg;

	l->fn(l->arg, row, l->c->labels[l->n++]);
	return 0;
}

static int end_block(struct labelling *l)
{
	enum analysis_status s = burst_model__classify(&l->c->model, l->v, l->n, l->labels);

	for (size_t i = 0; s == ANALYSIS_OK && i < l->n; i++)
		l->fn(l->arg, &l->rows[i], l->labels[i]);
	l->n = 0;
	return s == ANALYSIS_OK ? 0 : -ENOMEM;
}

static int put_read(void *arg, const struct burst_row *row)
{
	struct labelling *l = arg;
	const struct burst_model *m = &l->c->model;
	const struct burst_times t = {row->run, row->wall, row->on_cpu, row->gap};

	for (unsigned d = 0; d < m->dims; d++)
		l->v[l->n * m->dims + d] = feature_of(&t, m->by[d]);
	l->rows[l->n++] = *row;
	return l->n == BLOCK ? end_block(l) : 0;
}

int burst_clusters__each(const struct burst_clusters *c, const struct model_bursts *b,
			 void (*fn)(void *arg, const struct burst_row *row, unsigned label),
			 void *arg)
{
	struct labelling l = {.c = c, .fn = fn, .arg = arg};
	_cleanup_free_ struct burst_row *rows = NULL;
	_cleanup_free_ double *v = NULL;
	_cleanup_free_ unsigned *labels = NULL;
	int err;

	if (b->n == b->all)
		return model_bursts__each(b, put_kept, &l);
	rows = l.rows = malloc(BLOCK * sizeof(*rows));
	v = l.v = malloc(BLOCK * c->model.dims * sizeof(*v));
	labels = l.labels = malloc(BLOCK * sizeof(*labels));
	if (!rows || !v || !labels)
		return -ENOMEM;
	err = model_bursts__each(b, put_read, &l);
	return err ? err : end_block(&l);
}

struct settling {
	struct burst_sums *sums;
	size_t unused;
};

static void add_burst(void *arg, const struct burst_row *row, unsigned label)
{
	struct settling *s = arg;

	if (label == CLUSTER_UNUSED)
		s->unused++;
	else
		burst_sums__add(&s->sums[label],
				&(struct burst_times){row->run, row->wall, row->on_cpu, row->gap});
}

/* Where bursts were not kept, what adds up in the table becomes that of all. 0, or as
 * model_bursts__each(). */
static int settle_all(struct burst_clusters *c, const struct model_bursts *b)
{
	struct settling s = {0};
	int err;

	if (b->n == b->all || c->verdict.status != ANALYSIS_OK)
		return 0;
	s.sums = calloc((size_t)c->k + 1, sizeof(*s.sums));
	err = s.sums ? burst_clusters__each(c, b, add_burst, &s) : -ENOMEM;
	if (!err) {
		c->unused = s.unused;
		burst_clusters__settle(c, s.sums);
	}
	free(s.sums);
	return err;
}

int burst_clusters__of_file(struct burst_clusters *c, const struct model_bursts *b,
			    const struct cluster_request *q)
{
	const struct burst_columns columns = burst_columns__of(b);

	if (burst_clusters__of(c, &columns, q) == ANALYSIS_NO_MEMORY)
		return -ENOMEM;
	return settle_all(c, b);
}

void burst_clusters__free(struct burst_clusters *c)
{
	free(c->clusters);
	free(c->labels);
	free(c->v);
	burst_model__free(&c->model);
}
