// SPDX-License-Identifier: GPL-2.0-only
/* Clusters of bursts for a terminal, and as CSV; how clusters, their figures and times are written
 * in all forms. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/order.h"
#include "base/csv.h"
#include "base/escape.h"
#include "view/cluster/cluster_view.h"
#include "view/report/report_reason.h"

#define MOST_PLACES 32
#define NAME_WIDTH  20
#define CELLS	    6
#define SINGLES	    5	 /* bursts of noise that are listed, */
#define LONG	    0.01 /* of the run time of all */
#define NOISY	    0.05 /* if they have so much of the run time */
#define MOSTLY	    0.5	 /* noise, */
#define LITTLE	    0.2	 /* or long bursts of all: tells the reader little */

/* ---- words */

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

static void print_lines(const struct cluster_view *v, unsigned width, FILE *out)
{
	char head[64];
	const struct model_bursts *b = v->bursts;
	unsigned cells = width > NAME_WIDTH + 20 ? width - NAME_WIDTH - 4 : 20;
	struct cluster_lines l;
	char range[40];
	cluster_time end;
	bool ok = cluster_lines__open(&l, v, cells);

	snprintf(head, sizeof(head), "Over time, the %s with most run time",
		 v->regions ? v->of : "cluster");
	snprintf(range, sizeof(range), "0 to %s", cluster_time__of(l.end, end));
	if (ok)
		fprintf(out, "\n%s%*s\n", head, (int)(NAME_WIDTH + 4 + cells - strlen(head)),
			range);
	for (unsigned p = 0; ok && p < b->nplaces && p < MOST_PLACES; p++) {
		const char *line = cluster_lines__of(&l, p);
		unsigned n = cells;
		char name[NAME_WIDTH + 1];

		while (n && line[n - 1] == ' ')
			n--;
		model_bursts__name(b, p, name, sizeof(name));
		fputs("  ", out);
		print__escaped(out, name);
		fprintf(out, "%*s  %.*s\n", NAME_WIDTH - (int)strlen(name), "", (int)n, line);
	}
	if (b->nplaces > MOST_PLACES)
		fprintf(out, "  and %u more\n", b->nplaces - MOST_PLACES);
	cluster_lines__close(&l);
}

/* ---- the table */

/* "65 % of 74 samples" */
static const char *code_share(const struct burst_code *c, report_number buf)
{
	report_number share, n;

	snprintf(buf, REPORT_NUMBER, "%.10s of %.20s sample%s",
		 report_text__share((double)c->samples / (double)c->all, share),
		 report_text__count((double)c->all, n), report_text__s((double)c->all));
	return buf;
}

static void print_code(const struct burst_code *c, FILE *out)
{
	report_number share;

	if (!c->name)
		return;
	fputs("  ", out);
	print__escaped(out, c->name);
	fprintf(out, ", %s", code_share(c, share));
}

/* Bursts, share, run time, spread, gap before, on CPU. */
static void cells_of(const struct burst_cluster *c, unsigned k, report_number cells[CELLS])
{
	report_text__count((double)c->n, cells[0]);
	report_text__share(c->share, cells[1]);
	cluster_time__of(c->run, cells[2]);
	if (k)
		report_text__share(c->spread, cells[3]);
	else
		strcpy(cells[3], "");
	if (isnan(c->gap))
		strcpy(cells[4], "none");
	else
		cluster_time__of(c->gap, cells[4]);
	report_text__share(c->on_cpu, cells[5]);
}

static void print_cluster(const struct cluster_view *v, unsigned k, FILE *out)
{
	static const int widths[CELLS] = {10, 9, 12, 10, 12, 9};
	const struct burst_cluster *c = &v->clusters->clusters[k];
	report_number cells[CELLS];
	cluster_name name;

	if (!c->n)
		return;
	cells_of(c, k, cells);
	fprintf(out, "  %-6s", k || !v->regions ? cluster_name__of(k, name) : "none");
	for (int i = 0; i < CELLS; i++)
		fprintf(out, "%*s", widths[i], cells[i]);
	if (k && v->regions) {
		fputs("  ", out);
		print__escaped(out, v->regions[k - 1]);
	}
	if (v->codes)
		print_code(&v->codes[k], out);
	fputs("\n", out);
}

/* The longest bursts of noise, longest first. Returns how many there are in at[SINGLES]. */
static unsigned find_singles(const struct cluster_view *v, size_t at[SINGLES])
{
	const struct model_bursts *b = v->bursts;
	unsigned n = 0;

	for (size_t i = 0; i < b->n; i++) {
		unsigned place = n;

		if (v->clusters->labels[i])
			continue;
		while (place && b->run[at[place - 1]] < b->run[i])
			place--;
		n += n < SINGLES;
		for (unsigned k = n - 1; k > place; k--)
			at[k] = at[k - 1];
		if (place < n)
			at[place] = i;
	}
	return n;
}

