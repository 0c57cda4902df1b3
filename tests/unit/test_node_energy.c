// SPDX-License-Identifier: GPL-2.0-or-later
/* Sources that say what the test wants: what the set of sensors and the split make of it. */
#include "tests/unit/unit.h"

#include "base/clock.h"

#include "energy/node_energy.h"
#include "tests/unit/machine.h"

#define S 1000000000ull

/* Two packages with DRAM, a GPU, and the node's power. */
enum { PKG0, PKG1, DRAM0, DRAM1, GPU, NODE, CHANNELS };
static struct sensor_channel channels[CHANNELS];
static struct sensor_value values[CHANNELS];
static unsigned opened;

static int fake_open(struct sensor *s, const struct sensor_ops *ops,
		     const struct sensor_roots *roots)
{
	(void)s;
	(void)ops;
	(void)roots;
	opened++;
	return 0;
}

static void made_up(const struct sensor *s, const struct sensor_roots *roots, int err, char *text,
		    size_t len)
{
	(void)s;
	(void)roots;
	(void)err;
	snprintf(text, len, "made up");
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
	(void)s;
	opened--;
}

static const struct sensor_ops fake = {.name = "fake",
				       .doc = "made up",
				       .size = 1,
				       .open = fake_open,
				       .describe = made_up,
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

static struct sensor_set *sensors;
static struct node_energy *energy;
static struct node_interval out;
static struct node_step step[2];
static double busy[4], run[2][4], gpu[2];
static uint64_t now;

/* Four CPUs, two in each package. */
static void make_machine(void)
{
	machine_make("");
	for (unsigned i = 0; i < 4; i++) {
		char path[64];

		snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/topology/", i);
		machine_puts(path, i % 2 ? "core_id=1" : "core_id=0");
		machine_puts(path, i < 2 ? "physical_package_id=0" : "physical_package_id=1");
	}
}

static int make(void **state)
{
	struct sensor_set_opts opts = {};

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
	node_energy__free(energy);
	sensor_set__close(sensors);
	assert_int_equal(opened, 0);
	return machine_end(state);
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

TEST(shape_is_the_trees)
{
	assert_int_equal(node_energy__ncpus(energy), 4);
	assert_int_equal(node_energy__ncores(energy), 4);
	assert_int_equal(node_energy__npackages(energy), 2);
	assert_int_equal(node_energy__package(energy, 1), 0);
	assert_int_equal(node_energy__package(energy, 2), 1);
	assert_int_equal(node_energy__package(energy, 4), -1);
	assert_int_equal(node_energy__ngpus(energy), 1);
	assert_true(node_energy__any(energy));
}

TEST(parts_are_added_up)
{
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

TEST(who_ran_has_the_dynamic_part)
{
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

TEST(what_no_step_did_is_the_systems)
{
	busy[0] = busy[2] = 0.5;
	assert_int_equal(end(50, 30, 5, 0, 1), 0);
	conserves();
	near(step[0].share.total, 0);
	assert_true(out.system > 80);
}

TEST(a_gpu_is_its_owners)
{
	double without;

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
TEST(idle_power_is_learnt_and_goes_by_cores)
{
	static const uint64_t held[2] = {1, 6}; /* one core; two, in both packages */
	double pkg, dram, other;

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

TEST(what_was_learnt_is_kept)
{
	double pkg, dram, other;
	char path[128];
	FILE *f;

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

TEST(a_gap_makes_the_interval_unknown)
{
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

TEST(nothing_measured_is_nothing_known)
{
	for (unsigned i = 0; i < CHANNELS; i++)
		values[i] = sensor__no_value(READING_DENIED);
	assert_int_equal(end(0, 0, 0, 0, 1), 0);
	assert_false(out.split);
	assert_true(isnan(out.power) && isnan(step[0].share.total) && isnan(step[0].share.high));
	assert_int_equal(end(0, 0, 0, 0, 0), -EAGAIN);
}

/* Nothing stands still that is not read: it has no value until it is, and a gap then. */
TEST(what_nobody_wants_has_no_value)
{
	const struct channel_state *c;
	bool wanted[CHANNELS] = {};
	uint64_t gaps;

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

static struct unit_fixture fixture = {.setup = make, .teardown = unmake};
