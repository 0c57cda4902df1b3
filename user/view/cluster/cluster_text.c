// SPDX-License-Identifier: GPL-2.0-only
/* Clusters of bursts for a terminal. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/escape.h"
#include "view/cluster/cluster_view.h"
#include "view/report/report_text.h"

#define MOST_PLACES 32
#define NAME_WIDTH  20
#define SINGLES	    5	 /* bursts of noise that are listed, */
#define LONG	    0.01 /* of the run time of all */
#define NOISY	    0.05 /* if they have so much of the run time */
#define MOSTLY	    0.5	 /* noise, */
#define LITTLE	    0.2	 /* or long bursts of all: tells the reader little */

/* ---- over time */

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

static void print_code(const struct burst_code *c, FILE *out)
{
	report_number share;

	if (!c->name)
		return;
	fputs("  ", out);
	print__escaped(out, c->name);
	fprintf(out, ", %s", burst_code__share(c, share));
}

static void print_cluster(const struct cluster_view *v, unsigned k, FILE *out)
{
	static const int widths[CLUSTER_CELLS] = {10, 9, 12, 10, 12, 9};
	const struct burst_cluster *c = &v->clusters->clusters[k];
	cluster_cells cells;
	cluster_name name;

	if (!c->n)
		return;
	cluster_cells__of(c, k, cells);
	fprintf(out, "  %-6s", k || !v->regions ? cluster_name__of(k, name) : "none");
	for (int i = 0; i < CLUSTER_CELLS; i++)
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
