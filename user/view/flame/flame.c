// SPDX-License-Identifier: GPL-2.0-only
/* The tree of functions. */
#include "view/flame/flame.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"

#define DEPTH_MAX 256
#define ON_CPU	  "[on CPU]"
#define NO_ROOM	  "[no room]" /* the tree of the daemon was full */

static void *grown(void *array, unsigned n, size_t size)
{
	return n & (n - 1) ? array : realloc(array, (n ? 2 * (size_t)n : 1) * size);
}

/* The text, or one of the flame's without what is no UTF-8 and without control characters. NULL: no
 * memory. */
static const char *cleaned(struct flame *f, const char *text)
{
	unsigned replaced;
	char *clean = utf8__clean(text, SIZE_MAX, &replaced), **texts;

	if (clean && !replaced) {
		free(clean);
		return text;
	}
	texts = clean ? grown(f->texts, f->ntexts, sizeof(*texts)) : NULL;
	if (!texts) {
		free(clean);
		return NULL;
	}
	f->texts = texts;
	return texts[f->ntexts++] = clean;
}

static int new_node(struct flame *f, uint32_t parent, const char *name, const char *module,
		    enum flame_kind kind, uint32_t *at)
{
	struct flame_node *nodes = grown(f->nodes, f->n, sizeof(*nodes));

	if (!nodes)
		return -ENOMEM;
	f->nodes = nodes;
	name = cleaned(f, name);
	module = name ? cleaned(f, module) : NULL;
	if (!module)
		return -ENOMEM;
	*at = f->n;
	nodes[f->n] =
		(struct flame_node){.name = name, .module = module, .kind = kind, .parent = parent};
	if (f->n) {
		nodes[f->n].depth = nodes[parent].depth + 1;
		nodes[f->n].next = nodes[parent].first;
		nodes[parent].first = f->n;
	}
	f->n++;
	return 0;
}

static int child(struct flame *f, uint32_t parent, const char *name, const char *module,
		 enum flame_kind kind, uint32_t *at)
{
	uint64_t id = id__mix(id__mix(id__of_text(name), parent), kind);
	uint32_t *have = id_table__find(&f->child_of, id);
	int err;

	if (have) {
		*at = *have;
		return 0;
	}
	err = new_node(f, parent, name, module, kind, at);
	return !err && !id_table__add(&f->child_of, id, *at) ? -ENOMEM : err;
}

/* The nodes from a stack's innermost function to its root, at most DEPTH_MAX of them. */
static unsigned chain(const struct stacks *s, uint32_t node, uint32_t *path)
{
	unsigned n = 0;

	while (n < DEPTH_MAX) {
		uint32_t *up;

		path[n++] = node;
		up = s->nodes[node].parent ? id_table__find(&s->node_of, s->nodes[node].parent)
					   : NULL;
		if (!up)
			break;
		node = *up;
	}
	return n;
}

static enum flame_kind kind_of(const char *module)
{
	return str__starts(module, "[kernel]") ? FLAME_KERNEL : FLAME_USER;
}

/* The place of a stack in the tree; *none: it is of the other kind, running or blocked. */
static int place(struct flame *f, const struct stacks *s, struct symbols *symbols, uint32_t node,
		 uint32_t *at, bool *none)
{
	uint32_t path[DEPTH_MAX];
	unsigned n = chain(s, node, path);
	bool no_room = n == 1;
	const char *root = stacks__module(s, &s->nodes[path[n - 1]]);
	int err = 0;

	*none = strcmp(root, ON_CPU) == 0 ? f->off_cpu : !f->off_cpu;
	*at = FLAME_ROOT;
	if (*none)
		return 0;
	if (f->off_cpu)
		err = child(f, FLAME_ROOT, symbols__name(symbols, root, 0), root, FLAME_CAUSE, at);
	while (!err && --n > 0) {
		const struct stack_node *from = &s->nodes[path[n - 1]];
		const char *module = stacks__module(s, from);
		const char *name = symbols__name(symbols, module, from->offset);

		err = name ? child(f, *at, name, module, kind_of(module), at) : -ENOMEM;
	}
	if (!err && no_room)
		err = child(f, *at, NO_ROOM, NO_ROOM, FLAME_USER, at);
	return err;
}

static int add_count(struct flame *f, const struct stack_count *c, uint32_t node, int run)
{
	struct flame_count *counts = grown(f->counts, f->ncounts, sizeof(*counts));

	if (!counts)
		return -ENOMEM;
	f->counts = counts;
	counts[f->ncounts++] = (struct flame_count){node, run, c->end_s, c->seconds};
	f->nodes[node].self_s[run] += c->seconds;
	f->nodes[node].self_n[run] += c->samples;
	return 0;
}

static bool is_meant(const struct flame *f, const struct stack_count *c)
{
	return !(c->end_s <= f->from_s || c->end_s > f->to_s);
}

