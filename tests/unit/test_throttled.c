// SPDX-License-Identifier: GPL-2.0-or-later
/* Time held by a CPU quota: whose files say so, on newer and on older kernels. */

#include "tests/unit/unit.h"
#include "sensor/node/cgroup.h"

static char step[64];

/* key "": the file without that line. */
static void put(const char *dir, const char *file, const char *key, unsigned long long v)
{
	char path[64], text[64] = "usage_usec 5\n";

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	if (*key)
		snprintf(text, sizeof(text), "usage_usec 5\n%s %llu\n", key, v);
	put_text(unit_dir, path, text);
}

static int make(void **state)
{
	strcpy(step, in_dir("job/step"));
	shell("rm -rf %s/*; mkdir -p %s", unit_dir, step);
	return 0;
}

static const struct cgroup_dirs v2 = {.v2 = step, .v2_mount = unit_dir};
static const struct cgroup_dirs v1 = {.v1_cpu = step, .v1_mount = unit_dir};

TEST(the_kernels_own_count_is_taken)
{
	struct throttled t = {.base = NAN};

	put("job/step", "cpu.stat", "throttled_usec", 0);
	put("job", "cpu.stat", "throttled_usec", 9000000);
	put("job/step", "cpu.stat.local", "throttled_usec", 1500000);
	assert_int_equal(throttled__open(&t, &v2), 1);
	assert_true(throttled__read(&t) == 1.5);
	assert_int_equal(throttled__open(&t, &v2), 0);
	assert_int_equal(throttled__close(&t), 1);
}

TEST(else_all_levels_are_added_from_now_on)
{
	struct throttled t = {.base = NAN};

	put("job/step", "cpu.stat", "throttled_time", 250000000);
	put("job", "cpu.stat", "throttled_time", 3000000000);
	assert_int_equal(throttled__open(&t, &v1), 2);
	assert_true(throttled__read(&t) == 0.25);
	put("job", "cpu.stat", "throttled_time", 3500000000);
	assert_true(throttled__read(&t) == 0.75);
	throttled__close(&t);
	/* what is open may have to be closed for a time: no count is lost */
	assert_int_equal(throttled__open(&t, &v1), 2);
	assert_true(throttled__read(&t) == 0.75);
	throttled__close(&t);
}

TEST(a_step_without_the_controller_has_the_next_one_above)
{
	struct throttled t = {.base = NAN};

	put("job/step", "cpu.stat.local", "", 0);
	put("job", "cpu.stat.local", "throttled_usec", 2000000);
	assert_int_equal(throttled__open(&t, &v2), 1);
	assert_true(throttled__read(&t) == 0);
	put("job", "cpu.stat.local", "throttled_usec", 2500000);
	assert_true(throttled__read(&t) == 0.5);
	throttled__close(&t);
}

TEST(without_the_controller_nothing_is_known)
{
	struct throttled t = {.base = NAN};

	put("job/step", "cpu.stat", "", 0);
	assert_int_equal(throttled__open(&t, &v2), 0);
	assert_true(isnan(throttled__read(&t)));
}

static struct unit_fixture fixture = {.setup = make};
