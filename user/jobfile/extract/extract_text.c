/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of tables as text in one of the forms. */
#include "jobfile/extract/extract_text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/json.h"

/* One form of extracted text. */
struct text_format {
	void (*put_header)(struct text *t); /* before the first table of a series; NULL: nothing */
	/* Begins a table: with t->prefix, which is empty, or with text before the rows. */
	void (*open_table)(struct text *t, const char *step, const char *node, const char *table,
			   const struct text_col *cols);
	void (*put_row)(const struct text *t, const struct text_col *cols, const union cell *row);
	void (*close_table)(const struct text *t); /* NULL: nothing */
};

/* A cell of a column whose `at` is not -1. */
static union cell text_col__cell(const struct text *t, const struct text_col *col,
				 const union cell *row)
{
	if (!col->is_seconds)
		return row[col->at];
	if (t->start_ns == INT64_MIN)
		return (union cell){.f = NAN};
	return (union cell){.f = (double)(int64_t)(row[col->at].u - (uint64_t)t->start_ns) / 1e9};
}

/* The text that the cell of a row stands for; NULL: the cell is that number. */
static const char *text_col__name(const struct text_col *col, const union cell *row)
{
	const uint64_t k = col->names && col->at >= 0 ? row[col->at].u : 0;

	return k && k <= col->names->n && *col->names->v[k - 1] ? col->names->v[k - 1] : NULL;
}

/* ---- CSV */

static void csv_put_header(struct text *t)
{
	outbuf__str(t->out, t->grouped ? "Step,Node,Series" : "Step,Node");
	for (unsigned i = 0; i < t->ncols; i++) {
		outbuf__char(t->out, ',');
		csv__put(t->out, t->names[i]);
	}
	outbuf__char(t->out, '\n');
	if (!t->units)
		return;
	outbuf__str(t->out, t->grouped ? ",," : ",");
	for (unsigned i = 0; i < t->ncols; i++) {
		outbuf__char(t->out, ',');
		csv__put(t->out, t->units[i]);
	}
	outbuf__char(t->out, '\n');
}

static void csv_open_table(struct text *t, const char *step, const char *node, const char *table,
			   const struct text_col *cols)
{
	struct outbuf *o = &t->prefix;

	csv__put(o, step);
	outbuf__char(o, ',');
	csv__put(o, node);
	if (t->grouped) {
		outbuf__char(o, ',');
		csv__put(o, table ? table : "");
	}
}

static char *put_cell(char *p, const struct text *t, const struct text_col *col,
		      const union cell *row)
{
	union cell v;

	if (col->at < 0)
		return p;
	v = text_col__cell(t, col, row);
	if (col->type == COL_U64)
		return format_number__u64(p, v.u);
	if (col->type == COL_F64)
		return t->keep_nan || !isnan(v.f) ? format_number__f6(p, v.f) : p;
	if (v.i < 0)
		*p++ = '-';
	return format_number__u64(p, v.i < 0 ? -v.u : v.u);
}

/* Writes a row with texts among its cells. Texts may be of any length. */
static void put_named_row(const struct text *t, const struct text_col *cols, const union cell *row)
{
	outbuf__mem(t->out, t->prefix.buf, t->prefix.len);
	for (unsigned i = 0; i < t->ncols; i++) {
		const char *name = text_col__name(&cols[i], row);
		char *p;

		outbuf__char(t->out, ',');
		if (name)
			csv__put(t->out, name);
		else if ((p = outbuf__room(t->out)))
			outbuf__filled(t->out, put_cell(p, t, &cols[i], row));
	}
	outbuf__char(t->out, '\n');
}

static void put_plain_row(const struct text *t, const struct text_col *cols, const union cell *row)
{
	struct outbuf *o = t->out;
	char *p, *last;

	outbuf__mem(o, t->prefix.buf, t->prefix.len);
	p = outbuf__room(o);
	if (!p)
		return;
	last = o->buf + o->size - OUTBUF_ROOM;
	for (unsigned i = 0; i < t->ncols; i++) {
		if (p > last) {
			outbuf__filled(o, p);
			p = outbuf__room(o);
		}
		*p++ = ',';
		p = put_cell(p, t, &cols[i], row);
	}
	*p++ = '\n';
	outbuf__filled(o, p);
}

static void csv_put_row(const struct text *t, const struct text_col *cols, const union cell *row)
{
	if (t->named)
		put_named_row(t, cols, row);
	else
		put_plain_row(t, cols, row);
}

static const struct text_format text_csv = {
	.put_header = csv_put_header,
	.open_table = csv_open_table,
	.put_row = csv_put_row,
};

/* ---- JSON */

