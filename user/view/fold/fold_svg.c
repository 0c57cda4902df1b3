// SPDX-License-Identifier: GPL-2.0-only
/* A folded region as SVG: a counter's progress and its rate along the region, with its phases. */
#include <math.h>

#include "base/escape.h"
#include "view/fold/fold_view.h"

#define WIDTH  480.0
#define HEIGHT 290.0
#define LEFT   52.0
#define RIGHT  14.0
#define TOP    26.0
#define BOTTOM 38.0

static double x_of(double x)
{
	return LEFT + x * (WIDTH - LEFT - RIGHT);
}

static double y_of(double y)
{
	return HEIGHT - BOTTOM - fmin(fmax(y, 0), 1) * (HEIGHT - BOTTOM - TOP);
}

static void line(FILE *out, const double *v, double max, const char *colour, const char *dashes)
{
	fprintf(out, "<polyline fill='none' stroke='%s' stroke-dasharray='%s' points='", colour,
		dashes);
	for (size_t i = 0; i < FOLD_CURVE; i += 2)
		if (isfinite(v[i]))
			fprintf(out, "%.1f,%.1f ", x_of((double)i / (FOLD_CURVE - 1)),
				y_of(v[i] / max));
	fputs("'/>\n", out);
}

static void put_phases(const struct folded *f, FILE *out)
{
	char code[FOLD_TEXT];

	for (size_t i = 0; i < f->nphases; i++) {
		const struct fold_phase *p = &f->phases[i];

		fold_view__phase(f, p, code, sizeof(code));
		fprintf(out, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='%s'><title>",
			x_of(p->from), y_of(1), x_of(p->to) - x_of(p->from), y_of(0) - y_of(1),
			i % 2 ? "#f4f4f4" : "#e4e4e4");
		print__xml(out, code, sizeof(code));
		fprintf(out, ", %.4f to %.4f</title></rect>\n", p->from, p->to);
	}
}

static void text(FILE *out, double x, double y, const char *anchor, const char *format, double v)
{
	fprintf(out, "<text x='%.1f' y='%.1f' text-anchor='%s'>", x, y, anchor);
	fprintf(out, format, v);
	fputs("</text>\n", out);
}

void fold_svg__print(const struct folded *f, FILE *out)
{
	const struct fold_result *r = &f->of[f->shown];
	double max = 0;

	for (size_t i = 0; i < FOLD_CURVE; i++)
		max = isfinite(r->rate[i]) ? fmax(max, r->rate[i]) : max;
	max = max > 0 ? folded__possible(f->shown, max) : 1;
	fprintf(out,
		"<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%.0f' viewBox='0 0 "
		"%.0f %.0f' font-family='sans-serif' font-size='9'>\n"
		"<rect width='100%%' height='100%%' fill='white'/>\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT);
	put_phases(f, out);
	line(out, r->curve, 1, "#0072b2", "none");
	line(out, r->rate, max, "#d55e00", "6 2");
	fprintf(out, "<text x='%.1f' y='16'>%s: progress (line, to 1), rate (dashes)</text>\n",
		LEFT, fold_view__counter(f, f->shown));
	text(out, LEFT - 4, y_of(1) + 3, "end", "%.3g/s", max);
	text(out, LEFT - 4, y_of(0) + 3, "end", "%.0f", 0);
	text(out, x_of(0), HEIGHT - 22, "start", "%.0f", 0);
	text(out, x_of(1), HEIGHT - 22, "end", "%.4g ms", f->period_s * 1e3);
	fputs("</svg>\n", out);
}
