// SPDX-License-Identifier: GPL-2.0-only
/* Time held by a CPU quota: whose files say so, on newer and on older kernels. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/unit.h"
#include "sensor/node/cgroup.h"

static char mount[] = "/tmp/test_throttled.XXXXXX";
static char step[64];

/* key "": the file without that line. */
static void put(const char *dir, const char *file, const char *key, unsigned long long v)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/%s", mount, dir, file);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "usage_usec 5\n");
	if (*key)
		fprintf(f, "%s %llu\n", key, v);
	fclose(f);
}

static int make(void **state)
{
	char cmd[128];

	if (!mkdtemp(mount))
		return -1;
	snprintf(step, sizeof(step), "%s/job/step", mount);
	snprintf(cmd, sizeof(cmd), "mkdir -p %s", step);
	return system(cmd);
}

static int clear(void **state)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "find %s -type f -delete", mount);
	return system(cmd);
}

static int end(void **state)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -r %s", mount);
	return system(cmd);
}

static const struct cgroup_dirs v2 = {.v2 = step, .v2_mount = mount};
static const struct cgroup_dirs v1 = {.v1_cpu = step, .v1_mount = mount};

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

int main(void)
{
	return run_all_tests(.teardown = clear, .setup_all = make, .teardown_all = end);
}
