/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all forms of a plot share (axes and words), the plot as JSON, which its page in a browser
 * draws (docs/report-json.md, "In the page of plot"), and the plot as SVG. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/escape.h"
#include "base/json.h"
#include "view/plot/plot.h"

#define NARROW 0.2   /* relative difference of values below which the axis does not begin at 0 */
#define EMPTY  0.25  /* largest empty part of an axis, by the range of values */
#define MARGIN 0.03  /* margin where an axis does not end at a tick, by the range of values */
#define MOST   1e290 /* larger values may overflow when they are subtracted or scaled */

#define LABEL_TAIL 20	/* characters at the end of a cut label: the job and its step */
#define LINE	   14.0 /* height of a line in the legend of an SVG */

/* ---- units */

static const struct {
	const char *unit;
	double factor;
	const char *base; /* one of the unit is `factor` of this one */
} bases[] = {
	{"KiB", 1024, "B"}, {"MiB", 1048576, "B"}, {"MB", 1048576, "B"}, /* in files of earlier
									    releases */
	{"kHz", 1e3, "Hz"}, {"MHz", 1e6, "Hz"},	   {"ns", 1e-9, "s"},	 {"us", 1e-6, "s"},
};

static const struct {
	double factor;
	const char *prefix;
	int power;
} prefixes[] = {
	{1e-9, "n", -9}, {1e-6, "u", -6}, {1e-3, "m", -3}, {1, "", 0},	    {1e3, "k", 3},
	{1e6, "M", 6},	 {1e9, "G", 9},	  {1e12, "T", 12}, {1e15, "P", 15},
};

#define N(a) (sizeof(a) / sizeof(*(a)))

static void scale_bytes(struct axis *a, double max)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
	unsigned i = 0;

	for (; i + 1 < N(units) && max * a->factor >= 1000; i++)
		a->factor /= 1024;
	snprintf(a->unit, sizeof(a->unit), "%s", units[i]);
}

/* Percent and degrees get no prefix, nor does a unit that has one already. */
static bool takes_prefix(const char *unit)
{
	return !strcmp(unit, "Hz") || !strcmp(unit, "s") || !strcmp(unit, "J") ||
	       !strcmp(unit, "W") || !*unit;
}

static void scale_si(struct axis *a, const char *unit, double max)
{
	size_t i = 3;

	max *= a->factor;
	if (takes_prefix(unit) && max > 0 && (max >= 1e4 || max < 0.1 || !strcmp(unit, "Hz")))
		for (i = 0; i + 1 < N(prefixes) && max >= prefixes[i + 1].factor; i++)
			;
	a->factor /= prefixes[i].factor;
	if (*unit || !prefixes[i].power)
		snprintf(a->unit, sizeof(a->unit), "%s%s", prefixes[i].prefix, unit);
	else
		snprintf(a->unit, sizeof(a->unit), "10^%d", prefixes[i].power);
}

static void put_unit(struct axis *a, const struct curve *c, double max)
{
	const char *unit = c->unit;
	size_t len;

	a->factor = 1;
	for (size_t i = 0; i < N(bases); i++)
		if (!strcmp(unit, bases[i].unit)) {
			a->factor = bases[i].factor;
			unit = bases[i].base;
			break;
		}
	if (!strcmp(unit, "B"))
		scale_bytes(a, max);
	else
		scale_si(a, unit, max);
	len = strlen(a->unit);
	if (c->is_rate)
		snprintf(a->unit + len, sizeof(a->unit) - len, "%s", len ? "/s" : "1/s");
}

/* ---- axes */

static void add_range(const struct curve *c, double *low, double *high)
{
	for (unsigned i = 0; i < c->n; i++) {
		*low = fmin(*low, fmin(c->low[i], c->middle[i]));
		*high = fmax(*high, fmax(c->high[i], c->middle[i]));
	}
}

struct axis plot_axis__of_values(const struct plot *p, unsigned ticks)
{
	struct axis a = {.factor = 1};
	double low = NAN, high = NAN, step;

