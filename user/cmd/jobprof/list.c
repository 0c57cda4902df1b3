/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof list: the columns of the built-in series, from schemas/, or of a file. */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/input_args.h"
#include "cmd/jobprof/list_file.h"
#include "cmd/jobprof/list_man.h"
#include "cmd/jobprof/verbs.h"
#include "schema/schema.h"
#include "sensor/sensors.h"

/* ---- prints the manual page jobprof-metrics(7), made from schemas/ and the sensors */

#define LINE_MAX_ROFF 76

/* Prints a word as roff; characters that roff would interpret are escaped. Returns how many
 * characters were printed. */
static int put_word(FILE *out, const char *s, size_t len)
{
	static const struct {
		char c;
		const char *roff;
	} escapes[] = {
		{'\\', "\\e"},	{'-', "\\-"},	 {'^', "\\(ha"}, {'~', "\\(ti"},
		{'`', "\\(ga"}, {'\'', "\\(aq"}, {'"', "\\(dq"},
	};
	int n = 0;

	/* A line that begins with a dot would be a request. */
	if (*s == '.')
		n += fprintf(out, "\\&");
	for (size_t at = 0; at < len; at++) {
		const char *roff = NULL;

		for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++)
			if (s[at] == escapes[i].c)
				roff = escapes[i].roff;
		n += roff ? fprintf(out, "%s", roff) : fprintf(out, "%c", s[at]);
	}
	return n;
}

static void put_text(FILE *out, const char *s)
{
	int column = 0;

	for (;;) {
		size_t len;

		s += strspn(s, " ");
		len = strcspn(s, " ");
		if (!len)
			break;
		if (column && column + 1 + (int)len > LINE_MAX_ROFF) {
			putc('\n', out);
			column = 0;
		} else if (column) {
			putc(' ', out);
			column++;
		}
		column += put_word(out, s, len);
		s += len;
	}
}

static void put_line(FILE *out, const char *s)
{
	put_text(out, s);
	putc('\n', out);
}

/* Columns of Tasks are in Step, too, so their series is not printed; that of other columns is. */
static void put_column(FILE *out, const struct series *s, const struct column *c,
		       const char *last_bucket)
{
	fputs(".TP\n.B ", out);
	put_text(out, c->name);
	if (last_bucket) {
		fputs(" ... ", out);
		put_text(out, last_bucket);
	}
	fprintf(out, "\n(%s, %s", *c->unit ? c->unit : "number", list__kind(c));
	if (s != &builtin_series[0])
		fprintf(out, ", in %s", s->name);
	fputs(")\n", out);
	put_line(out, c->doc);
	if (!*c->blind)
		return;
	fputs(".br\n.I Blind spot:\n", out);
	put_line(out, c->blind);
}

/* A series before this one has the column too. */
static bool is_described_before(unsigned series, const struct column *c)
{
	for (unsigned s = 0; s < series; s++)
		for (unsigned i = 0; i < builtin_series[s].ncols; i++)
			if (builtin_series[s].cols[i].family == c->family &&
			    !strcmp(builtin_series[s].cols[i].name, c->name))
				return true;
	return false;
}

static void put_columns(FILE *out, unsigned series, enum family family)
{
	const struct series *s = &builtin_series[series];
	char doc[160];

	for (unsigned i = 0; i < s->ncols; i++) {
		unsigned buckets = list__buckets(s, i);
		struct column c = s->cols[i];

		if (buckets)
			c = list__buckets_as_one(&c, &s->cols[i + buckets - 1], doc);
		i += buckets ? buckets - 1 : 0;
		if (c.family == family && !is_described_before(series, &c))
			put_column(out, s, &c, buckets ? s->cols[i].name : NULL);
	}
}

static void put_family(FILE *out, const struct family_info *f)
{
	fputs(".SS ", out);
	put_line(out, f->name);
	put_line(out, f->doc);
	fputs(".br\n.I Switched on:\n", out);
	put_line(out, f->on);
	for (unsigned s = 0; s < n_builtin_series; s++)
		put_columns(out, s, f->family);
}

static bool has_family(const struct series *s, enum family family)
{
	for (unsigned i = 0; i < s->ncols; i++)
		if (s->cols[i].family == family && s->cols[i].kind != COL_TIME)
			return true;
	return false;
}

static void put_series(FILE *out, const struct series *s)
{
	unsigned n = 0;

	fputs(".TP\n.B ", out);
	put_text(out, s->name);
	fprintf(out, "%s\n", series__tables(s));
	put_line(out, s->doc);
	for (unsigned i = 0; i < n_family_infos; i++)
		if (has_family(s, family_infos[i].family))
			fprintf(out, "%s%s", n++ ? ", " : ".br\nFamilies: ", family_infos[i].name);
	fputs(n ? ".\n" : "", out);
}

