/* SPDX-License-Identifier: GPL-2.0-only */
/* Rows aligned for a terminal. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "jobfile/extract/extract_format.h"

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

static void put_header(struct text *t)
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

static void open_table(struct text *t, const char *step, const char *node, const char *table,
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

static void put_row(const struct text *t, const struct text_col *cols, const union cell *row)
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

const struct text_format text_table = {
	.put_header = put_header,
	.open_table = open_table,
	.put_row = put_row,
};
