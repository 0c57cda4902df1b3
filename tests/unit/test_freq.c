// SPDX-License-Identifier: GPL-2.0-or-later
/* Intervals per kind of sample as text: "30,energy=5". */

#include "tests/unit/unit.h"
#include "base/freq.h"

static char err[512];

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

TEST(nothing_between_commas_is_nothing)
{
	struct freq f = parsed("task=15,");

	assert_true(freq__interval(&f, FREQ_TASK) == 15);
	f = parsed(",30,,energy=5");
	assert_true(freq__interval(&f, FREQ_TASK) == 30);
	assert_true(freq__interval(&f, FREQ_ENERGY) == 5);
}

TEST(slurms_reader_passes_over_what_it_does_not_know)
{
	struct freq f = parsed("7"), before = f;

	assert_int_equal(freq__parse_slurms("task=15,gpu=3,energy=2s", &f, err, sizeof(err)), 0);
	assert_true(freq__interval(&f, FREQ_TASK) == 15);
	assert_true(freq__interval(&f, FREQ_ENERGY) == 2);
	assert_non_null(strstr(err, "\"gpu=3\""));
	assert_int_equal(freq__parse_slurms("20", &f, err, sizeof(err)), 0);
	assert_true(freq__interval(&f, FREQ_TASK) == 20);
	assert_string_equal(err, "");
	f = before;
	assert_int_equal(freq__parse_slurms("often", &f, err, sizeof(err)), -EINVAL);
	assert_int_equal(freq__parse_slurms("gpu=3", &f, err, sizeof(err)), -EINVAL);
	assert_memory_equal(&f, &before, sizeof(f));
}

TEST(of_task_0_is_a_row_at_the_end)
{
	struct freq f = parsed("0,energy=0,network=5");

	assert_true(freq__at_end(&f, FREQ_TASK) && freq__at_end(&f, FREQ_STEP));
	assert_false(freq__at_end(&f, FREQ_ENERGY) || freq__at_end(&f, FREQ_NETWORK));
	f = parsed("30,latency=0");
	assert_false(freq__at_end(&f, FREQ_TASK) || freq__at_end(&f, FREQ_LATENCY));
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

TEST(every_reason_is_said)
{
	struct freq f = parsed("7");
	char little[64];

	assert_int_equal(freq__parse("task=0.01,cpu=1,energy=2,gpu=1", &f, err, sizeof(err)),
			 -EINVAL);
	assert_non_null(strstr(err, "\"task=0.01\": "));
	assert_non_null(strstr(err, "; \"cpu=1\" "));
	assert_non_null(strstr(err, "; \"gpu=1\" "));
	assert_null(strstr(err, "energy=2"));
	assert_int_equal(freq__parse("task=0.01,cpu=1,gpu=1", &f, little, sizeof(little)), -EINVAL);
	assert_string_equal(little, "\"task=0.01\": seconds are 0 (off) or 0.1 to 86400; ...");
	assert_int_equal(freq__parse_slurms("task=9,cpu=1,gpu=1", &f, err, sizeof(err)), 0);
	assert_non_null(strstr(err, "\"cpu=1\" "));
	assert_non_null(strstr(err, "; \"gpu=1\" "));
}
