/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nodes, and the names of their files and functions. */
#include "daemon/record/call_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id_table.h"
#include "base/room.h"

/* ---- counts the memory that each step, each user and all steps together use */

static size_t all; /* of all steps of this process */
static struct detail *details;

void detail__begin(struct detail *d, uid_t uid)
{
	*d = (struct detail){.next = details, .uid = uid};
	details = d;
}

void detail__end(struct detail *d)
{
	struct detail **at = &details;

	while (*at && *at != d)
		at = &(*at)->next;
	if (*at)
		*at = d->next;
	detail__give(d, d->used);
}

static size_t used_by_user(const struct detail *d)
{
	size_t used = 0;

	if (d->uid == (uid_t)-1)
		return d->used;
	for (const struct detail *o = details; o; o = o->next)
		used += o->uid == d->uid ? o->used : 0;
	return used;
}

bool detail__take(struct detail *d, size_t bytes)
{
	size_t left = all < DETAIL_MAX ? DETAIL_MAX - all : 0;

	if (bytes > left || used_by_user(d) + bytes > left)
		return false;
	d->used += bytes;
	all += bytes;
	return true;
}

void detail__give(struct detail *d, size_t bytes)
{
	d->used -= bytes;
	all -= bytes;
}

#define FRAMES_MAX 200000
#define CHUNK	   4000 /* bytes of names in an attribute, about */
#define CHUNKS	   100	/* the tables of a file have at most 160 attributes */
#define OF_FRAME   128	/* bytes, about: arrays and tables are up to half empty */
#define OF_NAME	   64	/* and two copies */

struct tree_frame {
	uint64_t id, parent, module, offset;
};

struct call_tree {
	struct detail *detail;
	struct id_table ids, names_of;
	struct tree_frame *frames;
	unsigned nframes;
	struct journaled rows; /* of them */
	char **names;
	unsigned nnames;
	/* attributes: names with "//" between, which no path has */
	char *chunks[CHUNKS];
	unsigned first, nchunks;
	struct journaled attrs; /* of them */
};

struct call_tree *call_tree__new(unsigned first, struct detail *d)
{
	struct call_tree *t = calloc(1, sizeof(*t));

	if (t) {
		t->first = first;
		t->detail = d;
	}
	return t;
}

void call_tree__free(struct call_tree *t)
{
	if (!t)
		return;
	id_table__free(&t->ids);
	id_table__free(&t->names_of);
	for (unsigned i = 0; i < t->nnames; i++)
		free(t->names[i]);
	for (unsigned i = 0; i < t->nchunks; i++)
		free(t->chunks[i]);
	free(t->names);
	free(t->frames);
	free(t);
}

/* Puts the name into the last attribute, or a new one. */
static bool list_name(struct call_tree *t, const char *name)
{
	char *last = t->nchunks ? t->chunks[t->nchunks - 1] : NULL, *more;
	size_t had = last ? strlen(last) : 0;

	if (!last || had + strlen(name) + 2 > CHUNK) {
		if (t->nchunks == CHUNKS)
			return false;
		more = strdup(name);
		if (more)
			t->chunks[t->nchunks++] = more;
		return more;
	}
	more = realloc(last, had + strlen(name) + 3);
	if (!more)
		return false;
	sprintf(more + had, "//%s", name);
	t->chunks[t->nchunks - 1] = more;
	journaled__change(&t->attrs, t->nchunks - 1);
	return true;
}

const char *call_tree__name(struct call_tree *t, const char *name)
{
	uint64_t id = id__of_text(name);
	uint32_t *at = id_table__find(&t->names_of, id);
	char *copy;

	if (at)
		return t->names[*at];
	if (!detail__take(t->detail, OF_NAME + 2 * strlen(name)))
		return NULL;
	if (room__grow(&t->names, t->nnames, 1, sizeof(*t->names)))
		return NULL;
	copy = strdup(name);
	if (!copy || !id_table__add(&t->names_of, id, t->nnames)) {
		free(copy);
		return NULL;
	}
	t->names[t->nnames++] = copy;
	list_name(t, copy); /* a name that is stored nowhere is shown as a number */
	return copy;
}

uint64_t call_tree__frame(struct call_tree *t, uint64_t parent, const char *name, uint64_t offset)
{
	uint64_t module = id__of_text(name);
	uint64_t id = id__mix(id__mix(parent, module), offset);

	if (id_table__find(&t->ids, id))
		return id;
	if (t->nframes == FRAMES_MAX || !detail__take(t->detail, OF_FRAME) ||
	    !call_tree__name(t, name))
		return 0;
	if (room__grow(&t->frames, t->nframes, 1, sizeof(*t->frames)) ||
	    !id_table__add(&t->ids, id, t->nframes))
		return 0;
	t->frames[t->nframes++] = (struct tree_frame){id, parent, module, offset};
	return id;
}

unsigned call_tree__put(struct call_tree *t, struct journal *j, uint32_t table,
			const union cell time[3])
{
	uint64_t before = t->rows.put;

	for (; t->attrs.put < t->nchunks; t->attrs.put++) {
		char name[32];

		snprintf(name, sizeof(name), "Names %u", t->first + (unsigned)t->attrs.put);
		if (journal__table_attr_str(j, table, name, t->chunks[t->attrs.put]))
			break;
	}
	for (; t->rows.put < t->nframes; t->rows.put++) {
		const struct tree_frame *n = &t->frames[t->rows.put];
		union cell cells[] = {time[0],		time[1],	  {.u = n->id},
				      {.u = n->parent}, {.u = n->module}, {.u = n->offset},
				      time[2]};

		if (journal__row(j, table, cells, sizeof(cells) / sizeof(cells[0])))
			break;
	}
	return (unsigned)(t->rows.put - before);
}

void call_tree__end_frame(struct call_tree *t, enum frame_end end)
{
	journaled__end_frame(&t->rows, end);
	journaled__end_frame(&t->attrs, end);
}
