// SPDX-License-Identifier: GPL-2.0-only
/* Clusters of successive pieces get the names of those before that they are most like. */
#include "analysis/cluster/burst_track.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* The bursts of a piece that were used, one after the other. */
struct compact {
	double *v, *dur;
	unsigned *labels;
	struct cluster_window w;
};

static void free_compact(struct compact *c)
{
	free(c->v);
	free(c->dur);
	free(c->labels);
	memset(c, 0, sizeof(*c));
}

static enum analysis_status make_compact(struct compact *to, const struct burst_piece *p,
					 unsigned dims)
{
	const struct burst_clusters *c = &p->c;
	size_t n = 0;

	to->v = malloc((c->n + 1) * dims * sizeof(*to->v));
	to->dur = malloc((c->n + 1) * sizeof(*to->dur));
	to->labels = malloc((c->n + 1) * sizeof(*to->labels));
	if (!to->v || !to->dur || !to->labels)
		return ANALYSIS_NO_MEMORY;
	for (size_t i = 0; c->k && i < c->n; i++) {
		if (c->labels[i] == CLUSTER_UNUSED)
			continue;
		memcpy(&to->v[n * dims], &c->v[i * dims], dims * sizeof(double));
		to->dur[n] = p->run[i];
		to->labels[n++] = c->labels[i];
	}
	to->w = (struct cluster_window){to->v, to->labels, to->dur, n, dims, c->k};
	return ANALYSIS_OK;
}

static enum analysis_status compare(struct burst_track *t, const struct compact *a,
				    const struct compact *b, const unsigned *names_a,
				    struct burst_piece *p)
{
	struct cluster_comparison c = {0};
	enum analysis_status s = cluster__compare(&a->w, &b->w, t->level, &c);
	unsigned next = t->names + 1;

	if (s != ANALYSIS_OK)
		return s;
	p->share_before = c.share_a;
	p->share = c.share_b;
	p->equivalent = c.equivalent && a->w.k && b->w.k;
	cluster_comparison__free(&c);
	s = cluster__identify(&a->w, &b->w, t->level.margin, names_a, p->names, &next);
	t->names = next - 1;
	return s;
}

static enum analysis_status count_streaks(struct burst_track *t, struct burst_piece *p, size_t n)
{
	_cleanup_free_ bool *equivalent = calloc(n, sizeof(*equivalent));
	_cleanup_free_ unsigned *streak = calloc(n, sizeof(*streak));

	if (!equivalent || !streak)
		return ANALYSIS_NO_MEMORY;
	for (size_t i = 1; i < n; i++)
		equivalent[i - 1] = p[i].equivalent;
	t->stable = cluster__streaks(equivalent, n, CLUSTER_IN_A_ROW, streak);
	for (size_t i = 0; i < n; i++)
		p[i].streak = streak[i];
	return ANALYSIS_OK;
}

enum analysis_status burst_track__of(struct burst_track *t, struct burst_piece *p, size_t n,
				     unsigned dims)
{
	struct compact before = {0}, now = {0};
	enum analysis_status s = n ? ANALYSIS_OK : ANALYSIS_INSUFFICIENT;

	*t = (struct burst_track){.level = CLUSTER_LEVEL};
	for (size_t i = 0; s == ANALYSIS_OK && i < n; i++) {
		p[i].names = calloc((size_t)p[i].c.k + 1, sizeof(*p[i].names));
		p[i].share = p[i].share_before = NAN;
		s = p[i].names ? make_compact(&now, &p[i], dims) : ANALYSIS_NO_MEMORY;
		if (s == ANALYSIS_OK && i)
			s = compare(t, &before, &now, p[i - 1].names, &p[i]);
		for (unsigned k = 1; s == ANALYSIS_OK && !i && k <= p[i].c.k; k++)
			p[i].names[k] = ++t->names;
		free_compact(&before);
		before = now;
		memset(&now, 0, sizeof(now));
	}
	free_compact(&before);
	free_compact(&now);
	return s == ANALYSIS_OK ? count_streaks(t, p, n) : s;
}
