/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns of the series in schemas/, and their choice by family. */

#include "tests/unit/unit.h"
#include "bpf/abi/sched.h"
#include "schema/series.h"

#define TABLES (FAM_BASE | FAM_SCHED | FAM_MEMORY | FAM_FILE | FAM_SELF | FAM_CGROUP)

TEST(slurms_ten_columns_come_first_in_slurms_order)
{
	static const char *const order[] = {
		"ElapsedTime",	  "EpochTime", "CPUFrequency",	 "CPUTime",
		"CPUUtilization", "GPUMemMB",  "GPUUtilization", "RSS",
		"VMSize",	  "Pages",     "ReadMB",	 "WriteMB",
	};
	const struct series *s = series__find("Tasks");

	assert_non_null(s);
	assert_true(s->grouped);
	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		assert_string_equal(s->cols[i].name, order[i]);
	assert_string_equal(s->cols[s->ncols - 1].name, "TimeNS");
	assert_int_equal(s->cols[s->ncols - 1].type, COL_U64);
}

/* As Slurm's gatherers write them. */
static bool is_slurms(const char *column)
{
	static const char *const names[] = {"Power", "PacketsIn", "PacketsOut", "Reads", "Writes"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], column))
			return true;
	return false;
}

TEST(extra_columns_are_f64)
{
	for (unsigned i = 0; i < n_builtin_series; i++) {
		const struct series *s = &builtin_series[i];

		for (unsigned c = 0; c < s->ncols; c++) {
			bool u64 = s->cols[c].family == FAM_BASE ||
				   s->cols[c].how == HOW_GIVEN || /* stacks */
				   (s->of_node && is_slurms(s->cols[c].name));

			if (!u64)
				assert_int_equal(s->cols[c].type, COL_F64);
		}
	}
}

TEST(column_names_are_unique_and_described)
{
	for (unsigned i = 0; i < n_builtin_series; i++) {
		const struct series *s = &builtin_series[i];

		for (unsigned c = 0; c < s->ncols; c++) {
			assert_true(*s->cols[c].doc);
			assert_non_null(s->cols[c].blind);
			for (unsigned k = 0; k < c; k++)
				assert_string_not_equal(s->cols[c].name, s->cols[k].name);
		}
	}
}

TEST(latency_has_a_column_per_bucket)
{
	const struct series *s = series__find("runlatency");

	assert_non_null(s);
	assert_int_equal(s->ncols, 43);
	for (int k = 0; k < 40; k++)
		assert_int_equal(s->cols[2 + k].arg, k);
	assert_string_equal(s->cols[2 + 39].name, "B39");
	assert_null(series__find("Nothing"));
}

TEST(block_latency_tells_reads_from_writes)
{
	const struct series *s = series__find("blklatency");

	assert_non_null(s);
	assert_int_equal(s->ncols, 3 + 2 * JP_LAT_BUCKETS);
	for (int k = 0; k < 2 * JP_LAT_BUCKETS; k++)
		assert_int_equal(s->cols[2 + k].arg, k);
	assert_string_equal(s->cols[2 + JP_LAT_BUCKETS].name, "W0");
}

/* Its hooks cost every system call, so nobody has it who did not ask. */
TEST(all_does_not_ask_for_files)
{
	const struct series *s = series__find("Tasks");
	const struct column *cols[128];
	unsigned n = series__select(s, FAM_ALL, cols, 128);

	assert_int_equal(n, s->ncols - series__select(s, FAM_FILES, cols, 128));
	n = series__select(s, FAM_ALL, cols, 128);
	for (unsigned i = 0; i < n; i++)
		assert_int_not_equal(cols[i]->family, FAM_FILES);
}

TEST(step_adds_the_cgroup_before_the_end)
{
	const struct series *s = series__find("STEP"), *t = series__find("Tasks");

	assert_false(s->grouped);
	assert_int_equal(s->ncols, t->ncols + 28);
	assert_string_equal(s->cols[s->ncols - 1].name, "TimeNS");
	assert_string_equal(s->cols[t->ncols - 2].name, "MemMB");
}

