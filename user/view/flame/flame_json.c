// SPDX-License-Identifier: GPL-2.0-or-later
/* The tree as JSON: for the page, for speedscope, and as Chrome's trace events for Perfetto. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/program.h"
#include "view/flame/flame.h"

/* Numbers names in the order of their first use. */
struct names {
	struct id_table at;
	json_t *list;
};

static json_t *name_json(const struct flame_frame *n, bool object)
{
	json_t *o;

	if (!object)
		return json__text(n->name);
	o = json_object();
	json__set(o, "name", json__text(n->name));
	if (flame__file(n))
		json__set(o, "file", json__text(flame__file(n)));
	return o;
}

static uint32_t number_of(struct names *names, const struct flame_frame *n, bool object)
{
	uint64_t id = id__mix(id__of_text(n->name), n->kind);
	uint32_t *have = id_table__find(&names->at, id),
		 at = (uint32_t)json_array_size(names->list);

	if (have)
		return *have;
	if (id_table__add(&names->at, id, at))
		json_array_append_new(names->list, name_json(n, object));
	return at;
}

/* An array [parent, name, kind] per frame but the root; the root's number is 0. */
static json_t *frames_json(const struct flame *f, json_t *list)
{
	struct names names = {.list = list};
	json_t *a = json_array();

	for (uint32_t i = 1; i < f->n; i++) {
		const struct flame_frame *n = &f->frames[i];

		json_array_append_new(a, json_pack("[i,i,i]", (int)n->parent,
						   (int)number_of(&names, n, false), (int)n->kind));
	}
	id_table__free(&names.at);
	return a;
}

/* An array [run, end of the interval, frame, seconds] per count. */
static json_t *counts_json(const struct flame *f)
{
	json_t *a = json_array();

	for (unsigned i = 0; i < f->ncounts; i++) {
		const struct flame_count *c = &f->counts[i];

		json_array_append_new(
			a, json_pack("[i,f,i,f]", c->run, c->end_s, (int)c->frame, c->seconds));
	}
	return a;
}

json_t *flame__json(const struct flame *f)
{
	json_t *o = json_object(), *labels = json_array(), *names = json_array();

	for (unsigned r = 0; r < f->runs; r++)
		json_array_append_new(labels, json__text(f->label[r]));
	json__set(o, "flame", json_integer(1));
	json__set(o, "off_cpu", json_boolean(f->off_cpu));
	json__set(o, "labels", labels);
	json__set(o, "title", json__nonempty(f->title));
	json__set(o, "unwound", json__text(f->unwound));
	json__set(o, "nodes", frames_json(f, names));
	json__set(o, "names", names);
	json__set(o, "counts", counts_json(f));
	return o;
}

static json_t *path_json(const struct flame *f, uint32_t frame, uint32_t *path, struct names *names)
{
	unsigned n = flame__path(f, frame, path);
	json_t *a = json_array();

	for (unsigned i = 0; i < n; i++)
		json_array_append_new(a, json_integer(number_of(names, &f->frames[path[i]], true)));
	return a;
}

static json_t *profile_json(const struct flame *f, unsigned run, struct names *names)
{
	json_t *o = json_object(), *samples = json_array(), *weights = json_array();
	uint32_t *path = calloc(f->n + 1, sizeof(*path));

	for (uint32_t i = 1; path && i < f->n; i++) {
		if (!(f->frames[i].self_s[run] > 0))
			continue;
		json_array_append_new(samples, path_json(f, i, path, names));
		json_array_append_new(weights, json__number(f->frames[i].self_s[run]));
	}
	free(path);
	json__set(o, "type", json_string("sampled"));
	json__set(o, "name", json__text(f->label[run]));
	json__set(o, "unit", json_string("seconds"));
	json__set(o, "startValue", json_integer(0));
	json__set(o, "endValue", json__number(f->frames[FLAME_ROOT].total_s[run]));
	json__set(o, "samples", samples);
	json__set(o, "weights", weights);
	return o;
}

json_t *flame__speedscope(const struct flame *f)
{
	json_t *o = json_object(), *shared = json_object(), *profiles = json_array();
	struct names names = {.list = json_array()};

	for (unsigned r = 0; r < f->runs; r++)
		json_array_append_new(profiles, profile_json(f, r, &names));
	id_table__free(&names.at);
	json__set(shared, "frames", names.list);
	json__set(o, "$schema", json_string("https://www.speedscope.app/file-format-schema.json"));
	json__set(o, "exporter", json_string("jobprof"));
	json__set(o, "name", json__text(f->label[0]));
	json__set(o, "shared", shared);
	json__set(o, "profiles", profiles);
	return o;
}

/* ---- the hottest frames alone */

struct hot {
	double total_s;
	uint32_t frame;
};

/* Sorts frames by time. A caller has at least its callee's time and a lower number, so it comes
 * first. */
static int hottest_first(const void *a, const void *b)
{
	const struct hot *x = a, *y = b;

	if (x->total_s != y->total_s)
		return (x->total_s < y->total_s) - (x->total_s > y->total_s);
	return (x->frame > y->frame) - (x->frame < y->frame);
}

