// SPDX-License-Identifier: GPL-2.0-only
/* The table of clusters of bursts: sums, shares and medians. */
#include <stdlib.h>

#include "analysis/cluster/burst_clusters.h"
#include "analysis/order.h"
#include "base/cleanup.h"

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

enum analysis_status burst_table__make(struct burst_clusters *c, const struct burst_columns *b,
				       const size_t *at, const unsigned *labels, size_t n)
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
