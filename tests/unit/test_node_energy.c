// SPDX-License-Identifier: GPL-2.0-only
/* Sources that say what the test wants: what the sensors, meters and the split make of it. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#include "sample/cpu_busy.h"
#include "energy/meter.h"
#include "energy/node_energy.h"
#include "tests/unit/tree.h"

#define S 1000000000ull

#define near(a, b) near_at(a, b, __LINE__)

static void near_at(double is, double should, int line)
{
	if (!(fabs(is - should) <= 1e-9 * fmax(fabs(should), 1)))
		fail_msg("line %d: is %.12g, should be %.12g", line, is, should);
}

/* Two packages with DRAM, a GPU, and the node's power. */
enum { PKG0, PKG1, DRAM0, DRAM1, GPU, NODE, CHANNELS };
static struct sensor_channel channels[CHANNELS];
static struct sensor_value values[CHANNELS];
static unsigned opened;

static int fake_probe(const struct sensor_roots *roots, char *why, size_t len)
{
	(void)roots;
	snprintf(why, len, "made up");
	return 0;
}

static int fake_open(struct sensor **out, const struct sensor_roots *roots)
{
	(void)roots;
	*out = (struct sensor *)&opened;
	opened++;
	return 0;
}

static unsigned fake_channels(const struct sensor *s, const struct sensor_channel **out)
{
	(void)s;
	*out = channels;
	return CHANNELS;
}

static int fake_read(struct sensor *s, struct sensor_value *v)
{
	(void)s;
	memcpy(v, values, sizeof(values));
	return 0;
}

static void fake_close(struct sensor *s)
{
	opened -= s != NULL;
}

static const struct sensor_ops fake = {.name = "fake",
				       .doc = "made up",
				       .probe = fake_probe,
				       .open = fake_open,
				       .channels = fake_channels,
				       .read = fake_read,
				       .close = fake_close};
static const struct sensor_ops *const sources[] = {&fake};

static void channel(unsigned i, const char *name, enum sensor_part part, enum sensor_quantity q,
		    int index)
{
	struct sensor_channel *c = &channels[i];

	*c = (struct sensor_channel){
		.part = part, .quantity = q, .index = index, .cpu = -1, .step = NAN, .error = NAN};
	strcpy(c->name, name);
	values[i] = (struct sensor_value){100, 1, READING_GOOD};
}

static struct {
	char dir[64], sys[80], proc[80];
	struct sensor_roots roots;
} m;
static struct sensor_set *sensors;
static struct node_energy *energy;
static struct node_interval out;
static struct node_step step[2];
static double busy[4], run[2][4], gpu[2];
static uint64_t now;

/* Four CPUs, two in each package. */
static void make_machine(void)
{
	strcpy(m.dir, "/tmp/jobprof-node.XXXXXX");
	assert_non_null(mkdtemp(m.dir));
	snprintf(m.sys, sizeof(m.sys), "%s/sys", m.dir);
	snprintf(m.proc, sizeof(m.proc), "%s/proc", m.dir);
	m.roots = (struct sensor_roots){m.sys, m.proc, "/nonexistent", NULL};
	for (unsigned i = 0; i < 4; i++) {
		char path[128];

		snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/topology/core_id", i);
		put(m.dir, path, i % 2 ? "1\n" : "0\n");
		snprintf(path, sizeof(path),
			 "sys/devices/system/cpu/cpu%u/topology/physical_package_id", i);
		put(m.dir, path, i < 2 ? "0\n" : "1\n");
	}
}

static int make(void **state)
{
	struct sensor_set_opts opts = {};

	(void)state;
	make_machine();
	channel(PKG0, "package-0", PART_PACKAGE, QUANTITY_ENERGY, 0);
	channel(PKG1, "package-1", PART_PACKAGE, QUANTITY_ENERGY, 1);
	channel(DRAM0, "dram-0", PART_DRAM, QUANTITY_ENERGY, 0);
	channel(DRAM1, "dram-1", PART_DRAM, QUANTITY_ENERGY, 1);
	channel(GPU, "gpu-0", PART_GPU, QUANTITY_ENERGY, 0);
	channel(NODE, "Node", PART_NODE, QUANTITY_POWER, -1);
	opts.roots = m.roots;
	assert_int_equal(sensor_set__open(&sensors, sources, 1, &opts), 0);
	assert_int_equal(node_energy__new(&energy, &m.roots), 0);
	memset(step, 0, sizeof(step));
	memset(busy, 0, sizeof(busy));
	memset(run, 0, sizeof(run));
	memset(gpu, 0, sizeof(gpu));
	for (unsigned i = 0; i < 2; i++)
		step[i] = (struct node_step){
			.id = i, .job = i, .alive = 1, .run_s = run[i], .gpu = &gpu[i]};
	now = 100 * S;
	for (unsigned i = 0; i < CHANNELS; i++)
		values[i].time_ns = now;
	values[NODE].value = 200;
	sensor_set__read(sensors);
	node_energy__begin(energy, sensors, now);
	return 0;
}

