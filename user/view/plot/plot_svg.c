/* SPDX-License-Identifier: GPL-2.0-only */
/* A plot as SVG: black axes, thin lines, colours and dashes that also grey print tells apart. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/escape.h"
#include "view/plot/plot.h"

/* Points (1/72 inch): a column and a half of a paper. */
#define WIDTH  480.0
#define HEIGHT 290.0
#define LEFT   52.0
#define RIGHT  14.0
#define TOP    26.0
#define BOTTOM 38.0
#define LINE   14.0 /* of the legend */

/* M. Okabe, K. Ito, "Color universal design", 2008, from dark to light. */
static const char *const colours[PLOT_CURVES] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
						 "#000000", "#56b4e9", "#e69f00", "#8c8c00"};
static const char *const dashes[PLOT_CURVES] = {"none", "6 2",	   "2 2",  "8 2 2 2",
						"4 4",	"1.5 1.5", "10 3", "6 2 2 2 2 2"};

struct canvas {
	const struct plot *p;
	struct plot_axis x, y;
	double bottom; /* of the axes */
	FILE *out;
};

static double x_of(const struct canvas *c, double s)
{
	return LEFT + s / c->x.high * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct canvas *c, double v)
{
	v = fmax(fmin(v, c->y.high), c->y.low); /* what is beyond any axis is at its end */
	return c->bottom - (v - c->y.low) / (c->y.high - c->y.low) * (c->bottom - TOP);
}

static void put_label(const struct canvas *c, double x, double y, const char *anchor,
		      const char *more, const char *text)
{
	fprintf(c->out, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"%s\"%s>", x, y, anchor, more);
	print__xml(c->out, text, SIZE_MAX);
	fputs("</text>\n", c->out);
}

/* ---- axes */

static void put_x_axis(const struct canvas *c)
{
	char label[32], text[96];
	double at;

	for (unsigned k = 0; plot_axis__tick(&c->x, k, &at, label); k++) {
		fprintf(c->out,
			"<line class=\"tick\" x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\"/>\n",
			x_of(c, at), c->bottom, x_of(c, at), c->bottom + 4);
		put_label(c, x_of(c, at), c->bottom + 14, "middle", " class=\"x\"", label);
	}
	snprintf(text, sizeof(text), "Time since start (%s)", c->x.unit);
	put_label(c, (LEFT + WIDTH - RIGHT) / 2, c->bottom + 30, "middle", "", text);
}

static void put_y_axis(const struct canvas *c)
{
	char label[32];
	double at;

	for (unsigned k = 0; plot_axis__tick(&c->y, k, &at, label); k++) {
		double y = y_of(c, at);

		fprintf(c->out,
			"<line class=\"grid\" x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\"/>\n",
			LEFT, y, WIDTH - RIGHT, y);
		fprintf(c->out,
			"<line class=\"tick\" x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\"/>\n",
			LEFT - 4, y, LEFT, y);
		put_label(c, LEFT - 7, y + 3.2, "end", " class=\"y\"", label);
	}
}

static void put_frame(const struct canvas *c)
{
	char title[256];

	plot__title(c->p, &c->y, title, sizeof(title));
	put_y_axis(c);
	put_x_axis(c);
	fprintf(c->out, "<path class=\"axis\" d=\"M%.2f %.2fV%.2fH%.2f\"/>\n", LEFT, TOP, c->bottom,
		WIDTH - RIGHT);
	put_label(c, LEFT, TOP - 11, "start", " class=\"title\"", title);
}

/* ---- curves */

/* The first step from i on whose value is known, and behind the last one of its run. */
static bool next_run(const struct curve *c, unsigned *i, unsigned *end)
{
	while (*i < c->n && isnan(c->middle[*i]))
		++*i;
	*end = *i;
	while (*end < c->n && !isnan(c->middle[*end]))
		++*end;
	return *i < c->n;
}

