// SPDX-License-Identifier: GPL-2.0-only
/* Clusters of bursts for a terminal. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "view/cluster/cluster_view.h"
#include "view/report/report_text.h"

#define MOST_PLACES 32
#define NAME_WIDTH  20

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

/* ---- over time */

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

void cluster_view__line(const struct cluster_view *v, unsigned place, double from, double to,
			unsigned width, char *out, double *room)
{
	const struct model_bursts *b = v->bursts;
	const struct burst_clusters *c = v->clusters;
	double scale = to > from ? width / (to - from) : 0;

	memset(room, 0, (size_t)width * (c->k + 1) * sizeof(*room));
	for (size_t i = 0; i < b->n; i++)
		if (b->place[i] == place && c->labels[i] != CLUSTER_UNUSED)
			spread(room + c->labels[i], width, c->k + 1,
			       (b->end[i] - b->wall[i] - from) * scale, (b->end[i] - from) * scale,
			       b->run[i]);
	for (unsigned x = 0; x < width; x++) {
		const double *cell = &room[(size_t)x * (c->k + 1)];
		unsigned most = 0;

		for (unsigned k = 1; k <= c->k; k++)
			if (cell[k] > cell[most])
				most = k;
		out[x] = cell[most] > 0 ? cluster_name__letter(most) : ' ';
	}
}

static double last_end(const struct model_bursts *b)
{
	double last = 0;

	for (size_t i = 0; i < b->n; i++)
		last = fmax(last, b->end[i]);
	return last;
}

static void print_lines(const struct cluster_view *v, unsigned width, FILE *out)
{
	const struct model_bursts *b = v->bursts;
	unsigned cells = width > NAME_WIDTH + 20 ? width - NAME_WIDTH - 4 : 20;
	double *room = malloc((size_t)cells * (v->clusters->k + 1) * sizeof(*room));
	char *line = calloc(cells + 1, 1);
	double last = last_end(b);
	static const char head[] = "Over time, the cluster with most run time";
	char range[40];
	cluster_time end;

	snprintf(range, sizeof(range), "0 to %s", cluster_time__of(last, end));
	if (room && line)
		fprintf(out, "\n%s%*s\n", head, (int)(NAME_WIDTH + 4 + cells - strlen(head)),
			range);
	for (unsigned p = 0; room && line && p < b->nplaces && p < MOST_PLACES; p++) {
		char name[64];

		model_bursts__name(b, p, name, sizeof(name));
		cluster_view__line(v, p, 0, last, cells, line, room);
		for (unsigned i = cells; i && line[i - 1] == ' ';)
			line[--i] = 0;
		fprintf(out, "  %-*.*s  ", NAME_WIDTH, NAME_WIDTH, name);
		fprintf(out, "%s\n", line);
	}
	if (b->nplaces > MOST_PLACES)
		fprintf(out, "  and %u more\n", b->nplaces - MOST_PLACES);
	free(room);
	free(line);
}

/* ---- the table */

static void print_cluster(const struct burst_cluster *c, unsigned k, FILE *out)
{
	report_number n, share, spread, cpu;
	cluster_time run, gap;
	cluster_name name;

	if (!c->n)
		return;
	fprintf(out, "  %-6s%10s%9s%12s%10s%12s%9s\n", cluster_name__of(k, name),
		report_text__count((double)c->n, n), report_text__share(c->share, share),
		cluster_time__of(c->run, run), k ? report_text__share(c->spread, spread) : "",
		isnan(c->gap) ? "none" : cluster_time__of(c->gap, gap),
		report_text__share(c->on_cpu, cpu));
}

static void print_head(const struct cluster_view *v, FILE *out)
{
	const struct burst_clusters *c = v->clusters;
	const struct model_bursts *b = v->bursts;
	report_number n, threads, share;
	double run = 0;

	for (size_t i = 0; i < b->n; i++)
		run += b->run[i];
	print__escaped(out, v->path);
	fprintf(out, ": %s long burst%s of %s thread%s", report_text__count((double)b->n, n),
		report_text__s((double)b->n), report_text__count(b->nthreads, threads),
		report_text__s(b->nthreads));
	if (b->all_s > 0)
		fprintf(out, ", %s of the run time of all bursts",
			report_text__share(fmin(run / b->all_s, 1), share));
	fputs("\n", out);
	if (b->lost > 0)
		fprintf(out, "%s more found no room and are not known\n",
			report_text__count(b->lost, n));
	if (c->verdict.status != ANALYSIS_OK)
		return;
	fprintf(out, "%u cluster%s by", c->k, report_text__s(c->k));
	for (unsigned d = 0; d < v->request->dims; d++)
		fprintf(out, "%s %s", d ? " and" : "", burst_features[v->request->by[d]].doc);
	fprintf(out, " (DBSCAN: %zu within %.3g", c->min_pts, c->eps);
	if (c->subset < c->used)
		fprintf(out, ", of %s bursts; the others are as the nearest of these",
			report_text__count((double)c->subset, n));
	fputs(")\n", out);
}

void cluster_view__print(const struct cluster_view *v, unsigned width, FILE *out)
{
	const struct burst_clusters *c = v->clusters;
	report_number n;

	print_head(v, out);
	if (c->verdict.status != ANALYSIS_OK) {
		fprintf(out, "%s: %s\n", analysis_status__name(c->verdict.status),
			c->verdict.reason);
		return;
	}
	fprintf(out, "\n  %-6s%10s%9s%12s%10s%12s%9s\n", "", "bursts", "share", "run time",
		"spread", "gap before", "on CPU");
	for (unsigned k = 1; k <= c->k; k++)
		print_cluster(&c->clusters[k], k, out);
	print_cluster(&c->clusters[0], 0, out);
	if (c->used < c->n)
		fprintf(out, "  %s cannot be compared: in no cluster\n",
			report_text__count((double)(c->n - c->used), n));
	cluster_counters__print(v, out);
	print_lines(v, width, out);
}
