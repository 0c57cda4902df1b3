/* SPDX-License-Identifier: GPL-2.0-only */
/* A comparison as JSON: docs/compare-json.md has the schema. */
#include <math.h>

#include "base/json.h"
#include "view/compare/compare.h"

#define FORMAT 1 /* grows when something changes its meaning or goes */

static json_t *text_or_null(const char *s)
{
	return s && *s ? json__text(s) : json_null();
}

static json_t *place_json(const char *node, double share)
{
	json_t *o = json_object();

	if (!node) {
		json_decref(o);
		return json_null();
	}
	json__set(o, "node", json__text(node));
	json__set(o, "share", json__number(share));
	return o;
}

static json_t *slow_json(const struct compare_slow *s)
{
	return s->node ? json_pack("{s:o, s:o}", "node", json__text(s->node), "ratio",
				   json__number(s->ratio))
		       : json_null();
}

static json_t *run_json(const struct compared_job *r)
{
	json_t *o = json_object();

	json__set(o, "job", text_or_null(r->id));
	json__set(o, "step", text_or_null(r->step));
	json__set(o, "program", text_or_null(r->program));
	json__set(o, "start", json__number(r->start_s));
	json__set(o, "wall_s", json__number(r->run.wall_s));
	json__set(o, "nodes", json_integer(r->nodes));
	json__set(o, "tasks", json_integer(r->tasks));
	json__set(o, "cores", json__number(r->run.cores));
	json__set(o, "waits_for_cpu", place_json(r->wait_node, r->wait_share));
	json__set(o, "waits_for_disk", place_json(r->disk_node, r->disk_share));
	json__set(o, "low_clock", slow_json(&r->clock));
	json__set(o, "low_ipc", slow_json(&r->ipc));
	return o;
}

static json_t *usual_json(const struct compare_spread *s)
{
	json_t *o = json_object();

	if (!s || isnan(s->median)) {
		json_decref(o);
		return json_null();
	}
	json__set(o, "median", json__number(s->median));
	json__set(o, "mad", json__number(s->mad));
	json__set(o, "z", json__number(s->z));
	json__set(o, "unusual", isnan(s->z) ? json_null() : json_boolean(s->is_unusual));
	return o;
}

static json_t *term_json(const struct compare_page *p, enum compare_term term)
{
	const struct compare_change *change = &p->c->change[term];
	struct compare_words words = compare_words__of(p->c, term);
	bool own = change->is_in == term;
	json_t *o = json_object();

	json__set(o, "id", json_string(words.id));
	json__set(o, "name", json_string(words.name));
	json__set(o, "s", json__number(change->s));
	json__set(o, "ln", json__number(change->ln));
	json__set(o, "share", json__number(change->s / p->a->run.wall_s));
	json__set(o, "a", json__number(change->before));
	json__set(o, "b", json__number(change->after));
	json__set(o, "unit", json_string(words.unit));
	json__set(o, "part_of", own ? json_null() : json_string(compare_words[change->is_in].id));
	json__set(o, "reason", own ? json_null() : text_or_null(p->why[term]));
	json__set(o, "usual", usual_json(p->spread ? &p->spread[term] : NULL));
	return o;
}

static json_t *baseline_json(const struct compare_page *p)
{
	json_t *o = json_object();

	json__set(o, "runs", json_integer(p->earlier));
	json__set(o, "left_out", json_integer(p->left_out + p->later));
	json__set(o, "later", json_integer(p->later));
	json__set(o, "is_judged", json_boolean(p->earlier >= COMPARE_RUNS_LEAST));
	return o;
}

json_t *compare__json(const struct compare_page *p)
{
	json_t *o = json_object(), *terms = json_array(), *notes = json_array();
	char sentence[COMPARE_SENTENCE];

	for (int i = 0; i < N_TERMS; i++)
		json_array_append_new(terms, term_json(p, i));
	for (const char *const *n = p->notes; *n; n++)
		json_array_append_new(notes, json__text(*n));
	compare__sentence(p, sentence);
	json__set(o, "format", json_integer(FORMAT));
	json__set(o, "sentence", json__text(sentence));
	json__set(o, "a", run_json(p->a));
	json__set(o, "b", run_json(p->b));
	json__set(o, "s", json__number(p->c->s));
	json__set(o, "ln", json__number(p->c->ln));
	json__set(o, "cause",
		  p->c->cause == N_TERMS ? json_null()
					 : json_string(compare_words[p->c->cause].id));
	json__set(o, "terms", terms);
	json__set(o, "tables", compare_tables__json(p->tables, p->ntables));
	json__set(o, "baseline", baseline_json(p));
	json__set(o, "notes", notes);
	return o;
}
