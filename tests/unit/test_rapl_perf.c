// SPDX-License-Identifier: GPL-2.0-only
/* RAPL read by perf events, fed by the test or the kernel's clock, and single cores of AMD. */

#include "tests/unit/unit.h"
#include "tests/unit/rapl.h"

TEST(perf_events_come_first)
{
	struct source src = {};
	char why[256];

	machine_make(&src.m, "intel-2s");
	fake_begin(0);
	assert_int_equal(sensor__probe(&sensor_rapl, &src.m.roots, why, sizeof(why)), 0);
	assert_string_equal(why, "perf events: 2 package, 2 dram");
	feed(0, 2, 10ull << 32, 5ull << 32);
	feed(2, 2, 0, UINT64_MAX - 7);
	open_as(&src, &sensor_rapl);
	is_named(&src, "package-0 dram-0 package-1 dram-1");
	assert_int_equal(src.ch[2].cpu, 2);
	assert_int_equal(fake[0].opened, 2);
	assert_int_equal(fake[2].opened, 2);
	assert_int_equal(fake[1].opened, 0);
	assert_int_equal(fake[0].type, 9);
	assert_int_equal(fake[0].configs[0], 2);
	assert_int_equal(fake[0].configs[1], 3);
	feed(0, 2, 110ull << 32, 6ull << 32);
	feed(2, 2, 1, (1ull << 31) - 8);
	read_after(&src, 1);
	assert_int_equal(src.err, 0);
	check(&src, "package-0", READING_GOOD, 100);
	check(&src, "dram-0", READING_GOOD, 1);
	check(&src, "package-1", READING_GOOD, 1.0 / 4294967296.0);
	check(&src, "dram-1", READING_GOOD, 0.5);
	end(&src);
	fake_end(kernel_open);
}

/* The kernel folds wraps for what takes up to 400 W. Never backwards, nor by more than can be. */
TEST(perf_events_may_come_later)
{
	struct source src = {};

	machine_make(&src.m, "intel-2s");
	fake_begin(0);
	feed(0, 2, 0, 0);
	feed(2, 2, 0, 0);
	open_as(&src, &sensor_rapl);
	feed(0, 2, 100ull << 32, 8640000ull << 32);
	feed(2, 2, 0, 0);
	read_after(&src, 86400);
	check(&src, "package-0", READING_GAP, 0);
	check(&src, "dram-0", READING_GOOD, 8640000);
	feed(0, 2, 30100ull << 32, 8640000ull << 32);
	feed(2, 2, 0, 0);
	read_after(&src, 300);
	check(&src, "package-0", READING_GOOD, 30000);
	feed(0, 2, 5, 8640000ull << 32);
	feed(2, 2, 601ull << 33, 0);
	read_after(&src, 1);
	check(&src, "package-0", READING_GAP, 30000);
	check(&src, "package-1", READING_GAP, 0);
	end(&src);
	fake_end(kernel_open);
}

TEST(events_that_end_are_opened_again)
{
	struct source src = {};

	machine_make(&src.m, "intel-2s");
	fake_begin(0);
	feed(0, 2, 0, 0);
	feed(2, 2, 0, 0);
	open_as(&src, &sensor_rapl);
	feed(0, 2, 1ull << 32, 0);
	feed(2, 1, 3, 0); /* another number of values than the group has */
	fake[2].answer = -ENODEV;
	read_after(&src, 1);
	check(&src, "package-0", READING_GOOD, 1);
	check(&src, "package-1", READING_NONE, NAN);
	feed(0, 2, 2ull << 32, 0);
	read_after(&src, 1);
	check(&src, "dram-1", READING_NONE, NAN);
	fake[2].answer = 0;
	feed(0, 2, 3ull << 32, 0);
	feed(2, 2, 4, 4);
	read_after(&src, 1);
	check(&src, "package-0", READING_GOOD, 3);
	check(&src, "package-1", READING_GAP, 0);
	end(&src);
	fake_end(kernel_open);
}

/* Not the function that refuses trees other than /sys. */
static int real_open(struct perf_event_attr *attr, int cpu, int group_fd)
{
	return kernel_open(attr, cpu, group_fd);
}

