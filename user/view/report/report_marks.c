/* SPDX-License-Identifier: GPL-2.0-only */
/* The marks of a job in the report's JSON: by time, and those that are one for a reader as one. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "identity/stepname.h"
#include "view/report/report_series.h"

#define MARKS_SHOWN 200
#define NEAR	    0.002 /* of the job's time: as far apart as can be seen */

static int by_time(const void *a, const void *b)
{
	const struct job_mark *x = a, *y = b;

	return x->at_s != y->at_s   ? (x->at_s > y->at_s) - (x->at_s < y->at_s)
	       : x->part != y->part ? (x->part > y->part) - (x->part < y->part)
				    : (x->number > y->number) - (x->number < y->number);
}

static bool is_same(const struct model_job *j, const struct job_mark *a, const struct job_mark *b)
{
	bool named = a->name && b->name;

	return j->parts[a->part].step == j->parts[b->part].step &&
	       (named ? !strcmp(a->name, b->name) : a->name == b->name && a->number == b->number);
}

/* How many of v[0..n) are one mark: ranks set it at about the same time. */
static unsigned length_of(const struct model_job *j, const struct job_mark *v, unsigned n)
{
	unsigned k = 1;

	while (k < n && is_same(j, v, &v[k]) && v[k].at_s - v[k - 1].at_s <= NEAR * j->grid.end_s)
		k++;
	return k;
}

static json_t *mark_json(const struct model_job *j, const struct job_mark *v, unsigned n)
{
	const struct job_part *part = &j->parts[v->part];
	json_t *o = json_object();
	bool one_node = true;

	for (unsigned i = 1; i < n; i++)
		one_node &= j->parts[v[i].part].node == part->node;
	json_object_set_new(o, "at_s", json__number(v->at_s));
	json_object_set_new(o, "name", v->name ? json__text(v->name) : json_null());
	json_object_set_new(o, "number", json__number(v->number));
	json_object_set_new(o, "step", json__text(stepname__human(j->steps[part->step].name)));
	json_object_set_new(o, "node",
			    one_node ? json__text(j->nodes[part->node].unit.name) : json_null());
	json_object_set_new(o, "times", json_integer(n));
	return o;
}

json_t *report_marks__json(const struct model_job *j)
{
	struct job_mark *v = calloc(j->nmarks + 1, sizeof(*v));
	json_t *o = json_object(), *of = json_array();
	unsigned i = 0, n;

	if (v && j->nmarks)
		memcpy(v, j->marks, j->nmarks * sizeof(*v));
	if (v)
		qsort(v, j->nmarks, sizeof(*v), by_time);
	for (; v && i < j->nmarks && json_array_size(of) < MARKS_SHOWN; i += n) {
		n = length_of(j, &v[i], j->nmarks - i);
		json_array_append_new(of, mark_json(j, &v[i], n));
	}
	json_object_set_new(o, "of", of);
	json_object_set_new(o, "left_out", json_integer(j->nmarks - i));
	free(v);
	return o;
}
