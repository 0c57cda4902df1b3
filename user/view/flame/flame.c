// SPDX-License-Identifier: GPL-2.0-or-later
/* The tree of functions. */
#include "view/flame/flame.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "base/str.h"
#include "base/utf8.h"

#define DEPTH_MAX 256
#define ON_CPU	  "[on CPU]"
#define NO_ROOM	  "[no room]" /* name of samples for which the daemon's tree had no room */

/* Returns the text, or a copy owned by the flame without bytes that are no UTF-8 or invisible.
 * NULL: no memory. */
static const char *cleaned(struct flame *f, const char *text)
{
	unsigned replaced;
	char *clean = utf8__shown(text, &replaced);

	if (clean && !replaced) {
		free(clean);
		return text;
	}
	if (!clean || room__grow(&f->texts, f->ntexts, 1, sizeof(*f->texts))) {
		free(clean);
		return NULL;
	}
	return f->texts[f->ntexts++] = clean;
}

static int new_frame(struct flame *f, uint32_t parent, const char *name, const char *module,
		     enum flame_kind kind, uint32_t *at)
{
	if (room__grow(&f->frames, f->n, 1, sizeof(*f->frames)))
		return -ENOMEM;
	name = cleaned(f, name);
	module = name ? cleaned(f, module) : NULL;
	if (!module)
		return -ENOMEM;
	*at = f->n;
	f->frames[f->n] = (struct flame_frame){
		.name = name, .module = module, .kind = kind, .parent = parent};
	if (f->n) {
		f->frames[f->n].depth = f->frames[parent].depth + 1;
		f->frames[f->n].next = f->frames[parent].first;
		f->frames[parent].first = f->n;
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
	err = new_frame(f, parent, name, module, kind, at);
	return !err && !id_table__add(&f->child_of, id, *at) ? -ENOMEM : err;
}

/* Writes the frames of a stack from its innermost function to its root, at most DEPTH_MAX. */
static unsigned chain(const struct stacks *s, uint32_t frame, uint32_t *path)
{
	unsigned n = 0;

	while (n < DEPTH_MAX) {
		uint32_t *up;

		path[n++] = frame;
		up = s->frames[frame].parent ? id_table__find(&s->frame_of, s->frames[frame].parent)
					     : NULL;
		if (!up)
			break;
		frame = *up;
	}
	return n;
}

static enum flame_kind kind_of(const char *module)
{
	return str__starts(module, "[kernel]") ? FLAME_KERNEL : FLAME_USER;
}

/* Finds the place of a stack in the tree. *none: it is of the other kind, running or blocked. */
static int place(struct flame *f, const struct stacks *s, struct symbols *symbols, uint32_t frame,
		 uint32_t *at, bool *none)
{
	uint32_t path[DEPTH_MAX];
	unsigned n = chain(s, frame, path);
	bool no_room = n == 1;
	const char *root = stacks__module(s, &s->frames[path[n - 1]]);
	int err = 0;

	*none = strcmp(root, ON_CPU) == 0 ? f->off_cpu : !f->off_cpu;
	*at = FLAME_ROOT;
	if (*none)
		return 0;
	if (f->off_cpu)
		err = child(f, FLAME_ROOT, symbols__name(symbols, root, 0), root, FLAME_CAUSE, at);
	while (!err && --n > 0) {
		const struct stack_frame *from = &s->frames[path[n - 1]];
		const char *module = stacks__module(s, from);
		const char *name = symbols__name(symbols, module, from->offset);

		err = name ? child(f, *at, name, module, kind_of(module), at) : -ENOMEM;
	}
	if (!err && no_room)
		err = child(f, *at, NO_ROOM, NO_ROOM, FLAME_USER, at);
	return err;
}

static int add_count(struct flame *f, const struct stack_count *c, uint32_t frame, int run)
{
	if (room__grow(&f->counts, f->ncounts, 1, sizeof(*f->counts)))
		return -ENOMEM;
	f->counts[f->ncounts++] = (struct flame_count){frame, run, c->end_s, c->seconds};
	f->frames[frame].self_s[run] += c->seconds;
	f->frames[frame].self_n[run] += c->samples;
	return 0;
}

static bool is_selected(const struct flame *f, const struct stack_count *c)
{
	return !(c->end_s <= f->from_s || c->end_s > f->to_s);
}

/* An interval begins at the end of the previous one that has rows of the same table, in which time
 * only grows: in between nothing was counted. */
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
		if (!is_selected(f, c))
			continue;
		*first = fmin(*first, start_s);
		*last = fmax(*last, c->end_s);
	}
}