/* A PMU whose events are the kernel's clock, which counts ns while a CPU's event is on. */
static void make_clock_pmu(struct machine *m)
{
#define PMU "sys/bus/event_source/devices/power/"
	machine_make(m, "intel-2s");
	machine_put(m, PMU "type", "1");
	machine_put(m, PMU "cpumask", "0");
	machine_put(m, PMU "events/energy-pkg", "event=0x00");
	machine_put(m, PMU "events/energy-pkg.scale", "1e-9");
	machine_put(m, PMU "events/energy-ram", "event=0x00");
	machine_put(m, PMU "events/energy-ram.scale", "1e-9");
	machine_remove(m, POWERCAP);
	machine_remove(m, "dev");
#undef PMU
}

static void check_clock_pmu(struct source *src)
{
	uint64_t before_open = clock__boot_ns(), open, before_read, after;

	open_as(src, &sensor_rapl);
	open = clock__boot_ns();
	is_named(src, "package-0 dram-0");
	usleep(20000);
	before_read = clock__boot_ns();
	assert_int_equal(src->ops->read(src->s, src->v), 0);
	after = clock__boot_ns();
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(src->v[i].quality, READING_GOOD);
		assert_in_range(src->v[i].time_ns, before_read, after);
		assert_true(src->v[i].value * 1e9 >= (double)(before_read - open) * 0.99);
		assert_true(src->v[i].value * 1e9 <= (double)(after - before_open) * 1.01);
	}
}

TEST(the_kernels_own_events_are_read)
{
	struct source src = {};
	char why[256];
	int err;

	make_clock_pmu(&src.m);
	sensor_event_open = real_open;
	rapl_clock = clock__boot_ns;
	err = sensor__probe(&sensor_rapl, &src.m.roots, why, sizeof(why));
	if (!err)
		check_clock_pmu(&src);
	end(&src);
	sensor_event_open = kernel_open;
	rapl_clock = test_clock;
	if (err == -EACCES)
		skip();
	assert_int_equal(err, 0);
}

static void all_ways_denied(struct machine *m)
{
	char why[256];

	assert_int_equal(sensor__probe(&sensor_rapl, &m->roots, why, sizeof(why)), -EACCES);
	assert_non_null(strstr(why, "perf events: not permitted: run as root, with CAP_PERFMON"));
	assert_non_null(strstr(why, "; powercap: energy_uj: not permitted"));
	assert_null(strstr(why, "msr"));
}

TEST(the_next_way_is_tried_where_one_is_denied)
{
	struct source src = {};
	char why[256];

	machine_make(&src.m, "amd-cores");
	fake_begin(-EACCES);
	assert_int_equal(sensor__probe(&sensor_rapl, &src.m.roots, why, sizeof(why)), 0);
	/* "core" is one core's counter, not that of all. */
	assert_string_equal(why, "powercap: 1 package");
	forbid(&src.m, POWERCAP "intel-rapl:0/energy_uj");
	machine_remove(&src.m, "dev");
	as_nobody(all_ways_denied, &src.m);
	end(&src);
	fake_end(kernel_open);
}

TEST(cores_are_a_source_of_their_own)
{
	struct source src = {};
	char why[256];

	assert_true(sensor_rapl_cores.slow && !sensor_rapl.slow);
	machine_make(&src.m, "amd-cores");
	fake_begin(0);
	feed(0, 1, 0, 0);
	feed(1, 1, 0, 0);
	open_as(&src, &sensor_rapl_cores);
	is_named(&src, "core-0 core-1");
	assert_int_equal(src.ch[1].part, PART_CORE);
	assert_int_equal(src.ch[1].cpu, 1);
	feed(0, 1, 3ull << 32, 0);
	feed(1, 1, 4ull << 32, 0);
	read_after(&src, 1);
	check(&src, "core-0", READING_GOOD, 3);
	check(&src, "core-1", READING_GOOD, 4);
	end(&src);
	fake_end(kernel_open);
	memset(&src, 0, sizeof(src));
	machine_make(&src.m, "intel-2s");
	assert_int_equal(sensor__probe(&sensor_rapl_cores, &src.m.roots, why, sizeof(why)),
			 -ENOENT);
	end(&src);
	sensor_event_open = kernel_open;
}

static struct unit_fixture fixture = {.setup_all = rapl_setup};
