// SPDX-License-Identifier: GPL-2.0-or-later
/* Cgroup paths: what the parser reads off each variant, and names nobody should believe; and the
 * trie that the kernel walks: built-in rows, patterns, real samples, agreement with the parser. */

#include "tests/unit/unit.h"
#include "identity/layout.h"
#include "identity/sluid.h"

/* Reads a path by all built-in rows. */
static int parse_path(const char *path, struct cgroup_ids *ids)
{
	const struct layout *rows[16] = {0};
	unsigned n = 0;

	for (; n < n_layouts && n < sizeof(rows) / sizeof(rows[0]); n++)
		rows[n] = &layouts[n];
	return layout__parse_rows(rows, n, path, 0, ids);
}

static struct cgroup_ids parsed(const char *path)
{
	struct cgroup_ids ids;
	int err = parse_path(path, &ids);

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

static const char *const kinds[] = {
	[JP_KIND_NONE] = "none",   [JP_KIND_PATH] = "path", [JP_KIND_STEP] = "step",
	[JP_KIND_GROUP] = "group", [JP_KIND_TASK] = "task", [JP_KIND_STEPD] = "stepd"};

#define V2 "/system.slice/slurmstepd.scope/job_"
#define N1 "/system.slice/n1_slurmstepd.scope/job_"

/* In paths "^" is where the job's directory ends, and the step's. Of what is known all is named. */
static const struct {
	const char *path, *ids;
} read_paths[] = {
	{"/slurm/uid_1000/job_12345^/step_7^/task_3",
	 "slurm-v1 task uid=1000 job=12345 step=7 (7) task=3 file=12345_7"},
	{"/slurm_n1/uid_0/job_1^/step_0^", "slurm-v1 step node=n1 uid=0 job=1 step=0 (0) file=1_0"},
	/* slurmstepd sits in the job's freezer */
	{"/slurm_n1/uid_0/job_3^", "slurm-v1 path node=n1 uid=0 job=3"},
	{V2 "5^/step_batch^/user/task_0",
	 "slurm-v2 task job=5 step=batch (fffffffb) task=0 file=5_batch"},
	{"/hpc.slice/n_1_slurmstepd.scope/job_5^/step_2^/user/task_9",
	 "slurm-v2 task node=n_1 job=5 step=2 (2) task=9 file=5_2"},
	{"/slurm_a.h5/uid_0/job_1^/step_0^", "slurm-v1 step uid=0 job=1 step=0 (0) file=1_0"},
	{N1 "3^/step_1^/slurm", "slurm-v2 stepd node=n1 job=3 step=1 (1) stepd file=3_1"},
	/* task_special counts with the step */
	{N1 "1^/step_0^/user/task_special",
	 "slurm-v2 group node=n1 job=1 step=0 (0) special file=1_0"},
	{N1 "1^/step_0^/user", "slurm-v2 group node=n1 job=1 step=0 (0) file=1_0"},
	{"/docker/0a1b/system.slice/slurmstepd.scope/job_5^/step_2^/user/task_9",
	 "slurm-v2 task job=5 step=2 (2) task=9 file=5_2"},
	{"/system.slice/slurmstepd.scope/s5K1KKYAYG5D00^/step_0^/user/task_4",
	 "slurm-v2 task sluid=s5K1KKYAYG5D00 step=0 (0) task=4"},
	{"/a/slurmstepd.scope/s5K1KKYAYG5D00^/step_0^/slurm",
	 "slurm-v2 stepd sluid=s5K1KKYAYG5D00 step=0 (0) stepd"},
	{"/a/slurmstepd.scope/s5K1KKYAYG5D00^/step_0^/user/task_special",
	 "slurm-v2 group sluid=s5K1KKYAYG5D00 step=0 (0) special"},
	{"/slurm/uid_1/job_9^/step_extern^/task_0",
	 "slurm-v1 task uid=1 job=9 step=extern (fffffffc) task=0 file=9_4294967292"},
	{"/slurm/uid_1/job_9^/step_interactive^",
	 "slurm-v1 step uid=1 job=9 step=interactive (fffffffa) file=9_4294967290"},
	{"/slurm/uid_1/job_9^/step_TBD^",
	 "slurm-v1 step uid=1 job=9 step=TBD (fffffffd) file=9_4294967293"},
	{"/slurm/uid_1/job_9^/step_3+1^/task_0",
	 "slurm-v1 task uid=1 job=9 step=3+1 (3) het=1 task=0 file=9_3"},
	/* What a user makes inside of a task's cgroup does not change whose it is. */
	{V2 "5^/step_0^/user/task_0/slurm/uid_0/job_6/step_1/task_1",
	 "slurm-v2 task job=5 step=0 (0) task=0 file=5_0"},
	{"/user.slice/u.scope/jobprof_77/job_77^/step_0^/task_0",
	 "run task job=77 step=0 (0) task=0 file=77_0"},
};

static void print_ids(const struct cgroup_ids *ids, FILE *f)
{
	char name[128];

	fprintf(f, "%s%s %s", ids->row->family == LAYOUT_RUN ? "run" : "slurm",
		ids->row->on == LAYOUT_V1   ? "-v1"
		: ids->row->on == LAYOUT_V2 ? "-v2"
					    : "",
		kinds[ids->kind]);
	if (*ids->node)
		fprintf(f, " node=%s", ids->node);
	if (ids->has_uid)
		fprintf(f, " uid=%u", ids->uid);
	if (ids->has_job)
		fprintf(f, " job=%u", ids->job_id);
	if (*ids->sluid)
		fprintf(f, " sluid=%s", ids->sluid);
	if (ids->has_step)
		fprintf(f, " step=%s (%x)", ids->step_name, ids->step_id);
	if (ids->het_comp != -1)
		fprintf(f, " het=%d", ids->het_comp);
	if (ids->task != -1)
		fprintf(f, " task=%d", ids->task);
	fprintf(f, "%s%s", ids->task_special ? " special" : "", ids->is_stepd ? " stepd" : "");
	if (!layout__step_file_name(ids, name, sizeof(name)))
		fprintf(f, " file=%s", name);
}

TEST(what_paths_say)
{
	for (size_t i = 0; i < sizeof(read_paths) / sizeof(read_paths[0]); i++) {
		char path[128] = "", text[256] = "", *p = path;
		size_t ends[2] = {0}, n = 0;
		struct cgroup_ids ids;
		FILE *f = fmemopen(text, sizeof(text), "w");

		for (const char *c = read_paths[i].path; *c; c++)
			if (*c == '^')
				ends[n++] = (size_t)(p - path);
			else
				*p++ = *c;
		ids = parsed(path);
		print_ids(&ids, f);
		fclose(f);
		assert_string_equal(text, read_paths[i].ids);
		assert_int_equal(ids.job_end, ends[0]);
		assert_int_equal(ids.step_end, ends[1]);
	}
}

TEST(file_names_of_what_has_no_job_in_its_path)
{
	struct cgroup_ids ids = parsed("/slurm_n1/uid_0/job_3");

	assert_int_equal(layout__step_file_name(&ids, (char[32]){0}, 32), -EINVAL);
	ids = parsed("/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_0/user/task_4");
	assert_int_equal(layout__step_file_name(&ids, (char[32]){0}, 32), -EINVAL);
	ids.job_id = 17; /* from slurmstepd's title */
	file_name_is(&ids, "17_0");
}

TEST(run_inside_a_job_is_told_apart_by_its_prefix)
{
	static const char path[] = "/system.slice/slurmstepd.scope/job_5/step_0/user/task_0/"
				   "jobprof_9/job_6/step_0/task_0";
	struct cgroup_ids ids = parsed(path);
	const struct layout *run;

	assert_int_equal(ids.job_id, 5);
	assert_int_equal(layout__rows(LAYOUT_RUN, &run, 1), 1);
	assert_int_equal(layout__parse_rows(&run, 1, path, strlen("/system.slice"), &ids), 0);
	assert_int_equal(ids.job_id, 6);
	assert_int_equal(layout__parse_rows(&run, 1, path, strlen(path) - 4, &ids), -ENOENT);
}

TEST(paths_of_others_are_nobodys)
{
	static const char *const paths[] = {
		"/",
		"/init.scope",
		"/system.slice/ssh.service",
		"/slurm",
		"/slurm/uid_5",
		"/slurm/system",
		"/system.slice/slurmstepd.scope",
		"/system.slice/slurmstepd.scope/system",
		"/system.slice/slurmstepd.scope/system/step_0/user/task_0",
		"/system.slice/slurmstepd.scope/sshd/step_0",
		"/system.slice/slurmstepd.scope/sIIIIIIIIIIIII/step_0",
		"/system.slice/slurmstepd.scope/s5k1kkyayg5d00/step_0",
		"/system.slice/slurmstepd.scope/sZZZZZZZZZZZZZ/step_0",
		"/slurmstepd.scope/job_1/step_0",
		"/system.slice/xslurmstepd.scope/job_1/step_0",
		"/slurm1/uid_0/job_1/step_0",
		"/process_api/9ab32eb90281fba126ddac6e9437155a",
	};
	struct cgroup_ids ids;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (parse_path(paths[i], &ids) != -ENOENT)
			fail_msg("%s is somebody's", paths[i]);
}

TEST(hostile_names_are_refused)
{
	static const char *const paths[] = {
		"",
		"slurm/uid_0/job_1/step_0",
		"//slurm/uid_0/job_1/step_0",
		"/slurm/uid_0/job_1/step_0/",
		"/slurm/uid_0/job_1/step_../x",
		"/slurm/uid_0/job_1/step_0/../step_1",
		"/slurm/uid_0/./job_1/step_0",
		"/../slurm/uid_0/job_1/step_0",
		"/slurm/uid_0/job_1/step_0/task_0\n",
		"/slurm/uid_0/job_1\x1b/step_0",
		"/slurm/uid_0/job_/step_0",
		"/slurm/uid_0/job_0/step_0",
		"/slurm/uid_0/job_-1/step_0",
		"/slurm/uid_0/job_+1/step_0",
		"/slurm/uid_0/job_01/step_0",
		"/slurm/uid_0/job_4294967296/step_0",
		"/slurm/uid_0/job_4294967295/step_0",
		"/slurm/uid_0/job_99999999999999999999999999/step_0",
		"/slurm/uid_0/job_1x/step_0",
		"/slurm/uid_-1/job_1/step_0",
		"/slurm/uid_x/job_1/step_0",
		"/slurm/uid_4294967295/job_1/step_0",
		"/slurm/uid_0/job_1/step_",
		"/slurm/uid_0/job_1/step_foo",
		"/slurm/uid_0/job_1/step_Batch",
		"/slurm/uid_0/job_1/step_batch ",
		"/slurm/uid_0/job_1/step_batch+1",
		"/slurm/uid_0/job_1/step_-1",
		"/slurm/uid_0/job_1/step_00",
		"/slurm/uid_0/job_1/step_4294967292",
		"/slurm/uid_0/job_1/step_1+",
		"/slurm/uid_0/job_1/step_+1",
		"/slurm/uid_0/job_1/step_1+1+1",
		"/slurm/uid_0/job_1/step_1+-1",
		"/slurm/uid_0/job_1/"
		"step_1111111111111111111111111111111111111111111111111111111111",
		"/slurm/uid_0/job_1/step_0/task_",
		"/slurm/uid_0/job_1/step_0/task_x",
		"/slurm/uid_0/job_1/step_0/task_-1",
		"/slurm/uid_0/job_1/step_0/task_007",
		"/slurm/uid_0/job_1/step_0/task_2147483648",
		"/slurm/uid_0/job_1/step_0/task_0 (deleted)",
		"/system.slice/slurmstepd.scope/job_1/step_0/user/task_specia",
		"/jobprof_1/job_1/step_0/task_a",
	};
	struct cgroup_ids ids;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (parse_path(paths[i], &ids) != -EINVAL)
			fail_msg("\"%s\" was taken", paths[i]);
}

TEST(very_deep_and_long_paths)
{
	char path[20000] = "/slurm/uid_0/job_1/step_0/task_0";
	struct cgroup_ids ids;

	for (size_t n = strlen(path); n < sizeof(path) - 3; n += 2)
		strcpy(path + n, "/x");
	assert_int_equal(parse_path(path, &ids), 0);
	assert_int_equal(ids.task, 0);
	memset(path, 'x', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(parse_path(path, &ids), -ENOENT);
}

TEST(sluid_digits)
{
	char text[SLUID_LEN + 1];
	uint64_t id = 0, again = 0;

	assert_int_equal(sluid__decode("s5K1KKYAYG5D00", &id), 0);
	sluid__encode(id, text);
	assert_string_equal(text, "s5K1KKYAYG5D00");
	assert_int_equal(sluid__decode("s5kikkyayg5dOo", &again), 0);
	assert_true(again == id);
	assert_int_equal(sluid__decode("s0000000000001", &id), 0);
	assert_true(id == 1);
	assert_int_equal(sluid__decode("sFZZZZZZZZZZZZ", &id), 0);
	assert_true(id == UINT64_MAX);
	assert_int_equal(sluid__cluster(id), 4095);
	assert_true(sluid__unix_ms(id) == (1ull << 42) - 1);
	assert_int_equal(sluid__sequence(id), 1023);
	assert_int_equal(sluid__decode("sG000000000000", &id), -ERANGE);
	assert_int_equal(sluid__decode("", &id), -EINVAL);
	assert_int_equal(sluid__decode("s", &id), -EINVAL);
	assert_int_equal(sluid__decode("x0000000000001", &id), -EINVAL);
	assert_int_equal(sluid__decode("s000000000000U", &id), -EINVAL);
	assert_int_equal(sluid__decode("s00000000000-1", &id), -EINVAL);
	assert_int_equal(sluid__decode("s00000000000001", &id), -EINVAL);
}

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

/* What directories are; flags where they are said. */
struct place {
	const char *path;
	int kind, flags;
};

#define ANY_FLAGS -1

static void are_places(const struct jp_component *components, unsigned root, const struct place *p)
{
	for (unsigned depth; p->path; p++) {
		assert_int_equal(kind_of(components, root, p->path), p->kind);
		if (p->flags != ANY_FLAGS)
			assert_int_equal(walk(components, root, p->path, &depth)->flags, p->flags);
	}
}

static const struct place v1_places[] = {
	{"/slurm/uid_0", JP_KIND_PATH, ANY_FLAGS},
	{"/slurm/uid_0/job_1", JP_KIND_PATH, JP_COMPONENT_WAKE},
	{"/slurm/uid_0/job_1/step_0", JP_KIND_STEP, JP_COMPONENT_NEED_STEPD},
	{"/slurm_n1/uid_0/job_1/step_batch", JP_KIND_STEP, ANY_FLAGS},
	{"/slurm_n1/uid_0/job_1/step_0/task_0", JP_KIND_TASK, ANY_FLAGS},
	{"/slurm_n1/uid_0/job_1/step_0/task_special", JP_KIND_GROUP, ANY_FLAGS},
	{"/slurmx/uid_0", JP_KIND_NONE, ANY_FLAGS},
	{"/a/slurmstepd.scope/job_1", JP_KIND_NONE, ANY_FLAGS},
	{},
};
static const struct place v2_places[] = {
	{"/a/slurmstepd.scope/job_1/step_0", JP_KIND_STEP, ANY_FLAGS},
	{"/a/n1_slurmstepd.scope/job_1/step_0/slurm", JP_KIND_STEPD, ANY_FLAGS},
	{"/a/slurmstepd.scope/s5K1KKYAYG5D00/step_0/user", JP_KIND_GROUP, ANY_FLAGS},
	{"/a/slurmstepd.scope/job_1/step_0/user/task_3", JP_KIND_TASK, ANY_FLAGS},
	{"/a/slurmstepd.scope/job_1/step_0/user/task_special", JP_KIND_GROUP, ANY_FLAGS},
	{"/a/slurmstepd.scope/system", JP_KIND_PATH, JP_COMPONENT_EXACT},
	{"/a/slurmstepd.scope/system/step_0", JP_KIND_NONE, ANY_FLAGS},
	{"/slurm/uid_0", JP_KIND_NONE, ANY_FLAGS},
	{"/jobprof_5/job_5/step_0/task_0", JP_KIND_TASK, ANY_FLAGS},
	{},
};
/* No slurmstepd to wait for, and not root's alone as Slurm's are. */
static const struct place run_places[] = {
	{"/user.slice/u.scope/jobprof_77/job_77/step_0/task_0", JP_KIND_TASK, ANY_FLAGS},
	{"/jobprof_77/job_77/step_0", JP_KIND_NONE, ANY_FLAGS},
	{"/user.slice/u.scope/jobprof_77/job_77/step_0", JP_KIND_STEP, JP_COMPONENT_ANYONE},
	{"/user.slice/u.scope/jobprof_77/job_77", JP_KIND_PATH,
	 JP_COMPONENT_WAKE | JP_COMPONENT_ANYONE},
	{},
};

TEST(tries_of_the_built_in_rows)
{
	static const struct {
		const char *prefix;
		bool v2;
		const struct place *places;
	} tries[] = {{"", false, v1_places},
		     {"/", true, v2_places},
		     {"/user.slice/u.scope", true, run_places}};

	for (unsigned i = 0; i < 3; i++) {
		struct jp_component components[JP_COMPONENTS] = {0};

		are_places(components, compiled(components, tries[i].prefix, tries[i].v2),
			   tries[i].places);
		assert_int_equal(components[0].kind, JP_KIND_NONE);
	}
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
static unsigned check_samples(const char *file, bool v2, unsigned n_of[JP_KIND_STEPD + 1])
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
		n_of[ids.kind]++;
		n++;
	}
	fclose(f);
	return n;
}

TEST(real_samples)
{
	static const struct {
		const char *file;
		bool v2;
		unsigned n, path, step, group, task, stepd;
	} samples[] = {
		{"v1-batch-and-steps.txt", false, 20, .path = 2, .step = 12, .task = 6},
		{"v1-gathercgroup.txt", false, 10, .path = 0, .step = 4, .task = 6},
		{"v1-trackonly.txt", false, 2, .step = 2},
		{"4nodes-v1.txt", false, 16, .step = 8, .task = 8},
		{"v2-batch-and-steps.txt", true, 5, .task = 3, .stepd = 2},
		{"v2-constraindevices-no.txt", true, 2, .group = 2},
		{"4nodes-v2.txt", true, 8, .task = 8},
	};

	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		unsigned k[JP_KIND_STEPD + 1] = {0};

		assert_int_equal(check_samples(samples[i].file, samples[i].v2, k), samples[i].n);
		assert_int_equal(k[JP_KIND_PATH], samples[i].path);
		assert_int_equal(k[JP_KIND_STEP], samples[i].step);
		assert_int_equal(k[JP_KIND_GROUP], samples[i].group);
		assert_int_equal(k[JP_KIND_TASK], samples[i].task);
		assert_int_equal(k[JP_KIND_STEPD], samples[i].stepd);
	}
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
