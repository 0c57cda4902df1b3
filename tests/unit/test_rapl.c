/* SPDX-License-Identifier: GPL-2.0-only */
/* Energy counters of processors against machines made of files, with a clock that tests step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "sensor/rapl/rapl.h"
#include "sensor/sensors.h"
#include "tests/unit/sensors.h"

#define POWERCAP "sys/class/powercap/"
#define S	 1000000000ull
#define MAX	 64

static uint64_t now_ns;

static uint64_t test_clock(void)
{
	return now_ns;
}

/* An open source and its last reading. */
struct source {
	struct machine m;
	const struct sensor_ops *ops;
	struct sensor *s;
	const struct sensor_channel *ch;
	unsigned n;
	struct sensor_value v[MAX];
	int err;
};

static void open_as(struct source *src, const struct sensor_ops *ops)
{
	src->ops = ops;
	assert_int_equal(ops->open(&src->s, &src->m.roots), 0);
	src->n = ops->channels(src->s, &src->ch);
	assert_in_range(src->n, 1, MAX);
}

static void end(struct source *src)
{
	if (src->ops)
		src->ops->close(src->s);
	machine_remove(&src->m, "");
}

static void read_after(struct source *src, double seconds)
{
	now_ns += (uint64_t)(seconds * 1e9);
	src->err = src->ops->read(src->s, src->v);
}

static unsigned find(const struct source *src, const char *name)
{
	for (unsigned i = 0; i < src->n; i++)
		if (!strcmp(src->ch[i].name, name))
			return i;
	fail_msg("no channel %s", name);
	return 0;
}

static void is_named(const struct source *src, const char *names)
{
	char all[512] = "";

	for (unsigned i = 0; i < src->n; i++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? " " : "",
			 src->ch[i].name);
	assert_string_equal(all, names);
}

static void check(const struct source *src, const char *name, enum sensor_quality q, double joules)
{
	const struct sensor_value *v = &src->v[find(src, name)];

	if (v->quality != q || v->time_ns != now_ns)
		fail_msg("%s: %s at %llu, not %s at %llu", name, sensor__quality_name(v->quality),
			 (unsigned long long)v->time_ns, sensor__quality_name(q),
			 (unsigned long long)now_ns);
	if (isnan(joules) ? !isnan(v->value) : !(fabs(v->value - joules) < 1e-9 + 1e-12 * joules))
		fail_msg("%s: %.12g J, not %.12g", name, v->value, joules);
}

static void zones_are_named_by_what_they_measure(void **state)
{
	struct source src = {};
	unsigned i;

	machine_make(&src.m, "intel-2s");
	open_as(&src, &sensor_rapl);
	is_named(&src, "package-1 dram-1 package-0 dram-0");
	i = find(&src, "dram-1");
	assert_int_equal(src.ch[i].part, PART_DRAM);
	assert_int_equal(src.ch[i].index, 1);
	assert_int_equal(src.ch[i].cpu, 2);
	assert_int_equal(src.ch[i].quantity, QUANTITY_ENERGY);
	assert_string_equal(src.ch[i].unit, "J");
	assert_true(fabs(src.ch[i].step - 15.3e-6) < 1e-8);
	i = find(&src, "package-0");
	assert_int_equal(src.ch[i].cpu, 0);
	assert_true(src.ch[i].error == 0.05);
	assert_true(fabs(src.ch[i].step - 1.0 / 16384) < 1e-9);
	read_after(&src, 1);
	assert_int_equal(src.err, 0);
	check(&src, "package-0", READING_GOOD, 0);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:1/energy_uj", 1000000000 + 123456789);
	read_after(&src, 1);
	check(&src, "package-0", READING_GOOD, 123.456789);
	check(&src, "package-1", READING_GOOD, 0);
	end(&src);
}

/* One count past its range is 0. */
static void counters_wrap_at_their_own_range(void **state)
{
	struct source src = {};

	machine_make(&src.m, "intel-2s");
	open_as(&src, &sensor_rapl);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:0/energy_uj", 100000);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:0:0/energy_uj", 7);
	read_after(&src, 1);
	check(&src, "package-1", READING_GOOD, 0.428851);
	check(&src, "dram-1", READING_GOOD, 0.999621);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:0/energy_uj", 300000);
	read_after(&src, 1);
	check(&src, "package-1", READING_GOOD, 0.628851);
	end(&src);
}

