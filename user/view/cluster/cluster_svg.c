// SPDX-License-Identifier: GPL-2.0-only
/* A scatter plot of bursts: each cluster has a colour and its letter at its middle. */
#include <math.h>
#include <string.h>

#include "view/cluster/cluster_view.h"

#define WIDTH  480.0
#define HEIGHT 330.0
#define LEFT   60.0
#define RIGHT  14.0
#define TOP    26.0
#define BOTTOM 40.0
#define POINTS 4000 /* more cannot be told from each other */

/* M. Okabe, K. Ito, "Color universal design", 2008; noise is grey. */
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
				      "#000000", "#56b4e9", "#e69f00", "#8c8c00"};
#define NOISE "#bbbbbb"

struct axis {
	const char *title;
	double low, high; /* logarithms, if log */
	bool log, is_time;
};

struct plane {
	const struct cluster_view *v;
	struct axis x, y;
	unsigned dims;
	FILE *out;
};

static double scaled(const struct axis *a, double v)
{
	return a->log ? log10(v) : v;
}

/* It is in a cluster or noise, and has the features of the axes: a gap may not be known. */
static bool is_drawn(const struct cluster_view *v, size_t i)
{
	const unsigned dims = v->request->dims;

	if (v->clusters->labels[i] == CLUSTER_UNUSED)
		return false;
	for (unsigned d = 0; d < dims && d < 2; d++)
		if (v->request->by[d] == FEATURE_GAP &&
		    !(v->clusters->v[i * dims + d] > BURST_NO_GAP))
			return false;
	return true;
}

static struct axis axis_of(const struct cluster_view *v, unsigned d)
{
	const struct burst_clusters *c = v->clusters;
	enum burst_feature f = v->request->by[d];
	struct axis a = {burst_features[f].doc, INFINITY, -INFINITY, burst_features[f].log,
			 burst_features[f].log};

	for (size_t i = 0; i < c->n; i++) {
		if (!is_drawn(v, i))
			continue;
		a.low = fmin(a.low, scaled(&a, c->v[i * v->request->dims + d]));
		a.high = fmax(a.high, scaled(&a, c->v[i * v->request->dims + d]));
	}
	a.low -= 0.03 * (a.high - a.low) + 1e-6;
	a.high += 0.03 * (a.high - a.low) + 1e-6;
	return a;
}

/* With one feature the other axis is time. */
static struct axis axis_of_time(const struct cluster_view *v)
{
	struct axis a = {"time since the first burst (s)", 0, 1e-6, false, false};

	for (size_t i = 0; i < v->bursts->n; i++)
		a.high = fmax(a.high, v->bursts->end[i]);
	return a;
}

static double x_of(const struct plane *p, double v)
{
	return LEFT +
	       (scaled(&p->x, v) - p->x.low) / (p->x.high - p->x.low) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct plane *p, double v)
{
	return HEIGHT - BOTTOM -
	       (scaled(&p->y, v) - p->y.low) / (p->y.high - p->y.low) * (HEIGHT - TOP - BOTTOM);
}

static void label_of(const struct axis *a, double v, char text[static 32])
{
	/* Ticks are round. */
	if (a->is_time && v >= 0.9995)
		snprintf(text, 32, "%.6g s", v);
	else if (a->is_time)
		cluster_time__of(v, text);
	else
		snprintf(text, 32, "%.3g", v);
}

/* The ticks of a decade, as many as texts have room: of up to three decades 1, 2 and 5, then 1 and
 * 3, then 1; of more than ten decades not each has one. */
static double log_tick(const struct axis *a, unsigned k)
{
	static const double steps[3][3] = {{1, 2, 5}, {1, 3}, {1}};
	double decades = a->high - a->low;
	unsigned of = decades > 4.5 ? 2 : decades > 3 ? 1 : 0, n = 3 - of;

	return pow(10, floor(a->low) + floor(decades / 10 + 1) * (k / n)) * steps[of][k % n];
}

/* The tick's value; false: there are no more. */
static bool tick(const struct axis *a, unsigned k, double *v)
{
	bool within = a->log && a->high - a->low < 1; /* a decade: its ticks are evenly apart */
	double low = within ? pow(10, a->low) : a->low, high = within ? pow(10, a->high) : a->high;
	double step = pow(10, floor(log10((high - low) / 4)));

	if (a->log && !within) {
		*v = log_tick(a, k);
		return log10(*v) <= a->high;
	}
	while ((high - low) / step > 8)
		step *= 2;
	*v = (ceil(low / step) + k) * step;
	return *v <= high;
}

