// SPDX-License-Identifier: GPL-2.0-or-later
/* RAPL on machines made of files, with a clock that the test steps: by powercap (names, wraps,
 * gaps, denials, odd files), by registers of Intel and AMD, and by perf events that the test feeds
 * or the kernel counts. */

#include "tests/unit/unit.h"
#include "base/clock.h"
#include "sensor/core/event.h"
#include "sensor/rapl/rapl.h"
#include "sensor/sensors.h"
#include "tests/unit/machine.h"

#define POWERCAP "sys/class/powercap/"
#define S	 1000000000ull

static uint64_t test_clock(void)
{
	return m.now_ns;
}

static void open_on(const char *name, const struct sensor_ops *ops)
{
	machine_make(name);
	machine_open(ops);
}

/* The machine without powercap, or what else may be in the way of its registers. */
static void open_registers(const char *name, const struct sensor_ops *ops)
{
	machine_make(name);
	machine_remove(POWERCAP);
	if (!strncmp(name, "amd", 3))
		machine_remove("sys/bus");
	machine_open(ops);
}

static void put_uj(const char *zone, uint64_t uj)
{
	char path[128];

	snprintf(path, sizeof(path), POWERCAP "intel-rapl:%s/energy_uj", zone);
	machine_put_u64(path, uj);
}

/* What is read so many seconds later. */
static void after(unsigned seconds, const char *list)
{
	m.now_ns += seconds * S;
	reads("", list);
}

static void forbid(const char *path)
{
	shell("chmod 0 %s/%s", m.dir, path);
}

static sensor_event_open_fn *kernel_open;

/* Events of a CPU are a pipe of packets, as perf's read(2) gives them. */
static struct {
	int rd, wr, opened, answer;
	uint32_t type;
	uint64_t configs[8];
} fake[4];

static void feed(int cpu, uint64_t nr, uint64_t a, uint64_t b)
{
	uint64_t packet[3] = {nr, a, b};

	assert_int_equal(write(fake[cpu].wr, packet, 8 + 8 * nr), 8 + 8 * nr);
}

static int fake_open(struct perf_event_attr *attr, int cpu, int group_fd)
{
	assert_in_range(cpu, 0, 3);
	assert_int_equal(attr->size, sizeof(*attr));
	assert_true(attr->read_format == PERF_FORMAT_GROUP);
	assert_true(!attr->sample_period && !attr->exclude_kernel && !attr->exclude_user &&
		    !attr->disabled && !attr->inherit);
	if (fake[cpu].answer)
		return fake[cpu].answer;
	fake[cpu].type = attr->type;
	if (group_fd < 0)
		fake[cpu].opened = 0;
	fake[cpu].configs[fake[cpu].opened++] = attr->config;
	return dup(fake[cpu].rd);
}

static void fake_begin(int answer)
{
	int p[2];

	for (int cpu = 0; cpu < 4; cpu++) {
		assert_int_equal(pipe2(p, O_DIRECT | O_NONBLOCK | O_CLOEXEC), 0);
		fake[cpu].rd = p[0];
		fake[cpu].wr = p[1];
		fake[cpu].answer = answer;
		fake[cpu].opened = 0;
	}
	sensor_event_open = fake_open;
}

static void fake_end(void)
{
	for (int cpu = 0; cpu < 4; cpu++) {
		if (fake[cpu].wr) {
			close(fake[cpu].rd);
			close(fake[cpu].wr);
		}
		fake[cpu].wr = 0;
	}
	sensor_event_open = kernel_open;
}

TEST(zones_are_named_by_what_they_measure)
{
	const struct sensor_channel *c;

	open_on("intel-2s", &sensor_rapl);
	channels_are("package-1 dram-1 package-0 dram-0");
	parts_are("dram-1=dram 1");
	c = channel_of("", "dram-1");
	assert_true(c->cpu == 2 && c->quantity == QUANTITY_ENERGY &&
		    fabs(c->step - 15.3e-6) < 1e-8);
	assert_string_equal(c->unit, "J");
	c = channel_of("", "package-0");
	assert_true(c->cpu == 0 && c->error == 0.05 && fabs(c->step - 1.0 / 16384) < 1e-9);
	after(1, "package-0=0");
	put_uj("1", 1000000000 + 123456789);
	after(1, "package-0=123.456789, package-1=0");
}

