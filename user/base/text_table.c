// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables in text. */
#include "base/text_table.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/utf8.h"

void text_table__cell(struct text_table *t, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	if (!t->cells)
		t->cells = open_memstream(&t->text, &t->len);
	if (!t->cells)
		return;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) >= 0) {
		print__escaped(t->cells, text);
		free(text);
	}
	va_end(ap);
	putc('\0', t->cells);
}

void text_table__number(struct text_table *t, const char *fmt, double v)
{
	char text[64];

	snprintf(text, sizeof(text), isnan(v) ? "-" : fmt, v);
	text_table__cell(t, "%s", text);
}

/* Blanks at a row's end are left out. */
static void print_row(const struct text_table *t, const int *width, const char *const *cell,
		      FILE *out)
{
	unsigned n = t->ncols, printed = 0;

	while (n && !*cell[n - 1])
		n--;
	for (unsigned c = 0; c < n; c++) {
		const int pad = width[c] - (int)utf8__length(cell[c]);

		if (!width[c])
			continue;
		fprintf(out, "%s%*s%s%*s",
			printed++   ? "  "
			: t->indent ? t->indent
				    : "",
			c >= t->nleft ? pad : 0, "", cell[c], c < t->nleft && c + 1 < n ? pad : 0,
			"");
	}
	putc('\n', out);
}

void text_table__end(struct text_table *t, FILE *out)
{
	const char *cell[TEXT_TABLE_COLUMNS];
	int width[TEXT_TABLE_COLUMNS] = {};
	unsigned c;
	char *p;

	if (t->cells)
		fclose(t->cells);
	for (p = t->text, c = 0; p < t->text + t->len; p += strlen(p) + 1, c = (c + 1) % t->ncols)
		if ((int)utf8__length(p) > width[c])
			width[c] = (int)utf8__length(p);
	for (p = t->text, c = 0; p < t->text + t->len; p += strlen(p) + 1) {
		cell[c++] = p;
		if (c == t->ncols) {
			print_row(t, width, cell, out);
			c = 0;
		}
	}
	free(t->text);
	t->cells = NULL, t->text = NULL, t->len = 0;
}