/* What is executed once, or never twice alike, is in no cluster, and may be most of a program. */
static void print_singles(const struct cluster_view *v, FILE *out)
{
	const struct model_bursts *b = v->bursts;
	size_t at[SINGLES];
	unsigned n = find_singles(v, at);
	double all = 0, sum = 0;
	report_number share;

	for (size_t i = 0; i < b->n; i++)
		all += b->run[i];
	while (n && b->run[at[n - 1]] < LONG * all)
		n--;
	for (unsigned k = 0; k < n; k++)
		sum += b->run[at[k]];
	if (v->regions || b->n < b->all || !(sum >= NOISY * all))
		return;
	fprintf(out, "\nLongest bursts in no cluster, %s of the run time\n",
		report_text__share(sum / all, share));
	for (unsigned k = 0; k < n; k++) {
		cluster_time run, begin;
		char name[64];

		model_bursts__name(b, b->place[at[k]], name, sizeof(name));
		fprintf(out, "  %10s  at %-8s  ", cluster_time__of(b->run[at[k]], run),
			cluster_time__of(fmax(b->end[at[k]] - b->wall[at[k]], 0), begin));
		print__escaped(out, name);
		if (v->single_codes)
			print_code(&v->single_codes[at[k]], out);
		fputs("\n", out);
	}
}

static void print_head(const struct cluster_view *v, FILE *out)
{
	const struct burst_clusters *c = v->clusters;
	const struct model_bursts *b = v->bursts;
	report_number n, threads, share;

	print__escaped(out, v->path);
	fprintf(out, ": %s long burst%s of %s thread%s", report_text__count((double)b->all, n),
		report_text__s((double)b->all), report_text__count(b->nthreads, threads),
		report_text__s(b->nthreads));
	if (b->all_s > 0)
		fprintf(out, ", %s of the run time of all bursts",
			report_text__share(fmin(b->long_s / b->all_s, 1), share));
	fputs("\n", out);
	if (b->lost > 0)
		fprintf(out, "%s more found no room and are not known\n",
			report_text__count(b->lost, n));
	if (b->paused) {
		fputs("Regions: ", out);
		print__escaped(out, b->paused);
		fputs("\n", out);
	}
	if (b->n < b->all)
		fprintf(out, "Medians and lines are of %s of them, chosen by a hash\n",
			report_text__count((double)b->n, n));
	if (v->regions)
		fputs(!strcmp(v->of, "code")
			      ? "By code: a burst is of what most of its samples are in\n"
			      : "By region: a burst is of the innermost one that has 95 % of it\n",
		      out);
	if (v->regions || c->verdict.status != ANALYSIS_OK)
		return;
	fprintf(out, "%u cluster%s by", c->k, report_text__s(c->k));
	for (unsigned d = 0; d < v->request->dims; d++)
		fprintf(out, "%s %s", d ? " and" : "", burst_features[v->request->by[d]].doc);
	fprintf(out, " (DBSCAN: %" PRIu64 " within %.3g", c->model.min_pts, c->model.eps);
	if (c->model.n < c->used)
		fprintf(out, ", of %s bursts; the others are as the nearest of these",
			report_text__count((double)c->model.n, n));
	fputs(")\n", out);
}

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

void cluster_view__print(const struct cluster_view *v, unsigned width, FILE *out)
{
	const struct burst_clusters *c = v->clusters;
	const char *hint = cluster_view__hint(v);
	report_number n;

	print_head(v, out);
	if (c->verdict.status != ANALYSIS_OK) {
		fprintf(out, "%s: %s\n", analysis_status__name(c->verdict.status),
			report_reason__words(&c->verdict));
		return;
	}
	fprintf(out, "\n  %-6s%10s%9s%12s%10s%12s%9s%s%s\n", "", "bursts", "share", "run time",
		"spread", "gap before", "on CPU", v->regions || v->codes ? "  " : "",
		v->regions ? v->of
		: v->codes ? "most samples in"
			   : "");
	for (unsigned k = 1; k <= c->k; k++)
		print_cluster(v, k, out);
	print_cluster(v, 0, out);
	if (c->unused)
		fprintf(out, "  %s cannot be compared: in no cluster\n",
			report_text__count((double)c->unused, n));
	if (hint)
		fprintf(out, "  %s\n", hint);
	cluster_counters__print(v, out);
	print_singles(v, out);
	print_lines(v, width, out);
}

/* ---- CSV: a line per burst, with its cluster, for other programs */

static void put_number(double v, FILE *out)
{
	if (isnan(v))
		putc(',', out);
	else
		fprintf(out, ",%.9f", v);
}

void cluster_csv__head(const struct model_bursts *b, FILE *out)
{
	fputs("Step,Node,Task,Rank,Thread,End,Duration,OnCPU,RunTime,Gap,Cluster", out);
	for (unsigned e = 0; e < b->nevents; e++) {
		putc(',', out);
		csv__print(out, b->events[e]);
	}
	putc('\n', out);
}

void cluster_csv__row(const struct model_bursts *b, const struct burst_row *row, unsigned label,
		      FILE *out)
{
	const struct burst_place *p = &b->places[row->place];
	const double times[] = {row->end, row->wall, row->on_cpu, row->run, row->gap};
	cluster_name name;

	csv__print(out, p->step);
	putc(',', out);
	csv__print(out, p->node);
	putc(',', out);
	csv__print(out, p->task);
	if (p->rank >= 0)
		fprintf(out, ",%d", p->rank);
	else
		putc(',', out);
	if (isnan(b->tids[row->thread]))
		putc(',', out);
	else
		fprintf(out, ",%.0f", b->tids[row->thread]);
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		put_number(times[i], out);
	fprintf(out, ",%s", label == CLUSTER_UNUSED ? "" : cluster_name__of(label, name));
	for (unsigned e = 0; e < b->nevents; e++)
		put_number(row->counts[e], out);
	putc('\n', out);
}
