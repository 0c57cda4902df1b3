/* SPDX-License-Identifier: GPL-2.0-only */
/* Rows as JSON: an object per table. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "jobfile/extract/extract_format.h"

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

static void open_table(struct text *t, const char *step, const char *node, const char *table,
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

static void put_row(const struct text *t, const struct text_col *cols, const union cell *row)
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

static void close_table(const struct text *t)
{
	outbuf__str(t->out, t->rows ? "\n ]}" : "]}");
}

const struct text_format text_json = {
	.open_table = open_table,
	.put_row = put_row,
	.close_table = close_table,
};
