/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What users write after -j, and names in a profile directory. */

#include "tests/unit/unit.h"
#include "identity/jobspec.h"
#include "identity/layout.h"
#include "jobfile/merge/merge_name.h"

TEST(one_of_each_kind)
{
	struct jobspec *s;
	char err[128];
	unsigned n;

	assert_int_equal(jobspec__parse(&s, &n, "7,8.3,9.batch,10_2,11+0.extern,12.interactive",
					err, sizeof(err)),
			 0);
	assert_int_equal(n, 6);
	assert_int_equal(s[0].kind, JOBSPEC_JOB);
	assert_int_equal(s[0].job, 7);
	assert_true(s[0].any_step);
	assert_int_equal(s[1].step, 3);
	assert_false(s[1].any_step);
	assert_int_equal(s[2].step, STEP_BATCH);
	assert_int_equal(s[3].kind, JOBSPEC_ARRAY);
	assert_int_equal(s[3].part, 2);
	assert_int_equal(s[4].kind, JOBSPEC_HET);
	assert_int_equal(s[4].job, 11);
	assert_int_equal(s[4].step, STEP_EXTERN);
	assert_int_equal(s[5].step, STEP_INTERACTIVE);
	assert_string_equal(s[4].text, "11+0.extern");
	free(s);
}

TEST(the_bad_word_is_named)
{
	static const char *const bad[] = {
		"",
		"x",
		"7,",
		",7",
		"7.",
		"7.x",
		"7.-1",
		"7_",
		"7+",
		"7+x",
		"7_1_2",
		"7_1+2",
		"0",
		"-7",
		"+7",
		"7 ",
		"7.1.2",
		"7;8",
		"07x",
		"7.01",
		"7.4294967295",
		"2147483648",
		"99999999999999999999",
		"7.batch0",
	};
	struct jobspec *s;
	char err[128], text[64];
	unsigned n;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "1,%s", bad[i]);
		assert_int_equal(jobspec__parse(&s, &n, text, err, sizeof(err)), -EINVAL);
		assert_non_null(strchr(err, '"'));
	}
	assert_int_equal(jobspec__parse(&s, &n, "1,2,bad.word", err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "\"bad.word\""));
}

TEST(sluids_are_jobs)
{
	static const char *const bad[] = {"s",
					  "s1234",
					  "s0FVXKQ3R2000U",
					  "s0FVXKQ3R200041",
					  "sZZZZZZZZZZZZZ_1",
					  "s0FVXKQ3R20004_1"};
	struct jobspec *s;
	char err[256];
	unsigned n;

	assert_int_equal(jobspec__parse(&s, &n,
					"s0FVXKQ3R20004,s0fvxkq3r2ooo4.batch,s0FVXKQ3R20005", err,
					sizeof(err)),
			 0);
	assert_int_equal(n, 3);
	assert_int_equal(s[0].kind, JOBSPEC_SLUID);
	assert_int_equal(s[0].job, 0);
	assert_true(s[0].any_step);
	assert_string_equal(s[1].sluid, "s0FVXKQ3R20004");
	assert_int_equal(s[1].step, STEP_BATCH);
	assert_true(jobspec__same_job(&s[0], &s[1]));
	assert_false(jobspec__same_job(&s[0], &s[2]));
	free(s);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(jobspec__parse(&s, &n, bad[i], err, sizeof(err)), -EINVAL);
		assert_non_null(strstr(err, "\": SLUID is invalid"));
	}
}

TEST(long_words_are_no_jobs)
{
	struct jobspec *s;
	char err[256], text[5000];
	unsigned n;

	memset(text, '1', sizeof(text));
	text[sizeof(text) - 1] = 0;
	assert_int_equal(jobspec__parse(&s, &n, text, err, sizeof(err)), -EINVAL);
}