/* 180 s at 300 W may be more than 0.8 of 65713 J, at 600 W not of 262143 J. */
static void a_reading_too_late_is_a_gap(void **state)
{
	struct source src = {};

	machine_make(&src.m, "intel-2s");
	open_as(&src, &sensor_rapl);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:1/energy_uj", 1000000000 + 50000000);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:1:0/energy_uj", 2000000000 + 50000000);
	read_after(&src, 180);
	check(&src, "package-0", READING_GOOD, 50);
	check(&src, "dram-0", READING_GAP, 0);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:1:0/energy_uj", 2000000000 + 51000000);
	read_after(&src, 170);
	check(&src, "dram-0", READING_GOOD, 1);
	read_after(&src, 350);
	check(&src, "package-0", READING_GAP, 50);
	end(&src);
}

static void a_counter_that_jumps_is_a_gap(void **state)
{
	struct source src = {};

	machine_make(&src.m, "intel-2s");
	open_as(&src, &sensor_rapl);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:1/energy_uj", 1000);
	read_after(&src, 1);
	check(&src, "package-0", READING_GAP, 0);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:1/energy_uj", 2000);
	read_after(&src, 1);
	check(&src, "package-0", READING_GOOD, 0.001);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:1/energy_uj", 5000000000);
	read_after(&src, 1);
	check(&src, "package-0", READING_GAP, 0.001);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:1/energy_uj", 5600000000);
	read_after(&src, 1);
	check(&src, "package-0", READING_GOOD, 600.001);
	/* Beyond its own range it is no value of this counter. */
	machine_put_u64(&src.m, POWERCAP "intel-rapl:1/energy_uj", 262143328851);
	read_after(&src, 1);
	check(&src, "package-0", READING_GAP, 600.001);
	assert_int_equal(src.err, 0);
	end(&src);
}

static void a_package_that_was_away_comes_back_as_a_gap(void **state)
{
	struct source src = {};

	machine_make(&src.m, "intel-2s");
	open_as(&src, &sensor_rapl);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:1/energy_uj", 1000000000 + 2000000);
	read_after(&src, 1);
	check(&src, "package-0", READING_GOOD, 2);
	machine_put(&src.m, POWERCAP "intel-rapl:1/energy_uj", "");
	read_after(&src, 1);
	check(&src, "package-0", READING_NONE, NAN);
	check(&src, "package-1", READING_GOOD, 0);
	machine_remove(&src.m, POWERCAP "intel-rapl:1");
	read_after(&src, 1);
	check(&src, "package-0", READING_NONE, NAN);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:1/energy_uj", 1000000000 + 3000000);
	machine_put(&src.m, POWERCAP "intel-rapl:1/name", "psys");
	read_after(&src, 1);
	check(&src, "package-0", READING_NONE, NAN);
	machine_put(&src.m, POWERCAP "intel-rapl:1/name", "package-0");
	read_after(&src, 1);
	check(&src, "package-0", READING_GAP, 2);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:1/energy_uj", 1000000000 + 4000000);
	read_after(&src, 1);
	check(&src, "package-0", READING_GOOD, 3);
	end(&src);
}

static void all_away_is_an_error(void **state)
{
	struct source src = {};

	machine_make(&src.m, "amd-2s");
	open_as(&src, &sensor_rapl);
	is_named(&src, "package-0 package-1");
	assert_true(src.ch[0].error == 0.10);
	machine_put(&src.m, POWERCAP "intel-rapl:0/energy_uj", "none");
	machine_put(&src.m, POWERCAP "intel-rapl:1/energy_uj", "-1");
	read_after(&src, 1);
	assert_int_equal(src.err, -ENODATA);
	check(&src, "package-1", READING_NONE, NAN);
	end(&src);
}

/* Runs fn as nobody; root may read everything. */
static void as_nobody(void (*fn)(struct machine *), struct machine *m)
{
	bool root = !geteuid();

	if (root)
		assert_int_equal(seteuid(65534), 0);
	fn(m);
	if (root)
		assert_int_equal(seteuid(0), 0);
}

static void forbid(const struct machine *m, const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", m->dir, path);
	assert_int_equal(chmod(full, 0), 0);
}

static void is_denied(struct machine *m)
{
	struct sensor *s = NULL;
	char why[256];

	assert_int_equal(sensor_rapl.probe(&m->roots, why, sizeof(why)), -EACCES);
	assert_string_equal(why, "powercap: energy_uj: not permitted: run as root");
	assert_int_equal(sensor_rapl.open(&s, &m->roots), -EACCES);
	assert_null(s);
}