/* One count past its range is 0. */
TEST(counters_wrap_at_their_own_range)
{
	open_on("intel-2s", &sensor_rapl);
	put_uj("0", 100000);
	put_uj("0:0", 7);
	after(1, "package-1=0.428851, dram-1=0.999621");
	put_uj("0", 300000);
	after(1, "package-1=0.628851");
}

/* 180 s at 300 W may be more than 0.8 of 65713 J, at 600 W not of 262143 J. */
TEST(a_reading_too_late_is_a_gap)
{
	open_on("intel-2s", &sensor_rapl);
	put_uj("1", 1000000000 + 50000000);
	put_uj("1:0", 2000000000 + 50000000);
	after(180, "package-0=50, dram-0=gap 0");
	put_uj("1:0", 2000000000 + 51000000);
	after(170, "dram-0=1");
	after(350, "package-0=gap 50");
}

TEST(a_counter_that_jumps_is_a_gap)
{
	open_on("intel-2s", &sensor_rapl);
	put_uj("1", 1000);
	after(1, "package-0=gap 0");
	put_uj("1", 2000);
	after(1, "package-0=0.001");
	put_uj("1", 5000000000);
	after(1, "package-0=gap 0.001");
	put_uj("1", 5600000000);
	after(1, "package-0=600.001");
	/* Beyond its own range it is no value of this counter. */
	put_uj("1", 262143328851);
	after(1, "package-0=gap 600.001");
}

TEST(a_package_that_was_away_comes_back_as_a_gap)
{
	open_on("intel-2s", &sensor_rapl);
	put_uj("1", 1000000000 + 2000000);
	after(1, "package-0=2");
	machine_put(POWERCAP "intel-rapl:1/energy_uj", "");
	after(1, "package-0=none, package-1=0");
	machine_remove(POWERCAP "intel-rapl:1");
	after(1, "package-0=none");
	put_uj("1", 1000000000 + 3000000);
	machine_put(POWERCAP "intel-rapl:1/name", "psys");
	after(1, "package-0=none");
	machine_put(POWERCAP "intel-rapl:1/name", "package-0");
	after(1, "package-0=gap 2");
	put_uj("1", 1000000000 + 4000000);
	after(1, "package-0=3");
}

TEST(all_away_is_an_error)
{
	open_on("amd-2s", &sensor_rapl);
	channels_are("package-0 package-1");
	assert_true(m.c[0].error == 0.10);
	machine_puts(POWERCAP, "intel-rapl:0/energy_uj=none|intel-rapl:1/energy_uj=-1");
	machine_read(-ENODATA);
	expect("", "package-1=none");
}

TEST(what_may_not_be_read_says_so)
{
	machine_make("amd-2s");
	forbid(POWERCAP "intel-rapl:0/energy_uj");
	be_nobody(true);
	machine_open(&sensor_rapl);
	after(1, "package-0=denied, package-1=0");
	machine_close();
	be_nobody(false);
	forbid(POWERCAP "intel-rapl:1/energy_uj");
	be_nobody(true);
	machine_probe(&sensor_rapl, -EACCES, "");
	assert_string_equal(m.why, "powercap: energy_uj: not permitted: run as root");
	assert_int_equal(sensor__open(&sensor_rapl, &m.s, &m.roots), -EACCES);
	assert_null(m.s);
	be_nobody(false);
}

TEST(parts_of_a_client)
{
	open_on("intel-client", &sensor_rapl);
	channels_are("package-0 cores-0 uncore-0 dram-0 psys");
	parts_are("psys=platform");
	assert_true(isnan(m.c[4].error));
	open_registers("intel-client", &sensor_rapl);
	channels_are("package-0 dram-0 cores-0 uncore-0 psys");
	machine_put_msr("dev/cpu/0/msr", 0x64d, 0x8000 + 16384);
	after(1, "psys=1");
}

TEST(dies_are_parts_of_their_own)
{
	open_on("intel-dies", &sensor_rapl);
	channels_are(
		"package-0-die-0 package-0-die-1 package-1-die-0 package-1-die-1 dram-1-die-1");
	for (int i = 0; i < 4; i++) {
		assert_int_equal(m.c[i].index, i);
		assert_int_equal(m.c[i].cpu, i);
	}
	assert_int_equal(m.c[4].index, 3);
	/* The same where only the zones' names tell of dies. */
	machine_make("intel-dies");
	machine_remove("sys/devices");
	machine_open(&sensor_rapl);
	assert_int_equal(m.n, 5);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(m.c[i].index, i);
		assert_int_equal(m.c[i].cpu, -1);
	}
}