static void put_steps(const struct canvas *c, const struct curve *curve, const double *v,
		      unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		fprintf(c->out, "%s%.3f,%.3f %.3f,%.3f", i > from ? " " : "",
			x_of(c, curve->begin_s[i]), y_of(c, v[i]), x_of(c, curve->end_s[i]),
			y_of(c, v[i]));
}

static void put_back(const struct canvas *c, const struct curve *curve, unsigned from, unsigned to)
{
	for (unsigned i = to; i-- > from;)
		fprintf(c->out, " %.3f,%.3f %.3f,%.3f", x_of(c, curve->end_s[i]),
			y_of(c, curve->low[i]), x_of(c, curve->begin_s[i]), y_of(c, curve->low[i]));
}

static void put_curve(const struct canvas *c, unsigned at)
{
	const struct curve *curve = c->p->curves[at].curve;
	unsigned from, to;

	fprintf(c->out, "<g id=\"curve%u\">\n", at);
	for (from = 0; curve->has_range && next_run(curve, &from, &to); from = to) {
		fprintf(c->out, "<polygon class=\"range\" fill=\"%s\" points=\"", colours[at]);
		put_steps(c, curve, curve->high, from, to);
		put_back(c, curve, from, to);
		fputs("\"/>\n", c->out);
	}
	for (from = 0; next_run(curve, &from, &to); from = to) {
		fprintf(c->out,
			"<polyline class=\"middle\" stroke=\"%s\" stroke-dasharray=\"%s\" "
			"points=\"",
			colours[at], dashes[at]);
		put_steps(c, curve, curve->middle, from, to);
		fputs("\"/>\n", c->out);
	}
	fputs("</g>\n", c->out);
}

static void put_legend(const struct canvas *c)
{
	char text[256];

	for (unsigned i = 0; i < c->p->n; i++) {
		double y = c->bottom + BOTTOM + LINE * i + 9;

		if (c->p->curves[i].curve->has_range)
			fprintf(c->out,
				"<rect class=\"range\" fill=\"%s\" x=\"%.2f\" y=\"%.2f\" "
				"width=\"26\" "
				"height=\"9\"/>\n",
				colours[i], LEFT, y - 7.5);
		fprintf(c->out,
			"<line class=\"middle\" stroke=\"%s\" stroke-dasharray=\"%s\" x1=\"%.2f\" "
			"y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\"/>\n",
			colours[i], dashes[i], LEFT, y - 3, LEFT + 26, y - 3);
		plot__legend(c->p, i, text, sizeof(text));
		put_label(c, LEFT + 32, y, "start", " class=\"legend\"", text);
	}
}

static const char style[] =
	"<style>\n"
	"text { font-family: Helvetica, Arial, sans-serif; font-size: 9px; fill: #000 }\n"
	".title { font-size: 10px; font-weight: bold }\n"
	".axis, .tick { stroke: #000; stroke-width: 0.75; fill: none }\n"
	".grid { stroke: #c8c8c8; stroke-width: 0.4 }\n"
	".middle { stroke-width: 1.1; stroke-linejoin: round; fill: none }\n"
	".range { fill-opacity: 0.2; stroke: none }\n"
	"</style>\n";

void plot__svg(const struct plot *p, FILE *out)
{
	struct canvas c = {.p = p, .out = out, .bottom = HEIGHT - BOTTOM};
	double height = HEIGHT + LINE * p->n + 8;
	char title[256];

	c.x = plot_axis__of_time(p, 8);
	c.y = plot_axis__of_values(p, 6);
	plot__title(p, &c.y, title, sizeof(title));
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0fpt\" height=\"%.0fpt\" "
		"viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n<title>",
		WIDTH, height, WIDTH, height);
	print__xml(out, title, SIZE_MAX);
	fprintf(out, "</title>\n%s<rect width=\"%.0f\" height=\"%.0f\" fill=\"#fff\"/>\n", style,
		WIDTH, height);
	put_frame(&c);
	for (unsigned i = 0; i < p->n; i++)
		put_curve(&c, i);
	put_legend(&c);
	fputs("</svg>\n", out);
}
