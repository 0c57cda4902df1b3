/* SPDX-License-Identifier: GPL-2.0-only */
/* jobprof list: the columns of the built-in series, from schemas/, or of a file. */
#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "cmd/list_file.h"
#include "cmd/list_man.h"
#include "cmd/verbs.h"
#include "store/series.h"

const char *list__kind(const struct column *c)
{
	static const char *const names[] = {
		[COL_TIME] = "time",
		[COL_GAUGE] = "gauge",
		[COL_DELTA] = "per interval",
		[COL_CUMULATIVE] = "cumulative",
	};

	return names[c->kind];
}

unsigned list__buckets(const struct series *s, unsigned i)
{
	unsigned n = 0;

	while (i + n < s->ncols && s->cols[i + n].how == HOW_BUCKET &&
	       (!n || s->cols[i + n].arg == s->cols[i].arg + (int)n) &&
	       s->cols[i + n].name[0] == s->cols[i].name[0])
		n++;
	return n;
}

struct column list__bucket(const struct series *s, unsigned i, unsigned n, char doc[static 160])
{
	struct column c = s->cols[i];
	const char *at = strstr(c.doc, "2^0");

	if (at)
		snprintf(doc, 160, "%.*s2^k%s k is the number in the name.", (int)(at - c.doc),
			 c.doc, at + 3);
	else
		snprintf(doc, 160, "%s", c.doc);
	c.doc = doc;
	c.blind = s->cols[i + n - 1].blind;
	return c;
}

static void print_column(const struct column *c, const char *name)
{
	printf("  %-15s %-4s %-12s %-8s %s\n", name, *c->unit ? c->unit : "-", list__kind(c),
	       family__name(c->family), c->doc);
	if (*c->blind)
		printf("  %-15s %-4s %-12s %-8s ! %s\n", "", "", "", "", c->blind);
}

static void print_series(const struct series *s)
{
	printf("%s%s: %s\n", s->name, series__tables(s), s->doc);
	for (unsigned i = 0; i < s->ncols; i++) {
		unsigned buckets = list__buckets(s, i);
		struct column c;
		char name[64], doc[160];

		if (!buckets) {
			print_column(&s->cols[i], s->cols[i].name);
			continue;
		}
		c = list__bucket(s, i, buckets, doc);
		snprintf(name, sizeof(name), "%s..%s", c.name, s->cols[i + buckets - 1].name);
		print_column(&c, name);
		i += buckets - 1;
	}
}

static void print_families(void)
{
	printf("\nFamilies:\n");
	for (unsigned i = 0; i < n_family_infos; i++)
		printf("  %-15s %s\n  %-15s + %s\n", family_infos[i].name, family_infos[i].doc, "",
		       family_infos[i].on);
}

static json_t *series_json(const struct series *s)
{
	json_t *cols = json_array();

	for (unsigned i = 0; i < s->ncols; i++) {
		const struct column *c = &s->cols[i];

		json_array_append_new(
			cols, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "name", c->name,
					"type", c->type == COL_U64 ? "U64" : "F64", "unit", c->unit,
					"kind", list__kind(c), "family", family__name(c->family),
					"description", c->doc, "blind_spot", c->blind));
	}
	return json_pack("{s:s, s:b, s:s, s:o}", "name", s->name, "grouped", s->grouped,
			 "description", s->doc, "columns", cols);
}

static int print_json(const struct series *only)
{
	json_t *all = json_array();
	int err;

	for (unsigned i = 0; i < n_builtin_series; i++)
		if (!only || only == &builtin_series[i])
			json_array_append_new(all, series_json(&builtin_series[i]));
	err = json_dumpf(all, stdout, JSON_INDENT(2));
	json_decref(all);
	putchar('\n');
	return err ? 1 : 0;
}

static int find_series(const char *name, const struct series **out)
{
	const char *names[16];
	const char *near;
	unsigned n = 0;

	*out = series__find(name);
	if (*out)
		return 0;
	for (; n < n_builtin_series && n < 16; n++)
		names[n] = builtin_series[n].name;
	near = str__nearest(name, names, n);
	if (near)
		log_error("unknown series \"%s\"; did you mean \"%s\"?", name, near);
	else
		log_error("unknown series \"%s\"; \"jobprof list\" shows all", name);
	return 2;
}

static int usage(FILE *out)
{
	fprintf(out,
		"usage: jobprof list [-s SERIES] [--json | --man]\n"
		"       jobprof list (-j JOB[.STEP] | -i FILE) [-s SERIES] [-N HOSTLIST] "
		"[--json]\n\n"
		"Without a file: the columns of the built-in series: unit, kind, family, meaning,\n"
		"and after \"!\" what the column does not see; then the families, and after \"+\"\n"
		"how each is switched on.\n\n"
		"Of a file: its steps, nodes, series and tasks, and the columns of each series.\n\n"
		"  -s, --series SERIES    only this one\n"
		"  -j, --jobs JOB[.STEP]  of ./job_JOB.h5\n"
		"  -i, --input FILE       of this file\n"
		"  -N, --node HOSTLIST    what these nodes have\n"
		"      --json             as JSON\n"
		"      --man              as the manual page jobprof-metrics(7)\n");
	return out == stdout ? 0 : 2;
}

static int list_builtin(const char *series, bool json, bool man)
{
	const struct series *only = NULL;

	if (series && find_series(series, &only))
		return 2;
	if (json)
		return print_json(only);
	if (man)
		return list__man(stdout);
	for (unsigned i = 0, n = 0; i < n_builtin_series; i++) {
		if (only && only != &builtin_series[i])
			continue;
		printf("%s", n++ ? "\n" : "");
		print_series(&builtin_series[i]);
	}
	if (!only)
		print_families();
	return 0;
}

struct options {
	const char *series, *jobs, *input, *nodes;
	bool json, man, help;
};

static int read_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{"series", required_argument, NULL, 's'}, {"jobs", required_argument, NULL, 'j'},
		{"input", required_argument, NULL, 'i'},  {"node", required_argument, NULL, 'N'},
		{"json", no_argument, NULL, 'J'},	  {"man", no_argument, NULL, 'M'},
		{"help", no_argument, NULL, 'h'},	  {0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "s:j:i:N:h", longs, NULL)) != -1) {
		const char **text = c == 's'   ? &o->series
				    : c == 'j' ? &o->jobs
				    : c == 'i' ? &o->input
				    : c == 'N' ? &o->nodes
					       : NULL;

		if (text)
			*text = optarg;
		else if (c == '?')
			return -1;
		o->json |= c == 'J';
		o->man |= c == 'M';
		o->help |= c == 'h';
	}
	return optind == argc ? 0 : -1;
}

int verb_list(int argc, char **argv)
{
	struct options o = {0};
	bool file;

	if (read_options(argc, argv, &o))
		return usage(stderr);
	if (o.help)
		return usage(stdout);
	file = o.jobs || o.input;
	if ((o.json && o.man) || (o.man && (o.series || file)) || (o.nodes && !file))
		return usage(stderr);
	if (file)
		return list__file(o.jobs, o.input, o.series, o.nodes, o.json, stdout);
	return list_builtin(o.series, o.json, o.man);
}