TEST(odd_files_are_survived)
{
	static const char *const texts[] = {"",
					    "-1",
					    "0",
					    "99999999999999999999999",
					    "package-",
					    "x",
					    "package-1-die-",
					    "package-99999999999",
					    "package-0-die-999",
					    "18446744073709551615"};
	static const char *const files[] = {POWERCAP "intel-rapl:0/name",
					    POWERCAP "intel-rapl:0/energy_uj",
					    POWERCAP "intel-rapl:0/max_energy_range_uj",
					    POWERCAP "intel-rapl:0:0/name",
					    "sys/devices/system/cpu/cpu0/topology/die_id",
					    "sys/bus/event_source/devices/power/cpumask",
					    "sys/bus/event_source/devices/power/events/energy-pkg",
					    "sys/bus/event_source/devices/power/type"};
	struct sensor_value v[64];

	for (unsigned f = 0; f < sizeof(files) / sizeof(files[0]); f++) {
		machine_make("intel-2s");
		for (unsigned t = 0; t < sizeof(texts) / sizeof(texts[0]); t++) {
			struct sensor *s = NULL;

			machine_put(files[f], texts[t]);
			fake_begin(f % 2 ? -ENODEV : 0);
			if (!sensor__open(&sensor_rapl, &s, &m.roots))
				sensor_rapl.read(s, v);
			sensor__close(&sensor_rapl, s);
			fake_end();
		}
	}
}

/* Whatever the power and the times of reading: what is good is what was taken, to the count. */
TEST(nothing_is_guessed)
{
	uint64_t x = 88172645463325252ULL, truth = 0, time = S;
	struct rapl_counter c = {
		.unit = 1.0 / 65536, .range = 1ull << 32, .pmax_w = 600, .late_j = 65536};
	struct rapl_raw raw = {0, S, 0};
	unsigned good = 0, gaps = 0;

	rapl_counter__take(&c, &raw);
	for (int i = 0; i < 200000; i++) {
		double before = c.joules, dt, joules;
		struct sensor_value v;
		uint64_t counts;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		dt = (double)(x % 1000) / 1000 * (x >> 20 & 15 ? 2 : 400);
		joules = dt * (double)(x >> 32 & 511) * 1.17;
		counts = (uint64_t)(joules * 65536);
		truth += counts;
		time += (uint64_t)(dt * 1e9);
		raw = (struct rapl_raw){truth & UINT32_MAX, time, 0};
		v = rapl_counter__take(&c, &raw);
		if (v.quality == READING_GOOD) {
			good++;
			assert_true(fabs(c.joules - before - (double)counts / 65536) < 1e-6);
		} else {
			gaps++;
			assert_int_equal(v.quality, READING_GAP);
			assert_true(dt * 600 > 0.8 * 65536);
			assert_true(c.joules == before);
		}
	}
	assert_true(good > 150000 && gaps > 1000);
}

/* Kernels that take a die for a package name one's counter several times. */
TEST(dies_of_amd_are_one_package)
{
	machine_make("amd-cores");
	fake_begin(0);
	machine_probe(&sensor_rapl, 0, "");
	assert_string_equal(m.why, "perf events: 1 package");
	fake_end();
	machine_puts(
		POWERCAP,
		"intel-rapl:0/name=package-0-die-0|intel-rapl:1/name=package-0-die-1|intel-rapl:1/"
		"energy_uj=3000000|intel-rapl:1/max_energy_range_uj=65532610987");
	machine_open(&sensor_rapl);
	channels_are("package-0");
	assert_int_equal(m.c[0].cpu, 0);
}

TEST(registers_of_intel)
{
	open_registers("intel-2s", &sensor_rapl);
	channels_are("package-0 dram-0 package-1 dram-1");
	assert_true(m.c[0].step == 1.0 / 16384);
	assert_true(m.c[1].step == 1.0 / 65536);
	assert_int_equal(m.c[2].cpu, 2);
	/* The upper half of the register means nothing. */
	machine_put_msr("dev/cpu/0/msr", 0x611, 0xdead000010000000 + 16384);
	machine_put_msr("dev/cpu/0/msr", 0x619, 0x20000000 + 65536);
	machine_put_msr("dev/cpu/2/msr", 0x611, 0x10);
	after(1, "package-0=1, dram-0=1, package-1=0.001953125, dram-1=0");
}

