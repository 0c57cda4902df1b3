// SPDX-License-Identifier: GPL-2.0-only
/* The trie that the kernel walks: built-in rows, patterns, real samples, agreement with the parser.
 */

#include "tests/unit/cgroup_path.h"

/* The trie of the built-in rows of one cgroup version. */
static unsigned compiled(struct jp_component components[JP_COMPONENTS], const char *prefix, bool v2)
{
	const struct layout *rows[16];
	unsigned n = layout__rows(LAYOUT_SLURM, rows, 16), root = 0;

	n += layout__rows(LAYOUT_RUN, rows + n, 16 - n);
	assert_int_equal(layout__compile(rows, n, prefix, v2, components, &root), 0);
	assert_int_not_equal(root, 0);
	return root;
}

/* What the kernel takes a path's last directory for; *depth: components that are in the trie. */
static const struct jp_component *walk(const struct jp_component *components, unsigned component,
				       const char *path, unsigned *depth)
{
	char copy[512], *save = NULL;

	*depth = 0;
	strcpy(copy, path);
	for (char *c = strtok_r(copy, "/", &save); c; c = strtok_r(NULL, "/", &save)) {
		unsigned child = layout__child(components, component, c);

		if (!child)
			break;
		component = child;
		(*depth)++;
	}
	return &components[component];
}

static int kind_of(const struct jp_component *components, unsigned root, const char *path)
{
	unsigned depth, want = 0;
	const struct jp_component *n = walk(components, root, path, &depth);

	for (const char *p = path; *p; p++)
		want += *p == '/';
	return depth == want ? n->kind : JP_KIND_NONE;
}

TEST(own_cgroups_of_jobprof_run)
{
	static const char path[] = "/user.slice/u.scope/jobprof_77/job_77/step_0/task_0";
	struct jp_component components[JP_COMPONENTS] = {0};
	struct cgroup_ids ids = parsed(path);
	unsigned root = compiled(components, "/user.slice/u.scope", true), depth;

	assert_string_equal(ids.row->name, "run");
	assert_int_equal(ids.job_id, 77);
	assert_int_equal(ids.task, 0);
	file_name_is(&ids, "77_0");
	assert_int_equal(kind_of(components, root, path), JP_KIND_TASK);
	assert_int_equal(kind_of(components, root, "/jobprof_77/job_77/step_0"), JP_KIND_NONE);
	/* No slurmstepd to wait for, and not root's alone as Slurm's are. */
	assert_int_equal(
		walk(components, root, "/user.slice/u.scope/jobprof_77/job_77/step_0", &depth)
			->flags,
		JP_COMPONENT_ANYONE);
	assert_int_equal(
		walk(components, root, "/user.slice/u.scope/jobprof_77/job_77", &depth)->flags,
		JP_COMPONENT_WAKE | JP_COMPONENT_ANYONE);
}

TEST(trie_of_v1)
{
	struct jp_component components[JP_COMPONENTS] = {0};
	unsigned root = compiled(components, "", false), depth;
	const struct jp_component *step =
		walk(components, root, "/slurm/uid_0/job_1/step_0", &depth);

	assert_int_equal(kind_of(components, root, "/slurm/uid_0"), JP_KIND_PATH);
	assert_int_equal(kind_of(components, root, "/slurm_n1/uid_0/job_1/step_batch"),
			 JP_KIND_STEP);
	assert_int_equal(kind_of(components, root, "/slurm_n1/uid_0/job_1/step_0/task_0"),
			 JP_KIND_TASK);
	assert_int_equal(kind_of(components, root, "/slurm_n1/uid_0/job_1/step_0/task_special"),
			 JP_KIND_GROUP);
	assert_int_equal(kind_of(components, root, "/slurmx/uid_0"), JP_KIND_NONE);
	assert_int_equal(kind_of(components, root, "/a/slurmstepd.scope/job_1"), JP_KIND_NONE);
	assert_int_equal(step->flags, JP_COMPONENT_NEED_STEPD);
	assert_int_equal(walk(components, root, "/slurm/uid_0/job_1", &depth)->flags,
			 JP_COMPONENT_WAKE);
	assert_int_equal(components[0].kind, JP_KIND_NONE);
}

TEST(trie_of_v2)
{
	struct jp_component components[JP_COMPONENTS] = {0};
	unsigned root = compiled(components, "/", true), depth;

	assert_int_equal(kind_of(components, root, "/a/slurmstepd.scope/job_1/step_0"),
			 JP_KIND_STEP);
	assert_int_equal(kind_of(components, root, "/a/n1_slurmstepd.scope/job_1/step_0/slurm"),
			 JP_KIND_STEPD);
	assert_int_equal(
		kind_of(components, root, "/a/slurmstepd.scope/s5K1KKYAYG5D00/step_0/user"),
		JP_KIND_GROUP);
	assert_int_equal(kind_of(components, root, "/a/slurmstepd.scope/job_1/step_0/user/task_3"),
			 JP_KIND_TASK);
	assert_int_equal(
		kind_of(components, root, "/a/slurmstepd.scope/job_1/step_0/user/task_special"),
		JP_KIND_GROUP);
	assert_int_equal(kind_of(components, root, "/a/slurmstepd.scope/system"), JP_KIND_PATH);
	assert_int_equal(kind_of(components, root, "/a/slurmstepd.scope/system/step_0"),
			 JP_KIND_NONE);
	assert_int_equal(walk(components, root, "/a/slurmstepd.scope/system", &depth)->flags,
			 JP_COMPONENT_EXACT);
	assert_int_equal(kind_of(components, root, "/slurm/uid_0"), JP_KIND_NONE);
	assert_int_equal(kind_of(components, root, "/jobprof_5/job_5/step_0/task_0"), JP_KIND_TASK);
}

