/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints a reduction. */
#include "view/reduce/reduce_print.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/json.h"
#include "view/report/report_text.h"

#define NAME_WIDTH 17

static const struct {
	const char *name;
	double q;
} quantiles[] = {{"p5", 0.05},	{"p25", 0.25}, {"p50", 0.5},
		 {"p75", 0.75}, {"p95", 0.95}, {"p99", 0.99}};

#define N_QUANTILES (sizeof(quantiles) / sizeof(*quantiles))

/* Cuts a bin to the extremes of the values. */
static struct log_bin within(const struct reduction_column *c, struct log_bin b)
{
	return (struct log_bin){fmax(b.low, c->moments.min), fmin(b.high, c->moments.max)};
}

/* Whether the sample has all rows: then quantiles are exact, not bins. */
static bool is_exact(const struct reduction *r)
{
	return r->nitems == r->rows;
}

/* The known values of a column in ascending order, if the sample has all rows. */
struct values {
	double *v;
	size_t n; /* 0: quantiles come from the histogram */
};

static int cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Returns the values; the caller frees v. */
static struct values values_of(const struct reduction *r, unsigned column)
{
	struct values all = {.v = is_exact(r) ? calloc(r->nitems + 1, sizeof(*all.v)) : NULL};

	for (unsigned i = 0; all.v && i < r->nitems; i++)
		if (column < r->items[i].nvalues && isfinite(r->items[i].values[column]))
			all.v[all.n++] = r->items[i].values[column];
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), cmp);
	return all;
}

/* The smallest value that the share q of the values is not above; a bin of the histogram, unless
 * all values are known. */
static struct log_bin quantile(const struct reduction_column *c, const struct values *all, double q)
{
	struct log_bin none = {NAN, NAN};
	double at = fmax(0, ceil(q * (double)all->n - 1e-9) - 1);

	if (!c->moments.n)
		return none;
	if (all->n)
		return (struct log_bin){all->v[(size_t)at], all->v[(size_t)at]};
	return within(c, log_histogram__quantile(&c->histogram, q));
}

/* The upper end of quantile(), and 0 for the bin of 0. */
static double quantile_bound(const struct reduction_column *c, const struct values *all, double q)
{
	const double least = log_histogram__bin(LOG_HISTOGRAM_SIDE).high;
	double high = quantile(c, all, q).high;

	return high == least ? 0 : high;
}

/* Prints thousands and millions in full (35300), other numbers with three digits, exponents without
 * zeros (3.53e7). */
static void print_number(double v, FILE *out)
{
	char text[32] = "-";
	char *e;

	if (!isnan(v))
		snprintf(text, sizeof(text),
			 fabs(v) >= 999.5 && fabs(v) < 9999999.5 ? "%.0f" : "%.3g", v);
	e = strchr(text, 'e');
	if (e && e[1] == '+')
		memmove(e + 1, e + 2, strlen(e + 1));
	while (e && (e = strpbrk(e, "0123456789")) && *e == '0')
		memmove(e, e + 1, strlen(e));
	fprintf(out, " %8s", text);
}

static void print_column(const struct reduction *r, unsigned column, FILE *out)
{
	const struct reduction_column *c = r->columns[column];
	struct values all = values_of(r, column);
	int pad;

	print__escaped(out, c->name);
	if (*c->unit) {
		fputc(' ', out);
		print__escaped(out, c->unit);
	}
	pad = NAME_WIDTH - (int)(strlen(c->name) + strlen(c->unit) + (*c->unit != '\0'));
	fprintf(out, "%*s %8" PRIu64, pad > 0 ? pad : 0, "", c->moments.n);
	print_number(moments__mean(&c->moments), out);
	print_number(moments__std(&c->moments), out);
	print_number(c->moments.min, out);
	print_number(quantile_bound(c, &all, 0.5), out);
	print_number(quantile_bound(c, &all, 0.95), out);
	print_number(c->moments.max, out);
	fputc('\n', out);
	free(all.v);
}

void reduce_print__coverage(const struct reduction *r, FILE *out)
{
	struct reduction_coverage c = reduction__coverage(r);

	fprintf(out, "Coverage: %" PRIu64 " of %" PRIu64 " files were read", c.read, c.files);
	if (c.damaged)
		fprintf(out, ", %" PRIu64 " of them not wholly", c.damaged);
	fprintf(out, "%s.\n", c.is_enough ? "" : ": DEGRADED");
}

