/* SPDX-License-Identifier: GPL-2.0-only */
/* A plot as JSON, which its page in a browser draws: docs/report-json.md, "In the page of plot". */
#include "base/json.h"
#include "view/plot/plot.h"

static json_t *curve_json(const struct plot_curve *p)
{
	const struct curve *c = p->curve;
	json_t *o = json_object();

	json__set(o, "label", json__text(p->label));
	json__set(o, "tables", json_integer(c->tables));
	json__set(o, "rows", json_integer((json_int_t)c->rows));
	json__set(o, "begin_s", json__numbers(c->begin_s, c->n));
	json__set(o, "end_s", json__numbers(c->end_s, c->n));
	json__set(o, "middle", json__numbers(c->middle, c->n));
	if (c->has_range) {
		json__set(o, "low", json__numbers(c->low, c->n));
		json__set(o, "high", json__numbers(c->high, c->n));
	}
	return o;
}

static json_t *axis_json(const struct plot_axis *a)
{
	json_t *o = json_object();

	JSON_NUMBERS(o, {"low", a->low}, {"high", a->high}, {"step", a->step},
		     {"factor", a->factor});
	json__set(o, "unit", json__text(a->unit));
	return o;
}

json_t *plot__json(const struct plot *p)
{
	struct plot_axis values = plot_axis__of_values(p, 6), time = plot_axis__of_time(p, 6);
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
