// SPDX-License-Identifier: GPL-2.0-only
/* The trie that the kernel walks: built-in rows, patterns, real samples, agreement with the parser.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "identity/layout.h"

static struct cgroup_ids parsed(const char *path)
{
	struct cgroup_ids ids;
	int err = layout__parse(path, &ids);

	if (err)
		fail_msg("%s: %s", path, strerror(-err));
	return ids;
}

static void file_name_is(const struct cgroup_ids *ids, const char *want)
{
	char buf[128];

	assert_int_equal(layout__step_file_name(ids, buf, sizeof(buf)), 0);
	assert_string_equal(buf, want);
}

/* The trie of the built-in rows of one cgroup version. */
static unsigned compiled(struct jp_node nodes[JP_NODES], const char *prefix, bool v2)
{
	const struct layout *rows[16];
	unsigned n = layout__rows(LAYOUT_SLURM, rows, 16), root = 0;

	n += layout__rows(LAYOUT_RUN, rows + n, 16 - n);
	assert_int_equal(layout__compile(rows, n, prefix, v2, nodes, &root), 0);
	assert_int_not_equal(root, 0);
	return root;
}

/* What the kernel takes a path's last directory for; *depth: components that are in the trie. */
static const struct jp_node *walk(const struct jp_node *nodes, unsigned node, const char *path,
				  unsigned *depth)
{
	char copy[512], *save = NULL;

	*depth = 0;
	strcpy(copy, path);
	for (char *c = strtok_r(copy, "/", &save); c; c = strtok_r(NULL, "/", &save)) {
		unsigned child = layout__child(nodes, node, c);

		if (!child)
			break;
		node = child;
		(*depth)++;
	}
	return &nodes[node];
}

static int kind_of(const struct jp_node *nodes, unsigned root, const char *path)
{
	unsigned depth, want = 0;
	const struct jp_node *n = walk(nodes, root, path, &depth);

	for (const char *p = path; *p; p++)
		want += *p == '/';
	return depth == want ? n->kind : JP_KIND_NONE;
}

static void own_cgroups_of_jobprof_run(void **state)
{
	static const char path[] = "/user.slice/u.scope/jobprof_77/job_77/step_0/task_0";
	struct jp_node nodes[JP_NODES] = {0};
	struct cgroup_ids ids = parsed(path);
	unsigned root = compiled(nodes, "/user.slice/u.scope", true), depth;

	assert_string_equal(ids.row->name, "run");
	assert_int_equal(ids.job_id, 77);
	assert_int_equal(ids.task, 0);
	file_name_is(&ids, "77_0");
	assert_int_equal(kind_of(nodes, root, path), JP_KIND_TASK);
	assert_int_equal(kind_of(nodes, root, "/jobprof_77/job_77/step_0"), JP_KIND_NONE);
	/* No slurmstepd to wait for, and not root's alone as Slurm's are. */
	assert_int_equal(
		walk(nodes, root, "/user.slice/u.scope/jobprof_77/job_77/step_0", &depth)->flags,
		JP_NODE_ANYONE);
	assert_int_equal(walk(nodes, root, "/user.slice/u.scope/jobprof_77/job_77", &depth)->flags,
			 JP_NODE_WAKE | JP_NODE_ANYONE);
}

static void trie_of_v1(void **state)
{
	struct jp_node nodes[JP_NODES] = {0};
	unsigned root = compiled(nodes, "", false), depth;
	const struct jp_node *step = walk(nodes, root, "/slurm/uid_0/job_1/step_0", &depth);

	assert_int_equal(kind_of(nodes, root, "/slurm/uid_0"), JP_KIND_PATH);
	assert_int_equal(kind_of(nodes, root, "/slurm_n1/uid_0/job_1/step_batch"), JP_KIND_STEP);
	assert_int_equal(kind_of(nodes, root, "/slurm_n1/uid_0/job_1/step_0/task_0"), JP_KIND_TASK);
	assert_int_equal(kind_of(nodes, root, "/slurm_n1/uid_0/job_1/step_0/task_special"),
			 JP_KIND_GROUP);
	assert_int_equal(kind_of(nodes, root, "/slurmx/uid_0"), JP_KIND_NONE);
	assert_int_equal(kind_of(nodes, root, "/a/slurmstepd.scope/job_1"), JP_KIND_NONE);
	assert_int_equal(step->flags, JP_NODE_NEED_STEPD);
	assert_int_equal(walk(nodes, root, "/slurm/uid_0/job_1", &depth)->flags, JP_NODE_WAKE);
	assert_int_equal(nodes[0].kind, JP_KIND_NONE);
}

