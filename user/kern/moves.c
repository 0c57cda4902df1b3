// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds by the names in types (BTF) which numbers of a struct another build has as well, and copies
 * them. */
#include "kern/moves.h"

#include <string.h>

#include <bpf/btf.h>

#include "base/room.h"

struct place {
	const struct btf *btf;
	uint32_t type, at;
};

static bool is_number(const struct btf_type *t)
{
	return btf_is_int(t) || btf_is_enum(t);
}

static bool is_state(const char *name)
{
	return strstr(name, "peak") || strstr(name, "seen") || !strncmp(name, "left", 4);
}

static void pair(struct moves *s, struct place to, struct place from, bool state);

static void pair_numbers(struct moves *s, const struct place *to, const struct place *from,
			 bool state)
{
	int64_t a = btf__resolve_size(to->btf, to->type);
	int64_t b = btf__resolve_size(from->btf, from->type);

	if (a <= 0 || b <= 0 || a > 8 || b > 8 ||
	    room__make(&s->m, &s->max, s->n + 1, sizeof(*s->m)))
		s->unlike = true;
	else
		s->m[s->n++] = (struct move){from->at, to->at, (uint32_t)(a < b ? a : b), state};
}

static void pair_arrays(struct moves *s, struct place to, struct place from, bool state)
{
	const struct btf_array *a = btf_array(btf__type_by_id(to.btf, to.type));
	const struct btf_array *b = btf_array(btf__type_by_id(from.btf, from.type));
	int64_t step = btf__resolve_size(to.btf, a->type);
	int64_t other = btf__resolve_size(from.btf, b->type);

	to.type = a->type;
	from.type = b->type;
	for (uint32_t i = 0; i < a->nelems && i < b->nelems && !s->unlike; i++) {
		pair(s, to, from, state);
		to.at += (uint32_t)step;
		from.at += (uint32_t)other;
	}
}

static void pair_structs(struct moves *s, const struct place *to, const struct place *from,
			 bool state)
{
	const struct btf_type *a = btf__type_by_id(to->btf, to->type);
	const struct btf_type *b = btf__type_by_id(from->btf, from->type);

	for (const struct btf_member *m = btf_members(a); m < btf_members(a) + btf_vlen(a); m++) {
		const char *name = btf__name_by_offset(to->btf, m->name_off);

		for (const struct btf_member *o = btf_members(b); o < btf_members(b) + btf_vlen(b);
		     o++)
			if (!strcmp(btf__name_by_offset(from->btf, o->name_off), name))
				pair(s, (struct place){to->btf, m->type, to->at + m->offset / 8},
				     (struct place){from->btf, o->type, from->at + o->offset / 8},
				     state || is_state(name));
	}
}

static void pair(struct moves *s, struct place to, struct place from, bool state)
{
	int a = btf__resolve_type(to.btf, to.type), b = btf__resolve_type(from.btf, from.type);
	const struct btf_type *x, *y;

	if (a <= 0 || b <= 0) {
		s->unlike = true;
		return;
	}
	x = btf__type_by_id(to.btf, to.type = (uint32_t)a);
	y = btf__type_by_id(from.btf, from.type = (uint32_t)b);
	if (is_number(x) && is_number(y))
		pair_numbers(s, &to, &from, state);
	else if (btf_is_array(x) && btf_is_array(y))
		pair_arrays(s, to, from, state);
	else if (btf_is_struct(x) && btf_is_struct(y))
		pair_structs(s, &to, &from, state);
	else
		s->unlike = true;
}

struct moves moves__between(const struct btf *ours, uint32_t to, const struct btf *theirs,
			    uint32_t from)
{
	struct moves s = {0};

	pair(&s, (struct place){ours, to, 0}, (struct place){theirs, from, 0}, false);
	return s;
}

void moves__copy(const struct moves *s, void *to, const void *from)
{
	for (size_t i = 0; i < s->n; i++)
		memcpy((char *)to + s->m[i].to, (const char *)from + s->m[i].from, s->m[i].bytes);
}

void moves__add(const struct moves *s, void *to, const void *first, const void *now,
		bool all_states)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct move *m = &s->m[i];
		uint64_t *sum = (uint64_t *)((char *)to + m->to), was = 0, is = 0;

		memcpy(&was, (const char *)first + m->from, m->bytes);
		memcpy(&is, (const char *)now + m->from, m->bytes);
		if (is == was)
			continue;
		if (!all_states && !m->is_state && m->bytes == sizeof(*sum))
			__atomic_fetch_add(sum, is - was, __ATOMIC_RELAXED);
		else if (!memcmp(sum, &was, m->bytes))
			memcpy(sum, &is, m->bytes);
	}
}
