// SPDX-License-Identifier: GPL-2.0-only
/* Puts bursts and executions of regions together, by node, thread and time. */
#include "analysis/cluster/cluster_regions.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/model.h"
#include "model/points.h"

#define PART_INSIDE 0.95 /* of the time from its begin to its end */

/* A thread was in a region, at times of bursts. Those of one thread and region do not overlap. */
struct execution {
	unsigned node; /* the first place of bursts there */
	double thread;
	unsigned region;
	double from, to;
};

struct labelling {
	const struct model_bursts *b;
	struct points p;
	struct execution *v;
	size_t n;
	unsigned *nodes; /* of places: the first place on the same node in the same step */
	unsigned *rank;	 /* of the regions: 1 has most run time */
	struct burst_sums *sums;
};

/* Of the same thread and region: by time. */
static int compare(const void *a, const void *b)
{
	const struct execution *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->region != y->region)
		return x->region < y->region ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

/* A region within itself counts once. */
static int order_executions(struct labelling *l)
{
	size_t n = 0, known = 0;

	l->v = malloc(l->p.nregions * sizeof(*l->v));
	if (!l->v)
		return -ENOMEM;
	for (size_t i = 0; i < l->p.nregions; i++) {
		const struct region_row *row = &l->p.regions[i];
		double to = (row->end_ns - l->b->start_ns) / 1e9 - l->b->first_s;

		if (isnan(to))
			continue;
		l->v[known++] =
			(struct execution){row->thread.node, row->thread.thread, row->region,
					   to - (row->end_s - row->begin_s), to};
	}
	qsort(l->v, known, sizeof(*l->v), compare);
	for (size_t i = 0; i < known; i++) {
		struct execution *e = &l->v[i], *last = n ? &l->v[n - 1] : NULL;

		if (last && last->node == e->node && last->thread == e->thread &&
		    last->region == e->region && e->from < last->to)
			last->to = fmax(last->to, e->to);
		else
			l->v[n++] = *e;
	}
	l->n = n;
	return 0;
}

/* The position of the first execution of that thread and region that begins at that time or later.
 */
static size_t find_execution(const struct labelling *l, const struct execution *key)
{
	size_t from = 0, to = l->n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (compare(&l->v[middle], key) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* How much of a burst lies in executions of a region; *length is that of these. */
static double inside(const struct labelling *l, const struct execution *burst, double *length)
{
	size_t i = find_execution(l, burst);
	double sum = 0;

	for (i -= i > 0; i < l->n; i++) { /* the one before may go on */
		const struct execution *e = &l->v[i];
		double part = fmin(e->to, burst->to) - fmax(e->from, burst->from);
		bool same = e->node == burst->node && e->thread == burst->thread &&
			    e->region == burst->region;

		if (same && e->from >= burst->to)
			break;
		if (!same && compare(e, burst) > 0)
			break;
		if (!same || part <= 0)
			continue;
		sum += part;
		*length += e->to - e->from;
	}
	return sum;
}

/* The number of the region from 1; 0: none. */
static unsigned region_of(const struct labelling *l, const struct burst_row *row)
{
	double least = INFINITY;
	unsigned region = 0;

	for (unsigned k = 0; k < l->p.nnames; k++) {
		struct execution burst = {l->nodes[row->place], l->b->tids[row->thread], k,
					  row->end - row->wall, row->end};
		double length = 0, part = inside(l, &burst, &length);

		if (part < PART_INSIDE * row->wall || length <= 0 || length >= least)
			continue;
		least = length;
		region = k + 1;
	}
	return region;
}

static int add_burst(void *arg, const struct burst_row *row)
{
	struct labelling *l = arg;
	unsigned label = region_of(l, row);

	burst_sums__add(&l->sums[label],
			&(struct burst_times){row->run, row->wall, row->on_cpu, row->gap});
	return 0;
}

static double run_of(const struct burst_sums *s)
{
	return s->run.n ? s->run.sum.hi : 0;
}

/* Takes the names, most run time first, and brings the sums in their order. */
static int order_regions(struct labelling *l, struct cluster_regions *r)
{
	unsigned n = l->p.nnames;
	struct burst_sums *sums = calloc((size_t)n + 1, sizeof(*sums));

	r->names = calloc((size_t)n + 1, sizeof(*r->names));
	l->rank = calloc((size_t)n + 1, sizeof(*l->rank));
	if (!sums || !r->names || !l->rank) {
		free(sums);
		return -ENOMEM;
	}
	sums[0] = l->sums[0];
	for (unsigned place = 1; place <= n; place++) {
		unsigned most = 0;

		for (unsigned k = 1; k <= n; k++)
			if (!l->rank[k] && (!most || run_of(&l->sums[k]) > run_of(&l->sums[most])))
				most = k;
		l->rank[most] = place;
		sums[place] = l->sums[most];
		r->names[place - 1] = strdup(l->p.names[most - 1]);
		r->n += r->names[place - 1] != NULL;
	}
	free(l->sums);
	l->sums = sums;
	return r->n == n ? 0 : -ENOMEM;
}

/* The table is of the bursts that are kept, and gets the sums of all. */
static int fill_clusters(struct labelling *l, struct burst_clusters *c,
			 const struct burst_columns *columns)
{
	const struct model_bursts *b = l->b;
	_cleanup_free_ size_t *at = malloc((b->n + 1) * sizeof(*at));

	*c = (struct burst_clusters){
		.k = l->p.nnames, .n = b->n, .used = b->n, .verdict = {ANALYSIS_OK, ""}};
	c->labels = malloc((b->n + 1) * sizeof(*c->labels));
	if (!at || !c->labels)
		return -ENOMEM;
	for (size_t i = 0; i < b->n; i++) {
		const struct burst_row row = {b->run[i], b->wall[i],  b->on_cpu[i], b->gap[i],
					      b->end[i], b->place[i], b->thread[i], {0}};

		at[i] = i;
		c->labels[i] = l->rank[region_of(l, &row)];
	}
	if (burst_table__make(c, columns, at, c->labels, b->n) != ANALYSIS_OK)
		return -ENOMEM;
	burst_clusters__settle(c, l->sums);
	return 0;
}

int cluster_regions__of(struct cluster_regions *r, struct burst_clusters *c,
			const struct model_bursts *b, const struct burst_columns *columns)
{
	struct labelling l = {.b = b};
	int err = points__read_regions_of(&l.p, b);

	if (!err)
		err = order_executions(&l);
	l.nodes = malloc((b->nplaces + 1) * sizeof(*l.nodes));
	l.sums = calloc((size_t)l.p.nnames + 1, sizeof(*l.sums));
	if (!l.nodes || !l.sums)
		err = -ENOMEM;
	for (unsigned i = 0; !err && i < b->nplaces; i++)
		l.nodes[i] = model_bursts__place(b, b->places[i].step, b->places[i].node);
	if (!err)
		err = model_bursts__each(b, add_burst, &l);
	if (!err)
		err = order_regions(&l, r);
	if (!err)
		err = fill_clusters(&l, c, columns);
	free(l.rank);
	free(l.sums);
	free(l.nodes);
	free(l.v);
	points__free(&l.p);
	return err;
}

void cluster_regions__free(struct cluster_regions *r)
{
	for (unsigned i = 0; i < r->n; i++)
		free(r->names[i]);
	free(r->names);
}
