/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Axes of charts with their ticks, and the elements of SVG pictures. */
#include "view/svg.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/escape.h"

/* ---- axes */

double axis__step(double span, unsigned ticks)
{
	static const double nice[] = {1, 2, 5};
	double least = span / (ticks ? ticks : 1), power = pow(10, floor(log10(least)));

	for (int i = 0; i < 3; i++)
		if (nice[i] * power >= least * (1 - 1e-9))
			return nice[i] * power;
	return 10 * power;
}

#define NARROW 2.2   /* ratio of bounds below which a log axis has even ticks */
#define LEAST  0.005 /* least decades of an axis: labels of nearer ticks would be equal */
#define ROOM   0.03  /* empty part of an axis at each end */

struct axis axis__of_log_times(double low, double high)
{
	struct axis a = {.factor = 1, .log = true, .is_time = true};
	double decades = fmax(log10(high / low), 0), room = pow(10, ROOM * decades + LEAST);

	a.low = low / room;
	a.high = high * room;
	if (a.high < NARROW * a.low)
		a.step = axis__step(a.high - a.low, 5);
	return a;
}

/* The k-th tick of a log axis. Up to one and a half decades have five ticks each, longer axes
 * three, two or one, and of more than ten decades only some have one: their labels need room. */
static double log_tick(const struct axis *a, unsigned k)
{
	static const struct {
		double decades;
		unsigned n;
		double at[5];
	} ticks[] = {
		{1.5, 5, {1, 2, 3, 5, 7}}, {3, 3, {1, 2, 5}}, {5, 2, {1, 3}}, {INFINITY, 1, {1}}};
	double decades = log10(a->high / a->low), every = floor(decades / 10) + 1;
	unsigned of = 0, step;

	while (decades > ticks[of].decades)
		of++;
	step = k / ticks[of].n;
	return pow(10, floor(log10(a->low)) + every * step) * ticks[of].at[k % ticks[of].n];
}

static void put_time(double s, char label[static 32])
{
	if (s >= 0.9995)
		snprintf(label, 32, "%.6g s", s);
	else if (s >= 0.0009995)
		snprintf(label, 32, "%.6g ms", s * 1e3);
	else
		snprintf(label, 32, "%.6g us", s * 1e6);
}

static void put_number(double v, double step, char label[static 32])
{
	int places = (int)ceil(-log10(step) - 1e-9);

	if (fabs(v) < 1e-9 * step)
		v = 0;
	if (fabs(v) < 1e6)
		snprintf(label, 32, "%.*f", places < 0 ? 0 : places > 9 ? 9 : places, v);
	else
		snprintf(label, 32, "%.6g", v);
}

bool axis__tick(const struct axis *a, unsigned k, double *at, char label[static 32])
{
	if (a->step > 0) {
		*at = (ceil(a->low * a->factor / a->step - 1e-9) + k) * a->step / a->factor;
	} else {
		unsigned below = 0;

		while (log_tick(a, below) < a->low)
			below++;
		*at = log_tick(a, below + k);
	}
	if (!(*at <= a->high + 1e-9 * fabs(a->high - a->low)))
		return false;
	if (a->is_time)
		put_time(*at, label);
	else
		put_number(*at * a->factor, a->step, label);
	return true;
}

/* ---- pictures */

const char *const svg_colours[SVG_COLOURS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
					      "#000000", "#56b4e9", "#e69f00", "#8c8c00"};
const char *const svg_dashes[SVG_COLOURS] = {"none", "6 2",	"2 2",	"8 2 2 2",
					     "4 4",  "1.5 1.5", "10 3", "6 2 2 2 2 2"};

void svg__begin(FILE *out, double width, double height, double font, const char *title)
{
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0fpt\" height=\"%.0fpt\" "
		"viewBox=\"0 0 %.0f %.0f\" role=\"img\" font-family=\"Helvetica, Arial, "
		"sans-serif\" font-size=\"%g\">\n<title>",
		width, height, width, height, font);
	print__xml(out, title, SIZE_MAX);
	fprintf(out, "</title>\n<rect width=\"%.0f\" height=\"%.0f\" fill=\"#fff\"/>\n", width,
		height);
}

void svg__end(FILE *out)
{
	fputs("</svg>\n", out);
}

void svg__text(FILE *out, double x, double y, const char *attributes, const char *text, size_t max)
{
	fprintf(out, "<text x=\"%.2f\" y=\"%.2f\"%s>", x, y, attributes);
	print__xml(out, text, max);
	fputs("</text>\n", out);
}

static double place(const struct axis *a, double v)
{
	double at = a->log ? log(v / a->low) / log(a->high / a->low)
			   : (v - a->low) / (a->high - a->low);

	return fmax(fmin(at, 1), 0);
}

double svg__x(const struct svg *s, double v)
{
	return SVG_LEFT + place(&s->x, v) * (SVG_RIGHT - SVG_LEFT);
}

double svg__y(const struct svg *s, double v)
{
	return SVG_BOTTOM - place(&s->y, v) * (SVG_BOTTOM - SVG_TOP);
}

void svg__begin_line(FILE *out, const char *element, unsigned number)
{
	fprintf(out, "<%s class=\"middle\" stroke=\"%s\" stroke-dasharray=\"%s\" ", element,
		svg_colours[number], svg_dashes[number]);
}

static void put_line(const struct svg *s, const char *class, double x1, double y1, double x2,
		     double y2)
{
	fprintf(s->out, "<line class=\"%s\" x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\"/>\n",
		class, x1, y1, x2, y2);
}

static const char style[] = "<style>\n"
			    ".title { font-size: 10px; font-weight: bold }\n"
			    ".axis, .tick { stroke: #000; stroke-width: 0.75; fill: none }\n"
			    ".grid { stroke: #c8c8c8; stroke-width: 0.4 }\n"
			    ".middle { stroke-width: 1.1; stroke-linejoin: round; fill: none }\n"
			    ".range { fill-opacity: 0.2; stroke: none }\n"
			    "</style>\n";

void svg__axes(const struct svg *s, const char *x_title, const char *y_title)
{
	char label[32];
	double at;

	fputs(style, s->out);
	for (unsigned k = 0; axis__tick(&s->y, k, &at, label); k++) {
		double y = svg__y(s, at);

		put_line(s, "grid", SVG_LEFT, y, SVG_RIGHT, y);
		put_line(s, "tick", SVG_LEFT - 4, y, SVG_LEFT, y);
		svg__text(s->out, SVG_LEFT - 7, y + 3.2, " class=\"y\" text-anchor=\"end\"", label,
			  SIZE_MAX);
	}
	for (unsigned k = 0; axis__tick(&s->x, k, &at, label); k++) {
		double x = svg__x(s, at);

		put_line(s, "tick", x, SVG_BOTTOM, x, SVG_BOTTOM + 4);
		svg__text(s->out, x, SVG_BOTTOM + 14, " class=\"x\" text-anchor=\"middle\"", label,
			  SIZE_MAX);
	}
	fprintf(s->out, "<path class=\"axis\" d=\"M%.2f %.2fV%.2fH%.2f\"/>\n", SVG_LEFT, SVG_TOP,
		SVG_BOTTOM, SVG_RIGHT);
	svg__text(s->out, (SVG_LEFT + SVG_RIGHT) / 2, SVG_BOTTOM + 30, " text-anchor=\"middle\"",
		  x_title, SIZE_MAX);
	svg__text(s->out, SVG_LEFT, SVG_TOP - 11, " class=\"title\"", y_title, SIZE_MAX);
}
