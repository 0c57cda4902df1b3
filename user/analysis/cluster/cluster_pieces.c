// SPDX-License-Identifier: GPL-2.0-only
/* Bursts of files as clusters see them: their columns, and pieces by file or window. */
#include "analysis/cluster/cluster_pieces.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/order.h"
#include "base/cleanup.h"

#define WINDOWS_MAX 1000

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

static int grow_pieces(struct cluster_pieces *p)
{
	struct burst_piece *v = realloc(p->v, (p->n + 1) * sizeof(*v));
	double **columns;
	char **labels;

	if (v)
		p->v = v;
	columns = realloc(p->columns, (p->n + 1) * sizeof(*columns));
	if (columns)
		p->columns = columns;
	labels = realloc(p->labels, (p->n + 1) * sizeof(*labels));
	if (labels)
		p->labels = labels;
	return v && columns && labels ? 0 : -ENOMEM;
}

/* Copies bursts at[0..n), all of them where at is NULL: four columns, one behind the other, then
 * threads. */
static void cut(const struct model_bursts *b, const size_t *at, size_t n, double *columns,
		unsigned *thread)
{
	const double *const of[] = {b->run, b->wall, b->on_cpu, b->gap};

	for (size_t i = 0; i < n; i++) {
		size_t from = at ? at[i] : i;

		for (size_t c = 0; c < 4; c++)
			columns[c * n + i] = of[c][from];
		thread[i] = b->thread[from];
	}
}

struct burst_piece *cluster_pieces__new(struct cluster_pieces *p, const char *label,
					double *columns)
{
	char *name = strdup(label);

	if (!name || grow_pieces(p)) {
		free(name);
		return NULL;
	}
	p->v[p->n] = (struct burst_piece){.run = columns};
	p->columns[p->n] = columns;
	p->labels[p->n] = name;
	return &p->v[p->n++];
}

static int add_piece(struct cluster_pieces *p, const struct model_bursts *b, const size_t *at,
		     size_t n, const struct cluster_request *q, const char *label)
{
	double *columns = malloc((n + 1) * 4 * sizeof(*columns));
	unsigned *thread = malloc((n + 1) * sizeof(*thread));
	struct burst_piece *piece =
		columns && thread ? cluster_pieces__new(p, label, columns) : NULL;
	struct burst_columns cols;
	enum analysis_status s;

	if (!piece) {
		free(columns);
		free(thread);
		return -ENOMEM;
	}
	cut(b, at, n, columns, thread);
	cols = (struct burst_columns){.run = columns,
				      .wall = columns + n,
				      .on_cpu = columns + 2 * n,
				      .gap = columns + 3 * n,
				      .thread = thread,
				      .n = n,
				      .nthreads = b->nthreads};
	s = burst_clusters__of(&piece->c, &cols, q);
	free(thread);
	return s == ANALYSIS_NO_MEMORY ? -ENOMEM : 0;
}

int cluster_pieces__add(struct cluster_pieces *p, const struct model_bursts *b,
			const struct cluster_request *q, const char *label)
{
	return add_piece(p, b, NULL, b->n, q, label);
}

static int add_windows(struct cluster_pieces *p, const struct model_bursts *b,
		       const struct cluster_request *q, double window_s, unsigned n,
		       const unsigned *window)
{
	_cleanup_free_ size_t *order = malloc((b->n + 1) * sizeof(*order));
	_cleanup_free_ size_t *start = malloc(((size_t)n + 2) * sizeof(*start));
	int err = order && start ? 0 : -ENOMEM;

	if (!err)
		order__by_number(window, b->n, n, order, start);
	for (unsigned w = 0; !err && w < n; w++) {
		char label[64];

		snprintf(label, sizeof(label), "%g s to %g s", w * window_s, (w + 1) * window_s);
		err = add_piece(p, b, order + start[w], start[w + 1] - start[w], q,
				label);
	}
	return err;
}

int cluster_pieces__windows(struct cluster_pieces *p, const struct model_bursts *b,
			    const struct cluster_request *q, double window_s)
{
	_cleanup_free_ unsigned *window = malloc((b->n + 1) * sizeof(*window));
	unsigned n = 1;

	for (size_t i = 0; window && i < b->n; i++) {
		double w = fmax(floor(b->end[i] / window_s), 0);

		if (w >= WINDOWS_MAX)
			return -E2BIG;
		window[i] = (unsigned)w;
		n = window[i] >= n ? window[i] + 1 : n;
	}
	return window ? add_windows(p, b, q, window_s, n, window) : -ENOMEM;
}

void cluster_pieces__free(struct cluster_pieces *p)
{
	for (size_t i = 0; i < p->n; i++) {
		burst_clusters__free(&p->v[i].c);
		free(p->v[i].names);
		free(p->columns[i]);
		free(p->labels[i]);
	}
	free(p->v);
	free(p->columns);
	free(p->labels);
}