	for (unsigned i = 0; i < p->n; i++)
		add_range(p->curves[i].curve, &low, &high);
	if (isnan(low))
		low = high = 0;
	low = fmax(fmin(low, MOST), -MOST);
	high = fmax(fmin(high, MOST), -MOST);
	if (low > 0 && (high - low > NARROW * high || high == low))
		low = 0;
	if (high < 0 && (high - low > -NARROW * low || high == low))
		high = 0;
	if (high == low)
		high = low + 1;
	put_unit(&a, p->curves[0].curve, fmax(fabs(low), fabs(high)));
	a.step = step = axis__step((high - low) * a.factor, ticks);
	a.low = floor(low * a.factor / step + 1e-9) * step / a.factor;
	a.high = ceil(high * a.factor / step - 1e-9) * step / a.factor;
	/* the axis ends at ticks, unless that leaves a large part empty */
	if (low - a.low > EMPTY * (high - low))
		a.low = low - MARGIN * (high - low);
	if (a.high - high > EMPTY * (high - low))
		a.high = high + MARGIN * (high - low);
	if (!(a.high > a.low)) { /* the bounds differ by less than rounding */
		a.low = low;
		a.high = high;
	}
	return a;
}

struct axis plot_axis__of_time(const struct plot *p, unsigned ticks)
{
	static const struct {
		double up_to, s;
		const char *name;
		double steps[8];
	} units[] = {
		{180, 1, "s", {0}},
		{3 * 3600, 60, "min", {1, 2, 5, 10, 15, 20, 30, 60}},
		{3 * 86400, 3600, "h", {1, 2, 3, 4, 6, 12, 24}},
		{INFINITY, 86400, "days", {0}},
	};
	struct axis a = {.low = 0};
	unsigned i = 0;

	for (unsigned k = 0; k < p->n; k++) {
		const struct curve *c = p->curves[k].curve;

		a.high = fmax(a.high, c->n ? c->end_s[c->n - 1] : 0);
	}
	while (a.high > units[i].up_to)
		i++;
	a.factor = 1 / units[i].s;
	snprintf(a.unit, sizeof(a.unit), "%s", units[i].name);
	a.step = axis__step(a.high * a.factor, ticks);
	for (int k = 7; k >= 0; k--)
		if (units[i].steps[k] * ticks >= a.high * a.factor)
			a.step = units[i].steps[k];
	return a;
}

/* ---- words */

/* Writes a name in printable ASCII, other bytes as \xNN; a name that is too long has its begin,
 * "..", and its last `tail` characters. */
static void put_name(char *text, size_t size, const char *name, size_t tail)
{
	char *all = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&all, &len);

	*text = 0;
	if (f) {
		print__escaped(f, name);
		fclose(f);
	}
	if (all && len < size)
		memcpy(text, all, len + 1);
	else if (all)
		snprintf(text, size, "%.*s..%s", (int)(size - 3 - tail), all, all + len - tail);
	free(all);
}

void plot__title(const struct plot *p, const struct axis *values, char *text, size_t size)
{
	char column[PLOT_LABEL], series[PLOT_LABEL], unit[PLOT_LABEL];

	put_name(column, sizeof(column), p->curves[0].curve->column, 0);
	put_name(series, sizeof(series), p->series, 0);
	put_name(unit, sizeof(unit), values->unit, 0);
	snprintf(text, size, "%s of %s%s%s", column, series, *unit ? ", " : "", unit);
}

void plot__legend(const struct plot *p, unsigned i, char *text, size_t size)
{
	const struct curve *c = p->curves[i].curve;
	char label[PLOT_LABEL];

	put_name(label, sizeof(label), p->curves[i].label, LABEL_TAIL);
	if (!c->has_range)
		snprintf(text, size, c->tables > 1 ? "%s: sum of %u %s" : "%s", label, c->tables,
			 !strcasecmp(p->series, "Tasks") ? "tasks" : "tables");
	else if (c->tables > 1)
		snprintf(text, size, "%s: %u %s: median, lowest to highest", label, c->tables,
			 !strcasecmp(p->series, "Tasks") ? "tasks" : "tables");
	else
		snprintf(text, size, "%s: mean, lowest to highest", label);
}

/* ---- JSON */

static json_t *numbers_json(const double *v, unsigned n)
{
	json_t *a = json_array();

	for (unsigned i = 0; i < n; i++)
		json_array_append_new(a, json__number(v[i]));
	return a;
}

static json_t *curve_json(const struct plot_curve *p)
{
	const struct curve *c = p->curve;
	json_t *o = json_object();

	json__set(o, "label", json__text(p->label));
	json__set(o, "tables", json_integer(c->tables));
	json__set(o, "rows", json_integer((json_int_t)c->rows));
	json__set(o, "begin_s", numbers_json(c->begin_s, c->n));
	json__set(o, "end_s", numbers_json(c->end_s, c->n));
	json__set(o, "middle", numbers_json(c->middle, c->n));
	if (c->has_range) {
		json__set(o, "low", numbers_json(c->low, c->n));
		json__set(o, "high", numbers_json(c->high, c->n));
	}
	return o;
}

