// SPDX-License-Identifier: GPL-2.0-or-later
/* Draws bursts as points in the plane of the first two features by which they are compared: as SVG,
 * where each cluster has a colour and its letter above it, and in the page's JSON. */
#include <math.h>
#include <stdint.h>

#include "base/json.h"
#include "view/cluster/cluster_view.h"
#include "view/svg.h"

#define POINTS	   4000 /* points that are drawn: more would cover each other */
#define NOISE	   "#bbbbbb"
#define ROOM	   0.03 /* empty part of an axis at each end */
#define PAGE_LINES 64	/* lines of the page's chart of places over time */

struct plane {
	const struct cluster_view *v;
	const char *x_name, *y_name;
	struct axis x, y;
	size_t shown, undrawn; /* bursts with a place, and bursts without: their gap is unknown */
};

/* Whether the burst has a place: its gap may be unknown. */
static bool has_place(const struct cluster_view *v, size_t i)
{
	const unsigned dims = v->request->dims;

	for (unsigned d = 0; d < dims && d < 2; d++)
		if (v->request->by[d] == FEATURE_GAP &&
		    !(v->clusters->v[i * dims + d] > BURST_NO_GAP))
			return false;
	return true;
}

static bool is_drawn(const struct cluster_view *v, size_t i)
{
	return v->clusters->labels[i] != CLUSTER_UNUSED && has_place(v, i);
}

static double x_of(const struct cluster_view *v, size_t i)
{
	return v->clusters->v[i * v->request->dims];
}

/* The burst's place on the second axis, which is time if there is only one feature. */
static double y_of(const struct cluster_view *v, size_t i)
{
	return v->request->dims > 1 ? v->clusters->v[i * v->request->dims + 1] : v->bursts->end[i];
}

static struct axis axis_of(const struct cluster_view *v, bool log,
			   double (*of)(const struct cluster_view *v, size_t i))
{
	double low = INFINITY, high = -INFINITY;
	struct axis a = {.factor = 1};

	for (size_t i = 0; i < v->clusters->n; i++)
		if (is_drawn(v, i)) {
			low = fmin(low, of(v, i));
			high = fmax(high, of(v, i));
		}
	if (!(high >= low)) /* there is no point */
		low = high = 1;
	if (log)
		return axis__of_log_times(low, high);
	a.low = low - ROOM * fmax(high - low, 1e-6);
	a.high = high + ROOM * fmax(high - low, 1e-6);
	a.step = axis__step(a.high - a.low, 6);
	return a;
}

static struct plane plane_of(const struct cluster_view *v)
{
	const struct burst_feature_info *x = &burst_features[v->request->by[0]],
					*y = &burst_features[v->request->by[1]];
	bool both = v->request->dims > 1;
	struct plane p = {.v = v,
			  .x_name = x->doc,
			  .y_name = both ? y->doc : "time since the first burst (s)",
			  .x = axis_of(v, x->log, x_of),
			  .y = axis_of(v, both && y->log, y_of)};

	for (size_t i = 0; i < v->clusters->n; i++) {
		p.shown += is_drawn(v, i);
		p.undrawn += v->clusters->labels[i] != CLUSTER_UNUSED && !has_place(v, i);
	}
	return p;
}

/* Returns the next burst from i on that is drawn as a point; n: there is none. */
static size_t next_point(const struct plane *p, size_t i, size_t *seen)
{
	const size_t each = p->shown / POINTS + 1;

	while (i < p->v->clusters->n && (!is_drawn(p->v, i) || (*seen)++ % each))
		i++;
	return i;
}

/* ---- SVG */

static void put_points(const struct plane *p, const struct svg *s)
{
	const struct burst_clusters *c = p->v->clusters;
	size_t seen = 0;

	for (size_t i = 0; (i = next_point(p, i, &seen)) < c->n; i++)
		fprintf(s->out,
			"<circle class=\"c%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"1.6\" fill=\"%s\" "
			"fill-opacity=\".6\"/>\n",
			c->labels[i], svg__x(s, x_of(p->v, i)), svg__y(s, y_of(p->v, i)),
			c->labels[i] ? svg_colours[(c->labels[i] - 1) % SVG_COLOURS] : NOISE);
}

/* Writes the letter of each cluster above its middle. */
static void put_names(const struct plane *p, const struct svg *s)
{
	const struct burst_clusters *c = p->v->clusters;

	for (unsigned k = 1; k <= c->k && k <= 26; k++) {
		double x = 0, top = SVG_BOTTOM;
		size_t n = 0;

		for (size_t i = 0; i < c->n; i++) {
			if (c->labels[i] != k || !is_drawn(p->v, i))
				continue;
			x += svg__x(s, x_of(p->v, i));
			top = fmin(top, svg__y(s, y_of(p->v, i)));
			n++;
		}
		if (n)
			svg__text(s->out, x / (double)n, fmax(top - 5, 10),
				  " class=\"title\" text-anchor=\"middle\"",
				  (char[]){cluster_name__letter(k), 0}, 1);
	}
}

void cluster_view__svg(const struct cluster_view *v, FILE *out)
{
	const struct plane p = plane_of(v);
	const struct svg s = {out, p.x, p.y};
	char text[256];

	snprintf(text, sizeof(text), "Bursts by %s and %s", p.x_name, p.y_name);
	svg__begin(out, SVG_WIDTH, SVG_HEIGHT, 9, *v->title ? v->title : text);
	svg__axes(&s, p.x_name, p.y_name);
	put_points(&p, &s);
	put_names(&p, &s);
	snprintf(text, sizeof(text), "%zu without a known gap are not drawn", p.undrawn);
	if (p.undrawn)
		svg__text(out, SVG_RIGHT, SVG_TOP - 11, " text-anchor=\"end\"", text, SIZE_MAX);
	svg__end(out);
}

/* ---- the page */

static json_t *axis_json(const struct axis *a, const char *name)
{
	return json_pack("{s:s, s:f, s:f, s:b}", "name", name, "low", a->low, "high", a->high,
			 "log", a->log);
}

static json_t *plane_json(const struct plane *p)
{
	json_t *x = json_array(), *y = json_array(), *of = json_array();
	size_t seen = 0;

	for (size_t i = 0; (i = next_point(p, i, &seen)) < p->v->clusters->n; i++) {
		json_array_append_new(x, json__number(x_of(p->v, i)));
		json_array_append_new(y, json__number(y_of(p->v, i)));
		json_array_append_new(of, json_integer(p->v->clusters->labels[i]));
	}
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:I}", "x_axis",
			 axis_json(&p->x, p->x_name), "y_axis", axis_json(&p->y, p->y_name), "x", x,
			 "y", y, "of", of, "shown", (json_int_t)p->shown, "undrawn",
			 (json_int_t)p->undrawn);
}

json_t *cluster_view__page(const struct cluster_view *v)
{
	const struct plane p = plane_of(v);
	json_t *o = cluster_view__json(v), *lines = json_object_get(o, "lines");

	while (json_array_size(lines) > PAGE_LINES)
		json_array_remove(lines, json_array_size(lines) - 1);
	json__set(o, "version", json_string(JOBPROF_VERSION));
	json__set(o, "title", json__text(*v->title ? v->title : v->path));
	json__set(o, "places", json_integer(v->bursts->nplaces));
	json__set(o, "plane", plane_json(&p));
	return o;
}