int flame__add(struct flame *f, const struct stacks *s, struct symbols *symbols, const char *label)
{
	uint32_t *places = calloc(s->nframes + 1, sizeof(*places)); /* index + 1; 0: unknown */
	uint32_t root;
	int err = places ? 0 : -ENOMEM, run = (int)f->runs;

	if (!err && !f->n)
		err = new_frame(f, 0, "all", "", FLAME_CAUSE, &root);
	note_time(f, s);
	f->label[f->runs++] = label;
	for (unsigned i = 0; !err && i < s->ncounts; i++) {
		const struct stack_count *c = &s->counts[i];
		uint32_t at = places[c->frame];
		bool none = at == UINT32_MAX;

		if (!is_selected(f, c))
			continue;
		if (!at) {
			err = place(f, s, symbols, c->frame, &at, &none);
			places[c->frame] = none ? UINT32_MAX : at + 1;
		} else {
			at--;
		}
		if (!err && !none)
			err = add_count(f, c, at, run);
	}
	free(places);
	return err;
}

static const struct flame *sorted; /* for by_name() while children are sorted */

static int by_name(const void *a, const void *b)
{
	return strcmp(sorted->frames[*(const uint32_t *)a].name,
		      sorted->frames[*(const uint32_t *)b].name);
}

static void sort_children(struct flame *f, uint32_t frame, uint32_t *room)
{
	unsigned n = 0;

	for (uint32_t c = f->frames[frame].first; c; c = f->frames[c].next)
		room[n++] = c;
	sorted = f;
	qsort(room, n, sizeof(*room), by_name);
	f->frames[frame].first = n ? room[0] : 0;
	for (unsigned i = 0; i < n; i++)
		f->frames[room[i]].next = i + 1 < n ? room[i + 1] : 0;
}

static int by_interval(const void *a, const void *b)
{
	const struct flame_count *x = a, *y = b;

	if (x->run != y->run)
		return x->run < y->run ? -1 : 1;
	if (x->end_s != y->end_s)
		return x->end_s < y->end_s ? -1 : 1;
	return (x->frame > y->frame) - (x->frame < y->frame);
}

/* Adds up the counts of each frame, run and interval. */
static void sum_counts(struct flame *f)
{
	struct flame_count *all = f->counts;
	unsigned n = 0;

	if (f->ncounts)
		qsort(all, f->ncounts, sizeof(*all), by_interval);
	for (unsigned i = 0; i < f->ncounts; i++) {
		struct flame_count *last = n ? &all[n - 1] : NULL;

		if (last && last->run == all[i].run && last->end_s == all[i].end_s &&
		    last->frame == all[i].frame)
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
			struct flame_frame *n = &f->frames[i];

			n->total_s[r] += n->self_s[r];
			if (i)
				f->frames[n->parent].total_s[r] += n->total_s[r];
		}
}

void flame__free(struct flame *f)
{
	for (unsigned i = 0; i < f->ntexts; i++)
		free(f->texts[i]);
	free(f->texts);
	free(f->frames);
	free(f->counts);
	id_table__free(&f->child_of);
	*f = (struct flame){};
}

void flame__put_name(FILE *out, const char *name)
{
	for (; *name; name++)
		putc(*name == ';' ? ':' : *name, out);
}

const char *flame__file(const struct flame_frame *n)
{
	const char *path =
		n->kind == FLAME_USER && *n->module != '[' ? strchr(n->module, ' ') : NULL;

	return path ? path + 1 : NULL;
}

unsigned flame__path(const struct flame *f, uint32_t frame, uint32_t *path)
{
	unsigned n = f->frames[frame].depth;

	for (unsigned i = n; i-- > 0; frame = f->frames[frame].parent)
		path[i] = frame;
	return n;
}
