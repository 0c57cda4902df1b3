// SPDX-License-Identifier: GPL-2.0-only
/* A flame graph as SVG, which needs no script: a box per function, its callers below it. Each box
 * has a title. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "view/flame/flame.h"

#define WIDTH	  1200.0
#define LINE	  16.0
#define TOP	  34.0
#define CHAR	  6.2 /* of the font, about */
#define LEAST	  0.3 /* narrower boxes are left out */
#define DEPTH_MAX 260

/* Returns the time of the last run; in a difference that of both runs, so that what has gone shows,
 * too. */
static double width_of(const struct flame *f, uint32_t frame)
{
	const double *t = f->frames[frame].total_s;

	return f->runs > 1 ? fmax(t[0], t[1]) : t[0];
}

/* Children may be wider than their parent where both runs count. */
static double inner_width(const struct flame *f, uint32_t frame)
{
	double sum = 0;

	for (uint32_t c = f->frames[frame].first; c; c = f->frames[c].next)
		sum += width_of(f, c);
	return sum;
}

static void put_colour(FILE *out, const struct flame *f, const struct flame_frame *n)
{
	unsigned hash = (unsigned)id__of_text(n->name) % 50;
	double change = n->total_s[1] - n->total_s[0], most = fmax(n->total_s[0], n->total_s[1]);

	if (f->runs > 1) {
		int pale = most > 0 ? (int)lrint(235 - 150 * fmin(1, fabs(change) / most)) : 235;

		fprintf(out, change > 0 ? "#eb%02x%02x" : "#%02x%02xeb", pale, pale);
	} else if (n->kind == FLAME_KERNEL) {
		fprintf(out, "#e8a%xa%x", hash % 16, hash % 16);
	} else if (n->kind == FLAME_CAUSE) {
		fputs("#b8c4d0", out);
	} else {
		fprintf(out, "#f%x%x%x6%x", hash % 6 + 8, 12 - hash % 5, hash % 16, hash % 10);
	}
}

static void put_title(FILE *out, const struct flame *f, const struct flame_frame *n)
{
	const struct flame_frame *all = &f->frames[FLAME_ROOT];
	unsigned last = f->runs - 1;

	print__xml(out, n->name, 400);
	fprintf(out, ": %.2f s", n->total_s[last]);
	if (all->total_s[last] > 0)
		fprintf(out, ", %.1f %%", 100 * n->total_s[last] / all->total_s[last]);
	if (f->runs > 1)
		fprintf(out, ", before %.2f s", n->total_s[0]);
}

static void put_box(FILE *out, const struct flame *f, uint32_t frame, double x, double w, double y)
{
	const struct flame_frame *n = &f->frames[frame];

	fputs("<g><title>", out);
	put_title(out, f, n);
	fprintf(out,
		"</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"1\" "
		"fill=\"",
		x, y, w, LINE - 1);
	put_colour(out, f, n);
	fputs("\"/>", out);
	if (w > 4 * CHAR) {
		fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">", x + 3, y + 11.5);
		print__xml(out, n->name, (size_t)((w - 6) / CHAR));
		fputs("</text>", out);
	}
	fputs("</g>\n", out);
}

static unsigned deepest(const struct flame *f, double scale)
{
	unsigned depth = 0;

	for (uint32_t i = 0; i < f->n; i++)
		if (width_of(f, i) * scale >= LEAST && f->frames[i].depth > depth)
			depth = f->frames[i].depth;
	return depth < DEPTH_MAX ? depth : DEPTH_MAX;
}

static void put_children(FILE *out, const struct flame *f, uint32_t frame, double x, double w,
			 double bottom)
{
	double sum = inner_width(f, frame), own = width_of(f, frame);
	double scale = w / fmax(sum, own);

	if (f->frames[frame].depth >= DEPTH_MAX)
		return;
	for (uint32_t c = f->frames[frame].first; c; c = f->frames[c].next) {
		double cw = width_of(f, c) * scale;

		if (cw >= LEAST) {
			put_box(out, f, c, x, cw, bottom - f->frames[c].depth * LINE);
			put_children(out, f, c, x, cw, bottom);
		}
		x += cw;
	}
}

void flame__svg(const struct flame *f, FILE *out)
{
	double all = width_of(f, FLAME_ROOT), scale = all > 0 ? WIDTH / all : 0;
	double height = TOP + (deepest(f, scale) + 1) * LINE + 8, bottom = height - LINE - 8;

	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "
		"xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 "
		"%.0f %.0f\" role=\"img\" font-family=\"sans-serif\" font-size=\"11\">\n<title>",
		WIDTH, height, WIDTH, height);
	print__xml(out, f->label[0], 400);
	fprintf(out,
		"</title>\n<rect width=\"%.0f\" height=\"%.0f\" fill=\"#fff\"/>\n<text "
		"x=\"4\" y=\"18\" font-size=\"14\">",
		WIDTH, height);
	fputs(f->off_cpu ? "Blocked for 1 ms and more: " : "Running: ", out);
	print__xml(out, f->label[f->runs - 1], 80);
	if (f->runs > 1) {
		fputs(", red: more than in ", out);
		print__xml(out, f->label[0], 80);
	}
	fputs("</text>\n", out);
	if (all > 0) {
		put_box(out, f, FLAME_ROOT, 0, WIDTH, bottom);
		put_children(out, f, FLAME_ROOT, 0, WIDTH, bottom);
	}
	fputs("</svg>\n", out);
}
