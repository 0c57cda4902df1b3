// SPDX-License-Identifier: GPL-2.0-only
/* A folded region as JSON: what jobprof fold --json prints and --store puts into the file. */
#include <math.h>

#include "base/json.h"
#include "view/fold/fold_view.h"

static json_t *validity(const struct folded *f)
{
	const struct fold_validity *v = &f->of[f->shown].validity;
	char why[256];
	json_t *j = json_object();

	json__set(j, "status", json__text(fold_view__validity(f, why, sizeof(why))));
	json__set(j, "why", json__text(why));
	json__set(j, "samples", json_integer((json_int_t)v->n_samples));
	JSON_NUMBERS(j, {"kept_fraction", v->kept_fraction}, {"max_gap", v->max_gap},
		     {"rms", v->rms}, {"scatter", v->scatter}, {"misplaced", v->misplaced},
		     {"blurred", v->blurred}, {"unlike", v->unlike}, {"r2", v->r2},
		     {"ks_d", v->ks_d}, {"ks_limit", v->ks_limit}, {"bounds", folded__bounds(f)});
	json__set(j, "uniform", json_boolean(v->uniform));
	return j;
}

static json_t *phase(const struct folded *f, const struct fold_phase *p)
{
	json_t *j = json_object();
	char code[FOLD_TEXT];

	fold_view__code(f, p->code, code, sizeof(code));
	JSON_NUMBERS(j, {"from", p->from}, {"to", p->to}, {"to_low", p->low}, {"to_high", p->high});
	json__set(j, "code", json__text(code));
	fold_view__code(f, p->runs, code, sizeof(code));
	json__set(j, "runs", p->runs ? json__text(code) : json_null());
	json__set(j, "share", json__number(p->share));
	json__set(j, "samples", json_integer((json_int_t)p->samples));
	for (int c = 0; c < POINT_COUNTERS; c++)
		if (fold_view__counter(f, c))
			json__set(j, fold_view__counter(f, c),
				  json__number(folded__possible(c, folded__rate(f, c, p))));
	return j;
}

static json_t *counter(const struct folded *f, int c, bool curves)
{
	const struct fold_result *r = &f->of[c];
	json_t *j = json_object();

	const char *missing = fold_view__missing(f, c);

	json__set(j, "status",
		  json_string(!missing	     ? "OK"
			      : f->flawed[c] ? "UNSUITABLE"
					     : "INSUFFICIENT"));
	json__set(j, "reason", missing ? json_string(missing) : json_null());
	json__set(j, "unit", json__text(point_units[c]));
	json__set(j, "mean_rate", json__number(f->known[c] ? folded__possible(c, r->factor) : NAN));
	if (curves && f->known[c]) {
		json__set(j, "curve", json__numbers(r->curve, FOLD_CURVE));
		json__set(j, "rate", json__numbers(r->rate, FOLD_CURVE));
	}
	return j;
}

json_t *fold_json__of(const struct folded *f, bool curves)
{
	json_t *j = json_object(), *phases = json_array(), *counters = json_object();

	for (size_t i = 0; i < f->nphases; i++)
		json_array_append_new(phases, phase(f, &f->phases[i]));
	for (int c = 0; c < POINT_COUNTERS; c++)
		if (fold_view__counter(f, c))
			json__set(counters, fold_view__counter(f, c), counter(f, c, curves));
	json__set(j, "region", json__text(f->region));
	json__set(j, "executions", json_integer((json_int_t)f->instances));
	json__set(j, "folded", json_integer((json_int_t)f->of[f->shown].range.kept));
	json__set(j, "threads", json_integer((json_int_t)f->threads));
	JSON_NUMBERS(j, {"period_s", f->period_s}, {"wait_s", f->wait_s});
	json__set(j, "counter", json__text(fold_view__counter(f, f->shown)));
	JSON_NUMBERS(j, {"lost_samples", f->lost_points}, {"lost_instants", f->lost_regions});
	json__set(j, "validity", validity(f));
	json__set(j, "phases", phases);
	json__set(j, "counters", counters);
	return j;
}
