// SPDX-License-Identifier: GPL-2.0-only
/* Cgroup paths: one test per variant, and names nobody should believe. */

#include "tests/unit/cgroup_path.h"
#include "identity/sluid.h"

TEST(v1_task)
{
	struct cgroup_ids ids = parsed("/slurm/uid_1000/job_12345/step_7/task_3");

	assert_string_equal(ids.row->name, "slurm-v1");
	assert_int_equal(ids.kind, JP_KIND_TASK);
	assert_true(ids.has_uid && ids.has_job && ids.has_step);
	assert_int_equal(ids.uid, 1000);
	assert_int_equal(ids.job_id, 12345);
	assert_string_equal(ids.step_name, "7");
	assert_int_equal(ids.step_id, 7);
	assert_int_equal(ids.het_comp, -1);
	assert_int_equal(ids.task, 3);
	assert_int_equal(ids.job_end, strlen("/slurm/uid_1000/job_12345"));
	assert_int_equal(ids.step_end, strlen("/slurm/uid_1000/job_12345/step_7"));
	assert_string_equal(ids.sluid, "");
	assert_string_equal(ids.node, "");
	file_name_is(&ids, "12345_7");
}

TEST(v1_with_node_name)
{
	struct cgroup_ids ids = parsed("/slurm_n1/uid_0/job_1/step_0");

	assert_string_equal(ids.node, "n1");
	assert_int_equal(ids.kind, JP_KIND_STEP);
	assert_int_equal(ids.job_id, 1);
	assert_true(ids.has_uid);
	assert_int_equal(ids.uid, 0);
	assert_int_equal(ids.task, -1);
}

TEST(v1_stepd_sits_in_the_jobs_freezer)
{
	struct cgroup_ids ids = parsed("/slurm_n1/uid_0/job_3");

	assert_int_equal(ids.kind, JP_KIND_PATH);
	assert_true(ids.has_job);
	assert_false(ids.has_step);
	assert_int_equal(ids.step_end, 0);
	assert_int_equal(layout__step_file_name(&ids, (char[32]){0}, 32), -EINVAL);
}

TEST(v2_task)
{
	struct cgroup_ids ids =
		parsed("/system.slice/slurmstepd.scope/job_5/step_batch/user/task_0");

	assert_string_equal(ids.row->name, "slurm-v2");
	assert_int_equal(ids.kind, JP_KIND_TASK);
	assert_int_equal(ids.job_id, 5);
	assert_string_equal(ids.step_name, "batch");
	assert_int_equal(ids.step_id, 0xfffffffb);
	assert_int_equal(ids.task, 0);
	assert_false(ids.has_uid);
	file_name_is(&ids, "5_batch");
}

TEST(v2_with_node_name_and_other_slice)
{
	struct cgroup_ids ids = parsed("/hpc.slice/n_1_slurmstepd.scope/job_5/step_2/user/task_9");

	assert_string_equal(ids.node, "n_1");
	assert_int_equal(ids.step_id, 2);
	assert_int_equal(ids.task, 9);
	assert_string_equal(parsed("/slurm_a.h5/uid_0/job_1/step_0").node, "");
}

TEST(v2_stepd)
{
	struct cgroup_ids ids = parsed("/system.slice/n1_slurmstepd.scope/job_3/step_1/slurm");

	assert_true(ids.is_stepd);
	assert_int_equal(ids.kind, JP_KIND_STEPD);
	assert_int_equal(ids.step_id, 1);
}

TEST(v2_task_special_counts_with_the_step)
{
	struct cgroup_ids ids =
		parsed("/system.slice/n1_slurmstepd.scope/job_1/step_0/user/task_special");

	assert_true(ids.task_special);
	assert_int_equal(ids.kind, JP_KIND_GROUP);
	assert_int_equal(ids.task, -1);
	ids = parsed("/system.slice/n1_slurmstepd.scope/job_1/step_0/user");
	assert_int_equal(ids.kind, JP_KIND_GROUP);
	assert_false(ids.task_special);
}

TEST(v2_in_a_container)
{
	struct cgroup_ids ids =
		parsed("/docker/0a1b/system.slice/slurmstepd.scope/job_5/step_2/user/task_9");

	assert_int_equal(ids.job_id, 5);
	assert_int_equal(ids.task, 9);
}

TEST(sluid_path_has_no_job_id)
{
	struct cgroup_ids ids =
		parsed("/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_0/user/task_4");
	char buf[64];

	assert_string_equal(ids.sluid, "s5K1KKYAYG5D00");
	assert_false(ids.has_job);
	assert_int_equal(ids.step_id, 0);
	assert_int_equal(ids.task, 4);
	assert_int_equal(ids.job_end, strlen("/system.slice/slurmstepd.scope/s5K1KKYAYG5D00"));
	assert_int_equal(layout__step_file_name(&ids, buf, sizeof(buf)), -EINVAL);
	ids.job_id = 17; /* from slurmstepd's title */
	file_name_is(&ids, "17_0");
	assert_true(parsed("/a/slurmstepd.scope/s5K1KKYAYG5D00/step_0/slurm").is_stepd);
	assert_true(
		parsed("/a/slurmstepd.scope/s5K1KKYAYG5D00/step_0/user/task_special").task_special);
}

TEST(special_steps_have_numbers)
{
	struct cgroup_ids ids = parsed("/slurm/uid_1/job_9/step_extern/task_0");

	assert_int_equal(ids.step_id, 0xfffffffc);
	file_name_is(&ids, "9_4294967292");
	ids = parsed("/slurm/uid_1/job_9/step_interactive");
	assert_int_equal(ids.step_id, 0xfffffffa);
	file_name_is(&ids, "9_4294967290");
	ids = parsed("/slurm/uid_1/job_9/step_TBD");
	assert_int_equal(ids.step_id, 0xfffffffd);
	file_name_is(&ids, "9_4294967293");
}

TEST(het_step_names_its_component)
{
	struct cgroup_ids ids = parsed("/slurm/uid_1/job_9/step_3+1/task_0");

	assert_string_equal(ids.step_name, "3+1");
	assert_int_equal(ids.step_id, 3);
	assert_int_equal(ids.het_comp, 1);
	file_name_is(&ids, "9_3");
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

TEST(outermost_layout_wins)
{
	/* What a user makes inside his own task's cgroup does not change who he is. */
	struct cgroup_ids ids = parsed("/system.slice/slurmstepd.scope/job_5/step_0/user/task_0/"
				       "slurm/uid_0/job_6/step_1/task_1");

	assert_int_equal(ids.job_id, 5);
	assert_int_equal(ids.task, 0);
	assert_false(ids.has_uid);
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
