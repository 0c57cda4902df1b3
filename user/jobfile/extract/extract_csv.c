/* SPDX-License-Identifier: GPL-2.0-only */
/* Rows as CSV. */
#include <math.h>
#include <string.h>

#include "base/csv.h"
#include "jobfile/extract/extract_format.h"

static void put_header(struct text *t)
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

static void open_table(struct text *t, const char *step, const char *node, const char *table,
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

static void put_row(const struct text *t, const struct text_col *cols, const union cell *row)
{
	if (t->named)
		put_named_row(t, cols, row);
	else
		put_plain_row(t, cols, row);
}

const struct text_format text_csv = {
	.put_header = put_header,
	.open_table = open_table,
	.put_row = put_row,
};
