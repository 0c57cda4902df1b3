/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints "jobprof items" as CSV, JSON or a table, and as "sh5util -I" does. All rows are written in
 * one form; after each step comes the time at which its sum was highest. */
#include "view/items/items_print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/csv.h"
#include "base/escape.h"
#include "base/json.h"
#include "identity/stepname.h"

#define NS INT64_C(1000000000)

/* Writes a name for a terminal: unprintable bytes as \xNN. */
static void put_name(struct outbuf *o, const char *name)
{
	char hex[8];

	for (; *name; name++) {
		unsigned char c = *name;

		if (c >= 0x20 && c < 0x7f)
			outbuf__char(o, (char)c);
		else if (snprintf(hex, sizeof(hex), "\\x%02x", c) > 0)
			outbuf__str(o, hex);
	}
}

static void put_json_text(struct outbuf *o, const char *text)
{
	json_t *j = json__text(text);
	char *dump = json_dumps(j, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

	outbuf__str(o, dump ? dump : "null");
	free(dump);
	json_decref(j);
}

static void put_json_number(struct outbuf *o, double v)
{
	char text[32];

	/* the shortest form that reads back as the same number */
	for (int digits = 15; digits <= 17 && isfinite(v); digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	outbuf__str(o, isfinite(v) ? text : "null");
}

static void put_number(struct outbuf *o, struct items_number v, enum col_type type)
{
	if (v.big || type == COL_F64)
		outbuf__f6(o, v.v.f);
	else if (type == COL_I64)
		outbuf__i64(o, v.v.i);
	else
		outbuf__u64(o, v.v.u);
}

/* Returns NODE or NODE/TASK, which the caller frees. NULL: no memory. */
static char *label_of(const struct items_col *col)
{
	char *label;

	return asprintf(&label, "%s%s%s", col->node, col->table ? "/" : "",
			col->table ? col->table : "") < 0
		       ? NULL
		       : label;
}

/* CSV: an unknown field is empty. */
static void csv_place(struct outbuf *o, const struct items *it, const struct items_row *row,
		      unsigned at)
{
	outbuf__char(o, ',');
	if (row->n)
		csv__put(o, it->cols[at].node);
	if (!it->grouped)
		return;
	outbuf__char(o, ',');
	if (row->n && it->cols[at].table)
		csv__put(o, it->cols[at].table);
}

static void csv_number(struct outbuf *o, bool known, struct items_number v, enum col_type type)
{
	outbuf__char(o, ',');
	if (known)
		put_number(o, v, type);
}

static void csv_begin(struct outbuf *o, const struct items *it, const char *series)
{
	outbuf__str(o, "Step,ElapsedTime,EpochTime,TimeNS,Seconds");
	outbuf__str(o, it->grouped ? ",MinNode,MinTask,Min,MaxNode,MaxTask,Max"
				   : ",MinNode,Min,MaxNode,Max");
	outbuf__str(o, it->grouped ? ",Sum,Avg,NumNodes,NumTasks" : ",Sum,Avg,NumNodes");
	for (unsigned i = 0; i < it->ncols; i++) {
		_cleanup_free_ char *label = label_of(&it->cols[i]);

		outbuf__char(o, ',');
		csv__put(o, label ? label : "");
	}
	outbuf__char(o, '\n');
}

static void csv_time(struct outbuf *o, const struct items_row *row)
{
	csv__put(o, stepname__human(row->step));
	outbuf__char(o, ',');
	outbuf__u64(o, row->elapsed);
	outbuf__char(o, ',');
	outbuf__i64(o, row->time_ns / NS);
	outbuf__char(o, ',');
	outbuf__i64(o, row->time_ns);
	outbuf__char(o, ',');
	if (!isnan(row->seconds))
		outbuf__f6(o, row->seconds);
}

static void csv_row(struct outbuf *o, const struct items *it, const struct items_row *row)
{
	csv_time(o, row);
	csv_place(o, it, row, row->min_at);
	csv_number(o, row->n, (struct items_number){row->cells[row->min_at], false}, it->type);
	csv_place(o, it, row, row->max_at);
	csv_number(o, row->n, (struct items_number){row->cells[row->max_at], false}, it->type);
	csv_number(o, row->n, row->sum, it->type);
	csv_number(o, row->n, (struct items_number){{.f = row->avg}, false}, COL_F64);
	outbuf__char(o, ',');
	outbuf__u64(o, row->nodes);
	if (it->grouped) {
		outbuf__char(o, ',');
		outbuf__u64(o, row->n);
	}
	for (unsigned i = 0; i < it->ncols; i++)
		csv_number(o, row->known[i], (struct items_number){row->cells[i], false}, it->type);
	outbuf__char(o, '\n');
}

/* JSON: a step's summary comes after its rows. */
static void json_key(struct outbuf *o, const char *key)
{
	outbuf__str(o, ", \"");
	outbuf__str(o, key);
	outbuf__str(o, "\": ");
}

static void json_value(struct outbuf *o, bool known, struct items_number v, enum col_type type)
{
	if (!known)
		outbuf__str(o, "null");
	else if (v.big || type == COL_F64)
		put_json_number(o, v.v.f);
	else
		put_number(o, v, type);
}

static void json_begin(struct outbuf *o, const struct items *it, const char *series)
{
	static const char *const names[] = {
		[COL_TIME] = "time",
		[COL_GAUGE] = "gauge",
		[COL_DELTA] = "per interval",
		[COL_CUMULATIVE] = "cumulative",
	};

	outbuf__str(o, "{\"series\": ");
	put_json_text(o, series);
	json_key(o, "column");
	put_json_text(o, it->column);
	json_key(o, "kind");
	put_json_text(o, names[it->kind]);
	json_key(o, "period");
	put_json_number(o, it->period);
	json_key(o, "columns");
	for (unsigned i = 0; i < it->ncols; i++) {
		outbuf__str(o, i ? ",\n {\"node\": " : "[\n {\"node\": ");
		put_json_text(o, it->cols[i].node);
		if (it->cols[i].table) {
			json_key(o, "task");
			put_json_text(o, it->cols[i].table);
		}
		outbuf__char(o, '}');
	}
	outbuf__str(o, "],\n \"steps\": [");
}

static void json_row(struct outbuf *o, const struct items *it, const struct items_row *row)
{
	if (row->first) {
		outbuf__str(o, row->nth ? ",\n {\"step\": " : "\n {\"step\": ");
		put_json_text(o, stepname__human(row->step));
		json_key(o, "rows");
		outbuf__char(o, '[');
	}
	outbuf__str(o, row->first ? "\n  {\"elapsed\": " : ",\n  {\"elapsed\": ");
	outbuf__u64(o, row->elapsed);
	json_key(o, "time_ns");
	outbuf__i64(o, row->time_ns);
	json_key(o, "seconds");
	put_json_number(o, row->seconds);
	json_key(o, "min");
	json_value(o, row->n, (struct items_number){row->cells[row->min_at], false}, it->type);
	json_key(o, "max");
	json_value(o, row->n, (struct items_number){row->cells[row->max_at], false}, it->type);
	if (row->n) {
		json_key(o, "min_at");
		outbuf__u64(o, row->min_at);
		json_key(o, "max_at");
		outbuf__u64(o, row->max_at);
	}
	json_key(o, "sum");
	json_value(o, row->n, row->sum, it->type);
	json_key(o, "avg");
	put_json_number(o, row->avg);
	json_key(o, "nodes");
	outbuf__u64(o, row->nodes);
	json_key(o, "values");
	for (unsigned i = 0; i < it->ncols; i++) {
		outbuf__str(o, i ? ", " : "[");
		json_value(o, row->known[i], (struct items_number){row->cells[i], false}, it->type);
	}
	outbuf__str(o, "]}");
}

static void json_end_step(struct outbuf *o, const struct items *it, const char *step,
			  const struct items_totals *t)
{
	outbuf__str(o, "],\n  \"min\": ");
	json_value(o, t->n, (struct items_number){t->min, false}, it->type);
	json_key(o, "max");
	json_value(o, t->n, (struct items_number){t->max, false}, it->type);
	if (t->n) {
		json_key(o, "min_at");
		outbuf__u64(o, t->min_at);
		json_key(o, "min_time_ns");
		outbuf__i64(o, t->min_ns);
		json_key(o, "max_at");
		outbuf__u64(o, t->max_at);
		json_key(o, "max_time_ns");
		outbuf__i64(o, t->max_ns);
		json_key(o, "highest_sum");
		json_value(o, true, t->best, it->type);
		json_key(o, "highest_sum_time_ns");
		outbuf__i64(o, t->best_ns);
		json_key(o, "highest_sum_elapsed");
		outbuf__u64(o, t->best_elapsed);
	}
	json_key(o, "sum");
	json_value(o, t->n, t->sum, it->type);
	json_key(o, "avg");
	put_json_number(o, t->n ? items__double(t->sum, it->type) / (double)t->n : NAN);
	outbuf__char(o, '}');
}

static void json_end(struct outbuf *o)
{
	outbuf__str(o, "]}\n");
}

/* The table leaves out single cells, of which there may be thousands. */
static void table_begin(struct outbuf *o, const struct items *it, const char *series)
{
	char line[160];

	snprintf(line, sizeof(line), "%-12s %9s %16s %16s %18s %16s %6s  %s\n", "step", "elapsed",
		 "min", "max", "sum", "avg", "nodes", "max at");
	outbuf__str(o, line);
}

static void table_number(struct outbuf *o, bool known, struct items_number v, enum col_type type,
			 int width)
{
	char text[512];

	if (!known)
		snprintf(text, sizeof(text), " %*s", width, "-");
	else if (v.big || type == COL_F64)
		snprintf(text, sizeof(text), " %*.6g", width, v.v.f);
	else if (type == COL_I64)
		snprintf(text, sizeof(text), " %*" PRId64, width, v.v.i);
	else
		snprintf(text, sizeof(text), " %*" PRIu64, width, v.v.u);
	outbuf__str(o, text);
}

static void table_row(struct outbuf *o, const struct items *it, const struct items_row *row)
{
	const struct items_col *col = &it->cols[row->max_at];
	const char *step = stepname__human(row->step);
	char text[64];

	put_name(o, step);
	for (size_t i = strlen(step); i < 12; i++)
		outbuf__char(o, ' ');
	if (isnan(row->seconds))
		snprintf(text, sizeof(text), " %9" PRIu64, row->elapsed);
	else
		snprintf(text, sizeof(text), " %9.3f", row->seconds);
	outbuf__str(o, text);
	table_number(o, row->n, (struct items_number){row->cells[row->min_at], false}, it->type,
		     16);
	table_number(o, row->n, (struct items_number){row->cells[row->max_at], false}, it->type,
		     16);
	table_number(o, row->n, row->sum, it->type, 18);
	table_number(o, row->n, (struct items_number){{.f = row->avg}, false}, COL_F64, 16);
	snprintf(text, sizeof(text), " %6u  ", row->nodes);
	outbuf__str(o, text);
	if (row->n) {
		put_name(o, col->node);
		outbuf__str(o, col->table ? "/" : "");
		put_name(o, col->table ? col->table : "");
	}
	outbuf__char(o, '\n');
}

/* ---- the form of "sh5util -I": CSV as Slurm's own tool writes it */

/* Writes a cell of one or two words. */
static void stock_words(struct outbuf *out, const char *first, const char *second)
{
	_cleanup_free_ char *both = NULL;

	if (first && asprintf(&both, "%s %s", first, second) < 0)
		both = NULL;
	csv__put(out, both ? both : second);
}

static void stock_begin(struct outbuf *out, const struct items *it, const char *series)
{
	/* "ElaspedTime" is misspelt in sh5util: scripts expect that */
	outbuf__str(out, "Step,ElaspedTime,MinNode,MinValue,MaxNode,MaxValue,Sum,Avg,NumNodes");
	for (unsigned i = 0; i < it->ncols; i++) {
		outbuf__char(out, ',');
		stock_words(out, it->grouped ? NULL : series, it->cols[i].node);
	}
	outbuf__char(out, '\n');
}

static void stock_extreme(struct outbuf *out, const struct items *it, const struct items_row *row,
			  unsigned at)
{
	const struct items_col *c = &it->cols[at];

	outbuf__char(out, ',');
	if (row->n)
		stock_words(out, c->table, c->node);
	outbuf__char(out, ',');
	if (row->n)
		put_number(out, (struct items_number){row->cells[at], false}, it->type);
}

static void stock_row(struct outbuf *out, const struct items *it, const struct items_row *row)
{
	csv__put(out, row->step);
	outbuf__char(out, ',');
	outbuf__u64(out, row->elapsed);
	stock_extreme(out, it, row, row->min_at);
	stock_extreme(out, it, row, row->max_at);
	outbuf__char(out, ',');
	if (row->n)
		put_number(out, row->sum, it->type);
	outbuf__char(out, ',');
	if (row->n)
		outbuf__f6(out, row->avg);
	outbuf__char(out, ',');
	outbuf__u64(out, row->tables);
	for (unsigned i = 0; i < it->ncols; i++) {
		outbuf__char(out, ',');
		if (row->known[i])
			put_number(out, (struct items_number){row->cells[i], false}, it->type);
	}
	outbuf__char(out, '\n');
}

/* ---- below the rows of a step */

/* Writes a number: integers exactly, others with six decimals. */
static void number_text(char text[static 400], struct items_number v, enum col_type type)
{
	if (v.big || type == COL_F64)
		snprintf(text, 400, "%f", v.v.f);
	else if (type == COL_I64)
		snprintf(text, 400, "%" PRId64, v.v.i);
	else
		snprintf(text, 400, "%" PRIu64, v.v.u);
}

static void print_highest_sum(FILE *out, const struct items *it, const char *step,
			      const char *column, const struct items_totals *t)
{
	char text[400];

	number_text(text, t->best, it->type);
	fputs("    Step ", out);
	print__escaped(out, step);
	fputs(" Maximum accumulated ", out);
	print__escaped(out, column);
	fprintf(out, " Value (%s) occurred at Time=%" PRIu64 ", Ave Node %f\n", text,
		t->best_elapsed, t->best_avg);
}

static void print_extreme(FILE *out, const struct items *it, const char *label, union cell v,
			  unsigned at, int64_t when_ns)
{
	const struct items_col *c = &it->cols[at];
	time_t second = when_ns / NS;
	char text[400], when[64];
	struct tm tm;

	number_text(text, (struct items_number){v, false}, it->type);
	fprintf(out, "    %s %s on ", label, text);
	print__escaped(out, c->node);
	if (c->table) {
		/* tables of tasks are numbers, those of disks and the like are names */
		fputs(strspn(c->table, "0123456789") == strlen(c->table) ? ", task " : ", ", out);
		print__escaped(out, c->table);
	}
	strftime(when, sizeof(when), "%F %T", localtime_r(&second, &tm));
	fprintf(out, " at %s.%03d\n", when, (int)(when_ns % NS / 1000000));
}

static void print_summary(FILE *out, const struct items *it, const char *step, const char *column,
			  const struct items_totals *t)
{
	char text[400];

	number_text(text, t->best, it->type);
	fputs("    Step ", out);
	print__escaped(out, stepname__human(step));
	if (*it->unit) {
		fputs(", in ", out);
		print__escaped(out, it->unit);
	}
	fputs(": highest sum of ", out);
	print__escaped(out, it->column);
	fprintf(out, " at one time %s, ", text);
	if (isnan(t->best_seconds))
		fprintf(out, "at %" PRIu64 " s", t->best_elapsed);
	else
		fprintf(out, "at %.3f s", t->best_seconds);
	fprintf(out, ", %f per node\n", t->best_avg);
	if (!t->n)
		return;
	print_extreme(out, it, "Minimum", t->min, t->min_at, t->min_ns);
	print_extreme(out, it, "Maximum", t->max, t->max_at, t->max_ns);
	fputs("    ", out);
	number_text(text, t->sum, it->type);
	if (it->kind == COL_DELTA) /* a sum of levels over time has no meaning */
		fprintf(out, "Sum %s, average ", text);
	else
		fputs("Average ", out);
	fprintf(out, "%f\n", items__double(t->sum, it->type) / (double)t->n);
}

/* ---- the forms */

static const struct items_format formats[] = {
	{"csv", csv_begin, csv_row, NULL, NULL, print_summary},
	{"table", table_begin, table_row, NULL, NULL, print_summary},
	{"json", json_begin, json_row, json_end_step, json_end, NULL},
};

const struct items_format items_stock = {
	"stock", stock_begin, stock_row, NULL, NULL, print_highest_sum,
};

void items_format__print_names(FILE *out)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		fprintf(out, "%s ", formats[i].name);
}

const struct items_format *items_format__find(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

static void end_step(const struct items_text *text, struct outbuf *o, const struct items *it,
		     const char *step, const struct items_totals *t)
{
	if (text->format->end_step)
		text->format->end_step(o, it, step, t);
	else
		text->format->summary(text->summary, it, step, text->column, t);
}

static int write_rows(const struct items_text *text, struct outbuf *o, struct items *it)
{
	const struct items_format *f = text->format;
	struct items_totals totals = {0};
	struct items_row row;
	const char *step = NULL;
	int got;

	f->begin(o, it, text->series);
	while ((got = items__next(it, &row)) > 0) {
		if (row.first && step)
			end_step(text, o, it, step, &totals);
		if (row.first)
			totals = (struct items_totals){0};
		step = row.step;
		f->row(o, it, &row);
		items__total(&totals, it, &row);
	}
	if (step)
		end_step(text, o, it, step, &totals);
	if (f->end)
		f->end(o);
	return got;
}

int items__write(struct items *it, const struct items_text *text, int fd)
{
	struct outbuf o;
	int err = outbuf__init(&o, fd), ended;

	if (!err)
		err = write_rows(text, &o, it);
	ended = outbuf__end(&o);
	return err ? err : ended;
}
