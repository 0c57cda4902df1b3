/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints the manual page jobprof-metrics(7), made from schemas/ and the sensors. */
#include "cmd/jobprof/list_man.h"

#include <string.h>

#include "sensor/sensors.h"

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
	"Every table says so of its own columns, in the attributes",
	".BR \"Column Units\" ,",
	".B \"Column Kinds\"",
	"(time, gauge, delta: per interval, cumulative) and",
	".BR \"Column Descriptions\" :",
	"arrays of strings with an element for each member of a row.",
	".PP",
	"Group",
	".B Totals",
	"holds one table per series with one row per table: Min_X, Max_X and Avg_X of",
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

int list__man(FILE *out)
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
