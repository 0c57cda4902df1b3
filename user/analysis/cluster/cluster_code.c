// SPDX-License-Identifier: GPL-2.0-or-later
/* What bursts execute: the code that most samples of a cluster or burst are in, and the regions of
 * programs that bursts lie in. */
#include "analysis/cluster/cluster_code.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
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

/* ---- puts the code that bursts execute in the place of clusters */

/* A burst with its code, then a code with the run time of its bursts. */
struct code {
	char *name;
	double run;
};

static int by_name(const void *a, const void *b)
{
	const struct code *x = a, *y = b;

	return ((uintptr_t)x->name > (uintptr_t)y->name) -
	       ((uintptr_t)x->name < (uintptr_t)y->name);
}

static int by_run(const void *a, const void *b)
{
	const struct code *x = a, *y = b;

	return (x->run < y->run) - (x->run > y->run);
}

/* A code has one name, at one place. */
static unsigned find_codes(char *names[CLUSTER_CODES], const struct burst_code *of,
			   const struct model_bursts *b, struct code *v)
{
	size_t n = 0, codes = 0;

	for (size_t i = 0; i < b->n; i++)
		if (of[i].name)
			v[n++] = (struct code){(char *)of[i].name, b->run[i]};
	qsort(v, n, sizeof(*v), by_name);
	for (size_t i = 0; i < n; i++) {
		if (codes && v[codes - 1].name == v[i].name)
			v[codes - 1].run += v[i].run;
		else
			v[codes++] = v[i];
	}
	qsort(v, codes, sizeof(*v), by_run);
	codes = codes < CLUSTER_CODES ? codes : CLUSTER_CODES;
	for (size_t k = 0; k < codes; k++)
		names[k] = v[k].name;
	return (unsigned)codes;
}

static unsigned label_of(char *const names[CLUSTER_CODES], unsigned n, const char *name)
{
	for (unsigned k = 0; name && k < n; k++)
		if (names[k] == name)
			return k + 1;
	return 0;
}

static int label_bursts(char *names[CLUSTER_CODES], const struct burst_code *of,
			struct burst_clusters *c, const struct model_bursts *b)
{
	const struct burst_columns columns = burst_columns__of(b);
	_cleanup_free_ struct code *v = malloc((b->n + 1) * sizeof(*v));
	_cleanup_free_ size_t *at = malloc((b->n + 1) * sizeof(*at));

	if (!v || !at)
		return -ENOMEM;
	c->k = find_codes(names, of, b, v);
	for (size_t i = 0; i < b->n; i++) {
		at[i] = i;
		c->labels[i] = label_of(names, c->k, of[i].name);
	}
	return burst_clusters__tabulate(c, &columns, at, c->labels, b->n) == ANALYSIS_OK ? 0
											 : -ENOMEM;
}

int cluster_code__label(struct cluster_code *code, struct burst_clusters *c,
			const struct model_bursts *b)
{
	int err;

	*c = (struct burst_clusters){.n = b->n, .used = b->n, .verdict = {ANALYSIS_OK, ""}};
	c->labels = calloc(b->n + 1, sizeof(*c->labels));
	if (!c->labels)
		return -ENOMEM;
	err = b->n < b->all ? -EMSGSIZE : cluster_code__of(code, b, c);
	if (!err && !code->singles)
		err = -ENOMSG;
	return err ? err : label_bursts(code->names, code->singles, c, b);
}

/* ---- puts the regions that bursts lie in, by node, thread and time, in the place of clusters */

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
static int by_execution(const void *a, const void *b)
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
	qsort(l->v, known, sizeof(*l->v), by_execution);
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

		if (by_execution(&l->v[middle], key) < 0)
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
		if (!same && by_execution(e, burst) > 0)
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
static int fill_clusters(struct labelling *l, struct burst_clusters *c)
{
	const struct model_bursts *b = l->b;
	const struct burst_columns columns = burst_columns__of(b);
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
	if (burst_clusters__tabulate(c, &columns, at, c->labels, b->n) != ANALYSIS_OK)
		return -ENOMEM;
	burst_clusters__settle(c, l->sums);
	return 0;
}

int cluster_regions__of(struct cluster_regions *r, struct burst_clusters *c,
			const struct model_bursts *b)
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
		err = fill_clusters(&l, c);
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
