/* SPDX-License-Identifier: GPL-2.0-only */
/* Rows of tables as text in one of the forms. */
#include "jobfile/extract/extract_text.h"

#include <stdlib.h>

#include "jobfile/extract/extract_format.h"

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
