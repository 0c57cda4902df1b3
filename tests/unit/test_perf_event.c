/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of events against trees of sysfs as an Intel and an AMD machine have them.
 * "test_perf_event --names [EVENT ...]" prints for tests/e2e/kernel/perf_events.py what this
 * machine's kernel would be asked for: "name type config exclude_user exclude_kernel", of every
 * name and these.
 */

#include "tests/unit/unit.h"
#include <linux/perf_event.h>

#include "kern/pmu/perf_event.h"
#include "kern/pmu/perf_names.h"

#define MAX 8

static char intel[64], amd[64];

#define DEV "bus/event_source/devices/"

static int make_trees(void **state)
{
	strcpy(intel, in_dir("intel"));
	strcpy(amd, in_dir("amd"));
	put_text(intel, DEV "cpu/type", "4\n");
	put_text(intel, DEV "cpu/format/event", "config:0-7\n");
	put_text(intel, DEV "cpu/format/umask", "config:8-15\n");
	put_text(intel, DEV "cpu/format/edge", "config:18\n");
	put_text(intel, DEV "cpu/format/any", "config:21\n");
	put_text(intel, DEV "cpu/format/cmask", "config:24-31\n");
	put_text(intel, DEV "cpu/format/offcore_rsp", "config1:0-63\n");
	put_text(intel, DEV "cpu/format/ldat", "config1:0-15\n");
	put_text(intel, DEV "cpu/format/odd", "config2:3,60-63\n");
	put_text(intel, DEV "cpu/format/later", "config3:0-7\n");
	put_text(intel, DEV "cpu/format/broken", "config:9-\n");
	put_text(intel, DEV "cpu/format/huge", "config:0-64\n");
	put_text(intel, DEV "cpu/format/backward", "config:9-3\n");
	put_text(intel, DEV "cpu/events/cpu-cycles", "event=0x3c\n");
	put_text(intel, DEV "cpu/events/cache-misses", "event=0x2e,umask=0x41\n");
	put_text(intel, DEV "cpu/events/mem-loads", "event=0xcd,umask=0x1,ldat=3\n");
	put_text(intel, DEV "cpu/events/recursive", "recursive\n");
	put_text(intel, DEV "cpu/events/asks", "event=0x1,umask=?\n");
	put_text(intel, DEV "uncore_imc_0/type", "12\n");
	put_text(intel, DEV "uncore_imc_0/cpumask", "0\n");
	put_text(intel, DEV "uncore_imc_0/format/event", "config:0-7\n");
	put_text(intel, DEV "power/type", "9\n");
	put_text(intel, DEV "power/format/event", "config:0-7\n");
	put_text(intel, DEV "power/events/energy-pkg", "event=0x02\n");
	put_text(intel, DEV "power/events/energy-pkg.scale", "2.3283064365386962890625e-10\n");
	put_text(intel, DEV "power/events/energy-pkg.unit", "Joules\n");
	put_text(intel, DEV "software/type", "1\n");
	put_text(intel, DEV "tracepoint/type", "2\n");
	put_text(intel, DEV "notype/format/event", "config:0-7\n");
	put_text(intel, DEV "secret", "4\n");
	put_text(intel, "devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3000000\n");
	put_text(intel, "devices/system/cpu/cpu1/cpufreq/cpuinfo_max_freq", "4000000\n");
	put_text(intel, "devices/system/cpu/cpufreq/cpuinfo_max_freq", "9000000\n");
	put_text(amd, DEV "cpu/type", "4\n");
	put_text(amd, DEV "cpu/format/event", "config:0-7,32-35\n");
	put_text(amd, DEV "cpu/format/umask", "config:8-15\n");
	put_text(amd, DEV "cpu/events/instructions", "event=0xc0\n");
	put_text(amd, DEV "msr/type", "10\n");
	put_text(amd, DEV "msr/format/event", "config:0-63\n");
	put_text(amd, DEV "msr/events/tsc", "event=0x00\n");
	return 0;
}

static struct perf_event one(const char *sysfs, const char *text)
{
	struct perf_event ev[MAX];
	char err[256];
	int n = perf_event__parse(text, sysfs, ev, MAX, err, sizeof(err));

	if (n != 1)
		fail_msg("%s: %d %s", text, n, err);
	return ev[0];
}

