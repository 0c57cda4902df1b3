// SPDX-License-Identifier: GPL-2.0-only
/* Clusters over time: a character per part of it, for each place. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/order.h"
#include "view/cluster/cluster_view.h"

bool cluster_lines__open(struct cluster_lines *l, const struct cluster_view *v, unsigned width)
{
	const struct model_bursts *b = v->bursts;

	*l = (struct cluster_lines){.v = v, .width = width};
	for (size_t i = 0; i < b->n; i++)
		l->end = fmax(l->end, b->end[i]);
	l->order = malloc((b->n + 1) * sizeof(*l->order));
	l->start = malloc(((size_t)b->nplaces + 2) * sizeof(*l->start));
	l->room = malloc((size_t)width * (v->clusters->k + 1) * sizeof(*l->room));
	l->line = calloc(width + 1, 1);
	if (!l->order || !l->start || !l->room || !l->line)
		return false;
	order__by_number(b->place, b->n, b->nplaces, l->order, l->start);
	return true;
}

void cluster_lines__close(struct cluster_lines *l)
{
	free(l->order);
	free(l->start);
	free(l->room);
	free(l->line);
}

/* Adds a burst's run time to the cells that it lies in. */
static void spread(double *cells, unsigned ncells, unsigned columns, double from, double to,
		   double run)
{
	double length = to - from;

	for (unsigned c = from > 0 ? (unsigned)from : 0; c < ncells && c <= to; c++) {
		double part = fmin(to, c + 1) - fmax(from, c);

		cells[(size_t)c * columns] += length > 0 ? run * fmax(part, 0) / length : run;
		if (!(length > 0))
			break;
	}
}

const char *cluster_lines__of(struct cluster_lines *l, unsigned place)
{
	const struct model_bursts *b = l->v->bursts;
	const struct burst_clusters *c = l->v->clusters;
	double scale = l->end > 0 ? l->width / l->end : 0;

	memset(l->room, 0, (size_t)l->width * (c->k + 1) * sizeof(*l->room));
	for (size_t at = l->start[place]; at < l->start[place + 1]; at++) {
		size_t i = l->order[at];

		if (c->labels[i] != CLUSTER_UNUSED)
			spread(l->room + c->labels[i], l->width, c->k + 1,
			       (b->end[i] - b->wall[i]) * scale, b->end[i] * scale, b->run[i]);
	}
	for (unsigned x = 0; x < l->width; x++) {
		const double *cell = &l->room[(size_t)x * (c->k + 1)];
		unsigned most = 0;

		for (unsigned k = 1; k <= c->k; k++)
			if (cell[k] > cell[most])
				most = k;
		l->line[x] = cell[most] > 0 ? cluster_name__letter(most) : ' ';
	}
	return l->line;
}