/* Returns the new number per frame; 0: the frame is not written, or is the root. */
static uint32_t *number_hottest(const struct flame *f, unsigned most)
{
	struct hot *all = calloc(f->n + 1, sizeof(*all));
	uint32_t *number = calloc(f->n + 1, sizeof(*number)), last = 0;

	for (uint32_t i = 1; all && i < f->n; i++)
		all[i - 1] = (struct hot){f->frames[i].total_s[0], i};
	if (all && f->n > 1)
		qsort(all, f->n - 1, sizeof(*all), hottest_first);
	for (uint32_t i = 0; all && number && i + 1 < f->n && i < most; i++)
		number[all[i].frame] = 1;
	for (uint32_t i = 1; number && i < f->n; i++)
		if (number[i])
			number[i] = ++last;
	free(all);
	return number;
}

static json_t *hottest_frames(const struct flame *f, const uint32_t *number, json_t *list)
{
	struct names names = {.list = list};
	json_t *a = json_array();

	for (uint32_t i = 1; i < f->n; i++)
		if (number[i])
			json_array_append_new(
				a, json_pack("[i,i,i]", (int)number[f->frames[i].parent],
					     (int)number_of(&names, &f->frames[i], false),
					     (int)f->frames[i].kind));
	id_table__free(&names.at);
	return a;
}

/* Adds the seconds of frames that are left out to the nearest caller that is written. */
static json_t *hottest_counts(const struct flame *f, const uint32_t *number)
{
	double *own = calloc(f->n + 1, sizeof(*own));
	json_t *a = json_array();

	for (uint32_t i = f->n; own && i-- > 0;) {
		own[i] += f->frames[i].self_s[0];
		if (i && !number[i])
			own[f->frames[i].parent] += own[i];
		else if (own[i] > 0)
			json_array_append_new(
				a, json_pack("[i,f,i,f]", 0, f->last_s[0], (int)number[i], own[i]));
	}
	free(own);
	return a;
}

json_t *flame__hottest_json(const struct flame *f, unsigned n)
{
	json_t *o = json_object(), *names = json_array();
	uint32_t *number = number_hottest(f, n);

	if (!number) {
		json_decref(names);
		json_decref(o);
		return NULL;
	}
	json__set(o, "status", json_string("OK"));
	json__set(o, "reason", json_null());
	json__set(o, "off_cpu", json_boolean(f->off_cpu));
	json__set(o, "labels", json_pack("[s]", ""));
	json__set(o, "left_out", json_integer(f->n - 1 > n ? (json_int_t)(f->n - 1 - n) : 0));
	json__set(o, "nodes", hottest_frames(f, number, names));
	json__set(o, "names", names);
	json__set(o, "counts", hottest_counts(f, number));
	free(number);
	return o;
}

/* ---- trace events: each is written as soon as it is made, for a long run has millions */

struct tracing {
	const struct flame *f;
	double *time; /* per frame: its time in the interval, with its children */
	FILE *out;
	int run;
	bool any; /* an event was written */
	int err;
};

static void put_event(struct tracing *t, uint32_t frame, double from_s)
{
	const struct flame_frame *n = &t->f->frames[frame];
	json_t *e = json_object();

	json__set(e, "name", json__text(n->name));
	json__set(e, "cat", json_string(n->kind == FLAME_KERNEL ? "kernel" : "user"));
	json__set(e, "ph", json_string("X"));
	json__set(e, "ts", json__number(from_s * 1e6));
	json__set(e, "dur", json__number(t->time[frame] * 1e6));
	json__set(e, "pid", json_integer(t->run + 1));
	json__set(e, "tid", json_integer(1));
	fputs(t->any ? ",\n" : "\n", t->out);
	t->any = true;
	if (!e || json__dump(e, t->out, JSON_COMPACT))
		t->err = -EIO;
	json_decref(e);
}

static void put_tree(struct tracing *t, uint32_t frame, double from_s)
{
	for (uint32_t c = t->f->frames[frame].first; c && !t->err; c = t->f->frames[c].next) {
		if (!(t->time[c] > 0))
			continue;
		put_event(t, c, from_s);
		put_tree(t, c, from_s);
		from_s += t->time[c];
	}
}

static void put_interval(struct tracing *t, const struct flame_count *c, unsigned n, double from_s)
{
	double scale;

	memset(t->time, 0, t->f->n * sizeof(*t->time));
	for (unsigned i = 0; i < n; i++)
		t->time[c[i].frame] += c[i].seconds;
	for (uint32_t i = t->f->n; i-- > 1;)
		t->time[t->f->frames[i].parent] += t->time[i];
	/* threads run at the same time: their times are scaled to fit into the interval, one after
	 * the other */
	scale = t->time[FLAME_ROOT] > c->end_s - from_s ? (c->end_s - from_s) / t->time[FLAME_ROOT]
							: 1;
	for (uint32_t i = 0; i < t->f->n; i++)
		t->time[i] *= scale;
	t->run = c->run;
	put_tree(t, FLAME_ROOT, from_s);
}

int flame__perfetto(const struct flame *f, FILE *out)
{
	struct tracing t = {.f = f, .out = out};
	const struct flame_count *c = f->counts;
	double from_s = 0;
	unsigned k;

	t.time = calloc(f->n + 1, sizeof(*t.time));
	if (!t.time)
		return -ENOMEM;
	fputs("{\"traceEvents\":[", out);
	for (unsigned i = 0; i < f->ncounts && !t.err; i += k) {
		for (k = 1;
		     i + k < f->ncounts && c[i + k].run == c[i].run && c[i + k].end_s == c[i].end_s;
		     k++)
			;
		if (!i || c[i].run != c[i - 1].run)
			from_s = 0;
		if (c[i].end_s > from_s)
			put_interval(&t, &c[i], k, from_s);
		from_s = c[i].end_s;
	}
	fputs("\n]}\n", out);
	free(t.time);
	return t.err;
}