static void one_is_denied(struct machine *m)
{
	struct sensor_value v[MAX];
	struct sensor *s;

	assert_int_equal(sensor_rapl.open(&s, &m->roots), 0);
	assert_int_equal(sensor_rapl.read(s, v), 0);
	assert_int_equal(v[0].quality, READING_DENIED);
	assert_true(isnan(v[0].value));
	assert_int_equal(v[1].quality, READING_GOOD);
	sensor_rapl.close(s);
}

static void what_may_not_be_read_says_so(void **state)
{
	struct source src = {};

	machine_make(&src.m, "amd-2s");
	forbid(&src.m, POWERCAP "intel-rapl:0/energy_uj");
	as_nobody(one_is_denied, &src.m);
	forbid(&src.m, POWERCAP "intel-rapl:1/energy_uj");
	as_nobody(is_denied, &src.m);
	end(&src);
}

static void parts_of_a_client(void **state)
{
	struct source src = {};

	machine_make(&src.m, "intel-client");
	open_as(&src, &sensor_rapl);
	is_named(&src, "package-0 cores-0 uncore-0 dram-0 psys");
	assert_int_equal(src.ch[4].part, PART_PLATFORM);
	assert_int_equal(src.ch[4].index, -1);
	assert_true(isnan(src.ch[4].error));
	end(&src);
	memset(&src, 0, sizeof(src));
	machine_make(&src.m, "intel-client");
	machine_remove(&src.m, POWERCAP);
	open_as(&src, &sensor_rapl);
	is_named(&src, "package-0 dram-0 cores-0 uncore-0 psys");
	machine_put_msr(&src.m, "dev/cpu/0/msr", 0x64d, 0x8000 + 16384);
	read_after(&src, 1);
	check(&src, "psys", READING_GOOD, 1);
	end(&src);
}

static void dies_are_parts_of_their_own(void **state)
{
	struct source src = {};

	machine_make(&src.m, "intel-dies");
	open_as(&src, &sensor_rapl);
	is_named(&src, "package-0-die-0 package-0-die-1 package-1-die-0 package-1-die-1 "
		       "dram-1-die-1");
	for (int i = 0; i < 4; i++) {
		assert_int_equal(src.ch[i].index, i);
		assert_int_equal(src.ch[i].cpu, i);
	}
	assert_int_equal(src.ch[4].index, 3);
	end(&src);
	/* The same where only the zones' names tell of dies. */
	memset(&src, 0, sizeof(src));
	machine_make(&src.m, "intel-dies");
	machine_remove(&src.m, "sys/devices");
	open_as(&src, &sensor_rapl);
	assert_int_equal(src.n, 5);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(src.ch[i].index, i);
		assert_int_equal(src.ch[i].cpu, -1);
	}
	end(&src);
}

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
	rapl_event_open = fake_open;
}

static void fake_end(rapl_event_open_fn *was)
{
	for (int cpu = 0; cpu < 4; cpu++) {
		close(fake[cpu].rd);
		close(fake[cpu].wr);
	}
	rapl_event_open = was;
}

static rapl_event_open_fn *kernel_open;

static void perf_events_come_first(void **state)
{
	struct source src = {};
	char why[256];

	machine_make(&src.m, "intel-2s");
	fake_begin(0);
	assert_int_equal(sensor_rapl.probe(&src.m.roots, why, sizeof(why)), 0);
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
static void perf_events_may_come_later(void **state)
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

static void events_that_end_are_opened_again(void **state)
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

static void the_kernels_own_events_are_read(void **state)
{
	struct source src = {};
	char why[256];
	int err;

	make_clock_pmu(&src.m);
	rapl_event_open = real_open;
	rapl_clock = clock__boot_ns;
	err = sensor_rapl.probe(&src.m.roots, why, sizeof(why));
	if (!err)
		check_clock_pmu(&src);
	end(&src);
	rapl_event_open = kernel_open;
	rapl_clock = test_clock;
	if (err == -EACCES)
		skip();
	assert_int_equal(err, 0);
}

static void all_ways_denied(struct machine *m)
{
	char why[256];

	assert_int_equal(sensor_rapl.probe(&m->roots, why, sizeof(why)), -EACCES);
	assert_non_null(strstr(why, "perf events: not permitted: run as root, with CAP_PERFMON"));
	assert_non_null(strstr(why, "; powercap: energy_uj: not permitted"));
	assert_null(strstr(why, "msr"));
}

static void the_next_way_is_tried_where_one_is_denied(void **state)
{
	struct source src = {};
	char why[256];

	machine_make(&src.m, "amd-cores");
	fake_begin(-EACCES);
	assert_int_equal(sensor_rapl.probe(&src.m.roots, why, sizeof(why)), 0);
	/* "core" is one core's counter, not that of all. */
	assert_string_equal(why, "powercap: 1 package");
	forbid(&src.m, POWERCAP "intel-rapl:0/energy_uj");
	machine_remove(&src.m, "dev");
	as_nobody(all_ways_denied, &src.m);
	end(&src);
	fake_end(kernel_open);
}

static void cores_are_a_source_of_their_own(void **state)
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
	assert_int_equal(sensor_rapl_cores.probe(&src.m.roots, why, sizeof(why)), -ENOENT);
	end(&src);
	rapl_event_open = kernel_open;
}