static void put_axes(const struct plane *p)
{
	double v, base = HEIGHT - BOTTOM;
	char text[32];

	for (unsigned k = 0; tick(&p->x, k, &v); k++) {
		if (scaled(&p->x, v) < p->x.low)
			continue;
		label_of(&p->x, v, text);
		fprintf(p->out, "<path class=\"axis\" d=\"M%.2f %.2fv4\"/>\n", x_of(p, v), base);
		fprintf(p->out,
			"<text class=\"x\" x=\"%.2f\" y=\"%.2f\" "
			"text-anchor=\"middle\">%s</text>\n",
			x_of(p, v), base + 14, text);
	}
	for (unsigned k = 0; tick(&p->y, k, &v); k++) {
		if (scaled(&p->y, v) < p->y.low)
			continue;
		label_of(&p->y, v, text);
		fprintf(p->out, "<path class=\"axis\" d=\"M%.2f %.2fh-4\"/>\n", LEFT, y_of(p, v));
		fprintf(p->out,
			"<text class=\"y\" x=\"%.2f\" y=\"%.2f\" text-anchor=\"end\">%s</text>\n",
			LEFT - 7, y_of(p, v) + 3.2, text);
	}
	fprintf(p->out, "<path class=\"axis\" d=\"M%.2f %.2fV%.2fH%.2f\"/>\n", LEFT, TOP, base,
		WIDTH - RIGHT);
	fprintf(p->out, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"middle\">%s</text>\n",
		(LEFT + WIDTH - RIGHT) / 2, base + 31, p->x.title);
	fprintf(p->out, "<text x=\"%.2f\" y=\"%.2f\">%s</text>\n", 4.0, TOP - 11, p->y.title);
}

static double other(const struct plane *p, size_t i)
{
	return p->dims > 1 ? p->v->clusters->v[i * p->dims + 1] : p->v->bursts->end[i];
}

static void put_points(const struct plane *p)
{
	const struct burst_clusters *c = p->v->clusters;
	size_t each = c->used / POINTS + 1, seen = 0;

	for (size_t i = 0; i < c->n; i++) {
		unsigned k = c->labels[i];

		if (!is_drawn(p->v, i) || seen++ % each)
			continue;
		fprintf(p->out,
			"<circle class=\"c%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"1.6\" fill=\"%s\"/>\n",
			k, x_of(p, c->v[i * p->dims]), y_of(p, other(p, i)),
			k ? colours[(k - 1) % (sizeof(colours) / sizeof(*colours))] : NOISE);
	}
}

/* Writes the letters of each cluster above its middle. */
static void put_names(const struct plane *p)
{
	const struct burst_clusters *c = p->v->clusters;

	for (unsigned k = 1; k <= c->k && k <= 26; k++) {
		double x = 0, top = HEIGHT;
		size_t n = 0;

		for (size_t i = 0; i < c->n; i++) {
			if (c->labels[i] != k || !is_drawn(p->v, i))
				continue;
			x += x_of(p, c->v[i * p->dims]);
			top = fmin(top, y_of(p, other(p, i)));
			n++;
		}
		if (n)
			fprintf(p->out,
				"<text class=\"name\" x=\"%.1f\" y=\"%.1f\" "
				"text-anchor=\"middle\">%c</text>\n",
				x / (double)n, fmax(top - 5, 10), cluster_name__letter(k));
	}
}

/* Says how many bursts have no place in the plane. */
static void put_missing(const struct plane *p)
{
	const struct burst_clusters *c = p->v->clusters;
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		n += c->labels[i] != CLUSTER_UNUSED && !is_drawn(p->v, i);
	if (n)
		fprintf(p->out,
			"<text class=\"missing\" x=\"%.2f\" y=\"%.2f\" text-anchor=\"end\">"
			"%zu without a known gap are not drawn</text>\n",
			WIDTH - RIGHT, TOP - 11, n);
}

void cluster_view__svg(const struct cluster_view *v, FILE *out)
{
	struct plane p = {.v = v, .dims = v->request->dims, .out = out};

	p.x = axis_of(v, 0);
	p.y = p.dims > 1 ? axis_of(v, 1) : axis_of_time(v);
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%gpt\" height=\"%gpt\" "
		"viewBox=\"0 0 %g %g\">\n"
		"<title>Bursts by %s and %s</title>\n"
		"<style>text{font:9px sans-serif}.name{font-weight:bold;font-size:12px}"
		".axis{fill:none;stroke:#000;stroke-width:.8}circle{fill-opacity:.6}</style>\n"
		"<rect class=\"paper\" width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT, p.x.title, p.y.title);
	put_axes(&p);
	put_points(&p);
	put_names(&p);
	put_missing(&p);
	fputs("</svg>\n", out);
}