TEST(steps_in_any_spelling)
{
	struct jobspec *s;
	char err[128];
	unsigned n;

	assert_int_equal(jobspec__parse(&s, &n, "7.extern,7.0,7,7.-4", err, sizeof(err)), 0);
	assert_true(jobspec__has_step(&s[0], "4294967292"));
	assert_true(jobspec__has_step(&s[0], "-4"));
	assert_false(jobspec__has_step(&s[0], "4"));
	assert_true(jobspec__has_step(&s[1], "0"));
	assert_false(jobspec__has_step(&s[1], "batch"));
	assert_true(jobspec__has_step(&s[2], "batch"));
	assert_true(jobspec__has_step(&s[3], "extern"));
	assert_true(jobspec__same_job(&s[0], &s[2]));
	free(s);
}

TEST(names_of_files)
{
	static const struct {
		const char *name;
		enum merge_name_kind kind;
		const char *step, *node;
	} names[] = {
		{"7_0_n1.h5", NAME_FILE, "0", "n1"},
		{"7_batch_n_1.h5", NAME_FILE, "batch", "n_1"},
		{"7_4294967292_a.b-c.h5", NAME_FILE, "4294967292", "a.b-c"},
		{".7_0_n1.h5", NAME_RUNNING, "0", "n1"},
		{"..7_0_n1.h5", NAME_OTHER, NULL, NULL},
		{".7_0_n1.h5.tmp", NAME_OTHER, NULL, NULL},
		{"7_0_n1.h5.bak", NAME_FOREIGN, NULL, NULL},
		{"7_0_n1.h5.h5", NAME_FOREIGN, NULL, NULL},
		{"7_0_.h5", NAME_FOREIGN, NULL, NULL},
		{"7_0_..h5", NAME_FOREIGN, NULL, NULL},
		{"7_0_...h5", NAME_FOREIGN, NULL, NULL},
		{"7_0_n\n.h5", NAME_FOREIGN, NULL, NULL},
		{"7_00_n1.h5", NAME_FOREIGN, NULL, NULL},
		{"7_4294967296_n1.h5", NAME_FOREIGN, NULL, NULL},
		{"7_extern_n1.h5", NAME_FOREIGN, NULL, NULL},
		{"7_0", NAME_FOREIGN, NULL, NULL},
		{"07_0_n1.h5", NAME_OTHER, NULL, NULL},
		{"4294967296_0_n1.h5", NAME_OTHER, NULL, NULL},
		{"job_7.h5", NAME_OTHER, NULL, NULL},
		{"", NAME_OTHER, NULL, NULL},
	};
	struct merge_name m;

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(merge_name__parse(names[i].name, &m), names[i].kind);
		if (!names[i].step)
			continue;
		assert_int_equal(m.job, 7);
		assert_string_equal(m.step, names[i].step);
		assert_string_equal(m.node, names[i].node);
	}
}

TEST(ranges_are_written_out)
{
	static const struct {
		const char *text, *out;
	} cases[] = {
		{"7", "7"},
		{"7-9", "7,8,9"},
		{"7-7,3", "7,3"},
		{"7_[1-2,5]", "7_1,7_2,7_5"},
		{"1,7_[0],9-10,7_3.batch", "1,7_0,9,10,7_3.batch"},
		{"7+1,sABC.0", "7+1,sABC.0"},
		/* wrong ones are left to what parses the list */
		{"", ""},
		{"9-7", "9-7"},
		{"-1", "-1"},
		{"7-", "7-"},
		{"7_[", "7_["},
		{"7-9.0", "7,8,9,7-9.0"},
		{"7_[1-2", "7_1,7_2,7_[1-2"},
		{"7_[1]x", "7_1,7_[1]x"},
		{"7_[]", "7_[]"},
		{"1-4294967295", "1-4294967295"},
	};
	char *out;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(jobspec__expand(&out, cases[i].text), 0);
		assert_string_equal(out, cases[i].out);
		free(out);
	}
	assert_int_equal(jobspec__expand(&out, "1-9000,20000-29000"), -E2BIG);
	assert_null(out);
}