static void trie_of_v2(void **state)
{
	struct jp_node nodes[JP_NODES] = {0};
	unsigned root = compiled(nodes, "/", true), depth;

	assert_int_equal(kind_of(nodes, root, "/a/slurmstepd.scope/job_1/step_0"), JP_KIND_STEP);
	assert_int_equal(kind_of(nodes, root, "/a/n1_slurmstepd.scope/job_1/step_0/slurm"),
			 JP_KIND_STEPD);
	assert_int_equal(kind_of(nodes, root, "/a/slurmstepd.scope/s5K1KKYAYG5D00/step_0/user"),
			 JP_KIND_GROUP);
	assert_int_equal(kind_of(nodes, root, "/a/slurmstepd.scope/job_1/step_0/user/task_3"),
			 JP_KIND_TASK);
	assert_int_equal(kind_of(nodes, root, "/a/slurmstepd.scope/job_1/step_0/user/task_special"),
			 JP_KIND_GROUP);
	assert_int_equal(kind_of(nodes, root, "/a/slurmstepd.scope/system"), JP_KIND_PATH);
	assert_int_equal(kind_of(nodes, root, "/a/slurmstepd.scope/system/step_0"), JP_KIND_NONE);
	assert_int_equal(walk(nodes, root, "/a/slurmstepd.scope/system", &depth)->flags,
			 JP_NODE_EXACT);
	assert_int_equal(kind_of(nodes, root, "/slurm/uid_0"), JP_KIND_NONE);
	assert_int_equal(kind_of(nodes, root, "/jobprof_5/job_5/step_0/task_0"), JP_KIND_TASK);
}

static void all_hierarchies_share_one_array(void **state)
{
	struct jp_node nodes[JP_NODES] = {0};
	unsigned v2 = compiled(nodes, "", true), used = 0;
	unsigned freezer = compiled(nodes, "", false);
	unsigned memory = compiled(nodes, "/docker/0a1b", false);

	assert_int_equal(kind_of(nodes, v2, "/a/slurmstepd.scope/job_1/step_0"), JP_KIND_STEP);
	assert_int_equal(kind_of(nodes, freezer, "/slurm/uid_0/job_1/step_0"), JP_KIND_STEP);
	assert_int_equal(kind_of(nodes, memory, "/docker/0a1b/slurm/uid_0/job_1/step_0"),
			 JP_KIND_STEP);
	assert_int_equal(kind_of(nodes, memory, "/slurm/uid_0/job_1/step_0"), JP_KIND_NONE);
	while (used < JP_NODES - 1 && nodes[used + 1].kind)
		used++;
	assert_in_range(used, 1, JP_NODES / 2);
	assert_int_equal(compiled(nodes, "", false), freezer);
}

static void long_prefix_names_are_matched_by_their_ends(void **state)
{
	static const char id[] = "9ab32eb90281fba126ddac6e9437155a9ab32eb90281fba126ddac6e9437155a";
	struct jp_node nodes[JP_NODES] = {0};
	char prefix[128], path[256];
	unsigned root;

	snprintf(prefix, sizeof(prefix), "/docker/%s", id);
	root = compiled(nodes, prefix, false);
	snprintf(path, sizeof(path), "%s/slurm/uid_0/job_1/step_0", prefix);
	assert_int_equal(kind_of(nodes, root, path), JP_KIND_STEP);
	path[strlen("/docker/")] = 'x';
	assert_int_equal(kind_of(nodes, root, path), JP_KIND_NONE);
}

/* Every path of a file of real samples, by the parser and by the trie. */
static unsigned check_samples(const char *file, bool v2, unsigned kinds[JP_KIND_STEPD + 1])
{
	struct jp_node nodes[JP_NODES] = {0};
	unsigned root = compiled(nodes, "", v2), n = 0;
	char name[128], word[512];
	FILE *f;

	snprintf(name, sizeof(name), "tests/data/cgroups/%s", file);
	f = fopen(name, "r");
	assert_non_null(f);
	while (fscanf(f, "%511s", word) == 1) {
		char *path = strstr(word, ":/");
		struct cgroup_ids ids;

		if (!path || word[0] < '0' || word[0] > '9')
			continue;
		path++;
		if (layout__parse(path, &ids)) {
			assert_int_equal(layout__parse(path, &ids), -ENOENT);
			continue;
		}
		assert_int_equal(kind_of(nodes, root, path), ids.kind);
		assert_in_range(ids.job_id, 1, 3);
		kinds[ids.kind]++;
		n++;
	}
	fclose(f);
	return n;
}

