// SPDX-License-Identifier: GPL-2.0-or-later
/* Clusters that are followed over pieces, as text and as JSON: a line per cluster, a column per
 * piece. */
#include <math.h>
#include <stdlib.h>

#include "base/escape.h"
#include "base/json.h"
#include "view/cluster/cluster_view.h"
#include "view/report/report_text.h"

#define MOST_NAMES 40

/* The index of the cluster of that name; 0: the piece has none. */
static unsigned named(const struct burst_piece *p, unsigned name)
{
	for (unsigned k = 1; k <= p->c.k; k++)
		if (p->names[k] == name)
			return k;
	return 0;
}

static void print_piece(const struct burst_track *t, size_t i, FILE *out)
{
	const struct burst_piece *p = &t->v[i];
	report_number n, before, share;

	fprintf(out, "  %-3zu ", i + 1);
	print__escaped(out, p->label);
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

static void print_name(const struct burst_track *t, unsigned name, FILE *out)
{
	cluster_name text;

	fprintf(out, "  %-6s", cluster_name__of(name, text));
	for (size_t i = 0; i < t->n; i++) {
		const struct burst_piece *p = &t->v[i];
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

void track_view__print(const struct burst_track *t, FILE *out)
{
	report_number all, kept;

	if (t->kept < t->all)
		fprintf(out, "Of %s bursts %s are used, chosen by a hash\n",
			report_text__count((double)t->all, all),
			report_text__count((double)t->kept, kept));
	for (size_t i = 0; i < t->n; i++)
		print_piece(t, i, out);
	fprintf(out,
		"  (of the run time before, and of this, in clusters that are in both: the same "
		"from "
		"%g %%)\n\n"
		"  run time of a burst, and share of all\n        ",
		100 * t->level.threshold);
	for (size_t i = 0; i < t->n; i++)
		fprintf(out, "%18zu", i + 1);
	fputs("\n", out);
	for (unsigned name = 1; name <= t->names && name <= MOST_NAMES; name++)
		print_name(t, name, out);
	if (t->names > MOST_NAMES)
		fprintf(out, "  and %u more\n", t->names - MOST_NAMES);
	if (t->stable < t->n)
		fprintf(out, "\nStable from %zu on: %d in a row are the same.\n", t->stable + 1,
			CLUSTER_IN_A_ROW);
	else
		fprintf(out, "\nNot stable: no %d in a row are the same.\n", CLUSTER_IN_A_ROW);
}

static json_t *piece_json(const struct burst_piece *p)
{
	json_t *o = json_object(), *list = json_array();

	json__set(o, "label", json__text(p->label));
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

json_t *track_view__json(const struct burst_track *t)
{
	json_t *o = json_object(), *list = json_array();

	for (size_t i = 0; i < t->n; i++)
		json_array_append_new(list, piece_json(&t->v[i]));
	json__set(o, "pieces", list);
	json__set(o, "names", json_integer(t->names));
	json__set(o, "least_share", json__number(t->level.threshold));
	json__set(o, "bursts", json_integer((json_int_t)t->all));
	json__set(o, "kept", json_integer((json_int_t)t->kept));
	json__set(o, "stable",
		  t->stable < t->n ? json_integer((json_int_t)t->stable) : json_null());
	return o;
}
