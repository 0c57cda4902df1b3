// SPDX-License-Identifier: GPL-2.0-only
/* What the bursts of clusters counted, as text and JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/counters/counter_metrics.h"
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/json.h"
#include "view/cluster/cluster_view.h"
#include "view/report/report_text.h"

#define MOST_CLUSTERS 4
#define FEW_NOTE      "  * from fewer than 5 bursts\n"

typedef char rate_text[16];

/* "1.23 G", "0.5": three digits. */
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
		if (fabs(v) >= units[i].at * 0.9995) { /* 999.5 has three digits no more */
			snprintf(buf, sizeof(rate_text), "%.3g%s",
				 units[i].at > 0 ? v / units[i].at : v, units[i].unit);
			break;
		}
	return buf;
}

static const struct burst_counter *counter(const struct cluster_view *v, unsigned k, unsigned e)
{
	return &v->counters[(size_t)k * v->bursts->nevents + e];
}

/* Returns which part of the run time of all bursts in the table is of bursts that have the event.
 */
static double part_of_all(const struct cluster_view *v, unsigned e)
{
	double part = 0, share = 0;

	for (unsigned k = 0; k <= v->clusters->k; k++) {
		const struct burst_cluster *c = &v->clusters->clusters[k];

		if (!c->n || isnan(counter(v, k, e)->part))
			continue;
		part += c->share * counter(v, k, e)->part;
		share += c->share;
	}
	return share > 0 ? part / share : NAN;
}

/* By the totals that were projected. run: of the cluster, s. */
static void metrics_of(const struct cluster_view *v, unsigned k, struct counter_metrics *m)
{
	const struct model_bursts *b = v->bursts;
	_cleanup_free_ double *totals = malloc((b->nevents + 1) * sizeof(*totals));
	double run = 0;

	for (size_t i = 0; i < b->n; i++)
		run += v->clusters->labels[i] == k ? b->run[i] : 0;
	for (unsigned e = 0; totals && e < b->nevents; e++)
		totals[e] = counter(v, k, e)->total;
	counter_metrics__of(&(struct counter_totals){(const char *const *)b->events, totals,
						     totals ? b->nevents : 0, run, b->cpi_kind,
						     b->cpi_width},
			    m);
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

/* The metrics that the first cluster has: others lack some where they have few bursts. */
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
		const struct burst_counter *c = counter(v, k, e);
		bool mark = c->is_low_confidence && c->n;

		fprintf(out, "%8s%s", rate(c->per_s, text), mark ? "*" : " ");
		*few |= mark;
	}
	fprintf(out, "%8s\n", report_text__share(part_of_all(v, e), part));
}

void cluster_counters__print(const struct cluster_view *v, FILE *out)
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
		metrics_of(v, k, &m[k - 1]);
	print_metrics(m, shown, out);
}

/* Bursts of the cluster for each that is kept. */
static double bursts_per_kept(const struct cluster_view *v, unsigned cluster)
{
	size_t kept = 0;

	for (size_t i = 0; i < v->bursts->n; i++)
		kept += v->clusters->labels[i] == cluster;
	return kept ? (double)v->clusters->clusters[cluster].n / (double)kept : NAN;
}

json_t *cluster_counters__json(const struct cluster_view *v, unsigned cluster)
{
	json_t *all = json_object();
	double scale = bursts_per_kept(v, cluster);

	for (unsigned e = 0; e < v->bursts->nevents; e++) {
		const struct burst_counter *c = counter(v, cluster, e);
		json_t *o = json_object();

		json__set(o, "bursts", json_integer((json_int_t)c->n));
		JSON_NUMBERS(o, {"counted", c->part}, {"per_s", c->per_s},
			     {"per_instruction", c->per_ins}, {"total", scale * c->total});
		json__set(o, "low_confidence", json_boolean(c->is_low_confidence));
		json__set(all, v->bursts->events[e], o);
	}
	return all;
}

json_t *cluster_metrics__json(const struct cluster_view *v, unsigned cluster)
{
	struct counter_metrics m;
	json_t *o = json_object(), *stack;

	metrics_of(v, cluster, &m);
	stack = m.status == ANALYSIS_OK ? json_object() : json_null();
	for (unsigned i = 0; i < m.n; i++)
		json__set(o, m.v[i].name, json__number(m.v[i].value));
	for (int p = 0; m.status == ANALYSIS_OK && p < N_CPI_PARTS; p++)
		json__set(stack, cpi_part_names[p], json__number(m.stack.stack[p]));
	json__set(o, "cpi_stack", stack);
	return o;
}