static json_t *axis_json(const struct axis *a)
{
	json_t *o = json_object();

	json__set(o, "low", json__number(a->low));
	json__set(o, "high", json__number(a->high));
	json__set(o, "step", json__number(a->step));
	json__set(o, "factor", json__number(a->factor));
	json__set(o, "unit", json__text(a->unit));
	return o;
}

json_t *plot__json(const struct plot *p)
{
	struct axis values = plot_axis__of_values(p, 6), time = plot_axis__of_time(p, 6);
	json_t *o = json_object(), *curves = json_array();

	for (unsigned i = 0; i < p->n; i++)
		json_array_append_new(curves, curve_json(&p->curves[i]));
	json__set(o, "version", json_string(JOBPROF_VERSION));
	json__set(o, "series", json__text(p->series));
	json__set(o, "column", json__text(p->curves[0].curve->column));
	json__set(o, "values", axis_json(&values));
	json__set(o, "end_s", json__number(time.high));
	json__set(o, "curves", curves);
	return o;
}

/* ---- SVG */

/* Finds the next run of known values: *i becomes its first step, *end the one after its last. */
static bool next_run(const struct curve *c, unsigned *i, unsigned *end)
{
	while (*i < c->n && isnan(c->middle[*i]))
		++*i;
	*end = *i;
	while (*end < c->n && !isnan(c->middle[*end]))
		++*end;
	return *i < c->n;
}

static void put_steps(const struct svg *s, const struct curve *curve, const double *v,
		      unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		fprintf(s->out, "%s%.3f,%.3f %.3f,%.3f", i > from ? " " : "",
			svg__x(s, curve->begin_s[i]), svg__y(s, v[i]), svg__x(s, curve->end_s[i]),
			svg__y(s, v[i]));
}

static void put_back(const struct svg *s, const struct curve *curve, unsigned from, unsigned to)
{
	for (unsigned i = to; i-- > from;)
		fprintf(s->out, " %.3f,%.3f %.3f,%.3f", svg__x(s, curve->end_s[i]),
			svg__y(s, curve->low[i]), svg__x(s, curve->begin_s[i]),
			svg__y(s, curve->low[i]));
}

static void put_curve(const struct svg *s, const struct curve *curve, unsigned at)
{
	unsigned from, to;

	fprintf(s->out, "<g id=\"curve%u\">\n", at);
	for (from = 0; curve->has_range && next_run(curve, &from, &to); from = to) {
		fprintf(s->out, "<polygon class=\"range\" fill=\"%s\" points=\"", svg_colours[at]);
		put_steps(s, curve, curve->high, from, to);
		put_back(s, curve, from, to);
		fputs("\"/>\n", s->out);
	}
	for (from = 0; next_run(curve, &from, &to); from = to) {
		svg__begin_line(s->out, "polyline", at);
		fputs("points=\"", s->out);
		put_steps(s, curve, curve->middle, from, to);
		fputs("\"/>\n", s->out);
	}
	fputs("</g>\n", s->out);
}

static void put_legend(const struct plot *p, unsigned i, FILE *out)
{
	double y = SVG_HEIGHT + LINE * i + 9;
	char text[256];

	if (p->curves[i].curve->has_range)
		fprintf(out,
			"<rect class=\"range\" fill=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"26\" "
			"height=\"9\"/>\n",
			svg_colours[i], SVG_LEFT, y - 7.5);
	svg__begin_line(out, "line", i);
	fprintf(out, "x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\"/>\n", SVG_LEFT, y - 3,
		SVG_LEFT + 26, y - 3);
	plot__legend(p, i, text, sizeof(text));
	svg__text(out, SVG_LEFT + 32, y, " class=\"legend\"", text, SIZE_MAX);
}

void plot__svg(const struct plot *p, FILE *out)
{
	struct svg s = {out, plot_axis__of_time(p, 8), plot_axis__of_values(p, 6)};
	char title[256], time[96];

	plot__title(p, &s.y, title, sizeof(title));
	snprintf(time, sizeof(time), "Time since start (%s)", s.x.unit);
	svg__begin(out, SVG_WIDTH, SVG_HEIGHT + LINE * p->n + 8, 9, title);
	svg__axes(&s, time, title);
	for (unsigned i = 0; i < p->n; i++) {
		put_curve(&s, p->curves[i].curve, i);
		put_legend(p, i, out);
	}
	svg__end(out);
}