static const char *const head[] = {
	".SH NAME",
	"jobprof\\-metrics \\- what jobprof measures, and what it does not see",
	".SH DESCRIPTION",
	"A profile is made of series: tables of rows in time, one row per interval.",
	"Every column says its unit, its kind and its family; what a column cannot see",
	"is said with it.",
	".PP",
	"A",
	".B gauge",
	"holds at the row's instant.",
	"A value",
	".B per interval",
	"counts from the row before; the first row counts from the step's start, the",
	"last one is written at its end, so that the sum over all rows is the total.",
	"A",
	".B cumulative",
	"value counts from the step's start.",
	".PP",
	"MiB is 2\\(ha20 bytes, KiB 2\\(ha10 bytes; MB in the name of a column is MiB, as in",
	"Slurm's own.",
	"What is not known is NaN, never 0; an integer column that is not known is 0",
	"and named in the attribute",
	".BR \"Unknown Columns\" .",
	"Columns belong to families, which are switched on and off as a whole with",
	".B \\-\\-series",
	"of",
	".BR \"jobprof run\" ,",
	"and which are not loaded where nobody asks for them.",
	"The attribute",
	".B Mode",
	"of every family says how its numbers came about on the node: exact, or what else",
	"and why.",
	".PP",
	"The table",
	".B Columns",
	"of a node says so of all its other tables: a row has a",
	".B Table",
	"(a series),",
	".BR Column ,",
	".BR Unit ,",
	".B Kind",
	"(time, gauge, delta: per interval, cumulative) and",
	".BR Description ,",
	"which are strings.",
	".PP",
	"Group",
	".B Totals",
	"holds one table per series of 16 rows or more, with one row per table: Min_X, Max_X and "
	"Avg_X of",
	"every column, Sum_X of those per interval, Last_X of cumulative ones;",
	"RSS, VMSize and CPUFrequency are without the rows that say 0: no process lived;",
	"of a histogram's buckets the four are arrays over the buckets, Min_B, Max_B, Avg_B",
	"and Sum_B (and Min_W ...), whose element k is of bucket k;",
	".B \"jobprof extract\"",
	"and",
	".B \"jobprof list\"",
	"have columns Min_B0, Min_B1 and so on.",
	".SH SERIES",
};

/* doc NULL: the next ones' heading */
static const struct {
	const char *name, *doc;
} attributes[] = {
#define ATTR(name_, doc_) {name_, doc_},
	{"Of the node's group, beside those that say who and when:", NULL},
#include "schemas/attributes.def"
	{"Of the node's group, on what the job had asked for:", NULL},
#include "schemas/job_attributes.def"
	{"Of a table Tasks/<task> or Ranks/<rank>:", NULL},
#include "schemas/task_attributes.def"
#undef ATTR
};

static void put_attributes(FILE *out)
{
	fputs(".SH ATTRIBUTES\n", out);
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		if (!attributes[i].doc) {
			fputs(i ? ".PP\n" : "", out);
			put_line(out, attributes[i].name);
			continue;
		}
		fputs(".TP\n.B \"", out);
		put_text(out, attributes[i].name);
		fputs("\"\n", out);
		put_line(out, attributes[i].doc);
	}
}

static void put_sensors(FILE *out)
{
	fputs(".SH SENSORS\nWhat is read for the series of the node, and for its energy in this "
	      "order:\n",
	      out);
	for (unsigned i = 0; i < n_sensor_sources; i++) {
		fputs(".TP\n.B ", out);
		put_line(out, sensor_sources[i]->name);
		put_line(out, sensor_sources[i]->doc);
	}
}

/* jobprof-metrics(7) in roff, made from the schemas. Returns the exit status. */
static int list_man(FILE *out)
{
	fprintf(out,
		".\\\" Made by \"jobprof list --man\" from the schemas and sensors.\n"
		".TH JOBPROF\\-METRICS 7 2026-11-21 \"jobprof %s\" \"jobprof\"\n",
		JOBPROF_VERSION);
	for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
		fprintf(out, "%s\n", head[i]);
	for (unsigned i = 0; i < n_builtin_series; i++)
		put_series(out, &builtin_series[i]);
	fputs(".SH FAMILIES AND COLUMNS\n", out);
	for (unsigned i = 0; i < n_family_infos; i++)
		put_family(out, &family_infos[i]);
	put_sensors(out);
	put_attributes(out);
	fputs(".SH SEE ALSO\n.BR jobprof (1),\n.BR jobprofd (8),\n.BR jobprof.conf (5)\n", out);
	return ferror(out) ? 1 : 0;
}

/* ---- the verb */

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

struct options {
	struct select_words words;
	bool json, man, all;
};

static const struct opt opts[] = {
	{'s', "series", "SERIES", "only this one, and what its columns mean",
	 OPT_TEXT(struct options, words.series), .values = series__print_names},
	{'a', "all", NULL, "of a file: what each column means, and the totals of each series",
	 OPT_FLAG(struct options, all)},
	OPT_JOBS(struct options),
	OPT_INPUT(struct options),
	{'N', "node", "HOSTLIST", "what these nodes have", OPT_TEXT(struct options, words.nodes)},
	{0, "json", NULL, "as JSON", OPT_FLAG(struct options, json)},
	{0, "man", NULL, "as the manual page jobprof-metrics(7)", OPT_FLAG(struct options, man)},
	{0},
};

const struct command cmd_list = {
	.name = "jobprof list",
	.usage = "[-s SERIES] [--json | --man]\n"
		 "(FILE | -j JOB[.STEP] [DIR]) [-a | -s SERIES] [-N HOSTLIST] [--json]",
	.about =
		"Without a file: the columns of the built-in series: unit, kind, family, meaning,\n"
		"and after \"!\" what the column does not see; then the families, and after \"+\"\n"
		"how each is switched on.\n\n"
		"Of a file: its steps, nodes, series and tasks, and the names of the columns.",
	.opts = opts,
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
		return list_man(stdout);
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

int verb_list(int argc, char **argv)
{
	struct options o = {0};
	int status = options__read(&cmd_list, argc, argv, &o);

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