/* An interval begins where the one before it ended that has rows of the same table, in which time
 * only grows: between the two nothing was counted. */
static void note_time(struct flame *f, const struct stacks *s)
{
	double *first = &f->first_s[f->runs], *last = &f->last_s[f->runs], start_s = 0;

	*first = *last = NAN;
	for (unsigned i = 0; i < s->ncounts; i++) {
		const struct stack_count *c = &s->counts[i], *before = i ? c - 1 : c;

		if (c->task != before->task || c->end_s < before->end_s)
			start_s = 0;
		else if (c->end_s > before->end_s)
			start_s = before->end_s;
		if (!is_meant(f, c))
			continue;
		*first = fmin(*first, start_s);
		*last = fmax(*last, c->end_s);
	}
}

int flame__add(struct flame *f, const struct stacks *s, struct symbols *symbols, const char *label)
{
	uint32_t *places = calloc(s->nnodes + 1, sizeof(*places)), root; /* and one; 0: not known */
	int err = places ? 0 : -ENOMEM, run = (int)f->runs;

	if (!err && !f->n)
		err = new_node(f, 0, "all", "", FLAME_CAUSE, &root);
	note_time(f, s);
	f->label[f->runs++] = label;
	for (unsigned i = 0; !err && i < s->ncounts; i++) {
		const struct stack_count *c = &s->counts[i];
		uint32_t at = places[c->node];
		bool none = at == UINT32_MAX;

		if (!is_meant(f, c))
			continue;
		if (!at) {
			err = place(f, s, symbols, c->node, &at, &none);
			places[c->node] = none ? UINT32_MAX : at + 1;
		} else {
			at--;
		}
		if (!err && !none)
			err = add_count(f, c, at, run);
	}
	free(places);
	return err;
}

static const struct flame *sorted; /* while children are sorted */

static int by_name(const void *a, const void *b)
{
	return strcmp(sorted->nodes[*(const uint32_t *)a].name,
		      sorted->nodes[*(const uint32_t *)b].name);
}

static void sort_children(struct flame *f, uint32_t node, uint32_t *room)
{
	unsigned n = 0;

	for (uint32_t c = f->nodes[node].first; c; c = f->nodes[c].next)
		room[n++] = c;
	sorted = f;
	qsort(room, n, sizeof(*room), by_name);
	f->nodes[node].first = n ? room[0] : 0;
	for (unsigned i = 0; i < n; i++)
		f->nodes[room[i]].next = i + 1 < n ? room[i + 1] : 0;
}

static int by_interval(const void *a, const void *b)
{
	const struct flame_count *x = a, *y = b;

	if (x->run != y->run)
		return x->run < y->run ? -1 : 1;
	if (x->end_s != y->end_s)
		return x->end_s < y->end_s ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

/* Counts of a node, run and interval are added up. */
static void sum_counts(struct flame *f)
{
	struct flame_count *all = f->counts;
	unsigned n = 0;

	if (f->ncounts)
		qsort(all, f->ncounts, sizeof(*all), by_interval);
	for (unsigned i = 0; i < f->ncounts; i++) {
		struct flame_count *last = n ? &all[n - 1] : NULL;

		if (last && last->run == all[i].run && last->end_s == all[i].end_s &&
		    last->node == all[i].node)
			last->seconds += all[i].seconds;
		else
			all[n++] = all[i];
	}
	f->ncounts = n;
}

void flame__finish(struct flame *f)
{
	uint32_t *room = calloc(f->n + 1, sizeof(*room));

	sum_counts(f);
	for (uint32_t i = 0; room && i < f->n; i++)
		sort_children(f, i, room);
	free(room);
	/* children come after their parents */
	for (uint32_t i = f->n; i-- > 0;)
		for (unsigned r = 0; r < FLAME_RUNS; r++) {
			struct flame_node *n = &f->nodes[i];

			n->total_s[r] += n->self_s[r];
			if (i)
				f->nodes[n->parent].total_s[r] += n->total_s[r];
		}
}

void flame__free(struct flame *f)
{
	for (unsigned i = 0; i < f->ntexts; i++)
		free(f->texts[i]);
	free(f->texts);
	free(f->nodes);
	free(f->counts);
	id_table__free(&f->child_of);
	*f = (struct flame){};
}

void flame__put_name(FILE *out, const char *name)
{
	for (; *name; name++)
		putc(*name == ';' ? ':' : *name, out);
}

const char *flame__file(const struct flame_node *n)
{
	const char *path =
		n->kind == FLAME_USER && *n->module != '[' ? strchr(n->module, ' ') : NULL;

	return path ? path + 1 : NULL;
}

unsigned flame__path(const struct flame *f, uint32_t node, uint32_t *path)
{
	unsigned n = f->nodes[node].depth;

	for (unsigned i = n; i-- > 0; node = f->nodes[node].parent)
		path[i] = node;
	return n;
}
