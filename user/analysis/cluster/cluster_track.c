// SPDX-License-Identifier: GPL-2.0-or-later
/* Compares the clusterings of successive windows until they are stable. */
#include "analysis/cluster/cluster.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/room.h"

/* The rectangle around a cluster's points, widened; empty (lo > hi) when it has none. */
struct box {
	double lo[CLUSTER_MAX_DIMS], hi[CLUSTER_MAX_DIMS];
	double dur;
	bool matches;
};

static void add_point(struct box *b, const double *v, unsigned dims)
{
	for (unsigned d = 0; d < dims; d++) {
		b->lo[d] = fmin(b->lo[d], v[d]);
		b->hi[d] = fmax(b->hi[d], v[d]);
	}
}

/* Boxes 0..k of a window; that of noise has only a duration. NULL: no memory, or a label above k.
 */
static struct box *make_boxes(const struct cluster_window *w, double margin)
{
	struct box *boxes = calloc((size_t)w->k + 1, sizeof(*boxes));

	for (unsigned c = 0; boxes && c <= w->k; c++) {
		for (unsigned d = 0; d < w->dims; d++) {
			boxes[c].lo[d] = INFINITY;
			boxes[c].hi[d] = -INFINITY;
		}
	}
	for (size_t i = 0; boxes && i < w->n; i++) {
		struct box *mine = &boxes[w->labels[i]];

		mine->dur += isnan(w->dur[i]) ? 0 : w->dur[i];
		if (w->labels[i])
			add_point(mine, w->v + i * w->dims, w->dims);
	}
	for (unsigned c = 0; boxes && c <= w->k; c++) {
		for (unsigned d = 0; d < w->dims; d++) {
			boxes[c].lo[d] *= 1 - margin;
			boxes[c].hi[d] *= 1 + margin;
		}
	}
	return boxes;
}

static bool is_valid(const struct cluster_window *w)
{
	if (!w->dims || w->dims > CLUSTER_MAX_DIMS)
		return false;
	for (size_t i = 0; i < w->n; i++) {
		if (w->labels[i] > w->k)
			return false;
	}
	return true;
}

static bool overlap(const struct box *a, const struct box *b, unsigned dims)
{
	for (unsigned d = 0; d < dims; d++) {
		if (!(a->lo[d] <= b->hi[d] && b->lo[d] <= a->hi[d]))
			return false;
	}
	return true;
}

/* The part of the time that is in clusters with a match. */
static double matched_share(const struct box *boxes, unsigned k)
{
	double matched = 0, all = 0;

	for (unsigned c = 0; c <= k; c++) {
		all += boxes[c].dur;
		matched += boxes[c].matches ? boxes[c].dur : 0;
	}
	return all > 0 ? matched / all : NAN;
}

/* Marks boxes that overlap, and adds a pair for each two of them. */
static bool find_pairs(struct box *a, unsigned ka, struct box *b, unsigned kb, unsigned dims,
		       struct cluster_comparison *c)
{
	for (unsigned i = 1; i <= ka; i++) {
		for (unsigned j = 1; j <= kb; j++) {
			if (!overlap(&a[i], &b[j], dims))
				continue;
			if (room__grow(&c->pairs, c->npairs, 1, sizeof(*c->pairs)))
				return false;
			c->pairs[c->npairs++] = (struct cluster_pair){i, j};
			a[i].matches = b[j].matches = true;
		}
	}
	return true;
}

enum analysis_status cluster__compare(const struct cluster_window *a,
				      const struct cluster_window *b, struct cluster_level level,
				      struct cluster_comparison *c)
{
	_cleanup_free_ struct box *in_a = NULL, *in_b = NULL;

	*c = (struct cluster_comparison){.share_a = NAN, .share_b = NAN};
	if (a->dims != b->dims || !is_valid(a) || !is_valid(b))
		return ANALYSIS_UNSUITABLE;
	in_a = make_boxes(a, level.margin);
	in_b = make_boxes(b, level.margin);
	if (!in_a || !in_b || !find_pairs(in_a, a->k, in_b, b->k, a->dims, c)) {
		cluster_comparison__free(c);
		return ANALYSIS_NO_MEMORY;
	}
	c->share_a = matched_share(in_a, a->k);
	c->share_b = matched_share(in_b, b->k);
	c->equivalent = c->share_a >= level.threshold && c->share_b >= level.threshold;
	return ANALYSIS_OK;
}