static int unmake(void **state)
{
	char cmd[80];

	(void)state;
	node_energy__free(energy);
	sensor_set__close(sensors);
	assert_int_equal(opened, 0);
	snprintf(cmd, sizeof(cmd), "rm -r %s", m.dir);
	return system(cmd);
}

/* So many J more, and seconds later. */
static int end(double pkg0, double pkg1, double dram, double gpu_j, double seconds)
{
	values[PKG0].value += pkg0;
	values[PKG1].value += pkg1;
	values[DRAM0].value += dram;
	values[DRAM1].value += dram;
	values[GPU].value += gpu_j;
	now += (uint64_t)(seconds * 1e9);
	for (unsigned i = 0; i < CHANNELS; i++)
		values[i].time_ns = now;
	sensor_set__read(sensors);
	return node_energy__end(energy, sensors, now, busy, step, 2, &out);
}

static void conserves(void)
{
	near(step[0].share.total + step[1].share.total + out.system + out.unallocated,
	     out.measured);
}

static void shape_is_the_trees(void **state)
{
	(void)state;
	assert_int_equal(node_energy__ncpus(energy), 4);
	assert_int_equal(node_energy__ncores(energy), 4);
	assert_int_equal(node_energy__npackages(energy), 2);
	assert_int_equal(node_energy__package(energy, 1), 0);
	assert_int_equal(node_energy__package(energy, 2), 1);
	assert_int_equal(node_energy__package(energy, 4), -1);
	assert_int_equal(node_energy__ngpus(energy), 1);
	assert_true(node_energy__any(energy));
}

static void parts_are_added_up(void **state)
{
	(void)state;
	assert_int_equal(end(50, 30, 5, 40, 1), 0);
	assert_true(out.split);
	near(out.seconds, 1);
	near(out.pkg, 80);
	near(out.dram, 10);
	near(out.gpu, 40);
	near(out.node, 200);
	near(out.power, 200);
	conserves();
}

static void who_ran_has_the_dynamic_part(void **state)
{
	(void)state;
	run[0][0] = busy[0] = 1;
	run[1][2] = busy[2] = 1;
	assert_int_equal(end(50, 30, 5, 0, 1), 0);
	conserves();
	/* nothing is known of idle power, and each has a package for itself */
	assert_true(!out.static_known && !out.alloc_known);
	assert_true(step[0].share.dynamic > step[1].share.dynamic);
	assert_true(step[0].share.dynamic >= 50 && step[1].share.dynamic >= 30);
	assert_true(step[0].share.low <= step[0].share.total);
}

static void what_no_step_did_is_the_systems(void **state)
{
	(void)state;
	busy[0] = busy[2] = 0.5;
	assert_int_equal(end(50, 30, 5, 0, 1), 0);
	conserves();
	near(step[0].share.total, 0);
	assert_true(out.system > 80);
}

static void a_gpu_is_its_owners(void **state)
{
	double without;

	(void)state;
	run[0][0] = run[1][1] = busy[0] = busy[1] = 0.1;
	assert_int_equal(end(50, 30, 5, 40, 1), 0);
	conserves();
	near(step[0].share.total, step[1].share.total);
	without = step[0].share.total;
	gpu[0] = 1;
	assert_int_equal(end(50, 30, 5, 40, 1), 0);
	conserves();
	assert_true(step[0].share.total > without + 39);
	assert_true(step[0].share.low > step[1].share.low + 30);
	gpu[0] = gpu[1] = 0.5;
	assert_int_equal(end(50, 30, 5, 40, 1), 0);
	near(step[0].share.total, step[1].share.total);
}