void reduce_print__text(const struct reduction *r, FILE *out)
{
	static const char *const of_bins[] = {"rows",	"mean",	  "std", "min",
					      "p50 <=", "p95 <=", "max"},
				 *const of_values[] = {"rows", "mean", "std", "min",
						       "p50",  "p95",  "max"};
	const char *const *heads = is_exact(r) ? of_values : of_bins;

	fputs("Series ", out);
	print__escaped(out, r->series);
	fprintf(out, ": %u node%s, %" PRIu64 " table%s, %" PRIu64 " row%s\n\n", r->places.n,
		report_text__s(r->places.n), r->tables, report_text__s((double)r->tables), r->rows,
		report_text__s((double)r->rows));
	fprintf(out, "%-*s", NAME_WIDTH, "Column");
	for (size_t i = 0; i < sizeof(of_bins) / sizeof(*of_bins); i++)
		fprintf(out, " %8s", heads[i]);
	fputc('\n', out);
	for (unsigned i = 0; i < r->ncolumns; i++)
		print_column(r, i, out);
	fprintf(out, "\nSample: %u rows.\n", r->nitems);
	reduce_print__coverage(r, out);
	fprintf(out, "CPU time of this reduction: %.2f s, of %" PRIu64 " process%s.\n", r->cpu_s,
		r->processes, r->processes == 1 ? "" : "es");
}

/* ---- JSON */

static json_t *bin_json(const struct reduction_column *c, struct log_bin b, uint64_t n)
{
	json_t *j = json_array();

	b = within(c, b);
	json_array_append_new(j, json__number(b.low));
	json_array_append_new(j, json__number(b.high));
	if (n)
		json_array_append_new(j, json_integer((json_int_t)n));
	return j;
}

static json_t *histogram_json(const struct reduction_column *c)
{
	json_t *bins = json_array();

	for (unsigned i = 0; i < LOG_HISTOGRAM_BINS; i++)
		if (c->histogram.n[i])
			json_array_append_new(
				bins, bin_json(c, log_histogram__bin(i), c->histogram.n[i]));
	return bins;
}

static json_t *quantiles_json(const struct reduction *r, unsigned column)
{
	const struct reduction_column *c = r->columns[column];
	struct values all = values_of(r, column);
	json_t *j = json_object();

	for (size_t i = 0; c->moments.n && i < N_QUANTILES; i++)
		json__set(j, quantiles[i].name, bin_json(c, quantile(c, &all, quantiles[i].q), 0));
	free(all.v);
	return j;
}

static json_t *column_json(const struct reduction *r, unsigned column)
{
	const struct reduction_column *c = r->columns[column];
	const struct moments *m = &c->moments;

	return json_pack("{s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
			 json__text(c->name), "unit", json__text(c->unit), "n", (json_int_t)m->n,
			 "unknown", (json_int_t)c->unknown, "mean", json__number(moments__mean(m)),
			 "std", json__number(moments__std(m)), "min", json__number(m->min), "max",
			 json__number(m->max), "quantiles", quantiles_json(r, column), "histogram",
			 histogram_json(c));
}

static json_t *item_json(const struct reduction_item *i)
{
	json_t *values = json_array();
	char key[24];

	snprintf(key, sizeof(key), "0x%016" PRIx64, i->key);
	for (unsigned c = 0; c < i->nvalues; c++)
		json_array_append_new(values, json__number(i->values[c]));
	return json_pack("{s:s, s:o, s:o, s:I, s:o}", "key", key, "node", json__text(i->place),
			 "table", json__text(i->table), "row", (json_int_t)i->row, "values",
			 values);
}

static json_t *coverage_json(const struct reduction *r)
{
	struct reduction_coverage c = reduction__coverage(r);

	return json_pack("{s:I, s:I, s:I, s:o, s:s, s:i, s:I, s:I}", "files", (json_int_t)c.files,
			 "read", (json_int_t)c.read, "damaged", (json_int_t)c.damaged, "part",
			 json__number(c.part), "status", c.is_enough ? "OK" : "DEGRADED", "nodes",
			 (int)r->places.n, "tables", (json_int_t)r->tables, "rows",
			 (json_int_t)r->rows);
}

json_t *reduce_print__about(const struct reduction *r)
{
	return json_pack("{s:o, s:{s:I, s:o}}", "coverage", coverage_json(r), "cost", "processes",
			 (json_int_t)r->processes, "cpu_s", json__number(r->cpu_s));
}

json_t *reduce_print__json(const struct reduction *r)
{
	json_t *columns = json_array(), *sample = json_array(), *about = reduce_print__about(r);
	json_t *json = json_pack("{s:i, s:o, s:I}", "format", 1, "series", json__text(r->series),
				 "seed", (json_int_t)r->seed);

	for (unsigned i = 0; i < r->ncolumns; i++)
		json_array_append_new(columns, column_json(r, i));
	for (unsigned i = 0; i < r->nitems; i++)
		json_array_append_new(sample, item_json(&r->items[i]));
	json_object_update(json, about);
	json_decref(about);
	json__set(json, "columns", columns);
	json__set(json, "sample", sample);
	return json;
}
