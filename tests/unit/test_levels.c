// SPDX-License-Identifier: GPL-2.0-or-later
/* How often limits were met, of a step and of the levels above it; and the kinds of a step's
 * memory, as the kernel's files of v2 and of v1 have them. */

#include "tests/unit/unit.h"
#include "sensor/node/cgroup.h"

static char step[64];

static void put(const char *dir, const char *file, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	put_text(unit_dir, path, text);
}

static int make(void **state)
{
	strcpy(step, in_dir("slice/job/step"));
	shell("rm -rf %s/*; mkdir -p %s", unit_dir, step);
	return 0;
}

static const struct cgroup_dirs v2 = {.v2 = step, .v2_mount = unit_dir};
static const struct cgroup_dirs v1 = {.v1_cpu = step, .v1_memory = step, .v1_mount = unit_dir};

static double count(const struct levels *l, unsigned i)
{
	double n[LEVELS_COUNTS];

	levels__read(l, n);
	return n[i];
}

TEST(levels_with_a_quota_count_from_now_on)
{
	struct levels l = {};

	put("slice/job/step", "cpu.stat", "nr_periods 9\nnr_throttled 2\n");
	put("slice/job/step", "cpu.max", "max 100000\n");
	put("slice/job", "cpu.stat", "nr_throttled 100\n");
	put("slice/job", "cpu.max", "20000 100000\n");
	put("slice", "cpu.stat", "nr_throttled 1000\n");
	put("slice", "cpu.max", "max 100000\n");
	assert_int_equal(levels__open(&l, LEVELS_QUOTA, &v2), 2);
	assert_true(count(&l, 0) == 2);
	put("slice/job", "cpu.stat", "nr_throttled 103\n");
	put("slice", "cpu.stat", "nr_throttled 1005\n");
	assert_true(count(&l, 0) == 5);
	/* a quota that is set later counts from then on */
	put("slice", "cpu.max", "50000 100000\n");
	assert_int_equal(levels__open(&l, LEVELS_QUOTA, &v2), 1);
	assert_true(count(&l, 0) == 5);
	put("slice", "cpu.stat", "nr_throttled 1006\n");
	assert_true(count(&l, 0) == 6);
	/* closed for a time: nothing is lost, also when another collector goes on */
	assert_int_equal(levels__close(&l), 3);
	put("slice", "cpu.stat", "nr_throttled 1007\n");
	l = (struct levels){.base = l.base};
	assert_int_equal(levels__open(&l, LEVELS_QUOTA, &v2), 3);
	assert_true(count(&l, 0) == 7);
	levels__close(&l);
}

TEST(memory_events_of_levels_above_are_their_own)
{
	struct levels l = {};

	put("slice/job/step", "memory.events", "low 0\nhigh 4\nmax 6\noom 0\n");
	put("slice/job/step", "memory.max", "max\n");
	put("slice/job", "memory.events", "high 400\nmax 600\n");
	put("slice/job", "memory.events.local", "high 10\nmax 20\n");
	put("slice/job", "memory.high", "max\n");
	put("slice/job", "memory.max", "1048576\n");
	assert_int_equal(levels__open(&l, LEVELS_MEMORY, &v2), 2);
	put("slice/job", "memory.events.local", "high 11\nmax 22\n");
	assert_true(count(&l, 0) == 5 && count(&l, 1) == 8);
	levels__close(&l);
}

TEST(on_v1_failures_to_charge_count)
{
	struct levels l = {};

	put("slice/job/step", "memory.failcnt", "3\n");
	put("slice/job/step", "memory.limit_in_bytes", "9223372036854771712\n");
	put("slice/job", "memory.failcnt", "5\n");
	put("slice/job", "memory.limit_in_bytes", "1048576\n");
	put("slice", "memory.failcnt", "0\n");
	put("slice", "memory.limit_in_bytes", "9223372036854771712\n");
	assert_int_equal(levels__open(&l, LEVELS_MEMORY, &v1), 2);
	put("slice/job", "memory.failcnt", "6\n");
	assert_true(isnan(count(&l, 0)) && count(&l, 1) == 4);
	levels__close(&l);
}

TEST(without_the_controller_nothing_is_known)
{
	struct levels l = {};

	put("slice/job/step", "cpu.stat", "usage_usec 5\n");
	assert_int_equal(levels__open(&l, LEVELS_QUOTA, &v2), 0);
	assert_true(isnan(count(&l, 0)));
}

TEST(the_kinds_of_memory_v2)
{
	struct cgroup_files *f = cgroup_files__new(NULL);
	double v[CG_N];

	put("slice/job/step", "memory.stat",
	    "anon 4096\nfile 8192\nkernel 12288\nkernel_stack 4\nshmem 16384\nfile_mapped 5\n"
	    "workingset_refault_anon 7\nworkingset_refault_file 11\n");
	put("slice/job/step", "memory.events", "high 0\nmax 0\n");
	cgroup_files__rescan(f, &v2, 1);
	cgroup_files__read(f, v);
	assert_true(v[CG_MEM_ANON] == 4096 && v[CG_MEM_KERNEL] == 12288);
	assert_true(v[CG_MEM_SHMEM] == 16384);
	assert_true(v[CG_REFAULTS_ANON] == 7 && v[CG_REFAULTS_FILE] == 11);
	assert_true(v[CG_MEM_HIGH_EVENTS] == 0 && v[CG_MEM_MAX_EVENTS] == 0);
	assert_true(isnan(v[CG_MEM]) && isnan(v[CG_THROTTLED_PERIODS]));
	cgroup_files__free(f);
}

TEST(the_kinds_of_memory_v1_and_of_old_kernels)
{
	struct cgroup_files *f = cgroup_files__new(NULL);
	double v[CG_N];

	put("slice/job/step", "memory.stat",
	    "cache 1\nrss 2\nshmem 3\nworkingset_refault_file 4\ntotal_rss 4096\ntotal_shmem 8192\n"
	    "total_workingset_refault 5\n");
	put("slice/job/step", "memory.kmem.usage_in_bytes", "12288\n");
	cgroup_files__rescan(f, &v1, 1);
	cgroup_files__read(f, v);
	assert_true(v[CG_MEM_ANON] == 4096 && v[CG_MEM_SHMEM] == 8192);
	assert_true(v[CG_MEM_KERNEL] == 12288);
	assert_true(isnan(v[CG_REFAULTS_ANON]) && v[CG_REFAULTS_FILE] == 5);
	cgroup_files__free(f);
}

static struct unit_fixture fixture = {.setup = make};