void cluster_comparison__free(struct cluster_comparison *c)
{
	free(c->pairs);
	*c = (struct cluster_comparison){.share_a = NAN, .share_b = NAN};
}

size_t cluster__streaks(const bool *equivalent, size_t n, unsigned in_a_row, unsigned *streak)
{
	size_t stable = n;

	for (size_t w = 0; w < n; w++) {
		streak[w] = w && equivalent[w - 1] ? streak[w - 1] + 1 : 1;
		if (stable == n && streak[w] >= in_a_row)
			stable = w;
	}
	return stable;
}

struct cluster_level cluster_level__after(unsigned windows)
{
	struct cluster_level level = CLUSTER_LEVEL;
	unsigned steps = windows / 5;

	level.threshold = fmax(level.threshold - 0.05 * steps, 0.60);
	level.margin = fmin(level.margin + 0.05 * steps, 0.20);
	return level;
}

/* Two clusters that could be the same. */
struct candidate {
	double likeness;
	unsigned a, b;
};

static int compare_candidates(const void *x, const void *y)
{
	const struct candidate *p = x, *q = y;

	if (p->likeness != q->likeness)
		return p->likeness > q->likeness ? -1 : 1;
	if (p->a != q->a)
		return p->a < q->a ? -1 : 1;
	return (p->b > q->b) - (p->b < q->b);
}

static double log_volume(const double *lo, const double *hi, unsigned dims)
{
	double volume = 1;

	for (unsigned d = 0; d < dims; d++)
		volume *= fmax(log(hi[d] / lo[d]), 0);
	return volume;
}

/* Intersection over union; 0 when a metric is not positive. */
static double likeness(const struct box *a, const struct box *b, unsigned dims)
{
	double lo[CLUSTER_MAX_DIMS], hi[CLUSTER_MAX_DIMS], common;

	if (!overlap(a, b, dims))
		return 0;
	for (unsigned d = 0; d < dims; d++) {
		if (!(a->lo[d] > 0 && b->lo[d] > 0))
			return 0;
		lo[d] = fmax(a->lo[d], b->lo[d]);
		hi[d] = fmin(a->hi[d], b->hi[d]);
	}
	common = log_volume(lo, hi, dims);
	return common / (log_volume(a->lo, a->hi, dims) + log_volume(b->lo, b->hi, dims) - common);
}

/* Best candidates first; each cluster is taken once. */
static void match(struct candidate *found, size_t n, const unsigned *name_a, bool *used,
		  unsigned *name_b)
{
	qsort(found, n, sizeof(*found), compare_candidates);
	for (size_t i = 0; i < n; i++) {
		if (used[found[i].a] || name_b[found[i].b])
			continue;
		used[found[i].a] = true;
		name_b[found[i].b] = name_a[found[i].a];
	}
}

enum analysis_status cluster__identify(const struct cluster_window *a,
				       const struct cluster_window *b, double margin,
				       const unsigned *name_a, unsigned *name_b, unsigned *next)
{
	_cleanup_free_ struct candidate *found = NULL;
	_cleanup_free_ bool *used = NULL;
	_cleanup_free_ struct box *in_a = NULL, *in_b = NULL;
	size_t n = 0;

	if (a->dims != b->dims || !is_valid(a) || !is_valid(b))
		return ANALYSIS_UNSUITABLE;
	found = calloc((size_t)a->k * b->k + 1, sizeof(*found));
	used = calloc((size_t)a->k + 1, sizeof(*used));
	in_a = make_boxes(a, margin);
	in_b = make_boxes(b, margin);
	if (!found || !used || !in_a || !in_b)
		return ANALYSIS_NO_MEMORY;
	for (unsigned i = 1; i <= a->k; i++) {
		for (unsigned j = 1; j <= b->k; j++) {
			double l = likeness(&in_a[i], &in_b[j], a->dims);

			if (l > 0)
				found[n++] = (struct candidate){l, i, j};
		}
	}
	for (unsigned j = 1; j <= b->k; j++)
		name_b[j] = 0;
	match(found, n, name_a, used, name_b);
	for (unsigned j = 1; j <= b->k; j++)
		name_b[j] = name_b[j] ? name_b[j] : (*next)++;
	return ANALYSIS_OK;
}