static void refused(const char *text, int code, const char *why)
{
	struct perf_event ev[MAX];
	char err[256];
	int n = perf_event__parse(text, intel, ev, MAX, err, sizeof(err));

	if (n != code || !strstr(err, why))
		fail_msg("%s: %d \"%s\", not %d \"%s\"", text, n, err, code, why);
}

TEST(the_default_is_three_events)
{
	struct perf_event ev[MAX];
	char err[64] = "x";

	assert_int_equal(perf_event__parse(PERF_EVENTS_DEFAULT, intel, ev, MAX, err, sizeof(err)),
			 3);
	assert_string_equal(err, "");
	assert_string_equal(ev[0].column, "Cycles");
	assert_string_equal(ev[1].column, "Instructions");
	assert_string_equal(ev[2].column, "CacheMisses");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(ev[i].type, PERF_TYPE_HARDWARE);
		assert_false(ev[i].exclude_user || ev[i].exclude_kernel);
	}
	assert_int_equal(ev[0].config, PERF_COUNT_HW_CPU_CYCLES);
	assert_int_equal(ev[1].config, PERF_COUNT_HW_INSTRUCTIONS);
	assert_int_equal(ev[2].config, PERF_COUNT_HW_CACHE_MISSES);
	assert_string_equal(ev[2].text, "cache-misses");
}

TEST(semicolons_separate_sets)
{
	static const uint32_t sets[] = {7, 1, 2, 4};
	struct perf_event ev[MAX];
	char err[256];
	int n = perf_event__parse("cycles,instructions ; r1,cycles;cycles,cpu/event=0xc2,umask=1/",
				  intel, ev, MAX, err, sizeof(err));

	assert_int_equal(n, 4);
	assert_string_equal(ev[0].text, "cycles");
	assert_string_equal(ev[2].text, "r1");
	assert_string_equal(ev[3].text, "cpu/event=0xc2,umask=1/");
	for (int i = 0; i < n; i++)
		assert_int_equal(ev[i].sets, sets[i]);
	assert_int_equal(perf_event__parse("cycles,cs", intel, ev, MAX, err, sizeof(err)), 2);
	assert_int_equal(ev[1].sets, 1);
}

