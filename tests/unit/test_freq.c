// SPDX-License-Identifier: GPL-2.0-only
/* Intervals per kind of sample as text: "30,energy=5". */
#include <errno.h>
#include <string.h>

#include "tests/unit/unit.h"
#include "base/freq.h"

static char err[256];

static struct freq parsed(const char *text)
{
	struct freq f;

	freq__init(&f);
	assert_int_equal(freq__parse(text, &f, err, sizeof(err)), 0);
	return f;
}

TEST(all_follows_task)
{
	struct freq f;

	freq__init(&f);
	assert_true(freq__interval(&f, FREQ_TASK) == 30);
	assert_true(freq__interval(&f, FREQ_ENERGY) == 30);
	assert_true(freq__interval(&f, FREQ_FILESYSTEM) == 30);
	assert_true(freq__interval(&f, FREQ_NETWORK) == 30);
	assert_true(freq__interval(&f, FREQ_STEP) == 30);
	assert_true(freq__interval(&f, FREQ_LATENCY) == 30);
}

TEST(a_bare_number_is_the_tasks)
{
	struct freq f = parsed("10,energy=5");

	assert_true(freq__interval(&f, FREQ_TASK) == 10);
	assert_true(freq__interval(&f, FREQ_ENERGY) == 5);
	assert_true(freq__interval(&f, FREQ_STEP) == 10);
	f = parsed("0");
	assert_true(freq__interval(&f, FREQ_TASK) == 0);
}

TEST(names_and_fractions)
{
	struct freq f = parsed("Task=0.1,NETWORK=2.5,filesystem=60,step=1,latency=0");

	assert_true(freq__interval(&f, FREQ_TASK) == 0.1);
	assert_true(freq__interval(&f, FREQ_NETWORK) == 2.5);
	assert_true(freq__interval(&f, FREQ_FILESYSTEM) == 60);
	assert_true(freq__interval(&f, FREQ_STEP) == 1);
	assert_true(freq__interval(&f, FREQ_LATENCY) == 0);
}

TEST(bad_input_is_refused_and_changes_nothing)
{
	static const char *const bad[] = {
		"",
		",",
		"task",
		"task=",
		"task=-1",
		"task=1,",
		"task=1,30",
		"cpu=1",
		"task=0.01",
		"task=1e9",
		"task=99999999",
		"30 ",
		" 30",
		"task = 1",
		"=5",
		"task==5",
		"task=1;energy=2",
		"task=nan",
		"0.05",
		"30,,task=1",
		"energy=1,5",
		"task=0000000000000000000000000000000000000000000000000000000000000000000000001",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct freq f = parsed("7"), before = f;

		err[0] = '\0';
		assert_int_equal(freq__parse(bad[i], &f, err, sizeof(err)), -EINVAL);
		assert_memory_equal(&f, &before, sizeof(f));
		assert_true(err[0]);
	}
	assert_int_equal(freq__parse("cpu=1", &(struct freq){0}, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "task, energy"));
}

int main(void)
{
	return run_all_tests();
}
