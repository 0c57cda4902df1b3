// SPDX-License-Identifier: GPL-2.0-or-later
/* Clusters of bursts for a terminal, and as CSV: a line per burst, with its cluster. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/csv.h"
#include "base/escape.h"
#include "view/cluster/cluster_view.h"
#include "view/report/report_text.h"

#define MOST_PLACES   32
#define NAME_WIDTH    20
#define CELLS	      6
#define SINGLES	      5	   /* bursts of noise that are listed */
#define LONG	      0.01 /* share of all run time from which such a burst is listed */
#define NOISY	      0.05 /* share of the run time from which noise is listed */
#define MOST_CLUSTERS 4	   /* clusters whose counters are printed */
#define FEW_NOTE      "  * from fewer than 5 bursts\n"

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

/* Writes "65 % of 74 samples". */
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

/* Fills the cells: bursts, share, run time, spread, gap before, on CPU. */
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

/* Finds the longest bursts of noise, longest first. Returns their number in at[SINGLES]. */
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

/* Prints the longest bursts of noise: code that is executed once, or never alike, is in no cluster,
 * and may take most of the time. */
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

/* ---- counters */

typedef char rate_text[16];

/* Writes "1.23 G" or "0.5": three digits. */
static const char *rate(double v, rate_text buf)
{
	static const struct {
		double at;
		const char *unit;
	} units[] = {{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}, {0, ""}};

	if (isnan(v)) {
		return strcpy(buf, "?");
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (fabs(v) >= units[i].at * 0.9995) { /* 999.5 would be rounded to four digits */
			snprintf(buf, sizeof(rate_text), "%.3g%s",
				 units[i].at > 0 ? v / units[i].at : v, units[i].unit);
			break;
		}
	return buf;
}

/* Returns the share of all bursts' run time that is in bursts with this event. */
static double part_of_all(const struct cluster_view *v, unsigned e)
{
	double part = 0, share = 0;

	for (unsigned k = 0; k <= v->clusters->k; k++) {
		const struct burst_cluster *c = &v->clusters->clusters[k];

		if (!c->n || isnan(cluster_counters__of(v, k, e)->part))
			continue;
		part += c->share * cluster_counters__of(v, k, e)->part;
		share += c->share;
	}
	return share > 0 ? part / share : NAN;
}

static void print_line(const char *name, const double *v, unsigned n, FILE *out)
{
	rate_text text;

	fprintf(out, "  %-26s", name);
	for (unsigned k = 0; k < n; k++)
		fprintf(out, "%8s ", rate(v[k], text));
	fputs("\n", out);
}

static double metric(const struct counter_metrics *m, const char *name)
{
	for (unsigned i = 0; i < m->n; i++)
		if (!strcmp(m->v[i].name, name))
			return m->v[i].value;
	return NAN;
}

/* Prints the metrics of the first cluster: others lack some where they have few bursts. */
static void print_metrics(const struct counter_metrics *m, unsigned n, FILE *out)
{
	double v[MOST_CLUSTERS];

	for (unsigned i = 0; n && i < m[0].n; i++) {
		for (unsigned k = 0; k < n; k++)
			v[k] = metric(&m[k], m[0].v[i].name);
		if (!i)
			fputs("\nMetrics\n", out);
		print_line(m[0].v[i].doc, v, n, out);
	}
	for (int p = 0; n && m[0].status == ANALYSIS_OK && p < N_CPI_PARTS; p++) {
		for (unsigned k = 0; k < n; k++)
			v[k] = m[k].status == ANALYSIS_OK ? m[k].stack.stack[p] : NAN;
		if (!p)
			fputs("\nCycles per instruction, by what they were used for\n", out);
		if (!isnan(v[0]))
			print_line(cpi_part_names[p], v, n, out);
	}
}

static void print_event(const struct cluster_view *v, unsigned e, unsigned shown, bool *few,
			FILE *out)
{
	report_number part;
	report_line name;
	rate_text text;

	fprintf(out, "  %-26s", report_text__cut(v->bursts->events[e], 26, name));
	for (unsigned k = 1; k <= shown; k++) {
		const struct burst_counter *c = cluster_counters__of(v, k, e);
		bool mark = c->is_low_confidence && c->n;

		fprintf(out, "%8s%s", rate(c->per_s, text), mark ? "*" : " ");
		*few |= mark;
	}
	fprintf(out, "%8s\n", report_text__share(part_of_all(v, e), part));
}

static void print_counters(const struct cluster_view *v, FILE *out)
{
	unsigned shown = v->clusters->k < MOST_CLUSTERS ? v->clusters->k : MOST_CLUSTERS;
	struct counter_metrics m[MOST_CLUSTERS];
	bool few = false;

	if (!v->counters)
		return;
	fprintf(out, "\nCounters, per second of run time\n  %-26s", "");
	for (unsigned k = 1; k <= shown; k++) {
		cluster_name name;

		fprintf(out, "%8s ", cluster_name__of(k, name));
	}
	fprintf(out, "%8s\n", "counted");
	for (unsigned e = 0; e < v->bursts->nevents; e++)
		print_event(v, e, shown, &few, out);
	if (few)
		fputs(FEW_NOTE, out);
	for (unsigned k = 1; k <= shown; k++)
		cluster_counters__metrics(v, k, &m[k - 1]);
	print_metrics(m, shown, out);
}

/* ---- all of it */

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
	print_counters(v, out);
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