TEST(registers_of_amd)
{
	open_registers("amd-cores", &sensor_rapl);
	channels_are("package-0");
	assert_true(m.c[0].step == 1.0 / 65536);
	machine_put_msr("dev/cpu/0/msr", 0xc001029b, 0x80000 + 65536);
	after(1, "package-0=1");
	open_registers("amd-cores", &sensor_rapl_cores);
	channels_are("core-0 core-1");
	machine_put_msr("dev/cpu/1/msr", 0xc001029a, 0x2000 + 32768);
	after(1, "core-0=0, core-1=0.5");
}

TEST(another_cpu_of_the_package_takes_over)
{
	open_registers("amd-cores", &sensor_rapl);
	shell("truncate -s 0 %s/dev/cpu/0/msr", m.dir);
	machine_remove("dev/cpu/0");
	machine_put_msr("dev/cpu/1/msr", 0xc001029b, 0x80000 + 65536);
	after(1, "package-0=1");
}

TEST(units_of_models)
{
	open_on("intel-spr", &sensor_rapl);
	channels_are("package-0 dram-0 psys");
	assert_true(m.c[1].step == 1.0 / 16384);
	assert_true(m.c[2].step == 1);
	machine_put_msr("dev/cpu/0/msr", 0x64d, 107);
	after(1, "psys=100");
	open_on("atom", &sensor_rapl);
	channels_are("package-0 cores-0");
	assert_true(m.c[0].step == 32e-6);
	machine_put_msr("dev/cpu/0/msr", 0x611, 0x4000 + 31250);
	after(1, "package-0=1");
}

TEST(a_virtual_machine_has_none)
{
	machine_make("vm");
	machine_probe(&sensor_rapl, -ENOENT, "the PMU \"power\" has no events of energy");
	machine_probe(&sensor_rapl, -ENOENT, "msr: the registers read 0 or do not exist");
	machine_lacks(&sensor_rapl);
	machine_make("");
	machine_lacks(&sensor_rapl);
	machine_lacks(&sensor_rapl_cores);
	assert_int_equal(sensor__probe(&sensor_rapl, &m.roots, m.why, 8), -ENOENT);
	assert_int_equal(strlen(m.why), 7);
}

TEST(perf_events_come_first)
{
	machine_make("intel-2s");
	fake_begin(0);
	machine_probe(&sensor_rapl, 0, "");
	assert_string_equal(m.why, "perf events: 2 package, 2 dram");
	feed(0, 2, 10ull << 32, 5ull << 32);
	feed(2, 2, 0, UINT64_MAX - 7);
	machine_open(&sensor_rapl);
	channels_are("package-0 dram-0 package-1 dram-1");
	assert_int_equal(m.c[2].cpu, 2);
	assert_int_equal(fake[0].opened, 2);
	assert_int_equal(fake[2].opened, 2);
	assert_int_equal(fake[1].opened, 0);
	assert_int_equal(fake[0].type, 9);
	assert_int_equal(fake[0].configs[0], 2);
	assert_int_equal(fake[0].configs[1], 3);
	feed(0, 2, 110ull << 32, 6ull << 32);
	feed(2, 2, 1, (1ull << 31) - 8);
	after(1, "package-0=100, dram-0=1, package-1=2.3283064365386963e-10, dram-1=0.5");
}

/* The kernel folds wraps for what takes up to 400 W. Never backwards, nor by more than can be. */
TEST(perf_events_may_come_later)
{
	machine_make("intel-2s");
	fake_begin(0);
	feed(0, 2, 0, 0);
	feed(2, 2, 0, 0);
	machine_open(&sensor_rapl);
	feed(0, 2, 100ull << 32, 8640000ull << 32);
	feed(2, 2, 0, 0);
	after(86400, "package-0=gap 0, dram-0=8640000");
	feed(0, 2, 30100ull << 32, 8640000ull << 32);
	feed(2, 2, 0, 0);
	after(300, "package-0=30000");
	feed(0, 2, 5, 8640000ull << 32);
	feed(2, 2, 601ull << 33, 0);
	after(1, "package-0=gap 30000, package-1=gap 0");
}