TEST(all_hierarchies_share_one_array)
{
	struct jp_component components[JP_COMPONENTS] = {0};
	unsigned v2 = compiled(components, "", true), used = 0;
	unsigned freezer = compiled(components, "", false);
	unsigned memory = compiled(components, "/docker/0a1b", false);

	assert_int_equal(kind_of(components, v2, "/a/slurmstepd.scope/job_1/step_0"), JP_KIND_STEP);
	assert_int_equal(kind_of(components, freezer, "/slurm/uid_0/job_1/step_0"), JP_KIND_STEP);
	assert_int_equal(kind_of(components, memory, "/docker/0a1b/slurm/uid_0/job_1/step_0"),
			 JP_KIND_STEP);
	assert_int_equal(kind_of(components, memory, "/slurm/uid_0/job_1/step_0"), JP_KIND_NONE);
	while (used < JP_COMPONENTS - 1 && components[used + 1].kind)
		used++;
	assert_in_range(used, 1, JP_COMPONENTS / 2);
	assert_int_equal(compiled(components, "", false), freezer);
}

TEST(long_prefix_names_are_matched_by_their_ends)
{
	static const char id[] = "9ab32eb90281fba126ddac6e9437155a9ab32eb90281fba126ddac6e9437155a";
	struct jp_component components[JP_COMPONENTS] = {0};
	char prefix[128], path[256];
	unsigned root;

	snprintf(prefix, sizeof(prefix), "/docker/%s", id);
	root = compiled(components, prefix, false);
	snprintf(path, sizeof(path), "%s/slurm/uid_0/job_1/step_0", prefix);
	assert_int_equal(kind_of(components, root, path), JP_KIND_STEP);
	path[strlen("/docker/")] = 'x';
	assert_int_equal(kind_of(components, root, path), JP_KIND_NONE);
}

/* Every path of a file of real samples, by the parser and by the trie. */
static unsigned check_samples(const char *file, bool v2, unsigned kinds[JP_KIND_STEPD + 1])
{
	struct jp_component components[JP_COMPONENTS] = {0};
	unsigned root = compiled(components, "", v2), n = 0;
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
		if (parse_path(path, &ids)) {
			assert_int_equal(parse_path(path, &ids), -ENOENT);
			continue;
		}
		assert_int_equal(kind_of(components, root, path), ids.kind);
		assert_in_range(ids.job_id, 1, 3);
		kinds[ids.kind]++;
		n++;
	}
	fclose(f);
	return n;
}

TEST(real_samples)
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