static void real_samples(void **state)
{
	unsigned k[JP_KIND_STEPD + 1] = {0};

	assert_int_equal(check_samples("v1-batch-and-steps.txt", false, k), 20);
	assert_int_equal(k[JP_KIND_PATH], 2); /* slurmstepd, freezer */
	assert_int_equal(k[JP_KIND_STEP], 12);
	assert_int_equal(k[JP_KIND_TASK], 6);
	memset(k, 0, sizeof(k));
	assert_int_equal(check_samples("v1-gathercgroup.txt", false, k), 10);
	assert_int_equal(k[JP_KIND_TASK], 6);
	memset(k, 0, sizeof(k));
	assert_int_equal(check_samples("v1-trackonly.txt", false, k), 2);
	assert_int_equal(k[JP_KIND_STEP], 2);
	memset(k, 0, sizeof(k));
	assert_int_equal(check_samples("4nodes-v1.txt", false, k), 16);
	assert_int_equal(k[JP_KIND_STEP], 8);
	assert_int_equal(k[JP_KIND_TASK], 8);
	memset(k, 0, sizeof(k));
	assert_int_equal(check_samples("v2-batch-and-steps.txt", true, k), 5);
	assert_int_equal(k[JP_KIND_STEPD], 2);
	assert_int_equal(k[JP_KIND_TASK], 3);
	memset(k, 0, sizeof(k));
	assert_int_equal(check_samples("v2-constraindevices-no.txt", true, k), 2);
	assert_int_equal(k[JP_KIND_GROUP], 2);
	memset(k, 0, sizeof(k));
	assert_int_equal(check_samples("4nodes-v2.txt", true, k), 8);
	assert_int_equal(k[JP_KIND_TASK], 8);
}

static struct layout pattern(const char *text, char buf[256])
{
	struct layout l;
	char err[256];

	strcpy(buf, text);
	if (layout__from_pattern(&l, buf, err, sizeof(err)))
		fail_msg("%s: %s", text, err);
	return l;
}

static void pattern_makes_steps(void **state)
{
	struct jp_node nodes[JP_NODES] = {0};
	const struct layout *rows[16];
	unsigned n = layout__rows(LAYOUT_SLURM, rows, 15), root, depth;
	struct cgroup_ids ids;
	char text[256];
	struct layout l = pattern("/system.slice/foo-*.scope", text);

	rows[n++] = &l;
	assert_int_equal(layout__compile(rows, n, "", true, nodes, &root), 0);
	assert_int_equal(kind_of(nodes, root, "/system.slice/foo-1.scope"), JP_KIND_STEP);
	assert_int_equal(walk(nodes, root, "/system.slice/foo-1.scope", &depth)->flags,
			 JP_NODE_WAKE | JP_NODE_ANYONE);
	assert_int_equal(kind_of(nodes, root, "/system.slice/foo-1.scope/x"), JP_KIND_NONE);
	/* Slurm's tree in the same slice is still seen, though "system.slice" is now its own node.
	 */
	assert_int_equal(kind_of(nodes, root, "/system.slice/slurmstepd.scope/job_1/step_0"),
			 JP_KIND_STEP);
	assert_int_equal(kind_of(nodes, root, "/other.slice/slurmstepd.scope/job_1/step_0"),
			 JP_KIND_STEP);

	assert_int_equal(layout__parse_rows(rows, n, "/system.slice/foo-1.scope/x", 0, &ids), 0);
	assert_int_equal(ids.kind, JP_KIND_STEP);
	assert_string_equal(ids.step_name, "foo-1.scope");
	assert_false(ids.has_job);
	assert_int_equal(ids.step_id, STEP_NONE);
	assert_int_equal(ids.step_end, strlen("/system.slice/foo-1.scope"));
	file_name_is(&ids, "0_foo-1.scope");
	assert_int_equal(layout__parse_rows(rows, n, "/x/system.slice/foo-1.scope", 0, &ids),
			 -ENOENT);
	assert_int_equal(
		layout__parse_rows(rows, n, "/system.slice/slurmstepd.scope/job_4/step_0", 0, &ids),
		0);
	assert_int_equal(ids.job_id, 4);
}

