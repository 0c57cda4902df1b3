/* SPDX-License-Identifier: GPL-2.0-only */
/* jobprof list: the columns of the built-in series, from schemas/, or of a file. */
#include <unistd.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/input_args.h"
#include "cmd/jobprof/list_file.h"
#include "cmd/jobprof/list_man.h"
#include "cmd/jobprof/verbs.h"
#include "schema/schema.h"

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
		c = list__buckets_as_one(&s->cols[i], &s->cols[i + buckets - 1], doc);
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
	err = json__dump(all, stdout, JSON_INDENT(2));
	json_decref(all);
	putchar('\n');
	return err ? 1 : 0;
}

static int find_series(const char *name, const struct series **out)
{
	const char *names[64];
	const char *near;
	unsigned n = 0;

	*out = series__find(name);
	if (*out)
		return 0;
	for (; n < n_builtin_series && n < sizeof(names) / sizeof(names[0]); n++)
		names[n] = builtin_series[n].name;
	near = str__nearest(name, names, n);
	if (near)
		log_error("unknown series \"%s\"; did you mean \"%s\"?", name, near);
	else
		log_error("unknown series \"%s\"; \"jobprof list\" shows all", name);
	return 2;
}

static const struct opt opts[] = {
	{'s', "series", "SERIES", "only this one, and what its columns mean"},
	{'a', "all", NULL, "of a file: what each column means, and the totals of each series"},
	OPT_JOBS,
	OPT_INPUT,
	{'N', "node", "HOSTLIST", "what these nodes have"},
	{OPT_LONG + 'J', "json", NULL, "as JSON"},
	{OPT_LONG + 'M', "man", NULL, "as the manual page jobprof-metrics(7)"},
	{0},
};

static const struct opt_values values[] = {
	{'s', series__print_names},
	{0},
};

const struct command cmd_list = {
	.name = "jobprof list",
	.usage = "[-s SERIES] [--json | --man]\n" USAGE_INPUT
		 " [-a | -s SERIES] [-N HOSTLIST] [--json]",
	.about =
		"Without a file: the columns of the built-in series: unit, kind, family, meaning,\n"
		"and after \"!\" what the column does not see; then the families, and after \"+\"\n"
		"how each is switched on.\n\n"
		"Of a file: its steps, nodes, series and tasks, and the names of the columns.",
	.opts = opts,
	.values = values,
};

static int list_builtin(const char *series, bool json, bool man)
{
	const struct series *only = NULL;
	const char *doc = series && !json ? series__group_doc(series) : NULL;

	if (doc) { /* the file that has such a table says which columns */
		printf("%s: %s\n", series, doc);
		return 0;
	}
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
	struct select_words words;
	bool json, man, all;
};

static int set_option(void *ctx, int letter, const char *arg)
{
	struct options *o = ctx;

	if (select_words__take(&o->words, letter, arg))
		return 0;
	*(letter == OPT_LONG + 'J' ? &o->json : letter == 'a' ? &o->all : &o->man) = true;
	return 0;
}

int verb_list(int argc, char **argv)
{
	struct options o = {0};
	int status = options__read(&cmd_list, argc, argv, set_option, &o);

	if (status == OPTIONS_GO_ON)
		status = input_args__word(&cmd_list, argc, argv, &o.words.input);
	else
		return status;
	if (status)
		return status;
	if (o.man && (o.json || o.words.series || o.words.jobs || o.words.input))
		return options__wrong(&cmd_list, "--man goes with no other option");
	if (o.words.jobs || o.words.input)
		return list__file(&o.words,
				  o.json  ? LIST_JSON
				  : o.all ? LIST_ALL
					  : LIST_SHORT,
				  stdout);
	if (o.words.nodes)
		return options__wrong(&cmd_list, "nodes are those of a file: name one, or a job");
	return list_builtin(o.words.series, o.json, o.man);
}