/* Idle seconds are learnt from, allocations hold what they take. */
static void idle_power_is_learnt_and_goes_by_cores(void **state)
{
	static const uint64_t held[2] = {1, 6}; /* one core; two, in both packages */
	double pkg, dram, other;

	(void)state;
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(end(50, 30, 5, 0, 1), 0);
	node_energy__idle(energy, &pkg, &dram, &other);
	near(pkg, 80);
	near(dram, 10);
	near(other, 110);
	step[0].held = &held[0];
	step[1].held = &held[1];
	assert_int_equal(end(50, 30, 5, 0, 1), 0);
	conserves();
	assert_true(out.static_known && out.alloc_known);
	/* nothing ran: 2 cores of each package, their DRAM, and the rest of the node by cores */
	near(step[0].share.total, 25 + 2.5 + 110 / 4.);
	near(step[1].share.total, 25 + 2.5 + 15 + 2.5 + 110 / 2.);
	near(step[0].share.dynamic, 0);
	near(out.unallocated, 15 + 2.5 + 110 / 4.);
	step[1].alive = 0.5;
	assert_int_equal(end(50, 30, 5, 0, 1), 0);
	conserves();
	near(step[1].share.total, (25 + 2.5 + 15 + 2.5 + 110 / 2.) / 2);
}

static void what_was_learnt_is_kept(void **state)
{
	double pkg, dram, other;
	char path[128];
	FILE *f;

	(void)state;
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(end(50, 30, 5, 0, 1), 0);
	snprintf(path, sizeof(path), "%s/learnt", m.dir);
	assert_int_equal(node_energy__save(energy, path), 0);
	node_energy__free(energy);
	assert_int_equal(node_energy__new(&energy, &m.roots), 0);
	node_energy__idle(energy, &pkg, &dram, &other);
	assert_true(isnan(pkg) && isnan(dram) && isnan(other));
	assert_int_equal(node_energy__load(energy, path), 0);
	node_energy__idle(energy, &pkg, &dram, &other);
	near(pkg, 80);
	near(other, 110);
	f = fopen(path, "r+");
	assert_non_null(f);
	for (unsigned i = 24; i < 400; i++) { /* numbers that mean nothing */
		fseek(f, i, SEEK_SET);
		fputc(0xff, f);
	}
	fclose(f);
	assert_int_equal(node_energy__load(energy, path), -EBADMSG);
	assert_int_equal(truncate(path, 30), 0);
	assert_int_equal(node_energy__load(energy, path), -EBADMSG);
	assert_int_equal(node_energy__load(energy, "/nonexistent"), -ENOENT);
}

static void a_gap_makes_the_interval_unknown(void **state)
{
	(void)state;
	values[PKG0].quality = READING_GAP;
	assert_int_equal(end(50, 30, 5, 0, 1), 0);
	assert_true(isnan(out.pkg));
	near(out.node, 200);
	conserves();
	values[PKG0].quality = READING_GOOD;
	assert_int_equal(end(50, 30, 5, 0, 1), 0);
	near(out.pkg, 80);
	values[PKG1] = sensor__no_value(READING_NONE);
	assert_int_equal(end(50, 30, 5, 0, 1), 0);
	assert_true(isnan(out.pkg));
}

static void nothing_measured_is_nothing_known(void **state)
{
	(void)state;
	for (unsigned i = 0; i < CHANNELS; i++)
		values[i] = sensor__no_value(READING_DENIED);
	assert_int_equal(end(0, 0, 0, 0, 1), 0);
	assert_false(out.split);
	assert_true(isnan(out.power) && isnan(step[0].share.total) && isnan(step[0].share.high));
	assert_int_equal(end(0, 0, 0, 0, 0), -EAGAIN);
}

/* One channel, as the source said it. */
static struct channel_state said(const struct sensor_ops *ops, double value, uint64_t time_ns)
{
	return (struct channel_state){ops, &channels[PKG0], value, time_ns, 0, READING_GOOD};
}

