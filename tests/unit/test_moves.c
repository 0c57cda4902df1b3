/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Structs of two builds, by their types. */
#include "tests/unit/unit.h"

#include <bpf/btf.h>

#include "kern/moves.h"

/* As one build has it, and as another. */
struct ours {
	uint64_t sum, fresh;
	uint32_t wide[4];
	uint64_t peak;
	char name[4];
	uint64_t grown;
};
struct theirs {
	char name[4];
	uint32_t grown;
	uint64_t peak, sum, gone;
	uint32_t wide[2];
};

struct types {
	struct btf *btf;
	int u64, u32, text, wide;
};

static struct types new_types(uint32_t wide)
{
	struct types t = {.btf = btf__new_empty()};
	int byte = btf__add_int(t.btf, "char", 1, 0);

	t.u64 = btf__add_int(t.btf, "unsigned long", 8, 0);
	t.u32 = btf__add_int(t.btf, "unsigned int", 4, 0);
	t.text = btf__add_array(t.btf, t.u32, byte, 4);
	t.wide = btf__add_array(t.btf, t.u32, t.u32, wide);
	return t;
}

#define FIELD(t, type, name, s) \
	assert_int_equal(btf__add_field((t)->btf, #name, type, offsetof(s, name) * 8, 0), 0)

static int add_ours(struct types *t)
{
	int id = btf__add_struct(t->btf, "ours", sizeof(struct ours));

	FIELD(t, t->u64, sum, struct ours);
	FIELD(t, t->u64, fresh, struct ours);
	FIELD(t, t->wide, wide, struct ours);
	FIELD(t, t->u64, peak, struct ours);
	FIELD(t, t->text, name, struct ours);
	FIELD(t, t->u64, grown, struct ours);
	return id;
}

static int add_theirs(struct types *t, bool odd)
{
	int id = btf__add_struct(t->btf, "theirs", sizeof(struct theirs));

	FIELD(t, t->text, name, struct theirs);
	FIELD(t, t->u32, grown, struct theirs);
	FIELD(t, t->u64, peak, struct theirs);
	FIELD(t, odd ? t->text : t->u64, sum, struct theirs);
	FIELD(t, t->u64, gone, struct theirs);
	FIELD(t, t->wide, wide, struct theirs);
	return id;
}

static struct moves moves_of(bool odd)
{
	struct types a = new_types(4), b = new_types(2);
	int to = add_ours(&a), from = add_theirs(&b, odd);
	struct moves s = moves__between(a.btf, (uint32_t)to, b.btf, (uint32_t)from);

	btf__free(a.btf);
	btf__free(b.btf);
	return s;
}

TEST(copied_by_name)
{
	struct theirs from = {"abc", 7, 5, 3, 9, {1, 2}};
	struct moves s = moves_of(false);
	struct ours to = {0};

	assert_false(s.unlike);
	moves__copy(&s, &to, &from);
	assert_int_equal(to.sum, 3);
	assert_int_equal(to.fresh, 0);
	assert_int_equal(to.wide[1], 2);
	assert_int_equal(to.wide[2], 0);
	assert_int_equal(to.peak, 5);
	assert_string_equal(to.name, "abc");
	assert_int_equal(to.grown, 7);
	free(s.m);
}

/* Both have counted since: sums become that of both, and of a state ours stays if it has changed.
 */
TEST(added_what_came_since)
{
	struct theirs first = {.sum = 100, .peak = 10, .grown = 1}, now = first;
	struct moves s = moves_of(false);
	struct ours to = {0};

	moves__copy(&s, &to, &first);
	to.sum += 30;
	now.sum += 5;
	now.peak = 12;
	now.grown = 2;
	moves__add(&s, &to, &first, &now, false);
	assert_int_equal(to.sum, 135);
	assert_int_equal(to.peak, 12);
	assert_int_equal(to.grown, 2);
	to.peak = 20;
	first = now;
	now.peak = 15;
	moves__add(&s, &to, &first, &now, false);
	assert_int_equal(to.peak, 20);
	first.sum = 135;
	now.sum = 7;
	moves__add(&s, &to, &first, &now, true);
	assert_int_equal(to.sum, 7);
	free(s.m);
}

TEST(a_name_for_other_things)
{
	struct moves s = moves_of(true);

	assert_true(s.unlike);
	free(s.m);
}
