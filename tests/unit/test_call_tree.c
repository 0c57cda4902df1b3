// SPDX-License-Identifier: GPL-2.0-or-later
/* The call tree of a step: numbers, names, and frames that are left out. */
#include "unit.h"

#include "base/id_table.h"
#include "daemon/record/call_tree.h"

static struct detail room;
static const union cell now[3] = {{.u = 1}, {.u = 2}, {.u = 3}};

static struct journal *new_journal(char path[64])
{
	struct journal *j = NULL;

	snprintf(path, 64, "/tmp/jp_call_tree.%d", getpid());
	unlink(path);
	assert_int_equal(journal__create(&j, path), 0);
	return j;
}

TEST(a_node_is_its_way_from_the_root)
{
	struct call_tree *a = call_tree__new(1, &room), *b = call_tree__new(7, &room);
	uint64_t root = call_tree__frame(a, 0, "[on CPU]", 0), f;

	assert_non_null(b);
	assert_true(root);
	f = call_tree__frame(a, root, "- /bin/f", 16);
	assert_true(f && f != root);
	assert_true(call_tree__frame(a, root, "- /bin/f", 16) == f);
	assert_true(call_tree__frame(a, root, "- /bin/f", 17) != f);
	assert_true(call_tree__frame(a, f, "- /bin/f", 16) != f);
	/* after a restart it is the same */
	root = call_tree__frame(b, 0, "[on CPU]", 0);
	assert_true(call_tree__frame(b, root, "- /bin/f", 16) == f);
	call_tree__free(a);
	call_tree__free(b);
}

TEST(what_was_left_out_is_put_again)
{
	struct call_tree *t = call_tree__new(1, &room);
	uint64_t root = call_tree__frame(t, 0, "[on CPU]", 0);
	char path[64];
	struct journal *j = new_journal(path);

	call_tree__frame(t, root, "- /bin/f", 16);
	assert_int_equal(call_tree__put(t, j, 0, now), 2);
	call_tree__end_frame(t, FRAME_DROPPED);
	assert_int_equal(call_tree__put(t, j, 0, now), 2);
	call_tree__end_frame(t, FRAME_WRITTEN);
	assert_int_equal(call_tree__put(t, j, 0, now), 0);
	call_tree__end_frame(t, FRAME_WRITTEN);
	call_tree__frame(t, root, "- /bin/g", 16);
	assert_int_equal(call_tree__put(t, j, 0, now), 1);
	call_tree__end_frame(t, FRAME_WRITTEN);
	call_tree__end_frame(t, FRAME_LOST);
	assert_int_equal(call_tree__put(t, j, 0, now), 3);
	journal__free(j);
	unlink(path);
	call_tree__free(t);
}

TEST(a_table_of_ids_finds_what_was_added)
{
	struct id_table t = {};
	uint64_t id = 1;

	for (uint32_t i = 0; i < 5000; i++) {
		id = id__mix(id, i);
		assert_null(id_table__find(&t, id));
		assert_true(id_table__add(&t, id, i));
	}
	id = 1;
	for (uint32_t i = 0; i < 5000; i++) {
		id = id__mix(id, i);
		assert_int_equal(*id_table__find(&t, id), i);
	}
	assert_true(id__of_text("") && id__of_text("a") != id__of_text("b"));
	/* as everybody computes it */
	assert_true(id__of_text("a") == 0xaf63dc4c8601ec8cu);
	id_table__free(&t);
}