static void slow_counters_stay_true(void **state)
{
	static const struct sensor_ops slow = {.name = "slow", .slow = true};
	struct channel_state c = said(&slow, 0, 100 * S);
	struct meter meter = {};
	double sum = 0;

	(void)state;
	assert_true(isnan(meter__take(&meter, &c, 100 * S)));
	assert_true(isnan(meter__take(&meter, &c, 101 * S)));
	/* 100 W until second 110, then 200: it tells every 5 s, a second late */
	for (uint64_t t = 102; t <= 130; t++) {
		uint64_t of = (t - 1) / 5 * 5;
		double j;

		c = said(&slow, of <= 110 ? 100. * (of - 100.) : 1000 + 200. * (of - 110.), of * S);
		j = meter__take(&meter, &c, t * S);
		assert_true(isnan(j) || (j >= 0 && j <= 700));
		sum += isnan(j) ? 0 : j;
		if (t == 110)
			near(sum, 500); /* from second 105 on, when its power was known */
	}
	/* its 4,000 J and 5 s of 200 W, less what came before its power was known */
	near(sum, 4000 + 1000 - 500);
	c.gaps++;
	assert_true(isnan(meter__take(&meter, &c, 131 * S)));
}

static void power_is_taken_to_last(void **state)
{
	struct channel_state c = {&fake, &channels[NODE], 150, 100 * S, 0, READING_GOOD};
	struct meter meter = {};

	(void)state;
	assert_true(isnan(meter__take(&meter, &c, 100 * S)));
	near(meter__take(&meter, &c, 102 * S), 300);
	c.value = NAN;
	assert_true(isnan(meter__take(&meter, &c, 103 * S)));
	c.value = 50;
	near(meter__take(&meter, &c, 104 * S), 50);
	assert_true(isnan(meter__take(&meter, &c, 300 * S))); /* it has said nothing for minutes */
}

static void sources_are_meant_by_words(void **state)
{
	(void)state;
	assert_true(sensor_set__means(NULL, "rapl"));
	assert_true(sensor_set__means("all", "rapl"));
	assert_true(sensor_set__means("ipmi, rapl", "rapl"));
	assert_false(sensor_set__means("ipmi", "rapl"));
	assert_false(sensor_set__means("all,-rapl", "rapl"));
	assert_true(sensor_set__means("all,-rapl", "rapl-cores"));
	assert_false(sensor_set__means("", "rapl"));
}

/* A source of as many parts as there are when it is opened; with none it is not there. */
static atomic_uint parts;

struct growing {
	unsigned n;
	struct sensor_channel channel[4];
};

static int growing_probe(const struct sensor_roots *roots, char *why, size_t len)
{
	(void)roots;
	snprintf(why, len, "made up");
	return parts ? 0 : -ENOENT;
}

static int growing_open(struct sensor **made, const struct sensor_roots *roots)
{
	struct growing *g = calloc(1, sizeof(*g));

	(void)roots;
	g->n = parts;
	for (unsigned i = 0; i < g->n; i++) {
		g->channel[i] = (struct sensor_channel){.quantity = QUANTITY_COUNT, .cpu = -1};
		snprintf(g->channel[i].name, sizeof(g->channel[i].name), "part %u", i);
	}
	*made = (struct sensor *)g;
	return 0;
}

static unsigned growing_channels(const struct sensor *s, const struct sensor_channel **all)
{
	*all = ((const struct growing *)s)->channel;
	return ((const struct growing *)s)->n;
}

static int growing_read(struct sensor *s, struct sensor_value *v)
{
	for (unsigned i = 0; i < ((const struct growing *)s)->n; i++)
		v[i] = (struct sensor_value){10 * (i + 1), clock__boot_ns(), READING_GOOD};
	return 0;
}

static void growing_close(struct sensor *s)
{
	free(s);
}

static const struct sensor_ops growing = {.name = "growing",
					  .slow = true,
					  .grows = true,
					  .probe = growing_probe,
					  .open = growing_open,
					  .channels = growing_channels,
					  .read = growing_read,
					  .close = growing_close};

static void wait_for(struct sensor_set *b, unsigned n, const struct channel_state **c)
{
	for (unsigned tries = 0; sensor_set__channels(b, c) != n; tries++) {
		assert_true(tries < 5000);
		usleep(2000);
		sensor_set__read(b);
	}
}

