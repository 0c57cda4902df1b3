/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Axes of charts of any kind, and pictures for print as SVG: black axes, thin lines, colours and
 * dashes that can be told apart in grey print too. A picture begins with svg__begin(); a chart gets
 * its axes by svg__axes(), and svg__x() and svg__y() place what is drawn inside. Coordinates are
 * points (1/72 inch).
 */
#ifndef JP_VIEW_SVG_H
#define JP_VIEW_SVG_H

#include <stdbool.h>
#include <stdio.h>

/* An axis from low to high; its labels are value * factor. */
struct axis {
	double low, high, factor;
	double step;   /* distance of ticks, in the labels' numbers; 0 on a log axis whose ticks are
			* 1, 2, 5
			*/
	char unit[64]; /* of the labels */
	bool log;      /* low and high are above 0 */
	bool is_time;  /* seconds, and each label has its own unit: "20 ms" */
};

/* The smallest of 1, 2, 5, 10 ... that divides span into at most so many steps. */
double axis__step(double span, unsigned ticks);
/* An axis of times, which are above 0, with a little room at its ends. */
struct axis axis__of_log_times(double low, double high);
/* The place and label of the k-th tick, from 0. False: there are no more. */
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
/* Writes a text, at most max bytes of it; attributes: further ones, such as " class=\"x\"".
 */
void svg__text(FILE *out, double x, double y, const char *attributes, const char *text, size_t max);
/* The axes and their titles: that of x below the axis, that of y above the picture. */
void svg__axes(const struct svg *s, const char *x_title, const char *y_title);
/* The place of a value; a value beyond an axis is at its end. */
double svg__x(const struct svg *s, double v);
double svg__y(const struct svg *s, double v);
/* Begins an element in the colour and dashes of a number; more attributes and "/>" follow. */
void svg__begin_line(FILE *out, const char *element, unsigned number);

#endif
