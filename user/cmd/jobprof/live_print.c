// SPDX-License-Identifier: GPL-2.0-only
/* The forms of "jobprof live": table, CSV and JSON. */
#include "cmd/jobprof/live.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/escape.h"
#include "base/json.h"

static void print_cell(FILE *f, const struct jobprof_table *t, unsigned row, unsigned col)
{
	union jobprof_cell c = t->cells[(size_t)row * t->ncols + col];

	if (!t->columns[col].is_double)
		fprintf(f, "%" PRIu64, c.u);
	else if (isnan(c.d))
		fputs("nan", f);
	else
		fprintf(f, "%.9g", c.d);
}

/* A count of a histogram: B0 to B63, W0 to W63. */
static bool is_bucket(const char *name)
{
	return (*name == 'B' || *name == 'W') && name[1] &&
	       strspn(name + 1, "0123456789") == strlen(name + 1);
}

/* The buckets from column i on, in one line: those that are not 0. Returns the column after them.
 */
static unsigned print_buckets(FILE *f, const struct jobprof_table *t, unsigned i)
{
	const union jobprof_cell *row = t->cells + (size_t)(t->nrows - 1) * t->ncols;
	unsigned n = 0;

	fprintf(f, "  %-20s", "not 0:");
	for (; i < t->ncols && is_bucket(t->columns[i].name); i++) {
		bool zero = t->columns[i].is_double ? row[i].d == 0 : row[i].u == 0;

		if (zero)
			continue;
		fprintf(f, "%s%s ", n++ ? ", " : "", t->columns[i].name);
		print_cell(f, t, t->nrows - 1, i);
	}
	fputs(n ? "\n" : "none\n", f);
	return i;
}

/* The last row, a line per column: tables are wider than terminals. */
static void table_table(struct live_out *out, const struct jobprof_table *t)
{
	if (!t->nrows)
		return;
	fputs("step ", out->file);
	print__escaped(out->file, t->step);
	fputc(' ', out->file);
	print__escaped(out->file, t->series);
	fputc('\n', out->file);
	for (unsigned i = 0; i < t->ncols; i++) {
		if (is_bucket(t->columns[i].name)) {
			i = print_buckets(out->file, t, i) - 1;
			continue;
		}
		int width = 20 - (int)strlen(t->columns[i].name);

		fputs("  ", out->file);
		print__escaped(out->file, t->columns[i].name);
		fprintf(out->file, "%*s", width > 1 ? width : 1, "");
		print_cell(out->file, t, t->nrows - 1, i);
		if (*t->columns[i].unit) {
			fputc(' ', out->file);
			print__escaped(out->file, t->columns[i].unit);
		}
		fputc('\n', out->file);
	}
}

/* The line "Step,Series,<columns>", to be freed. */
static char *csv_head(const struct jobprof_table *t)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	fputs("Step,Series", f);
	for (unsigned i = 0; i < t->ncols; i++) {
		fputc(',', f);
		csv__print(f, t->columns[i].name);
	}
	fclose(f);
	return text;
}

/* A header wherever the columns are others than before. */
static void csv_table(struct live_out *out, const struct jobprof_table *t)
{
	char *head = csv_head(t);

	if (head && (!out->head || strcmp(out->head, head)))
		fprintf(out->file, "%s\n", head);
	free(out->head);
	out->head = head;
	for (unsigned row = 0; row < t->nrows; row++) {
		csv__print(out->file, t->step);
		fputc(',', out->file);
		csv__print(out->file, t->series);
		for (unsigned i = 0; i < t->ncols; i++) {
			fputc(',', out->file);
			print_cell(out->file, t, row, i);
		}
		fputc('\n', out->file);
	}
}

static void json_begin(struct live_out *out)
{
	out->json = json_array();
}

static json_t *json_row(const struct jobprof_table *t, unsigned row)
{
	json_t *cells = json_array();

	for (unsigned i = 0; i < t->ncols; i++) {
		union jobprof_cell c = t->cells[(size_t)row * t->ncols + i];

		json_array_append_new(cells, t->columns[i].is_double
						     ? json__number(c.d)
						     : json_integer((json_int_t)c.u));
	}
	return cells;
}

static void json_table(struct live_out *out, const struct jobprof_table *t)
{
	json_t *columns = json_array(), *rows = json_array();

	for (unsigned i = 0; i < t->ncols; i++)
		json_array_append_new(columns, json_pack("{s:o, s:o}", "name",
							 json__text(t->columns[i].name), "unit",
							 json__text(t->columns[i].unit)));
	for (unsigned i = 0; i < t->nrows; i++)
		json_array_append_new(rows, json_row(t, i));
	json_array_append_new(
		out->json, json_pack("{s:o, s:o, s:o, s:o}", "step", json__text(t->step), "series",
				     json__text(t->series), "columns", columns, "rows", rows));
}

static void json_end(struct live_out *out, bool complete)
{
	if (complete) {
		json__dump(out->json, out->file, out->compact ? JSON_COMPACT : JSON_INDENT(2));
		fputc('\n', out->file);
	}
	json_decref(out->json);
	out->json = NULL;
}

static const struct live_format formats[] = {
	{"table", NULL, table_table, NULL},
	{"csv", NULL, csv_table, NULL},
	{"json", json_begin, json_table, json_end},
};

void live_format__print_names(FILE *out)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		fprintf(out, "%s ", formats[i].name);
}

const struct live_format *live_format__find(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

void live_out__free(struct live_out *out)
{
	free(out->head);
}