/* Kernels that take a die for a package name one's counter several times. */
static void dies_of_amd_are_one_package(void **state)
{
	struct source src = {};
	char why[256];

	machine_make(&src.m, "amd-cores");
	fake_begin(0);
	assert_int_equal(sensor_rapl.probe(&src.m.roots, why, sizeof(why)), 0);
	assert_string_equal(why, "perf events: 1 package");
	fake_end(kernel_open);
	machine_put(&src.m, POWERCAP "intel-rapl:0/name", "package-0-die-0");
	machine_put(&src.m, POWERCAP "intel-rapl:1/name", "package-0-die-1");
	machine_put(&src.m, POWERCAP "intel-rapl:1/energy_uj", "3000000");
	machine_put(&src.m, POWERCAP "intel-rapl:1/max_energy_range_uj", "65532610987");
	open_as(&src, &sensor_rapl);
	is_named(&src, "package-0");
	assert_int_equal(src.ch[0].cpu, 0);
	end(&src);
}

static void registers_of_intel(void **state)
{
	struct source src = {};

	machine_make(&src.m, "intel-2s");
	machine_remove(&src.m, POWERCAP);
	open_as(&src, &sensor_rapl);
	is_named(&src, "package-0 dram-0 package-1 dram-1");
	assert_true(src.ch[0].step == 1.0 / 16384);
	assert_true(src.ch[1].step == 1.0 / 65536);
	assert_int_equal(src.ch[2].cpu, 2);
	/* The upper half of the register means nothing. */
	machine_put_msr(&src.m, "dev/cpu/0/msr", 0x611, 0xdead000010000000 + 16384);
	machine_put_msr(&src.m, "dev/cpu/0/msr", 0x619, 0x20000000 + 65536);
	machine_put_msr(&src.m, "dev/cpu/2/msr", 0x611, 0x10);
	read_after(&src, 1);
	check(&src, "package-0", READING_GOOD, 1);
	check(&src, "dram-0", READING_GOOD, 1);
	check(&src, "package-1", READING_GOOD, 32.0 / 16384);
	check(&src, "dram-1", READING_GOOD, 0);
	end(&src);
}

static void registers_of_amd(void **state)
{
	struct source src = {};

	machine_make(&src.m, "amd-cores");
	machine_remove(&src.m, "sys/class");
	machine_remove(&src.m, "sys/bus");
	open_as(&src, &sensor_rapl);
	is_named(&src, "package-0");
	assert_true(src.ch[0].step == 1.0 / 65536);
	machine_put_msr(&src.m, "dev/cpu/0/msr", 0xc001029b, 0x80000 + 65536);
	read_after(&src, 1);
	check(&src, "package-0", READING_GOOD, 1);
	end(&src);
	memset(&src, 0, sizeof(src));
	machine_make(&src.m, "amd-cores");
	machine_remove(&src.m, "sys/class");
	machine_remove(&src.m, "sys/bus");
	open_as(&src, &sensor_rapl_cores);
	is_named(&src, "core-0 core-1");
	machine_put_msr(&src.m, "dev/cpu/1/msr", 0xc001029a, 0x2000 + 32768);
	read_after(&src, 1);
	check(&src, "core-0", READING_GOOD, 0);
	check(&src, "core-1", READING_GOOD, 0.5);
	end(&src);
}

static void another_cpu_of_the_package_takes_over(void **state)
{
	struct source src = {};
	char full[128];

	machine_make(&src.m, "amd-cores");
	machine_remove(&src.m, "sys/class");
	machine_remove(&src.m, "sys/bus");
	open_as(&src, &sensor_rapl);
	snprintf(full, sizeof(full), "%s/dev/cpu/0/msr", src.m.dir);
	assert_int_equal(truncate(full, 0), 0);
	machine_remove(&src.m, "dev/cpu/0");
	machine_put_msr(&src.m, "dev/cpu/1/msr", 0xc001029b, 0x80000 + 65536);
	read_after(&src, 1);
	check(&src, "package-0", READING_GOOD, 1);
	end(&src);
}