static void put_string(struct outbuf *o, const char *s)
{
	json_t *j = json__text(s);
	char *text = j ? json_dumps(j, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;

	if (!text && !o->err)
		o->err = -ENOMEM;
	outbuf__str(o, text ? text : "null");
	free(text);
	json_decref(j);
}

/* The fewest digits that read back as v. Decimals of few places are found without the library. */
static void put_shortest(struct outbuf *o, double v)
{
	static const double powers[] = {1, 1e2, 1e4, 1e6, 1e9, 1e12, 1e15};
	char text[40];

	if (v == 0 && signbit(v)) {
		outbuf__str(o, "-0.0"); /* "-0" would read as an integer */
		return;
	}
	for (unsigned i = 0; i < sizeof(powers) / sizeof(powers[0]); i++) {
		double whole = nearbyint(v * powers[i]);

		if (!(fabs(whole) < 1e15))
			break;
		/* Both are exact, so the quotient is what the decimal number reads as. */
		if (whole / powers[i] != v)
			continue;
		if (!i)
			outbuf__i64(o, (int64_t)whole);
		else
			outbuf__str(o, (snprintf(text, sizeof(text), "%.15g", v), text));
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	outbuf__str(o, text);
}

/* Writes a list with an element for each column that the table has. */
static void put_list(const struct text *t, const char *head, const char *const *texts,
		     const struct text_col *cols)
{
	bool first = true;

	outbuf__str(t->out, head);
	for (unsigned i = 0; i < t->ncols; i++) {
		if (!cols[i].there)
			continue;
		outbuf__str(t->out, first ? "" : ", ");
		put_string(t->out, texts[i]);
		first = false;
	}
	outbuf__str(t->out, "]");
}

static void json_open_table(struct text *t, const char *step, const char *node, const char *table,
			    const struct text_col *cols)
{
	const char *const fields[][2] = {
		{"job", t->job},       {"step", step},	 {"node", node},
		{"series", t->series}, {"table", table}, {"level", t->level},
	};
	bool begun = false;

	for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (!fields[i][1])
			continue;
		outbuf__str(t->out, begun ? ", \"" : t->comma ? ",\n{\"" : "{\"");
		begun = t->comma = true;
		outbuf__str(t->out, fields[i][0]);
		outbuf__str(t->out, "\": ");
		put_string(t->out, fields[i][1]);
	}
	put_list(t, ",\n \"columns\": [", (const char *const *)t->names, cols);
	if (t->units)
		put_list(t, ",\n \"units\": [", t->units, cols);
	outbuf__str(t->out, ",\n \"rows\": [");
}

static void json_put_row(const struct text *t, const struct text_col *cols, const union cell *row)
{
	const char *comma = "";

	outbuf__str(t->out, t->rows ? ",\n  [" : "\n  [");
	for (unsigned i = 0; i < t->ncols; i++) {
		static const union cell none = {.f = NAN};
		const struct text_col *col = &cols[i];
		const union cell v = col->at < 0 ? none : text_col__cell(t, col, row);

		if (!col->there)
			continue;
		outbuf__str(t->out, comma);
		comma = ", ";
		if (col->at < 0)
			outbuf__str(t->out, "null");
		else if (text_col__name(col, row))
			put_string(t->out, text_col__name(col, row));
		else if (col->type == COL_U64)
			outbuf__u64(t->out, v.u);
		else if (col->type == COL_I64)
			outbuf__i64(t->out, v.i);
		else if (isfinite(v.f))
			put_shortest(t->out, v.f);
		else
			outbuf__str(t->out, "null");
	}
	outbuf__char(t->out, ']');
}

static void json_close_table(const struct text *t)
{
	outbuf__str(t->out, t->rows ? "\n ]}" : "]}");
}

static const struct text_format text_json = {
	.open_table = json_open_table,
	.put_row = json_put_row,
	.close_table = json_close_table,
};

/* ---- aligned for a terminal */

#define WIDTH 12 /* of a number, at least */

/* Escapes control characters and all that is not ASCII, for the text may go to a terminal. */
static int put_escaped(struct outbuf *o, const char *s)
{
	static const char hex[] = "0123456789abcdef";
	int width = 0;

	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c >= 0x20 && c < 0x7f && c != '\\') {
			outbuf__char(o, *s);
			width++;
			continue;
		}
		outbuf__str(o, "\\x");
		outbuf__char(o, hex[c >> 4]);
		outbuf__char(o, hex[c & 15]);
		width += 4;
	}
	return width;
}

static int escaped_width(const char *s)
{
	int width = 0;

	for (; *s; s++)
		width +=
			(unsigned char)*s >= 0x20 && (unsigned char)*s < 0x7f && *s != '\\' ? 1 : 4;
	return width;
}

static void pad(struct outbuf *o, int n)
{
	while (n-- > 0)
		outbuf__char(o, ' ');
}

static int width_of(const char *name)
{
	size_t n = strlen(name);

	return n < WIDTH ? WIDTH : n > 200 ? 200 : (int)n;
}