TEST(select_keeps_order_and_families)
{
	const struct column *cols[128];
	const struct series *s = series__find("Tasks");
	unsigned n = series__select(s, FAM_BASE | FAM_FILE, cols, 128);

	assert_int_equal(n, 13 + 4);
	assert_string_equal(cols[0]->name, "ElapsedTime");
	assert_string_equal(cols[12]->name, "ReadCalls");
	assert_string_equal(cols[16]->name, "TimeNS");
	assert_int_equal(series__select(s, FAM_ALL | FAM_FILES, cols, 128), s->ncols);
	assert_int_equal(series__select(s, FAM_BASE, cols, 5), 5);
}

TEST(select_of_time_alone_is_nothing)
{
	const struct column *cols[128];

	assert_int_equal(series__select(series__find("RunLatency"), FAM_BASE, cols, 128), 0);
	assert_int_equal(
		series__select(series__find("RunLatency"), FAM_BASE | FAM_LATENCY, cols, 128), 43);
	assert_int_equal(series__select(series__find("Tasks"), 0, cols, 128), 0);
}

TEST(parse_takes_families_and_series)
{
	static const struct {
		const char *list;
		unsigned mask;
	} good[] = {
		{"all", FAM_ALL},
		{"none", 0},
		{"base", FAM_BASE},
		{"sched", FAM_BASE | FAM_SCHED},
		{"Sched, MEMORY", FAM_BASE | FAM_SCHED | FAM_MEMORY},
		{"file ,self", FAM_BASE | FAM_FILE | FAM_SELF},
		{"cgroup", FAM_BASE | FAM_CGROUP},
		{"latency", FAM_BASE | FAM_LATENCY},
		{"RunLatency", FAM_BASE | FAM_LATENCY},
		{"task", TABLES},
		{"Tasks", TABLES},
		{"step,runlatency", TABLES | FAM_LATENCY},
		{"block", FAM_BASE | FAM_BLOCK},
		{"BlkLatency", FAM_BASE | FAM_BLOCK},
		{"network,perf", FAM_BASE | FAM_NETWORK | FAM_INTERCONNECT | FAM_PERF},
		{"energy", FAM_ENERGY},
		{"lustre,cpu", FAM_FILESYSTEM | FAM_NODE},
		{"all,files", FAM_ALL | FAM_FILES},
		{"none,file", FAM_BASE | FAM_FILE},
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		unsigned mask = 0xdead;
		char bad[16];

		assert_int_equal(family__parse(good[i].list, &mask, bad, sizeof(bad)), 0);
		assert_int_equal(mask, good[i].mask);
	}
}

TEST(parse_names_the_bad_word)
{
	static const struct {
		const char *list, *bad;
	} cases[] = {
		{"shed", "shed"},
		{"sched,memry,file", "memry"},
		{"", ""},
		{"sched,", ""},
		{",sched", ""},
		{"sched memory", "sched me"},
		{"averylongword", "averylon"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned mask = 7;
		char bad[9] = "?";

		assert_int_equal(family__parse(cases[i].list, &mask, bad, sizeof(bad)), -EINVAL);
		assert_string_equal(bad, cases[i].bad);
		assert_int_equal(mask, 7);
	}
}

TEST(every_family_has_a_name_that_parses)
{
	for (unsigned f = 1; f <= FAM_NODE; f <<= 1) {
		unsigned mask;
		char bad[8];

		assert_int_equal(family__parse(family__name(f), &mask, bad, sizeof(bad)), 0);
		/* Slurm's word network is the node's ports, ours the sockets: both */
		assert_int_equal(mask, f | (f & FAM_SENSORS ? 0 : FAM_BASE) |
					       (f == FAM_NETWORK ? FAM_INTERCONNECT : 0));
	}
}
