/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets of events by one word, on processors as their /proc/cpuinfo and sysfs say. */

#include "tests/unit/unit.h"
#include "kern/pmu/perf_event.h"
#include "kern/pmu/perf_groups.h"

static void put_x86(const char *vendor, int family, int model)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "processor\t: 0\nvendor_id\t: %s\ncpu family\t: %d\nmodel\t\t: %d\n"
		 "model name\t: A CPU\n\nprocessor\t: 1\nvendor_id\t: Other\n",
		 vendor, family, model);
	put_text(unit_dir, "cpuinfo", text);
	put_text(unit_dir, "bus/event_source/devices/cpu/type", "4\n");
	put_text(unit_dir, "bus/event_source/devices/cpu/format/event", "config:0-7,32-35\n");
	put_text(unit_dir, "bus/event_source/devices/cpu/format/umask", "config:8-15\n");
}

static const char *kind(void)
{
	const struct perf_arch *a = perf_arch__find(unit_dir, unit_dir);

	return a ? a->name : "none";
}

TEST(processors_are_known_by_their_models)
{
	static const struct {
		const char *vendor;
		int family, model;
		const char *kind;
	} cases[] = {
		{"GenuineIntel", 6, 85, "intel_pre_icl"},
		{"GenuineIntel", 6, 106, "intel_icl"},
		{"GenuineIntel", 6, 143, "intel_icl"},
		{"GenuineIntel", 6, 63, "none"},
		{"AuthenticAMD", 25, 1, "amd_stalls"},
		{"AuthenticAMD", 25, 17, "amd_zen4"},
		{"AuthenticAMD", 26, 2, "amd_zen5"},
		{"AuthenticAMD", 21, 2, "none"},
		{"Nobody", 6, 85, "none"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		put_x86(cases[i].vendor, cases[i].family, cases[i].model);
		assert_string_equal(kind(), cases[i].kind);
	}
}

static int expand(const char *list, char *out, char *err)
{
	return perf_groups__expand(list, unit_dir, unit_dir, out, 4096, err, 256);
}

TEST(words_become_sets_of_events)
{
	struct perf_event ev[JP_PMU_EVENTS];
	char out[4096], err[256];

	put_x86("AuthenticAMD", 25, 17);
	assert_int_equal(expand("@cpi;cycles,cs; @memory", out, err), 2);
	assert_int_equal(perf_event__parse(out, unit_dir, ev, JP_PMU_EVENTS, err, sizeof(err)),
			 2 + 5 + 1 + 6);
	assert_string_equal(ev[0].column, "Cycles");
	assert_int_equal(ev[0].sets, 7);
	assert_string_equal(ev[2].column, "SlotsFrontend");
	assert_int_equal(ev[2].config, 0x1000001a0);
	assert_int_equal(ev[2].sets, 1);
	put_x86("GenuineIntel", 6, 106);
	assert_int_equal(expand("@cpi;@memory;@flops", out, err), 3);
	assert_int_equal(perf_event__parse(out, unit_dir, ev, JP_PMU_EVENTS, err, sizeof(err)),
			 2 + 4 + 6 + 5);
	assert_int_equal(expand("cycles,cpu/event=1/", out, err), 0);
	assert_string_equal(out, "cycles,cpu/event=1/");
}

TEST(arm_has_a_pmu_of_another_name)
{
	struct perf_event ev[JP_PMU_EVENTS];
	const struct perf_arch *a;
	char out[4096], err[256];

	shell("rm -r %s/bus", unit_dir);
	put_text(
		unit_dir, "cpuinfo",
		"processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\n"
		"CPU part\t: 0xd4f\n\n");
	put_text(unit_dir, "bus/event_source/devices/armv8_pmuv3_0/type", "10\n");
	put_text(unit_dir, "bus/event_source/devices/armv8_pmuv3_0/format/event", "config:0-15\n");
	put_text(unit_dir, "bus/event_source/devices/armv8_pmuv3_0/caps/slots", "0x8\n");
	a = perf_arch__find(unit_dir, unit_dir);
	assert_non_null(a);
	assert_string_equal(a->name, "arm_sbsa");
	assert_int_equal(perf_arch__width(a, unit_dir), 8);
	assert_int_equal(expand("@cpi", out, err), 1);
	assert_string_equal(err, "");
	assert_int_equal(perf_event__parse(out, unit_dir, ev, JP_PMU_EVENTS, err, sizeof(err)), 7);
	assert_int_equal(ev[2].config, 0x3e);
	assert_int_equal(expand("@flops;@cpi", out, err), 1);
	assert_non_null(strstr(err, "@flops: no such events of this processor are known"));
	assert_int_equal(perf_event__parse(out, unit_dir, ev, JP_PMU_EVENTS, err, sizeof(err)), 7);
}

TEST(what_is_not_known_is_left_out)
{
	char out[4096], err[256];

	put_x86("GenuineIntel", 6, 63);
	assert_int_equal(expand("@cpi", out, err), 0);
	assert_string_equal(out, "");
	assert_non_null(strstr(err, "@cpi: no such events of this processor are known"));
	assert_int_equal(expand("@cpi;cycles,cs; @memory;r1", out, err), 0);
	assert_string_equal(out, "cycles,cs;r1");
	assert_non_null(strstr(err, "@cpi, @memory: no such events"));
}

TEST(mistakes_are_errors)
{
	char out[4096], err[256];

	put_x86("GenuineIntel", 6, 63);
	assert_int_equal(expand("@cpu", out, err), -EINVAL);
	assert_non_null(strstr(err, "none of @cpi, @memory and @flops"));
	assert_int_equal(expand("@cpu;cycles;@mem", out, err), -EINVAL);
	assert_non_null(strstr(err, "@cpu is none of"));
	assert_non_null(strstr(err, "; @mem is none of"));
	assert_string_equal(out, "cycles");
	assert_int_equal(expand("@cpi;;cycles", out, err), 0);
	assert_string_equal(out, ";cycles"); /* in which perf_event__parse() misses an event */
	put_x86("GenuineIntel", 6, 85);
	assert_int_equal(
		perf_groups__expand("@memory", unit_dir, unit_dir, out, 40, err, sizeof(err)),
		-ENOSPC);
}