static void put_left(struct outbuf *o, const char *s, int width)
{
	pad(o, width - put_escaped(o, s));
}

static void put_right(struct outbuf *o, const char *s, int width)
{
	pad(o, width - escaped_width(s));
	put_escaped(o, s);
}

/* Up to six decimals, without zeros that say nothing. */
static void put_aligned(struct outbuf *o, union cell v, enum col_type type, int width)
{
	char text[512] = "-";
	int n = 1;

	if (type == COL_U64)
		n = snprintf(text, sizeof(text), "%llu", (unsigned long long)v.u);
	else if (type == COL_I64)
		n = snprintf(text, sizeof(text), "%lld", (long long)v.i);
	else if (!isnan(v.f))
		n = snprintf(text, sizeof(text), fabs(v.f) < 1e15 ? "%.6f" : "%g", v.f);
	if (type == COL_F64 && memchr(text, '.', (size_t)n) && fabs(v.f) < 1e15) {
		while (text[n - 1] == '0')
			n--;
		n -= text[n - 1] == '.';
		text[n] = '\0';
	}
	pad(o, width - n);
	outbuf__str(o, text);
}

static void table_put_header(struct text *t)
{
	put_left(t->out, "Step", t->step_width);
	outbuf__str(t->out, "  ");
	put_left(t->out, "Node", t->node_width);
	if (t->grouped)
		outbuf__str(t->out, "  Series");
	for (unsigned i = 0; i < t->ncols; i++) {
		int n = (int)strlen(t->names[i]);

		pad(t->out, 2 + width_of(t->names[i]) - n);
		put_escaped(t->out, t->names[i]);
	}
	outbuf__char(t->out, '\n');
	if (!t->units)
		return;
	pad(t->out, t->step_width + 2 + t->node_width + (t->grouped ? 8 : 0));
	for (unsigned i = 0; i < t->ncols; i++)
		put_right(t->out, t->units[i], 2 + width_of(t->names[i]));
	outbuf__char(t->out, '\n');
}

static void table_open_table(struct text *t, const char *step, const char *node, const char *table,
			     const struct text_col *cols)
{
	struct outbuf *o = &t->prefix;

	put_left(o, step, t->step_width);
	outbuf__str(o, "  ");
	put_left(o, node, t->node_width);
	if (t->grouped) {
		outbuf__str(o, "  ");
		put_left(o, table ? table : "", 6);
	}
}

static void table_put_row(const struct text *t, const struct text_col *cols, const union cell *row)
{
	static const union cell none = {.f = NAN};

	outbuf__mem(t->out, t->prefix.buf, t->prefix.len);
	for (unsigned i = 0; i < t->ncols; i++) {
		bool known = cols[i].at >= 0;

		outbuf__str(t->out, "  ");
		if (text_col__name(&cols[i], row)) {
			put_right(t->out, text_col__name(&cols[i], row), width_of(t->names[i]));
			continue;
		}
		put_aligned(t->out, known ? text_col__cell(t, &cols[i], row) : none,
			    known ? cols[i].type : COL_F64, width_of(t->names[i]));
	}
	outbuf__char(t->out, '\n');
}

static const struct text_format text_table = {
	.put_header = table_put_header,
	.open_table = table_open_table,
	.put_row = table_put_row,
};

static const struct text_format *const formats[] = {
	[EXTRACT_CSV] = &text_csv,
	[EXTRACT_JSON] = &text_json,
	[EXTRACT_TABLE] = &text_table,
};

static void put_header(struct text *t)
{
	const struct text_format *f = formats[t->format];

	t->begun = true;
	outbuf__str(t->out, t->before);
	if (f->put_header)
		f->put_header(t);
}

int text__open(struct text *t, const char *step, const char *node, const char *table,
	       const struct text_col *cols)
{
	t->rows = 0;
	t->named = false;
	for (unsigned i = 0; i < t->ncols; i++)
		t->named |= cols[i].names != NULL;
	if (!t->begun)
		put_header(t);
	if (!t->prefix.buf && outbuf__init(&t->prefix, -1))
		return t->prefix.err;
	t->prefix.len = 0;
	formats[t->format]->open_table(t, step, node, table, cols);
	return t->prefix.err;
}

void text__rows(struct text *t, const struct text_col *cols, const union cell *rows, unsigned n,
		unsigned stride)
{
	const struct text_format *f = formats[t->format];

	for (unsigned i = 0; i < n; i++, rows += stride) {
		f->put_row(t, cols, rows);
		t->rows++;
	}
}

void text__close(const struct text *t)
{
	const struct text_format *f = formats[t->format];

	if (f->close_table)
		f->close_table(t);
}

void text__free(struct text *t)
{
	outbuf__end(&t->prefix);
	free(t->units);
	t->units = NULL;
}
