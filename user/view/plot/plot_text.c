/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plot for a terminal: dots of Braille characters, or one ASCII character per cell. */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "view/plot/plot.h"

#define ROWS_LEAST 4
#define COLS_LEAST 16

/* A cell of the canvas: dots of Braille, the topmost curve, and whether its line is there. */
struct plot_cell {
	uint8_t dots, curve;
	bool line;
};

struct canvas {
	const struct plot *p;
	const struct plot_text *how;
	FILE *out;
	struct axis x, y;
	struct plot_cell *cells; /* [rows][cols] */
	unsigned rows, cols;
	unsigned dots_x, dots_y; /* dots per cell */
	int margin;		 /* columns before the axis */
	bool braille;
};

static const char marks[PLOT_CURVES + 1] = "*o+x#@%&";

/* ---- drawing */

static void put_dot(struct canvas *c, unsigned x, unsigned y, unsigned curve, bool line)
{
	static const uint8_t bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
	struct plot_cell *cell = &c->cells[(size_t)(y / c->dots_y) * c->cols + x / c->dots_x];

	if (cell->line && !line)
		return;
	cell->dots |= c->braille ? bits[y % 4][x % 2] : 1;
	cell->curve = (uint8_t)curve;
	cell->line = line;
}

/* The row of dots of a value, from the top. */
static unsigned row_of(const struct canvas *c, double v)
{
	unsigned n = c->rows * c->dots_y;
	double y =
		(c->y.high - fmax(fmin(v, c->y.high), c->y.low)) / (c->y.high - c->y.low) * (n - 1);

	return y <= 0 ? 0 : y >= n - 1 ? n - 1 : (unsigned)lrint(y);
}

/* The extent of a curve's steps in a column of dots. */
struct extent {
	double low, high, least, most; /* extremes of all values; extremes of the middle */
	double last;		       /* the middle at the column's end */
};

static struct extent extent_of(const struct curve *c, double from, double to, unsigned *first)
{
	struct extent e = {NAN, NAN, NAN, NAN, NAN};

	while (*first < c->n && c->end_s[*first] <= from)
		++*first;
	for (unsigned i = *first; i < c->n && c->begin_s[i] < to; i++) {
		e.low = fmin(e.low, c->low[i]);
		e.high = fmax(e.high, c->high[i]);
		e.least = fmin(e.least, c->middle[i]);
		e.most = fmax(e.most, c->middle[i]);
		e.last = c->middle[i];
	}
	return e;
}

static void draw_range(struct canvas *c, unsigned i, unsigned x, const struct extent *e)
{
	unsigned top = row_of(c, e->high), bottom = row_of(c, e->low);

	for (unsigned y = top; y <= bottom; y++)
		if (!c->braille || y == top || y == bottom ? (x + y) % 2 == 0 || !c->braille
							   : (x + 2 * y) % 8 == 0)
			put_dot(c, x, y, i, false);
}

/* Draws a curve's ranges or lines: lines are drawn last, over all ranges. */
static void draw_curve(struct canvas *c, unsigned i, bool lines)
{
	const struct curve *curve = c->p->curves[i].curve;
	unsigned n = c->cols * c->dots_x, first = 0;
	double before = NAN;

	for (unsigned x = 0; x < n; x++) {
		struct extent e =
			extent_of(curve, c->x.high * x / n, c->x.high * (x + 1) / n, &first);

		if (!lines && curve->has_range && !isnan(e.low))
			draw_range(c, i, x, &e);
		if (lines && !isnan(e.least))
			for (unsigned y = row_of(c, fmax(e.most, before));
			     y <= row_of(c, fmin(e.least, before)); y++)
				put_dot(c, x, y, i, true);
		before = e.last;
	}
}

/* ---- printing */

static void begin_colour(const struct canvas *c, unsigned curve)
{
	static const int codes[PLOT_CURVES] = {34, 31, 32, 35, 36, 33, 94, 91};

	if (c->how->colour && c->p->n > 1)
		fprintf(c->out, "\033[%dm", codes[curve]);
}

static void end_colour(const struct canvas *c)
{
	if (c->how->colour && c->p->n > 1)
		fputs("\033[0m", c->out);
}

static void put_cell(const struct canvas *c, const struct plot_cell *cell)
{
	if (!cell->dots) {
		putc(' ', c->out);
		return;
	}
	begin_colour(c, cell->curve);
	if (c->braille)
		fprintf(c->out, "\xe2%c%c", 0xa0 + (cell->dots >> 6), 0x80 + (cell->dots & 0x3f));
	else
		putc(cell->line ? marks[cell->curve] : '.', c->out);
	end_colour(c);
}

/* Writes the label of the tick in that row. False, and "": there is none. */
static bool tick_in_row(const struct canvas *c, unsigned row, char label[static 32])
{
	double at;

	for (unsigned k = 0; axis__tick(&c->y, k, &at, label); k++)
		if (row_of(c, at) / c->dots_y == row)
			return true;
	*label = 0;
	return false;
}

