// SPDX-License-Identifier: GPL-2.0-or-later
/* What all forms of clusters share: names of clusters, times, lines over time, hints, and
 * conclusions from the counters of a cluster. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/order.h"
#include "base/cleanup.h"
#include "view/cluster/cluster_view.h"

#define MOSTLY 0.5 /* share of noise above which there is a hint */
#define LITTLE 0.2 /* share of long bursts in the time of all below which there is a hint */

const char *cluster_name__of(unsigned k, cluster_name buf)
{
	if (!k)
		snprintf(buf, CLUSTER_NAME, "noise");
	else if (k <= 26)
		snprintf(buf, CLUSTER_NAME, "%c", 'A' + (int)k - 1);
	else
		snprintf(buf, CLUSTER_NAME, "%c%u", 'A' + (int)((k - 1) % 26), (k - 1) / 26 % 1000);
	return buf;
}

char cluster_name__letter(unsigned k)
{
	return !k ? '.' : (char)(k <= 26 ? 'A' + (int)k - 1 : k <= 52 ? 'a' + (int)k - 27 : '+');
}

const char *cluster_time__of(double s, cluster_time buf)
{
	if (isnan(s))
		snprintf(buf, sizeof(cluster_time), "?");
	else if (s < 0.0009995)
		snprintf(buf, sizeof(cluster_time), "%.3g us", s * 1e6);
	else if (s < 0.9995)
		snprintf(buf, sizeof(cluster_time), "%.3g ms", s * 1e3);
	else
		snprintf(buf, sizeof(cluster_time), "%.*f s", s < 99.95 ? 2 : 0, s);
	return buf;
}

/* ---- over time: a character per part of it, for each place */

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

/* Adds a burst's run time to the cells that it overlaps. */
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

/* ---- hints */

static bool has_ranks(const struct model_bursts *b)
{
	for (unsigned p = 0; p < b->nplaces; p++)
		if (b->places[p].rank >= 0)
			return true;
	return false;
}

static const char *noise_hint(const struct cluster_view *v)
{
	const struct model_bursts *b = v->bursts;

	if (!b->ends_at_calls && has_ranks(b))
		return "Most is noise: where MPI polls, run --region "
		       "'wait:libmpi.so:MPI_[ABGPRSW]*'";
	if (v->codes)
		return "Most is noise: jobprof cluster --code sorts bursts by what they execute";
	if (!b->ends_at_calls)
		return "Most is noise; where a library polls, run --region "
		       "'wait:FILE:FUNCTION' helps";
	return v->request->dims > 1
		       ? "Most is noise: jobprof cluster --by run compares the run times alone"
		       : NULL;
}

const char *cluster_view__hint(const struct cluster_view *v)
{
	const struct burst_clusters *c = v->clusters;
	const struct model_bursts *b = v->bursts;

	if (c->verdict.status != ANALYSIS_OK)
		return NULL;
	if (b->calls_paused)
		return "Probes paused: run with --region-budget 100 sees more, and costs more";
	if (!v->regions && c->clusters[0].share > MOSTLY)
		return noise_hint(v);
	if (b->long_s < LITTLE * b->all_s)
		return "Most of the run time is in shorter bursts, see BurstMin in jobprof.conf(5)";
	return NULL;
}

/* ---- counters */

const struct burst_counter *cluster_counters__of(const struct cluster_view *v, unsigned k,
						 unsigned e)
{
	return &v->counters[(size_t)k * v->bursts->nevents + e];
}

void cluster_counters__metrics(const struct cluster_view *v, unsigned k, struct counter_metrics *m)
{
	const struct model_bursts *b = v->bursts;
	_cleanup_free_ double *totals = malloc((b->nevents + 1) * sizeof(*totals));
	double run = 0;

	for (size_t i = 0; i < b->n; i++)
		run += v->clusters->labels[i] == k ? b->run[i] : 0;
	for (unsigned e = 0; totals && e < b->nevents; e++)
		totals[e] = cluster_counters__of(v, k, e)->total;
	counter_metrics__of(&(struct counter_totals){(const char *const *)b->events, totals,
						     totals ? b->nevents : 0, run, b->cpi_kind,
						     b->cpi_width},
			    m);
}
