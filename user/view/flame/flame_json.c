// SPDX-License-Identifier: GPL-2.0-only
/* The tree as JSON: for the page and for speedscope. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/program.h"
#include "view/flame/flame.h"

/* Numbers of names, in the order of their first use. */
struct names {
	struct id_table at;
	json_t *list;
};

static json_t *name_json(const struct flame_node *n, bool object)
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

static uint32_t number_of(struct names *names, const struct flame_node *n, bool object)
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

/* [parent, name, kind] of each node but the root, which is its own parent's place 0. */
static json_t *nodes_json(const struct flame *f, json_t *list)
{
	struct names names = {.list = list};
	json_t *a = json_array();

	for (uint32_t i = 1; i < f->n; i++) {
		const struct flame_node *n = &f->nodes[i];

		json_array_append_new(a, json_pack("[i,i,i]", (int)n->parent,
						   (int)number_of(&names, n, false), (int)n->kind));
	}
	id_table__free(&names.at);
	return a;
}

/* [run, end of the interval, node, seconds] */
static json_t *counts_json(const struct flame *f)
{
	json_t *a = json_array();

	for (unsigned i = 0; i < f->ncounts; i++) {
		const struct flame_count *c = &f->counts[i];

		json_array_append_new(
			a, json_pack("[i,f,i,f]", c->run, c->end_s, (int)c->node, c->seconds));
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
	json__set(o, "nodes", nodes_json(f, names));
	json__set(o, "names", names);
	json__set(o, "counts", counts_json(f));
	return o;
}

static json_t *path_json(const struct flame *f, uint32_t node, uint32_t *path, struct names *names)
{
	unsigned n = flame__path(f, node, path);
	json_t *a = json_array();

	for (unsigned i = 0; i < n; i++)
		json_array_append_new(a, json_integer(number_of(names, &f->nodes[path[i]], true)));
	return a;
}

static json_t *profile_json(const struct flame *f, unsigned run, struct names *names)
{
	json_t *o = json_object(), *samples = json_array(), *weights = json_array();
	uint32_t *path = calloc(f->n + 1, sizeof(*path));

	for (uint32_t i = 1; path && i < f->n; i++) {
		if (!(f->nodes[i].self_s[run] > 0))
			continue;
		json_array_append_new(samples, path_json(f, i, path, names));
		json_array_append_new(weights, json__number(f->nodes[i].self_s[run]));
	}
	free(path);
	json__set(o, "type", json_string("sampled"));
	json__set(o, "name", json__text(f->label[run]));
	json__set(o, "unit", json_string("seconds"));
	json__set(o, "startValue", json_integer(0));
	json__set(o, "endValue", json__number(f->nodes[FLAME_ROOT].total_s[run]));
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