static void units_of_models(void **state)
{
	struct source src = {};

	machine_make(&src.m, "intel-spr");
	open_as(&src, &sensor_rapl);
	is_named(&src, "package-0 dram-0 psys");
	assert_true(src.ch[1].step == 1.0 / 16384);
	assert_true(src.ch[2].step == 1);
	machine_put_msr(&src.m, "dev/cpu/0/msr", 0x64d, 107);
	read_after(&src, 1);
	check(&src, "psys", READING_GOOD, 100);
	end(&src);
	memset(&src, 0, sizeof(src));
	machine_make(&src.m, "atom");
	open_as(&src, &sensor_rapl);
	is_named(&src, "package-0 cores-0");
	assert_true(src.ch[0].step == 32e-6);
	machine_put_msr(&src.m, "dev/cpu/0/msr", 0x611, 0x4000 + 31250);
	read_after(&src, 1);
	check(&src, "package-0", READING_GOOD, 1);
	end(&src);
}

static void a_virtual_machine_has_none(void **state)
{
	struct source src = {};
	struct sensor *s = NULL;
	char why[512];

	machine_make(&src.m, "vm");
	assert_int_equal(sensor_rapl.probe(&src.m.roots, why, sizeof(why)), -ENOENT);
	assert_non_null(strstr(why, "the PMU \"power\" has no events of energy"));
	assert_non_null(strstr(why, "msr: the registers read 0 or do not exist"));
	assert_int_equal(sensor_rapl.open(&s, &src.m.roots), -ENOENT);
	machine_remove(&src.m, "");
	assert_int_equal(sensor_rapl.probe(&src.m.roots, why, sizeof(why)), -ENOENT);
	assert_int_equal(sensor_rapl_cores.probe(&src.m.roots, why, sizeof(why)), -ENOENT);
	assert_int_equal(sensor_rapl.probe(&src.m.roots, why, 8), -ENOENT);
	assert_int_equal(strlen(why), 7);
}

static void odd_files_are_survived(void **state)
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
	struct sensor_value v[MAX];

	for (unsigned f = 0; f < sizeof(files) / sizeof(files[0]); f++) {
		for (unsigned t = 0; t < sizeof(texts) / sizeof(texts[0]); t++) {
			struct source src = {};
			struct sensor *s = NULL;

			machine_make(&src.m, "intel-2s");
			machine_put(&src.m, files[f], texts[t]);
			fake_begin(f % 2 ? -ENODEV : 0);
			if (!sensor_rapl.open(&s, &src.m.roots))
				sensor_rapl.read(s, v);
			sensor_rapl.close(s);
			end(&src);
			fake_end(kernel_open);
		}
	}
}

/* Whatever the power and the times of reading: what is good is what was taken, to the count. */
static void nothing_is_guessed(void **state)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zones_are_named_by_what_they_measure),
		cmocka_unit_test(counters_wrap_at_their_own_range),
		cmocka_unit_test(a_reading_too_late_is_a_gap),
		cmocka_unit_test(a_counter_that_jumps_is_a_gap),
		cmocka_unit_test(a_package_that_was_away_comes_back_as_a_gap),
		cmocka_unit_test(all_away_is_an_error),
		cmocka_unit_test(what_may_not_be_read_says_so),
		cmocka_unit_test(parts_of_a_client),
		cmocka_unit_test(dies_are_parts_of_their_own),
		cmocka_unit_test(perf_events_come_first),
		cmocka_unit_test(perf_events_may_come_later),
		cmocka_unit_test(events_that_end_are_opened_again),
		cmocka_unit_test(the_kernels_own_events_are_read),
		cmocka_unit_test(the_next_way_is_tried_where_one_is_denied),
		cmocka_unit_test(cores_are_a_source_of_their_own),
		cmocka_unit_test(dies_of_amd_are_one_package),
		cmocka_unit_test(registers_of_intel),
		cmocka_unit_test(registers_of_amd),
		cmocka_unit_test(another_cpu_of_the_package_takes_over),
		cmocka_unit_test(units_of_models),
		cmocka_unit_test(a_virtual_machine_has_none),
		cmocka_unit_test(odd_files_are_survived),
		cmocka_unit_test(nothing_is_guessed),
	};

	now_ns = S;
	rapl_clock = test_clock;
	kernel_open = rapl_event_open;
	return cmocka_run_group_tests_name("rapl", tests, NULL, NULL);
}
