// SPDX-License-Identifier: GPL-2.0-only
/* What the bursts of clusters counted, as text and JSON. */
#include <math.h>
#include <string.h>

#include "base/escape.h"
#include "base/json.h"
#include "view/cluster/cluster_view.h"
#include "view/report/report_text.h"

#define MOST_CLUSTERS 5
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

/* Of the run time of all bursts that are in a table, those that have the event. */
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

static void print_event(const struct cluster_view *v, unsigned e, unsigned shown, bool *few,
			FILE *out)
{
	report_number part;
	report_line name;
	rate_text text;

	fprintf(out, "  %-20s", report_text__cut(v->bursts->events[e], 20, name));
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
	bool few = false;

	if (!v->counters)
		return;
	fprintf(out, "\nCounters, per second of run time\n  %-20s", "");
	for (unsigned k = 1; k <= shown; k++) {
		cluster_name name;

		fprintf(out, "%8s ", cluster_name__of(k, name));
	}
	fprintf(out, "%8s\n", "counted");
	for (unsigned e = 0; e < v->bursts->nevents; e++)
		print_event(v, e, shown, &few, out);
	if (few)
		fputs(FEW_NOTE, out);
}

json_t *cluster_counters__json(const struct cluster_view *v, unsigned cluster)
{
	json_t *all = json_object();

	for (unsigned e = 0; e < v->bursts->nevents; e++) {
		const struct burst_counter *c = counter(v, cluster, e);
		json_t *o = json_object();

		json__set(o, "bursts", json_integer((json_int_t)c->n));
		json__set(o, "counted", json__number(c->part));
		json__set(o, "per_s", json__number(c->per_s));
		json__set(o, "per_instruction", json__number(c->per_ins));
		json__set(o, "total", json__number(c->total));
		json__set(o, "low_confidence", json_boolean(c->is_low_confidence));
		json__set(all, v->bursts->events[e], o);
	}
	return all;
}