TEST(events_that_end_are_opened_again)
{
	machine_make("intel-2s");
	fake_begin(0);
	feed(0, 2, 0, 0);
	feed(2, 2, 0, 0);
	machine_open(&sensor_rapl);
	feed(0, 2, 1ull << 32, 0);
	feed(2, 1, 3, 0); /* another number of values than the group has */
	fake[2].answer = -ENODEV;
	after(1, "package-0=1, package-1=none");
	feed(0, 2, 2ull << 32, 0);
	after(1, "dram-1=none");
	fake[2].answer = 0;
	feed(0, 2, 3ull << 32, 0);
	feed(2, 2, 4, 4);
	after(1, "package-0=3, package-1=gap 0");
}

/* Not the function that refuses trees other than /sys. */
static int real_open(struct perf_event_attr *attr, int cpu, int group_fd)
{
	return kernel_open(attr, cpu, group_fd);
}

/* A PMU whose events are the kernel's clock, which counts ns while a CPU's event is on. */
static void make_clock_pmu(void)
{
	machine_make("intel-2s");
	machine_puts("sys/bus/event_source/devices/power/",
		     "type=1|cpumask=0|events/energy-pkg=event=0x00|events/energy-pkg.scale=1e-9|"
		     "events/energy-ram=event=0x00|events/energy-ram.scale=1e-9");
	machine_remove(POWERCAP);
	machine_remove("dev");
}

static void check_clock_pmu(void)
{
	uint64_t before_open = clock__boot_ns(), open, before_read, after;

	machine_open(&sensor_rapl);
	open = clock__boot_ns();
	channels_are("package-0 dram-0");
	usleep(20000);
	before_read = clock__boot_ns();
	machine_read(0);
	after = clock__boot_ns();
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(m.v[i].quality, READING_GOOD);
		assert_in_range(m.v[i].time_ns, before_read, after);
		assert_true(m.v[i].value * 1e9 >= (double)(before_read - open) * 0.99);
		assert_true(m.v[i].value * 1e9 <= (double)(after - before_open) * 1.01);
	}
}

TEST(the_kernels_own_events_are_read)
{
	int err;

	make_clock_pmu();
	sensor_event_open = real_open;
	rapl_clock = clock__boot_ns;
	err = sensor__probe(&sensor_rapl, &m.roots, m.why, sizeof(m.why));
	if (!err)
		check_clock_pmu();
	rapl_clock = test_clock;
	if (err == -EACCES)
		skip();
	assert_int_equal(err, 0);
}

TEST(the_next_way_is_tried_where_one_is_denied)
{
	machine_make("amd-cores");
	fake_begin(-EACCES);
	machine_probe(&sensor_rapl, 0, "");
	/* "core" is one core's counter, not that of all. */
	assert_string_equal(m.why, "powercap: 1 package");
	forbid(POWERCAP "intel-rapl:0/energy_uj");
	machine_remove("dev");
	be_nobody(true);
	machine_probe(&sensor_rapl, -EACCES,
		      "perf events: not permitted: run as root, with CAP_PERFMON");
	machine_probe(&sensor_rapl, -EACCES, "; powercap: energy_uj: not permitted");
	be_nobody(false);
	assert_null(strstr(m.why, "msr"));
}

TEST(cores_are_a_source_of_their_own)
{
	assert_true(sensor_rapl_cores.slow && !sensor_rapl.slow);
	machine_make("amd-cores");
	fake_begin(0);
	feed(0, 1, 0, 0);
	feed(1, 1, 0, 0);
	machine_open(&sensor_rapl_cores);
	channels_are("core-0 core-1");
	parts_are("core-1=core 1");
	assert_int_equal(m.c[1].cpu, 1);
	feed(0, 1, 3ull << 32, 0);
	feed(1, 1, 4ull << 32, 0);
	after(1, "core-0=3, core-1=4");
	fake_end();
	machine_make("intel-2s");
	machine_probe(&sensor_rapl_cores, -ENOENT, "");
}

static int begin(void **state)
{
	m.now_ns = S;
	rapl_clock = test_clock;
	kernel_open = sensor_event_open;
	return 0;
}

static int end(void **state)
{
	machine_end(state);
	fake_end();
	return 0;
}

static struct unit_fixture fixture = {.setup_all = begin, .teardown = end};