static void print_row(const struct canvas *c, unsigned row)
{
	unsigned end = c->cols;
	char label[32];
	bool tick = tick_in_row(c, row, label);

	while (end && !c->cells[(size_t)row * c->cols + end - 1].dots)
		end--;
	fprintf(c->out, "%*s %s", c->margin, label,
		!c->how->utf8 ? tick ? "+" : "|"
		: tick	      ? "\u2524"
			      : "\u2502");
	for (unsigned x = 0; x < end; x++)
		put_cell(c, &c->cells[(size_t)row * c->cols + x]);
	putc('\n', c->out);
}

static unsigned column_of(const struct canvas *c, double s)
{
	unsigned x = (unsigned)(s / c->x.high * c->cols);

	return x < c->cols ? x : c->cols - 1;
}

static void print_line_below(const struct canvas *c)
{
	char label[32];
	unsigned k = 0;
	double at = 0;
	bool more = axis__tick(&c->x, k, &at, label);

	fprintf(c->out, "%*s %s", c->margin, "", c->how->utf8 ? "\u2514" : "+");
	for (unsigned x = 0; x < c->cols; x++) {
		bool tick = more && column_of(c, at) == x;

		fputs(!c->how->utf8 ? tick ? "+" : "-" : tick ? "\u252c" : "\u2500", c->out);
		while (more && column_of(c, at) <= x)
			more = axis__tick(&c->x, ++k, &at, label);
	}
	putc('\n', c->out);
}

/* Prints labels below their ticks, and the unit after the last one. */
static void print_time_labels(const struct canvas *c)
{
	size_t width = c->cols + (size_t)c->margin + 2, unit = strlen(c->x.unit) + 1;
	char label[32], *line = malloc(width + 1);
	double at;

	if (!line)
		return;
	memset(line, ' ', width);
	memcpy(line + width - unit + 1, c->x.unit, unit - 1);
	for (unsigned k = 0; axis__tick(&c->x, k, &at, label); k++) {
		size_t len = strlen(label);
		size_t from = (size_t)c->margin + 2 + column_of(c, at) - len / 2;

		if (from + len < width - unit)
			memcpy(line + from, label, len);
	}
	line[width] = 0;
	fprintf(c->out, "%s\n", line);
	free(line);
}

static void print_legend(const struct canvas *c)
{
	for (unsigned i = 0; i < c->p->n; i++) {
		char text[256];

		plot__legend(c->p, i, text, sizeof(text));
		fprintf(c->out, "%*s ", c->margin, "");
		begin_colour(c, i);
		if (c->braille)
			fputs("\u28e4\u28e4", c->out);
		else
			putc(marks[i], c->out);
		end_colour(c);
		fprintf(c->out, " %.*s\n", (int)c->how->width - c->margin - 4, text);
	}
}

static int label_width(const struct axis *a)
{
	char label[32];
	int width = 0;
	double at;

	for (unsigned k = 0; axis__tick(a, k, &at, label); k++)
		width = (int)strlen(label) > width ? (int)strlen(label) : width;
	return width;
}

static void lay_out(struct canvas *c)
{
	unsigned height = c->how->height, used = 4 + c->p->n;

	/* without colours each curve has a mark of its own */
	c->braille = c->how->utf8 && (c->p->n == 1 || c->how->colour);
	c->dots_x = c->braille ? 2 : 1;
	c->dots_y = c->braille ? 4 : 1;
	c->rows = height > used + ROWS_LEAST ? height - used : ROWS_LEAST;
	c->y = plot_axis__of_values(c->p, c->rows / 4 ? c->rows / 4 : 1);
	c->margin = label_width(&c->y);
	c->cols = c->how->width > (unsigned)c->margin + 2 + COLS_LEAST
			  ? c->how->width - (unsigned)c->margin - 2
			  : COLS_LEAST;
	c->x = plot_axis__of_time(c->p, c->cols / 10);
}

int plot__print(const struct plot *p, const struct plot_text *how, FILE *out)
{
	struct canvas c = {.p = p, .how = how, .out = out};
	char title[256];

	lay_out(&c);
	c.cells = calloc((size_t)c.rows * c.cols, sizeof(*c.cells));
	if (!c.cells)
		return -ENOMEM;
	for (unsigned i = 0; i < p->n; i++)
		draw_curve(&c, i, false);
	for (unsigned i = 0; i < p->n; i++)
		draw_curve(&c, i, true);
	plot__title(p, &c.y, title, sizeof(title));
	fprintf(out, "%.*s\n", (int)how->width, title);
	for (unsigned y = 0; y < c.rows; y++)
		print_row(&c, y);
	print_line_below(&c);
	print_time_labels(&c);
	print_legend(&c);
	free(c.cells);
	return 0;
}