static void pattern_with_tasks(void **state)
{
	struct jp_node nodes[JP_NODES] = {0};
	unsigned root, depth;
	struct cgroup_ids ids;
	char text[256];
	struct layout l = pattern("/batch/run-*//rank-*", text);
	const struct layout *rows = &l;

	assert_int_equal(layout__compile(&rows, 1, "/ignored", false, nodes, &root), 0);
	assert_int_equal(kind_of(nodes, root, "/batch/run-a"), JP_KIND_STEP);
	assert_int_equal(kind_of(nodes, root, "/batch/run-a/rank-3"), JP_KIND_TASK);
	assert_int_equal(walk(nodes, root, "/batch/run-a", &depth)->flags,
			 JP_NODE_WAKE | JP_NODE_ANYONE);
	assert_int_equal(layout__parse_rows(&rows, 1, "/batch/run-a/rank-3", 0, &ids), 0);
	assert_int_equal(ids.task, 3);
	assert_int_equal(layout__parse_rows(&rows, 1, "/batch/run-a/rank-x", 0, &ids), 0);
	assert_int_equal(ids.task, -1);
	assert_int_equal(ids.kind, JP_KIND_TASK);
}

static void pattern_names_are_made_fit_for_files(void **state)
{
	struct cgroup_ids a, b;
	char text[256], path[400], buf[128];
	struct layout l = pattern("/*", text);
	const struct layout *rows = &l;

	assert_int_equal(layout__parse_rows(&rows, 1, "/a_b", 0, &a), 0);
	assert_int_equal(layout__parse_rows(&rows, 1, "/a b", 0, &b), 0);
	assert_int_equal(strncmp(a.step_name, "a-b-", 4), 0);
	assert_int_equal(strncmp(b.step_name, "a-b-", 4), 0);
	assert_string_not_equal(a.step_name, b.step_name);
	assert_int_equal(layout__parse_rows(&rows, 1, "/.x.h5", 0, &a), 0);
	assert_int_equal(strncmp(a.step_name, "-x-h5-", 6), 0);
	memset(path, 'y', sizeof(path));
	path[0] = '/';
	path[300] = '\0';
	assert_int_equal(layout__parse_rows(&rows, 1, path, 0, &a), 0);
	assert_int_equal(strlen(a.step_name), 64);
	path[299] = 'z';
	assert_int_equal(layout__parse_rows(&rows, 1, path, 0, &b), 0);
	assert_string_not_equal(a.step_name, b.step_name);
	assert_int_equal(layout__step_file_name(&a, buf, 10), -E2BIG);
}

static void bad_patterns_say_why(void **state)
{
	static const char *const bad[] = {
		"",
		"/",
		"x/y",
		"/a/../b",
		"/a/*x*",
		"/a//b//c",
		"/a//b/c",
		"/a/",
		"//a",
		"/a|b",
		"/a\n",
		"/1/2/3/4/5/6/7/8/9",
		"/a/123456789012345678901234*",
		"/a/*123456789012345678901234",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char text[64], err[128] = "";
		struct layout l;

		strcpy(text, bad[i]);
		if (layout__from_pattern(&l, text, err, sizeof(err)) != -EINVAL || !err[0])
			fail_msg("\"%s\" was taken", bad[i]);
	}
}

static void tries_that_do_not_fit_leave_nothing_behind(void **state)
{
	struct jp_node nodes[JP_NODES] = {0}, before[JP_NODES];
	char text[8][256];
	struct layout l[8];
	const struct layout *rows[8];
	unsigned root = 99;

	compiled(nodes, "", true);
	memcpy(before, nodes, sizeof(nodes));
	for (int i = 0; i < 8; i++) {
		char p[32];

		snprintf(p, sizeof(p), "/p%d/step-*", i);
		l[i] = pattern(p, text[i]);
		rows[i] = &l[i];
	}
	assert_int_equal(layout__compile(rows, 8, "", true, nodes, &root), -E2BIG);
	assert_memory_equal(nodes, before, sizeof(nodes));
	assert_int_equal(root, 99);
	assert_int_equal(layout__compile(rows, 6, "", true, nodes, &root), 0);
	/* One says that it is a step, the other that steps are below it. */
	l[0] = pattern("/a/x-*", text[0]);
	l[1] = pattern("/a/x-*/b", text[1]);
	assert_int_equal(layout__compile(rows, 2, "", true, nodes, &root), -EINVAL);
	assert_int_equal(layout__compile(rows, 0, "", true, nodes, &root), -ENOENT);
	layout__rows(LAYOUT_SLURM, rows, 1);
	assert_int_equal(layout__compile(rows, 1, "", true, nodes, &root), -ENOENT);
	assert_int_equal(layout__compile(rows, 1, "/a*", false, nodes, &root), -EINVAL);
}

