/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Axes of charts, whatever draws these, and pictures for print as SVG: black axes, thin lines,
 * colours and dashes that also grey print tells apart. A picture begins with svg__begin(); a chart
 * then has its axes from svg__axes(), and what is drawn inside of them takes its places from
 * svg__x() and svg__y(). Coordinates are points (1/72 inch).
 */
#ifndef JP_VIEW_SVG_H
#define JP_VIEW_SVG_H

#include <stdbool.h>
#include <stdio.h>

/* An axis from low to high; value * factor is what its labels say. */
struct axis {
	double low, high, factor;
	double step;   /* between ticks, in labels' numbers; of a log axis 0 where ticks are 1, 2, 5
			*/
	char unit[64]; /* of the labels */
	bool log;      /* low and high are above 0 */
	bool is_time;  /* seconds, and each label has its own unit: "20 ms" */
};

/* The least of 1, 2, 5, 10 ... that makes at most so many steps of span. */
double axis__step(double span, unsigned ticks);
/* An axis of times, which are above 0, with a little room at its ends. */
struct axis axis__of_log_times(double low, double high);
/* The k-th tick, from 0: where it is, and its label. false: there are no more. */
bool axis__tick(const struct axis *a, unsigned k, double *at, char label[static 32]);

#define SVG_WIDTH   480.0 /* a column and a half of a paper */
#define SVG_HEIGHT  290.0 /* with the axes' labels, without a legend */
#define SVG_LEFT    52.0
#define SVG_RIGHT   (SVG_WIDTH - 14)
#define SVG_TOP	    26.0
#define SVG_BOTTOM  (SVG_HEIGHT - 38)
#define SVG_COLOURS 8

/* M. Okabe, K. Ito, "Color universal design", 2008. */
extern const char *const svg_colours[SVG_COLOURS], *const svg_dashes[SVG_COLOURS];

struct svg {
	FILE *out;
	struct axis x, y; /* of a chart */
};

void svg__begin(FILE *out, double width, double height, double font, const char *title);
void svg__end(FILE *out);
/* A text, of which at most max bytes are taken; attributes: more of them, such as " class=\"x\"".
 */
void svg__text(FILE *out, double x, double y, const char *attributes, const char *text, size_t max);
/* The axes and their titles: that of x below the axis, that of y above the picture. */
void svg__axes(const struct svg *s, const char *x_title, const char *y_title);
/* Where a value is; one beyond an axis is at its end. */
double svg__x(const struct svg *s, double v);
double svg__y(const struct svg *s, double v);
/* Begins an element in the colour and dashes of a number; more attributes and "/>" follow. */
void svg__begin_line(FILE *out, const char *element, unsigned number);

#endif
