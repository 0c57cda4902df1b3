// SPDX-License-Identifier: GPL-2.0-only
/* Clusters that are followed, as text and as JSON: a line per cluster, a column per piece. */
#include <math.h>
#include <stdlib.h>

#include "base/escape.h"
#include "base/json.h"
#include "view/cluster/cluster_view.h"
#include "view/report/report_text.h"

#define MOST_NAMES 40

/* The cluster of that name; 0: the piece has none. */
static unsigned named(const struct burst_piece *p, unsigned name)
{
	for (unsigned k = 1; k <= p->c.k; k++)
		if (p->names[k] == name)
			return k;
	return 0;
}

static void print_piece(const struct track_view *v, size_t i, FILE *out)
{
	const struct burst_piece *p = &v->pieces[i];
	report_number n, before, share;

	fprintf(out, "  %-3zu ", i + 1);
	print__escaped(out, v->labels[i]);
	fprintf(out, ": %s burst%s, ", report_text__count((double)p->c.n, n),
		report_text__s((double)p->c.n));
	if (p->c.verdict.status != ANALYSIS_OK)
		fprintf(out, "%s: %s", analysis_status__name(p->c.verdict.status),
			report_reason__words(&p->c.verdict));
	else
		fprintf(out, "%u cluster%s", p->c.k, report_text__s(p->c.k));
	if (i && !isnan(p->share))
		fprintf(out, ", %s as before (%s, %s)", p->equivalent ? "the same" : "not",
			report_text__share(p->share_before, before),
			report_text__share(p->share, share));
	fputs("\n", out);
}

static void print_name(const struct track_view *v, unsigned name, FILE *out)
{
	cluster_name text;

	fprintf(out, "  %-6s", cluster_name__of(name, text));
	for (size_t i = 0; i < v->n; i++) {
		const struct burst_piece *p = &v->pieces[i];
		unsigned k = named(p, name);
		report_number share;
		cluster_time run;

		if (!k)
			fprintf(out, "%18s", "-");
		else
			fprintf(out, "%11s%7s", cluster_time__of(p->c.clusters[k].run, run),
				report_text__share(p->c.clusters[k].share, share));
	}
	fputs("\n", out);
}

void track_view__print(const struct track_view *v, FILE *out)
{
	report_number all, kept;

	if (v->kept < v->all)
		fprintf(out, "Of %s bursts %s are used, chosen by a hash\n",
			report_text__count((double)v->all, all),
			report_text__count((double)v->kept, kept));
	for (size_t i = 0; i < v->n; i++)
		print_piece(v, i, out);
	fprintf(out,
		"  (of the run time before, and of this, in clusters that are in both: the same "
		"from "
		"%g %%)\n\n"
		"  run time of a burst, and share of all\n        ",
		100 * v->track->level.threshold);
	for (size_t i = 0; i < v->n; i++)
		fprintf(out, "%18zu", i + 1);
	fputs("\n", out);
	for (unsigned name = 1; name <= v->track->names && name <= MOST_NAMES; name++)
		print_name(v, name, out);
	if (v->track->names > MOST_NAMES)
		fprintf(out, "  and %u more\n", v->track->names - MOST_NAMES);
	if (v->track->stable < v->n)
		fprintf(out, "\nStable from %zu on: %d in a row are the same.\n",
			v->track->stable + 1, CLUSTER_IN_A_ROW);
	else
		fprintf(out, "\nNot stable: no %d in a row are the same.\n", CLUSTER_IN_A_ROW);
}

static json_t *piece_json(const struct burst_piece *p, const char *label)
{
	json_t *o = json_object(), *list = json_array();

	json__set(o, "label", json__text(label));
	json__set(o, "status", json__text(analysis_status__name(p->c.verdict.status)));
	json__set(o, "bursts", json_integer((json_int_t)p->c.n));
	JSON_NUMBERS(o, {"share_before", p->share_before}, {"share", p->share});
	json__set(o, "same", json_boolean(p->equivalent));
	json__set(o, "in_a_row", json_integer(p->streak));
	for (unsigned k = 1; k <= p->c.k; k++) {
		const struct burst_cluster *c = &p->c.clusters[k];
		json_t *one = json_object();
		cluster_name name;

		json__set(one, "name", json__text(cluster_name__of(p->names[k], name)));
		json__set(one, "bursts", json_integer((json_int_t)c->n));
		JSON_NUMBERS(one, {"share", c->share}, {"run_s", c->run}, {"gap_s", c->gap});
		json_array_append_new(list, one);
	}
	json__set(o, "clusters", list);
	return o;
}

json_t *track_view__json(const struct track_view *v)
{
	json_t *o = json_object(), *list = json_array();

	for (size_t i = 0; i < v->n; i++)
		json_array_append_new(list, piece_json(&v->pieces[i], v->labels[i]));
	json__set(o, "pieces", list);
	json__set(o, "names", json_integer(v->track->names));
	json__set(o, "least_share", json__number(v->track->level.threshold));
	json__set(o, "bursts", json_integer((json_int_t)v->all));
	json__set(o, "kept", json_integer((json_int_t)v->kept));
	json__set(o, "stable",
		  v->track->stable < v->n ? json_integer((json_int_t)v->track->stable)
					  : json_null());
	return o;
}
