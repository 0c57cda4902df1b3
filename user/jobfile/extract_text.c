/* SPDX-License-Identifier: GPL-2.0-only */
#include "jobfile/extract_text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"

#define EPOCH_WIDTH 14	  /* ten digits of seconds, three of milliseconds */
#define WIDTH	    12	  /* of a number on a terminal, at least */
#define PREFIX_MAX  8192u /* three names, every byte escaped */

/* s as a field of CSV: in quotes if it needs them. */
static void put_field(struct outbuf *o, const char *s)
{
	if (!strpbrk(s, ",\"\r\n")) {
		outbuf__str(o, s);
		return;
	}
	outbuf__char(o, '"');
	for (; *s; s++) {
		if (*s == '"')
			outbuf__char(o, '"');
		outbuf__char(o, *s);
	}
	outbuf__char(o, '"');
}

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

/* As the others take it to the terminal: no control characters, nothing beyond ASCII. */
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

	if (!strcmp(name, "EpochTime"))
		return EPOCH_WIDTH;
	return n < WIDTH ? WIDTH : n > 200 ? 200 : (int)n;
}

static void put_left(struct outbuf *o, const char *s, int width)
{
	pad(o, width - put_escaped(o, s));
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

static void header_csv(struct text *t)
{
	outbuf__str(t->out, t->grouped ? "Step,Node,Series" : "Step,Node");
	for (unsigned i = 0; i < t->ncols; i++) {
		outbuf__char(t->out, ',');
		put_field(t->out, t->names[i]);
	}
	outbuf__char(t->out, '\n');
	if (!t->units)
		return;
	outbuf__str(t->out, t->grouped ? ",," : ",");
	for (unsigned i = 0; i < t->ncols; i++) {
		outbuf__char(t->out, ',');
		put_field(t->out, t->units[i]);
	}
	outbuf__char(t->out, '\n');
}

static void put_right(struct outbuf *o, const char *s, int width)
{
	pad(o, width - escaped_width(s));
	put_escaped(o, s);
}

static void header_table(struct text *t)
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

void text__header(struct text *t)
{
	t->begun = true;
	outbuf__str(t->out, t->blank);
	if (t->format == EXTRACT_CSV)
		header_csv(t);
	else if (t->format == EXTRACT_TABLE)
		header_table(t);
}

/* Of those columns that the table has. */
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

static void open_json(struct text *t, const char *step, const char *node, const char *table,
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

static char *too_long(struct outbuf *o)
{
	o->err = -EMSGSIZE;
	return o->buf;
}

/* Through a buffer of its own. */
static int make_prefix(struct text *t, const char *step, const char *node, const char *table)
{
	_cleanup_free_ char *buf = malloc(PREFIX_MAX);
	struct outbuf o;

	if (!buf)
		return -ENOMEM;
	outbuf__init_lent(&o, buf, PREFIX_MAX, too_long, NULL);
	if (t->format == EXTRACT_TABLE) {
		put_left(&o, step, t->step_width);
		outbuf__str(&o, "  ");
		put_left(&o, node, t->node_width);
		if (table) {
			outbuf__str(&o, "  ");
			put_left(&o, table, 6);
		}
	} else {
		put_field(&o, step);
		outbuf__char(&o, ',');
		put_field(&o, node);
		if (table) {
			outbuf__char(&o, ',');
			put_field(&o, table);
		}
	}
	free(t->prefix);
	t->prefix_len = o.len;
	t->prefix = o.err ? NULL : strndup(buf, o.len);
	return t->prefix ? 0 : -ENOMEM;
}

int text__open(struct text *t, const char *step, const char *node, const char *table,
	       const struct text_col *cols)
{
	t->rows = 0;
	t->ns_at = -1;
	t->named = false;
	for (unsigned i = 0; i < t->ncols; i++)
		t->named |= cols[i].names != NULL;
	if (!t->begun)
		text__header(t);
	if (t->format != EXTRACT_JSON)
		return make_prefix(t, step, node, t->grouped ? table ? table : "" : NULL);
	open_json(t, step, node, table, cols);
	return 0;
}

static char *cell_csv(char *p, const struct text_col *col, const union cell *row, bool keep_nan)
{
	if (col->at < 0)
		return p;
	row += col->at;
	if (col->type == COL_U64)
		return digits__u64(p, row->u);
	if (col->type == COL_F64)
		return keep_nan || !isnan(row->f) ? digits__f6(p, row->f) : p;
	if (row->i < 0)
		*p++ = '-';
	return digits__u64(p, row->i < 0 ? -row->u : row->u);
}

/* What the cell's number stands for; NULL: it is that number. */
static const char *name_of(const struct text_col *col, const union cell *row)
{
	const uint64_t k = col->names && col->at >= 0 ? row[col->at].u : 0;

	return k && k <= col->names->n ? col->names->v[k - 1] : NULL;
}

/* With texts among the cells, which may be of any length. */
static void row_csv_named(const struct text *t, const struct text_col *cols, const union cell *row)
{
	outbuf__mem(t->out, t->prefix, t->prefix_len);
	for (unsigned i = 0; i < t->ncols; i++) {
		const char *name = name_of(&cols[i], row);
		char *p;

		outbuf__char(t->out, ',');
		if (name)
			put_field(t->out, name);
		else if ((p = outbuf__room(t->out)))
			outbuf__filled(t->out, cell_csv(p, &cols[i], row, t->keep_nan));
	}
	outbuf__char(t->out, '\n');
}

static void row_csv(const struct text *t, const struct text_col *cols, const union cell *row)
{
	struct outbuf *o = t->out;
	char *p, *last;

	outbuf__mem(o, t->prefix, t->prefix_len);
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
		p = cell_csv(p, &cols[i], row, t->keep_nan);
	}
	*p++ = '\n';
	outbuf__filled(o, p);
}

static void row_json(const struct text *t, const struct text_col *cols, const union cell *row)
{
	const char *comma = "";

	outbuf__str(t->out, t->rows ? ",\n  [" : "\n  [");
	for (unsigned i = 0; i < t->ncols; i++) {
		if (!cols[i].there)
			continue;
		outbuf__str(t->out, comma);
		comma = ", ";
		if (cols[i].at < 0)
			outbuf__str(t->out, "null");
		else if (name_of(&cols[i], row))
			put_string(t->out, name_of(&cols[i], row));
		else if (cols[i].type == COL_U64)
			outbuf__u64(t->out, row[cols[i].at].u);
		else if (cols[i].type == COL_I64)
			outbuf__i64(t->out, row[cols[i].at].i);
		else if (isfinite(row[cols[i].at].f))
			put_shortest(t->out, row[cols[i].at].f);
		else
			outbuf__str(t->out, "null");
	}
	outbuf__char(t->out, ']');
}

/* Slurm's columns of time are whole seconds; with TimeNS the table has fractions of them. */
static bool put_time(const struct text *t, const char *name, const union cell *row)
{
	bool elapsed = !strcmp(name, "ElapsedTime") && t->start_ns != INT64_MIN;
	double ns;
	char text[64];
	int n;

	if (t->ns_at < 0 || (!elapsed && strcmp(name, "EpochTime")))
		return false;
	ns = elapsed ? (double)(int64_t)(row[t->ns_at].u - (uint64_t)t->start_ns)
		     : (double)row[t->ns_at].u;
	n = snprintf(text, sizeof(text), "%.3f", ns / 1e9);
	pad(t->out, width_of(name) - n);
	outbuf__str(t->out, text);
	return true;
}

static void row_table(const struct text *t, const struct text_col *cols, const union cell *row)
{
	static const union cell none = {.f = NAN};

	outbuf__mem(t->out, t->prefix, t->prefix_len);
	for (unsigned i = 0; i < t->ncols; i++) {
		bool known = cols[i].at >= 0;

		outbuf__str(t->out, "  ");
		if (known && put_time(t, t->names[i], row))
			continue;
		if (name_of(&cols[i], row)) {
			put_right(t->out, name_of(&cols[i], row), width_of(t->names[i]));
			continue;
		}
		put_aligned(t->out, known ? row[cols[i].at] : none, known ? cols[i].type : COL_F64,
			    width_of(t->names[i]));
	}
	outbuf__char(t->out, '\n');
}

void text__rows(struct text *t, const struct text_col *cols, const union cell *rows, unsigned n,
		unsigned stride)
{
	for (unsigned i = 0; i < n; i++, rows += stride) {
		if (t->format == EXTRACT_CSV && t->named)
			row_csv_named(t, cols, rows);
		else if (t->format == EXTRACT_CSV)
			row_csv(t, cols, rows);
		else if (t->format == EXTRACT_JSON)
			row_json(t, cols, rows);
		else
			row_table(t, cols, rows);
		t->rows++;
	}
}

void text__close(struct text *t)
{
	if (t->format == EXTRACT_JSON)
		outbuf__str(t->out, t->rows ? "\n ]}" : "]}");
}

void text__free(struct text *t)
{
	free(t->prefix);
	free(t->units);
	t->prefix = NULL;
	t->units = NULL;
}
