// SPDX-License-Identifier: GPL-2.0-only
/* Finds for each sample the burst that its thread was in, and what most samples of a cluster are
 * in. */
#include "analysis/cluster/cluster_code.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* A burst of a thread; s. */
struct span {
	double thread, begin, end;
	unsigned node;
	unsigned burst;
};

/* A sample in a cluster or a burst. */
struct hit {
	unsigned of, code;
};

#define KIND_CODE(kind) ((1u << 24) + (kind)) /* below: a function of points */

/* ---- which burst a sample is in */

static int compare(double a, double b)
{
	return a < b ? -1 : a > b;
}

static int by_thread(const struct span *a, const struct span *b)
{
	return a->node != b->node ? (a->node < b->node ? -1 : 1) : compare(a->thread, b->thread);
}

static int by_begin(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	int order = by_thread(x, y);

	return order ? order : compare(x->begin, y->begin);
}

/* Of the bursts whose thread is known. */
static struct span *make_spans(const struct model_bursts *b, const unsigned *nodes, size_t *n)
{
	struct span *v = malloc((b->n + 1) * sizeof(*v));

	*n = 0;
	for (size_t i = 0; v && i < b->n; i++)
		if (!isnan(b->tids[b->thread[i]]))
			v[(*n)++] = (struct span){b->tids[b->thread[i]], b->end[i] - b->wall[i],
						  b->end[i], nodes[b->place[i]], (unsigned)i};
	if (v)
		qsort(v, *n, sizeof(*v), by_begin);
	return v;
}

/* The last of n spans that begins before the sample, if that is in it. */
static const struct span *span_of(const struct span *v, size_t n, const struct point *p)
{
	const struct span wanted = {
		.node = p->thread.node, .thread = p->thread.thread, .begin = p->time_s};
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_begin(&v[middle], &wanted) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low && !by_thread(&v[low - 1], &wanted) && p->time_s <= v[low - 1].end ? &v[low - 1]
										      : NULL;
}

/* ---- what most samples are in */

static int by_hit(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;

	return x->of != y->of ? (x->of < y->of ? -1 : 1)
			      : (x->code > y->code) - (x->code < y->code);
}

static const char *name_of(const struct points *p, unsigned code)
{
	return code >= KIND_CODE(0) ? point_kinds[code - KIND_CODE(0)] : p->functions[code - 1];
}

/* Of each cluster or burst the most frequent code of its hits. */
static void count_hits(struct burst_code *out, const struct points *p, struct hit *hits, size_t n)
{
	size_t same = 0;

	qsort(hits, n, sizeof(*hits), by_hit);
	for (size_t i = 0; i < n; i++) {
		struct burst_code *c = &out[hits[i].of];

		same = i && !by_hit(&hits[i - 1], &hits[i]) ? same + 1 : 1;
		c->all++;
		if (same > c->samples) {
			c->samples = same;
			c->name = name_of(p, hits[i].code);
		}
	}
}

/* Of a page of code the kind is not known at its first sample; that it is the program's is. */
static unsigned code_of(const struct point *p)
{
	bool own = p->kind == JP_MODULE_UNKNOWN && p->place && !(p->place & JP_PLACE_LIBRARY);

	return p->function ? p->function : KIND_CODE(own ? JP_MODULE_OWN : p->kind);
}

static int count_points(struct cluster_code *out, const struct model_bursts *b,
			const struct burst_clusters *c, const struct span *spans, size_t nspans)
{
	const struct points *p = &out->points;
	_cleanup_free_ struct hit *hits = malloc((p->npoints + 1) * sizeof(*hits));
	_cleanup_free_ struct hit *single = malloc((p->npoints + 1) * sizeof(*single));
	size_t n = 0, singles = 0;

	out->clusters = calloc((size_t)c->k + 1, sizeof(*out->clusters));
	out->singles = calloc(b->n + 1, sizeof(*out->singles));
	if (!hits || !single || !out->clusters || !out->singles)
		return -ENOMEM;
	for (size_t i = 0; i < p->npoints; i++) {
		const struct point *at = &p->points[i];
		const struct span *s = span_of(spans, nspans, at);

		if (!s || c->labels[s->burst] == CLUSTER_UNUSED)
			continue;
		hits[n++] = (struct hit){c->labels[s->burst], code_of(at)};
		if (!c->labels[s->burst])
			single[singles++] = (struct hit){s->burst, code_of(at)};
	}
	count_hits(out->clusters, p, hits, n);
	count_hits(out->singles, p, single, singles);
	return 0;
}

int cluster_code__of(struct cluster_code *out, const struct model_bursts *b,
		     const struct burst_clusters *c)
{
	_cleanup_free_ unsigned *nodes = malloc((b->nplaces + 1) * sizeof(*nodes));
	_cleanup_free_ struct span *spans = NULL;
	size_t n;
	int err;

	*out = (struct cluster_code){.points = {.rows_max = CLUSTER_CODE_ROWS}};
	err = nodes ? points__read_samples_of(&out->points, b, nodes) : -ENOMEM;
	if (err || !out->points.npoints)
		return err;
	spans = make_spans(b, nodes, &n);
	return spans ? count_points(out, b, c, spans, n) : -ENOMEM;
}

void cluster_code__free(struct cluster_code *c)
{
	points__free(&c->points);
	free(c->clusters);
	free(c->singles);
}