TEST(names_make_columns)
{
	static const struct {
		const char *text, *column;
	} cases[] = {
		{"branch-misses", "BranchMisses"},
		{"L1-dcache-load-misses", "L1DcacheLoadMisses"},
		{"LLC-loads", "LLCLoads"},
		{"dTLB-store-misses:u", "DTLBStoreMissesUser"},
		{"r1a8", "R1a8"},
		{"r1A8:k", "R1A8Kernel"},
		{"cs", "Cs"},
		{"cpu/event=0xc2,umask=0x1,name=Uops/", "Uops"},
		{"cpu/event=0xc2,name=my_uops/u", "my_uops"},
		{"cpu/event=0xc2,umask=0x1/k", "CpuEvent0xc2Umask0x1Kernel"},
		{"cpu/cpu-cycles/:u", "CpuCpuCyclesUser"},
		{" \tcycles ", "Cycles"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(one(intel, cases[i].text).column, cases[i].column);
}

TEST(modifiers_leave_one_mode_out)
{
	assert_true(one(intel, "cycles:u").exclude_kernel);
	assert_false(one(intel, "cycles:u").exclude_user);
	assert_true(one(intel, "cycles:k").exclude_user);
	assert_false(one(intel, "cycles:k").exclude_kernel);
	assert_true(one(intel, "cpu/event=1/u").exclude_kernel);
	assert_true(one(intel, "cpu/event=1/:k").exclude_user);
	assert_true(one(intel, "r1:u").exclude_kernel);
}

TEST(every_name_is_found_and_fits)
{
	unsigned n;
	const struct perf_name *all = perf_names__all(&n);

	assert_true(n > 50);
	for (unsigned i = 0; i < n; i++) {
		struct perf_event ev = one(intel, all[i].name);

		assert_int_equal(ev.type, all[i].type);
		assert_true(ev.config == all[i].config);
		assert_true(ev.max_rate >= 1e6 && ev.max_rate <= 4 * 4e9);
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(all[i].name, all[k].name);
	}
}

TEST(raw_codes_are_hexadecimal)
{
	struct perf_event ev = one(intel, "r1a8");

	assert_int_equal(ev.type, PERF_TYPE_RAW);
	assert_true(ev.config == 0x1a8);
	assert_true(one(intel, "rffffffffffffffff").config == UINT64_MAX);
	refused("r10000000000000000", -EINVAL, "64 bits");
	refused("r", -ENOENT, "no such event");
	refused("r1g", -ENOENT, "no such event");
}

TEST(terms_go_to_their_bits)
{
	static const struct {
		const char *text;
		bool amd;
		uint32_t type;
		uint64_t config, config1, config2;
	} cases[] = {
		{"cpu/event=0xc2,umask=0x1/", false, 4, 0x1c2, 0, 0},
		{"cpu/event=194,umask=1/", false, 4, 0x1c2, 0, 0},
		{"cpu/event=010/", false, 4, 10, 0, 0},
		{"cpu/event=0x3c,edge,any=1,cmask=2/", false, 4, 0x224003c, 0, 0},
		{"cpu/event=0xb7,offcore_rsp=0xffffffffffffffff,name=X/", false, 4, 0xb7,
		 UINT64_MAX, 0},
		{"cpu/odd=0x1f/", false, 4, 0, 0, 0xf000000000000008},
		{"cpu/odd=0x2/", false, 4, 0, 0, 0x1000000000000000},
		{"cpu/cache-misses/", false, 4, 0x412e, 0, 0},
		{"cpu/mem-loads/", false, 4, 0x1cd, 3, 0},
		{"cpu/cpu-cycles,cmask=1/", false, 4, 0x100003c, 0, 0},
		{"cpu/config=0x10,config1=7,config2=9/", false, 4, 0x10, 7, 9},
		{"software/config=5/", false, 1, 5, 0, 0},
		{"cpu/event=0x1c2/", true, 4, 0x1000000c2, 0, 0},
		{"cpu/event=0xfff,umask=0xff/", true, 4, 0xf0000ffff, 0, 0},
		{"cpu/instructions/", true, 4, 0xc0, 0, 0},
		{"msr/tsc/", true, 10, 0, 0, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct perf_event ev = one(cases[i].amd ? amd : intel, cases[i].text);

		if (ev.type != cases[i].type || ev.config != cases[i].config ||
		    ev.config1 != cases[i].config1 || ev.config2 != cases[i].config2)
			fail_msg("%s: %u %llx %llx %llx", cases[i].text, ev.type,
				 (unsigned long long)ev.config, (unsigned long long)ev.config1,
				 (unsigned long long)ev.config2);
	}
}

TEST(commas_between_slashes_end_no_event)
{
	struct perf_event ev[MAX];
	char err[128];

	assert_int_equal(perf_event__parse("cycles:u, cpu/event=1,umask=2/u ,r1,cs", intel, ev, MAX,
					   err, sizeof(err)),
			 4);
	assert_string_equal(ev[1].text, "cpu/event=1,umask=2/u");
	assert_true(ev[1].config == 0x201);
	assert_string_equal(ev[3].column, "Cs");
}

TEST(wrong_words_are_named_with_the_nearest)
{
	refused("cylces", -ENOENT, "cylces: no such event; did you mean \"cycles\"?");
	refused("cycles,L1-dcache-load-miss", -ENOENT, "\"L1-dcache-load-misses\"");
	refused("CYCLES", -ENOENT, "\"cycles\"");
	refused("sched:sched_switch", -ENOENT, "sched:sched_switch: no such event");
	refused("iTLB-stores", -ENOENT, "no such event");
	refused("cpu/evnt=1/", -ENOENT, "no term and no event \"evnt\"; did you mean \"event\"?");
	refused("cpu/cache-mises/", -ENOENT, "did you mean \"cache-misses\"?");
	refused("cpu/event=1,xyzzy/", -ENOENT, "\"xyzzy\"");
	refused("cpux/event=1/", -ENOENT, "no PMU \"cpux\"; did you mean \"cpu\"?");
	refused("elsewhere/event=1/", -ENOENT, "no PMU \"elsewhere\"");
	refused("cycles:x", -EINVAL, "cycles:x: \"x\" is not one of the modifiers u and k");
	refused("cycles:uk", -EINVAL, "\"uk\"");
	refused("cycles:", -EINVAL, "modifiers");
	refused("cpu/event=1/pp", -EINVAL, "\"pp\"");
}

TEST(bad_values_are_refused)
{
	refused("cpu/event=0x100/", -EINVAL, "more bits");
	refused("cpu/edge=2/", -EINVAL, "more bits");
	refused("cpu/event=/", -EINVAL, "want a number");
	refused("cpu/event=-1/", -EINVAL, "want a number");
	refused("cpu/event=0x/", -EINVAL, "want a number");
	refused("cpu/event=1e3/", -EINVAL, "want a number");
	refused("cpu/event=99999999999999999999999/", -EINVAL, "want a number");
	refused("cpu/event=0x10000000000000000/", -EINVAL, "want a number");
	refused("cpu/event=1,event=2/", -EINVAL, "\"event\" is given twice");
	refused("cpu/name=9lives,event=1/", -EINVAL, "name=9lives");
	refused("cpu/event=1,name/", -EINVAL, "name=");
	refused("cpu/event=1,name=a-b/", -EINVAL, "name=a-b");
	refused("cpu/event=1,name=abcdefghijklmnopqrstuvwxyzabcdefghijklmn/", -EINVAL,
		"at most 39");
	refused("cpu/event=0xb7,offcore_rsp=0xffffffffffffffff/", -EINVAL, "name=, at most 39");
	refused("cpu/asks/", -EINVAL, "umask=?");
}

TEST(odd_files_of_sysfs_are_refused)
{
	refused("cpu/later=1/", -EINVAL, "not known here: config3:0-7");
	refused("cpu/broken=1/", -EINVAL, "not known here");
	refused("cpu/huge=1/", -EINVAL, "not known here");
	refused("cpu/backward=1/", -EINVAL, "not known here");
	refused("cpu/recursive/", -ENOENT, "\"recursive\"");
	refused("notype/event=1/", -ENOENT, "does not say its type");
	refused("secret/event=1/", -ENOENT, "no PMU");
}

TEST(other_counts_than_a_tasks_are_refused)
{
	refused("power/energy-pkg/", -EINVAL, "unit of its own (energy-pkg.scale)");
	refused("uncore_imc_0/event=1/", -EINVAL, "several CPUs");
	refused("tracepoint/config=1/", -EINVAL, "no counters");
}

TEST(names_lead_to_no_other_directory)
{
	refused("../x/event=1/", -EINVAL, "not the name of a PMU");
	refused("../../x/", -EINVAL, "not the name");
	refused("./event=1/", -EINVAL, "not the name of a PMU");
	refused("/event=1/", -EINVAL, "not the name of a PMU");
	refused("cpu/../type/", -EINVAL, "not the name of a term");
	refused("cpu/..=1/", -EINVAL, "not the name of a term");
	refused("cpu/.hidden/", -EINVAL, "not the name of a term");
	refused("cpu/energy-pkg.scale/", -EINVAL, "not the name of a term");
	refused("cpu/event=1,/", -EINVAL, "not the name of a term");
	refused("cpu//", -EINVAL, "Nothing is between");
	refused("cpu/event=1", -EINVAL, "slash after the terms is missing");
	refused("cpu/event=1,cycles", -EINVAL, "slash after the terms is missing");
}

TEST(lists_without_sense_are_refused)
{
	char longest[400];

	refused("", -EINVAL, "an event is missing");
	refused("  ", -EINVAL, "an event is missing");
	refused("cycles,", -EINVAL, "an event is missing");
	refused(",cycles", -EINVAL, "an event is missing");
	refused("cycles,,cs", -EINVAL, "an event is missing");
	refused("cycles instructions", -EINVAL, "blank");
	refused("cy\033[31mcles", -EINVAL, "control character");
	refused("cycles,cs,cycles", -EINVAL, "cycles is the same event as cycles");
	refused("cycles,cpu-cycles", -EINVAL, "cpu-cycles is the same event as cycles");
	refused("cycles,cpu/event=1,name=Cycles/", -EINVAL, "both be the column Cycles");
	refused("cycles,cpu/event=1,name=cYCLES/", -EINVAL, "both be the column");
	refused("r1,r2,r3,r4,r5,r6,r7,r8,r9", -EINVAL, "more than 8 events");
	refused("r1;r1,r2,r3,r4,r5,r6,r7,r8,r9", -EINVAL, "more than 8 events in a set");
	refused("cycles;", -EINVAL, "an event is missing");
	refused(";cycles", -EINVAL, "an event is missing");
	refused("cycles,cs;cs,cycles", -EINVAL, "the sets 1 and 2 have the same events");
	refused("cycles,cs;cycles,cs,cycles", -EINVAL, "cycles is the same event as cycles");
	refused("cycles;cpu/event=1,name=Cycles/", -EINVAL, "both be the column Cycles");
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	refused(longest, -EINVAL, "longer than 95");
	memset(longest, '/', sizeof(longest) - 1);
	refused(longest, -EINVAL, "longer than 95");
}

TEST(every_event_that_is_wrong_is_said)
{
	struct perf_event ev[MAX];
	char err[1024];

	assert_int_equal(
		perf_event__parse("cylces,cs:x,,r1;r2,nothing", intel, ev, MAX, err, sizeof(err)),
		-ENOENT);
	assert_non_null(strstr(err, "cylces: no such event"));
	assert_non_null(strstr(err, "; cs:x: \"x\" is not one of the modifiers"));
	assert_non_null(strstr(err, "; an event is missing"));
	assert_non_null(strstr(err, "; nothing: no such event"));
	/* what is left of the sets is not compared, and one reason is said once */
	assert_int_equal(perf_event__parse("r1,x:;r1,x:", intel, ev, MAX, err, sizeof(err)),
			 -ENOENT);
	assert_null(strstr(err, "the sets"));
	assert_int_equal(perf_event__parse("r1,r2,r3,r4,r5,r6,r7,r8,r9,ra", intel, ev, MAX, err,
					   sizeof(err)),
			 -EINVAL);
	assert_string_equal(err, "more than 8 events");
}

/* Any bytes in any order: an answer, and no access outside. */
TEST(noise_is_survived)
{
	static const char *const parts[] = {"cpu",  "/",	  "event",  "=",      "0x3c", ",",
					    ":u",   "name",	  "cycles", "..",     "r1f",  "%s",
					    "\xff", "cpu-cycles", "-",	    "config", "64",   " "};
	uint64_t x = 88172645463325252ULL;

	for (int i = 0; i < 20000; i++) {
		struct perf_event ev[MAX];
		char text[512] = "", err[48];
		int n;

		for (int k = 0; k < 2 + i % 24; k++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			strcat(text, parts[x % (sizeof(parts) / sizeof(parts[0]))]);
		}
		n = perf_event__parse(text, intel, ev, MAX, err, sizeof(err));
		assert_true((n > 0 && n <= MAX) || ((n == -EINVAL || n == -ENOENT) && err[0]));
	}
}

TEST(rates_follow_the_fastest_clock)
{
	assert_true(one(intel, "cycles").max_rate == 4e9);
	assert_true(one(intel, "instructions").max_rate == 16e9);
	assert_true(one(intel, "branches").max_rate == 4e9);
	assert_true(one(intel, "cache-misses").max_rate == 2e8);
	assert_true(one(intel, "LLC-load-misses").max_rate == 2e8);
	assert_true(one(intel, "task-clock").max_rate == 1e9);
	assert_true(one(intel, "faults").max_rate == 1e6);
	assert_true(one(intel, "r1a8").max_rate == 4e9);
	assert_true(one(intel, "cpu/event=1/").max_rate == 4e9);
	assert_true(one(amd, "cycles").max_rate > 1e8);
}

static int print_event(const char *text)
{
	struct perf_event ev;
	char err[256];

	if (perf_event__parse(text, "/sys", &ev, 1, err, sizeof(err)) != 1) {
		fprintf(stderr, "%s\n", err);
		return 1;
	}
	printf("%s %u %#llx %d %d\n", text, ev.type, (unsigned long long)ev.config, ev.exclude_user,
	       ev.exclude_kernel);
	return 0;
}

/* --names [EVENT ...] */
static int print_names(char **more)
{
	unsigned n;
	const struct perf_name *all = perf_names__all(&n);
	int bad = 0;

	for (unsigned i = 0; i < n; i++)
		bad |= print_event(all[i].name);
	while (*++more)
		bad |= print_event(*more);
	return bad;
}

static struct unit_fixture fixture = {.setup_all = make_trees, .with_args = print_names};
