// SPDX-License-Identifier: GPL-2.0-only
/* Steps and tasks as JSON. */
#include <math.h>
#include <stdlib.h>

#include "cmd/dump/dump.h"

/* Whole numbers as such, so that readers can compare them. */
static json_t *number_json(const struct column *c, double v)
{
	if (isfinite(v) && c->type == COL_U64 && v < 9e15)
		return json_integer((json_int_t)v);
	return json__number(v);
}

json_t *json__columns(const struct dump_row *r, bool rates)
{
	json_t *obj = json_object();

	for (unsigned i = 0; i < r->cols->n; i++) {
		const struct column *c = r->cols->col[i];

		if (!rates)
			json_object_set_new(obj, c->name, number_json(c, r->value[i]));
		else if (c->kind == COL_DELTA)
			json_object_set_new(obj, c->name, json__number(r->rate[i]));
	}
	return obj;
}

static json_t *row_json(const struct dump *d, const struct dump_row *r)
{
	json_t *obj = json_pack("{s:I, s:s, s:o, s:b}", "slot", (json_int_t)r->slot, "state",
				r->state, "age", json__number(r->age), "baseline", r->baseline);

	json_object_set_new(obj, "columns", json__columns(r, false));
	if (d->rates)
		json_object_set_new(obj, "rates", json__columns(r, true));
	return obj;
}

static json_t *tasks_json(const struct dump *d, const struct dump_step *s)
{
	json_t *obj = json_object();
	char key[16];

	for (unsigned i = 0; i < s->ntasks; i++) {
		snprintf(key, sizeof(key), "%d", s->tasks[i].gtid);
		json_object_set_new(obj, s->tasks[i].gtid < 0 ? "?" : key,
				    row_json(d, &s->tasks[i]));
	}
	return obj;
}

static json_t *step_json(const struct dump *d, const struct dump_step *s)
{
	json_t *obj = row_json(d, &s->row);

	json_object_set_new(obj, "job", s->ids.has_job ? json_integer(s->ids.job_id) : json_null());
	json_object_set_new(obj, "step", s->parsed ? json__text(s->ids.step_name) : json_null());
	if (s->ids.sluid[0])
		json_object_set_new(obj, "sluid", json__text(s->ids.sluid));
	json_object_set_new(obj, "path", json__text(s->info.path));
	json_object_set_new(obj, "tasks", tasks_json(d, s));
	return obj;
}

json_t *json__steps(const struct dump *d)
{
	json_t *all = json_array();

	for (unsigned i = 0; i < d->nsteps; i++)
		json_array_append_new(all, step_json(d, &d->steps[i]));
	return all;
}