TEST(pattern_makes_steps)
{
	struct jp_component components[JP_COMPONENTS] = {0};
	const struct layout *rows[16];
	unsigned n = layout__rows(LAYOUT_SLURM, rows, 15), root, depth;
	struct cgroup_ids ids;
	char text[256];
	struct layout l = pattern("/system.slice/foo-*.scope", text);

	rows[n++] = &l;
	assert_int_equal(layout__compile(rows, n, "", true, components, &root), 0);
	assert_int_equal(kind_of(components, root, "/system.slice/foo-1.scope"), JP_KIND_STEP);
	assert_int_equal(walk(components, root, "/system.slice/foo-1.scope", &depth)->flags,
			 JP_COMPONENT_WAKE | JP_COMPONENT_ANYONE);
	assert_int_equal(kind_of(components, root, "/system.slice/foo-1.scope/x"), JP_KIND_NONE);
	/* Slurm's tree in the same slice is still seen, though "system.slice" is now its own
	 * component.
	 */
	assert_int_equal(kind_of(components, root, "/system.slice/slurmstepd.scope/job_1/step_0"),
			 JP_KIND_STEP);
	assert_int_equal(kind_of(components, root, "/other.slice/slurmstepd.scope/job_1/step_0"),
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

TEST(pattern_with_tasks)
{
	struct jp_component components[JP_COMPONENTS] = {0};
	unsigned root, depth;
	struct cgroup_ids ids;
	char text[256];
	struct layout l = pattern("/batch/run-*//rank-*", text);
	const struct layout *rows = &l;

	assert_int_equal(layout__compile(&rows, 1, "/ignored", false, components, &root), 0);
	assert_int_equal(kind_of(components, root, "/batch/run-a"), JP_KIND_STEP);
	assert_int_equal(kind_of(components, root, "/batch/run-a/rank-3"), JP_KIND_TASK);
	assert_int_equal(walk(components, root, "/batch/run-a", &depth)->flags,
			 JP_COMPONENT_WAKE | JP_COMPONENT_ANYONE);
	assert_int_equal(layout__parse_rows(&rows, 1, "/batch/run-a/rank-3", 0, &ids), 0);
	assert_int_equal(ids.task, 3);
	assert_int_equal(layout__parse_rows(&rows, 1, "/batch/run-a/rank-x", 0, &ids), 0);
	assert_int_equal(ids.task, -1);
	assert_int_equal(ids.kind, JP_KIND_TASK);
}

TEST(pattern_names_are_made_fit_for_files)
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

TEST(bad_patterns_say_why)
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

TEST(tries_that_do_not_fit_leave_nothing_behind)
{
	struct jp_component components[JP_COMPONENTS] = {0}, before[JP_COMPONENTS];
	char text[8][256];
	struct layout l[8];
	const struct layout *rows[8];
	unsigned root = 99;

	compiled(components, "", true);
	memcpy(before, components, sizeof(components));
	for (int i = 0; i < 8; i++) {
		char p[32];

		snprintf(p, sizeof(p), "/p%d/step-*", i);
		l[i] = pattern(p, text[i]);
		rows[i] = &l[i];
	}
	assert_int_equal(layout__compile(rows, 8, "", true, components, &root), -E2BIG);
	assert_memory_equal(components, before, sizeof(components));
	assert_int_equal(root, 99);
	assert_int_equal(layout__compile(rows, 6, "", true, components, &root), 0);
	/* One says that it is a step, the other that steps are below it. */
	l[0] = pattern("/a/x-*", text[0]);
	l[1] = pattern("/a/x-*/b", text[1]);
	assert_int_equal(layout__compile(rows, 2, "", true, components, &root), -EINVAL);
	assert_int_equal(layout__compile(rows, 0, "", true, components, &root), -ENOENT);
	layout__rows(LAYOUT_SLURM, rows, 1);
	assert_int_equal(layout__compile(rows, 1, "", true, components, &root), -ENOENT);
	assert_int_equal(layout__compile(rows, 1, "/a*", false, components, &root), -EINVAL);
}

TEST(exact_names_go_before_globs)
{
	struct jp_component components[JP_COMPONENTS] = {0};
	char text[3][256];
	struct layout l[3] = {pattern("/*", text[0]), pattern("/ab-*", text[1]),
			      pattern("/ab-cd//x", text[2])};
	const struct layout *rows[3] = {&l[0], &l[1], &l[2]};
	unsigned root;

	assert_int_equal(layout__compile(rows, 3, "", true, components, &root), 0);
	assert_int_equal(components[root].nchild, 3);
	assert_int_equal(kind_of(components, root, "/ab-cd/x"), JP_KIND_TASK);
	assert_int_equal(kind_of(components, root, "/ab-ce/x"), JP_KIND_NONE);
	assert_int_equal(kind_of(components, root, "/ab-ce"), JP_KIND_STEP);
	assert_int_equal(kind_of(components, root, "/q"), JP_KIND_STEP);
}

/* One step of a random path, with a name that the trie knows there. False: no such name came up.
 * *odd: the trie takes the name by its first characters, the parser will not. */
static bool random_step(const struct jp_component *components, unsigned *at, char *path, bool *odd)
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
		child = layout__child(components, *at, w);
		if (!child)
			continue;
		if (components[child].prefix_len && !strcmp(w + strlen(w) - strlen("x"), "x"))
			*odd = true;
		if (!strcmp(components[child].prefix, "s") && strcmp(w, "s5K1KKYAYG5D00") != 0)
			*odd = true;
		/* Below "jobprof run" there is no such thing. */
		if (!strcmp(components[child].prefix, "task_") && !strcmp(w, "task_special"))
			*odd = true;
		*at = child;
		strcat(path, "/");
		strcat(path, w);
		return true;
	}
	return false;
}

/* What the kernel would give a slot, the parser knows as the same thing. */
TEST(parser_and_trie_agree)
{
	struct jp_component components[JP_COMPONENTS] = {0};
	unsigned root[2] = {compiled(components, "", false), compiled(components, "", true)};
	unsigned agreed = 0, refused = 0;

	for (unsigned i = 0; i < 200000; i++) {
		unsigned at = root[i & 1], depth = 0;
		char path[256] = "";
		struct cgroup_ids ids;
		bool odd = false;
		int err;

		while (depth < 6 && random_step(components, &at, path, &odd))
			depth++;
		if (components[at].kind == JP_KIND_PATH)
			continue;
		err = parse_path(path, &ids);
		if (odd ? !err : err || ids.kind != components[at].kind)
			fail_msg("%s: %d, kind %d and %d", path, err, ids.kind,
				 components[at].kind);
		agreed += !err;
		refused += odd;
	}
	assert_in_range(agreed, 1000, 200000);
	assert_in_range(refused, 100, 200000);
}