/* A channel that is known stays what it is. */
static void parts_that_come_later_are_seen(void **state)
{
	static const struct sensor_ops *const one[] = {&growing};
	struct sensor_set_opts opts = {
		.roots = m.roots, .slow_period_ns = 1000000, .look_ns = 1000000};
	const struct channel_state *c;
	const struct sensor_channel *first;
	struct sensor_set *b;

	(void)state;
	parts = 0;
	assert_int_equal(sensor_set__open(&b, one, 1, &opts), 0);
	sensor_set__read(b);
	assert_int_equal(sensor_set__channels(b, &c), 0);
	parts = 1;
	wait_for(b, 1, &c);
	first = c[0].channel;
	parts = 3;
	wait_for(b, 3, &c);
	for (unsigned tries = 0; isnan(c[2].value) && tries < 5000; tries++) {
		usleep(2000);
		sensor_set__read(b);
		sensor_set__channels(b, &c);
	}
	assert_ptr_equal(c[0].channel, first);
	assert_string_equal(c[2].channel->name, "part 2");
	near(c[0].value, 10);
	near(c[2].value, 30);
	for (unsigned i = 0; i < 20; i++) { /* there is no more */
		usleep(2000);
		sensor_set__read(b);
	}
	assert_int_equal(sensor_set__channels(b, &c), 3);
	sensor_set__close(b);
}

/* Nothing stands still that is not read: it has no value until it is, and a gap then. */
static void what_nobody_wants_has_no_value(void **state)
{
	const struct channel_state *c;
	bool wanted[CHANNELS] = {};
	uint64_t gaps;

	(void)state;
	sensor_set__channels(sensors, &c);
	gaps = c[PKG0].gaps;
	sensor_set__want(sensors, wanted, CHANNELS, S);
	assert_true(isnan(c[PKG0].value) && c[PKG0].gaps == gaps + 1);
	values[PKG0].value = 500;
	sensor_set__read(sensors);
	assert_true(isnan(c[PKG0].value));
	sensor_set__read_all(sensors);
	near(c[PKG0].value, 500);
	wanted[NODE] = true; /* one is enough */
	sensor_set__want(sensors, wanted, CHANNELS, S);
	values[PKG0].value = 600;
	sensor_set__read(sensors);
	near(c[PKG0].value, 600);
	assert_int_equal(c[PKG0].gaps, gaps + 1);
}

static void busy_is_what_is_not_idle(void **state)
{
	struct cpu_busy *b;
	double s[3];

	(void)state;
	put(m.dir, "proc/stat",
	    "cpu  9 9 9 9 9 9 9 9 9 9\n"
	    "cpu0 100 10 50 1000 7 3 2 4 1 0\n"
	    "cpu2 100 10 50 1000 7 3 2 4 1 0\nintr 5\n");
	b = cpu_busy__new(m.proc, 3);
	assert_non_null(b);
	assert_int_equal(cpu_busy__take(b, s), 0);
	near(s[0] + s[1] + s[2], 0);
	put(m.dir, "proc/stat",
	    "cpu  9 9 9 9 9 9 9 9 9 9\n"
	    "cpu0 120 11 52 1900 99 7 10 400 3 1\n"
	    "cpu2 100 10 50 1100 7 3 2 4 1 0\n"
	    "cpu7 1 1 1 1 1 1 1 1\nintr 5\n");
	assert_int_equal(cpu_busy__take(b, s), 0);
	near(s[0], (20 + 1 + 2 + 4 + 8) / (double)sysconf(_SC_CLK_TCK));
	near(s[1] + s[2], 0);
	cpu_busy__free(b);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, make, unmake)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(shape_is_the_trees),
		TEST(parts_are_added_up),
		TEST(who_ran_has_the_dynamic_part),
		TEST(what_no_step_did_is_the_systems),
		TEST(a_gpu_is_its_owners),
		TEST(idle_power_is_learnt_and_goes_by_cores),
		TEST(what_was_learnt_is_kept),
		TEST(a_gap_makes_the_interval_unknown),
		TEST(nothing_measured_is_nothing_known),
		TEST(slow_counters_stay_true),
		TEST(power_is_taken_to_last),
		TEST(sources_are_meant_by_words),
		TEST(parts_that_come_later_are_seen),
		TEST(what_nobody_wants_has_no_value),
		TEST(busy_is_what_is_not_idle),
	};

	return cmocka_run_group_tests_name("node_energy", tests, NULL, NULL);
}