static void exact_names_go_before_globs(void **state)
{
	struct jp_node nodes[JP_NODES] = {0};
	char text[3][256];
	struct layout l[3] = {pattern("/*", text[0]), pattern("/ab-*", text[1]),
			      pattern("/ab-cd//x", text[2])};
	const struct layout *rows[3] = {&l[0], &l[1], &l[2]};
	unsigned root;

	assert_int_equal(layout__compile(rows, 3, "", true, nodes, &root), 0);
	assert_int_equal(nodes[root].nchild, 3);
	assert_int_equal(kind_of(nodes, root, "/ab-cd/x"), JP_KIND_TASK);
	assert_int_equal(kind_of(nodes, root, "/ab-ce/x"), JP_KIND_NONE);
	assert_int_equal(kind_of(nodes, root, "/ab-ce"), JP_KIND_STEP);
	assert_int_equal(kind_of(nodes, root, "/q"), JP_KIND_STEP);
}

/* One step of a random path, with a name that the trie knows there. False: no such name came up.
 * *odd: the trie takes the name by its first characters, the parser will not. */
static bool random_step(const struct jp_node *nodes, unsigned *at, char *path, bool *odd)
{
	static const char *const words[] = {
		"slurm",
		"slurm_n",
		"uid_1",
		"job_1",
		"step_0",
		"step_batch",
		"task_0",
		"task_special",
		"user",
		"system",
		"system.slice",
		"x",
		"slurmstepd.scope",
		"n_slurmstepd.scope",
		"jobprof_1",
		"job_x",
		"task_x",
		"s5K1KKYAYG5D00",
	};
	static uint64_t seed = 1;

	for (unsigned tries = 0; tries < 40; tries++) {
		const char *w;
		unsigned child;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		w = words[(seed >> 33) % (sizeof(words) / sizeof(words[0]))];
		child = layout__child(nodes, *at, w);
		if (!child)
			continue;
		if (nodes[child].prefix_len && !strcmp(w + strlen(w) - strlen("x"), "x"))
			*odd = true;
		if (!strcmp(nodes[child].prefix, "s") && strcmp(w, "s5K1KKYAYG5D00") != 0)
			*odd = true;
		/* Below "jobprof run" there is no such thing. */
		if (!strcmp(nodes[child].prefix, "task_") && !strcmp(w, "task_special"))
			*odd = true;
		*at = child;
		strcat(path, "/");
		strcat(path, w);
		return true;
	}
	return false;
}

/* What the kernel would give a slot, the parser knows as the same thing. */
static void parser_and_trie_agree(void **state)
{
	struct jp_node nodes[JP_NODES] = {0};
	unsigned root[2] = {compiled(nodes, "", false), compiled(nodes, "", true)};
	unsigned agreed = 0, refused = 0;

	for (unsigned i = 0; i < 200000; i++) {
		unsigned at = root[i & 1], depth = 0;
		char path[256] = "";
		struct cgroup_ids ids;
		bool odd = false;
		int err;

		while (depth < 6 && random_step(nodes, &at, path, &odd))
			depth++;
		if (nodes[at].kind == JP_KIND_PATH)
			continue;
		err = layout__parse(path, &ids);
		if (odd ? !err : err || ids.kind != nodes[at].kind)
			fail_msg("%s: %d, kind %d and %d", path, err, ids.kind, nodes[at].kind);
		agreed += !err;
		refused += odd;
	}
	assert_in_range(agreed, 1000, 200000);
	assert_in_range(refused, 100, 200000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_cgroups_of_jobprof_run),
		cmocka_unit_test(trie_of_v1),
		cmocka_unit_test(trie_of_v2),
		cmocka_unit_test(all_hierarchies_share_one_array),
		cmocka_unit_test(long_prefix_names_are_matched_by_their_ends),
		cmocka_unit_test(real_samples),
		cmocka_unit_test(pattern_makes_steps),
		cmocka_unit_test(pattern_with_tasks),
		cmocka_unit_test(pattern_names_are_made_fit_for_files),
		cmocka_unit_test(bad_patterns_say_why),
		cmocka_unit_test(tries_that_do_not_fit_leave_nothing_behind),
		cmocka_unit_test(exact_names_go_before_globs),
		cmocka_unit_test(parser_and_trie_agree),
	};

	return cmocka_run_group_tests_name("layout_trie", tests, NULL, NULL);
}
