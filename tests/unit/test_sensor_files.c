// SPDX-License-Identifier: GPL-2.0-only
/* Sources of small files, on recorded trees: hwmon (Grace, amd_energy, an ACPI meter) and the
 * pm_counters of HPE/Cray. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "base/clock.h"
#include "sensor/core/file.h"
#include "sensor/sensors.h"
#include "tree.h"

#define DATA	 "tests/data/sensors"
#define MAX_READ 64

/* A copy of a recorded tree, with its source open on it. */
struct opened {
	char dir[64], sys[80];
	struct sensor_roots roots;
	const struct sensor_ops *ops;
	struct sensor *s;
	const struct sensor_channel *c;
	unsigned n;
	struct sensor_value v[MAX_READ];
};

static void copy_tree(struct opened *o, const char *tree)
{
	char cmd[256];

	snprintf(o->dir, sizeof(o->dir), "/tmp/jp-sensor-XXXXXX");
	assert_non_null(mkdtemp(o->dir));
	chmod(o->dir, 0755);
	snprintf(cmd, sizeof(cmd), "cp -r %s/%s/. %s", DATA, tree, o->dir);
	assert_int_equal(system(cmd), 0);
	snprintf(o->sys, sizeof(o->sys), "%s/sys", o->dir);
	o->roots = (struct sensor_roots){.sys = o->sys, .proc = "/proc", .dev = "/dev"};
}

static void set_up(struct opened *o, const struct sensor_ops *ops, const char *tree)
{
	char why[128] = "";

	copy_tree(o, tree);
	o->ops = ops;
	assert_int_equal(sensor__probe(ops, &o->roots, why, sizeof(why)), 0);
	assert_true(*why);
	assert_int_equal(sensor__open(ops, &o->s, &o->roots), 0);
	o->n = ops->channels(o->s, &o->c);
	assert_in_range(o->n, 1, MAX_READ);
}

static void remove_tree(struct opened *o)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -r %s", o->dir);
	assert_int_equal(system(cmd), 0);
}

static void tear_down(struct opened *o)
{
	sensor__close(o->ops, o->s);
	remove_tree(o);
}

static const struct sensor_channel *find(struct opened *o, const char *name, struct sensor_value *v)
{
	for (unsigned i = 0; i < o->n; i++)
		if (!strcmp(o->c[i].name, name)) {
			*v = o->v[i];
			return &o->c[i];
		}
	fail_msg("no channel \"%s\"", name);
	return NULL;
}

static void expect(struct opened *o, const char *name, enum sensor_part part, int index,
		   enum sensor_quality quality, double value)
{
	struct sensor_value v;
	const struct sensor_channel *c = find(o, name, &v);

	assert_int_equal(c->part, part);
	assert_int_equal(c->index, index);
	assert_int_equal(v.quality, quality);
	if (isnan(value))
		assert_true(isnan(v.value));
	else
		assert_float_equal(v.value, value, 1e-9);
}

TEST(grace)
{
	struct opened o;
	struct sensor_value v;
	const struct sensor_channel *c;

	set_up(&o, &sensor_hwmon, "grace");
	assert_int_equal(o.n, 4);
	assert_int_equal(o.ops->read(o.s, o.v), 0);
	expect(&o, "power_meter Module Power Socket 0", PART_PLATFORM, 0, READING_GOOD, 612.345);
	expect(&o, "power_meter Grace Power Socket 0", PART_PACKAGE, 0, READING_GOOD, 187.654);
	expect(&o, "power_meter CPU Power Socket 0", PART_CORES, 0, READING_GOOD, 98);
	expect(&o, "power_meter SysIO Power Socket 0", PART_UNCORE, 0, READING_GOOD, 41);
	c = find(&o, "power_meter Grace Power Socket 0", &v);
	assert_string_equal(c->unit, "W");
	assert_int_equal(c->quantity, QUANTITY_POWER);
	assert_int_equal(c->period_ns, 50000000);
	assert_float_equal(c->error, 0.05, 1e-9);
	tear_down(&o);
}

TEST(amd_energy)
{
	struct opened o;

	set_up(&o, &sensor_hwmon, "amd-energy");
	assert_int_equal(o.n, 8); /* without the battery */
	assert_int_equal(o.ops->read(o.s, o.v), 0);
	expect(&o, "amd_energy Ecore003", PART_CORE, 3, READING_GOOD, 0);
	put(o.dir, "sys/class/hwmon/hwmon3/energy4_input", "1021500000\n");
	put(o.dir, "sys/class/hwmon/hwmon3/energy5_input", "90250000000\n");
	put(o.dir, "sys/class/hwmon/hwmon3/energy6_input", "5\n"); /* jumps back */
	assert_int_equal(o.ops->read(o.s, o.v), 0);
	expect(&o, "amd_energy Ecore003", PART_CORE, 3, READING_GOOD, 0.5);
	expect(&o, "amd_energy Ecore000", PART_CORE, 0, READING_GOOD, 0);
	expect(&o, "amd_energy Esocket0", PART_PACKAGE, 0, READING_GOOD, 250);
	expect(&o, "amd_energy Esocket1", PART_PACKAGE, 1, READING_GAP, 0);
	put(o.dir, "sys/class/hwmon/hwmon3/energy6_input", "3000005\n");
	assert_int_equal(o.ops->read(o.s, o.v), 0);
	expect(&o, "amd_energy Esocket1", PART_PACKAGE, 1, READING_GOOD, 3);
	tear_down(&o);
}

TEST(gpus_of_hwmon_are_numbered)
{
	struct opened o;

	set_up(&o, &sensor_hwmon, "amd-energy");
	assert_int_equal(o.ops->read(o.s, o.v), 0);
	expect(&o, "amdgpu PPT", PART_GPU, 0, READING_GOOD, 35);
	expect(&o, "amdgpu PPT #2", PART_GPU, 1, READING_GOOD, 41);
	for (unsigned i = 0, gpu = 0; i < o.n; i++)
		if (o.c[i].part == PART_GPU) {
			assert_int_equal(o.c[i].index, gpu);
			assert_float_equal(o.v[i].value, gpu ? 41 : 35, 1e-9);
			gpu++;
		}
	tear_down(&o);
}

TEST(one_acpi_meter_is_the_nodes)
{
	struct opened o;
	struct sensor_value v;

	set_up(&o, &sensor_hwmon, "acpi-meter");
	assert_int_equal(o.ops->read(o.s, o.v), 0);
	assert_int_equal(o.n, 1);
	expect(&o, "power_meter power1", PART_NODE, -1, READING_GOOD, 342);
	assert_float_equal(find(&o, "power_meter power1", &v)->error, 0.015, 1e-9);
	tear_down(&o);
}

TEST(of_two_acpi_meters_none_is_the_nodes)
{
	struct opened o;

	copy_tree(&o, "acpi-meter");
	put(o.dir, "sys/class/hwmon/hwmon1/name", "power_meter\n");
	put(o.dir, "sys/class/hwmon/hwmon1/power1_average", "9000000\n");
	assert_int_equal(sensor__open(&sensor_hwmon, &o.s, &o.roots), 0);
	o.n = sensor_hwmon.channels(o.s, &o.c);
	o.ops = &sensor_hwmon;
	assert_int_equal(o.ops->read(o.s, o.v), 0);
	assert_int_equal(o.n, 2);
	for (unsigned i = 0; i < o.n; i++)
		assert_int_equal(o.c[i].part, PART_OTHER);
	tear_down(&o);
}

TEST(a_driver_that_goes_and_comes_back)
{
	struct opened o;
	char path[128];

	set_up(&o, &sensor_hwmon, "amd-energy");
	assert_int_equal(o.ops->read(o.s, o.v), 0);
	snprintf(path, sizeof(path), "%s/class/hwmon/hwmon3/energy5_input", o.sys);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(o.ops->read(o.s, o.v), 0);
	expect(&o, "amd_energy Esocket0", PART_PACKAGE, 0, READING_NONE, NAN);
	put(o.dir, "sys/class/hwmon/hwmon3/energy5_input", "99000000000\n");
	assert_int_equal(o.ops->read(o.s, o.v), 0);
	expect(&o, "amd_energy Esocket0", PART_PACKAGE, 0, READING_GAP, 0);
	put(o.dir, "sys/class/hwmon/hwmon3/energy5_input", "99002000000\n");
	assert_int_equal(o.ops->read(o.s, o.v), 0);
	expect(&o, "amd_energy Esocket0", PART_PACKAGE, 0, READING_GOOD, 2);
	tear_down(&o);
}

TEST(what_is_no_number_is_no_value)
{
	static const char *const bad[] = {"",
					  "\n",
					  "-5\n",
					  "nan\n",
					  "1e9\n",
					  "12x\n",
					  " 5\n",
					  "18446744073709551616\n",
					  "11111111111111111111111111\n"};
	struct opened o;

	set_up(&o, &sensor_hwmon, "acpi-meter");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put(o.dir, "sys/class/hwmon/hwmon0/device/power1_average", bad[i]);
		assert_int_equal(o.ops->read(o.s, o.v), -ENODATA);
		expect(&o, "power_meter power1", PART_NODE, -1, READING_NONE, NAN);
	}
	tear_down(&o);
}

TEST(files_that_may_not_be_read)
{
	struct opened o;
	char cmd[128], why[128];

	set_up(&o, &sensor_hwmon, "amd-energy");
	snprintf(cmd, sizeof(cmd), "chmod 0 %s/class/hwmon/hwmon3/energy[1-6]_input", o.sys);
	assert_int_equal(system(cmd), 0);
	if (!geteuid())
		assert_int_equal(seteuid(65534), 0);
	assert_int_equal(o.ops->read(o.s, o.v), 0); /* the GPUs' may */
	expect(&o, "amd_energy Esocket0", PART_PACKAGE, 0, READING_DENIED, NAN);
	if (!getuid())
		assert_int_equal(seteuid(0), 0);
	snprintf(cmd, sizeof(cmd), "chmod 0 %s/class/hwmon/*/power1_*", o.sys);
	assert_int_equal(system(cmd), 0);
	if (!geteuid())
		assert_int_equal(seteuid(65534), 0);
	assert_int_equal(o.ops->read(o.s, o.v), -EACCES);
	assert_int_equal(sensor__probe(o.ops, &o.roots, why, sizeof(why)), -EACCES);
	assert_non_null(strstr(why, "not permitted"));
	if (!getuid())
		assert_int_equal(seteuid(0), 0);
	tear_down(&o);
}

TEST(a_node_without_them)
{
	static const struct sensor_ops *const all[] = {&sensor_hwmon, &sensor_pm_counters};
	struct opened o;
	struct sensor *s = NULL;
	char why[128];

	copy_tree(&o, "acpi-meter");
	o.roots.sys = "/nonexistent";
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(sensor__probe(all[i], &o.roots, why, sizeof(why)), -ENOENT);
		assert_int_equal(sensor__open(all[i], &s, &o.roots), -ENOENT);
		sensor__close(all[i], NULL);
	}
	remove_tree(&o);
}

#define PM "sys/cray/pm_counters/"

TEST(blade)
{
	struct opened o;
	struct sensor_value v;

	set_up(&o, &sensor_pm_counters, "cray");
	assert_int_equal(o.n, 16);
	assert_int_equal(o.ops->read(o.s, o.v), 0);
	expect(&o, "node power", PART_NODE, -1, READING_GOOD, 1432);
	expect(&o, "node energy", PART_NODE, -1, READING_GOOD, 0);
	expect(&o, "accel-3 power", PART_GPU, 3, READING_GOOD, 213);
	expect(&o, "cpu power", PART_PACKAGE, -1, READING_GOOD, 311);
	expect(&o, "cpu-0 temp", PART_PACKAGE, 0, READING_GOOD, 47);
	expect(&o, "memory power", PART_DRAM, -1, READING_GOOD, 95);
	assert_int_equal(find(&o, "node energy", &v)->period_ns, 100000000);
	put(o.dir, PM "energy", "123457089 J 1603403113345678 us\n");
	put(o.dir, PM "accel1_energy", "20000041 J 1603403113345678 us\n");
	put(o.dir, PM "freshness", "4721\n");
	assert_int_equal(o.ops->read(o.s, o.v), 0);
	expect(&o, "node energy", PART_NODE, -1, READING_GOOD, 300);
	expect(&o, "accel-1 energy", PART_GPU, 1, READING_GOOD, 40);
	expect(&o, "memory energy", PART_DRAM, -1, READING_GOOD, 0);
	tear_down(&o);
}

TEST(a_scan_read_twice_is_said)
{
	struct opened o;

	set_up(&o, &sensor_pm_counters, "cray");
	assert_int_equal(o.ops->read(o.s, o.v), 0);
	expect(&o, "node power", PART_NODE, -1, READING_GOOD, 1432);
	assert_int_equal(o.ops->read(o.s, o.v), 0);
	expect(&o, "node power", PART_NODE, -1, READING_REPEATED, 1432);
	expect(&o, "node energy", PART_NODE, -1, READING_REPEATED, 0);
	put(o.dir, PM "freshness", "4712\n");
	assert_int_equal(o.ops->read(o.s, o.v), 0);
	expect(&o, "node power", PART_NODE, -1, READING_GOOD, 1432);
	tear_down(&o);
}

TEST(a_controller_that_starts_anew)
{
	struct opened o;

	set_up(&o, &sensor_pm_counters, "cray");
	assert_int_equal(o.ops->read(o.s, o.v), 0);
	put(o.dir, PM "energy", "123456799 J\n");
	put(o.dir, PM "freshness", "4712\n");
	assert_int_equal(o.ops->read(o.s, o.v), 0);
	expect(&o, "node energy", PART_NODE, -1, READING_GOOD, 10);
	put(o.dir, PM "startup", "1603400342999999\n");
	put(o.dir, PM "energy", "200000000 J\n"); /* larger, and no joule of it is ours */
	put(o.dir, PM "freshness", "3\n");
	assert_int_equal(o.ops->read(o.s, o.v), 0);
	expect(&o, "node energy", PART_NODE, -1, READING_GAP, 10);
	put(o.dir, PM "energy", "200000005 J\n");
	put(o.dir, PM "freshness", "4\n");
	assert_int_equal(o.ops->read(o.s, o.v), 0);
	expect(&o, "node energy", PART_NODE, -1, READING_GOOD, 15);
	tear_down(&o);
}

TEST(time_stamps_of_the_blade)
{
	uint64_t real = clock__real_ns(), boot = clock__boot_ns(), now;
	struct opened o;
	struct sensor_value v;
	char text[64];

	set_up(&o, &sensor_pm_counters, "cray");
	snprintf(text, sizeof(text), "123456789 J %llu us\n", (unsigned long long)real / 1000);
	put(o.dir, PM "energy", text);
	assert_int_equal(o.ops->read(o.s, o.v), 0);
	now = clock__boot_ns();
	find(&o, "node energy", &v); /* as long ago as the wall clock says, or not believed */
	assert_true(v.time_ns + 2000 >= boot && v.time_ns <= now);
	find(&o, "node power", &v); /* of the year 2020 */
	assert_true(v.time_ns >= boot && v.time_ns <= now);
	tear_down(&o);
}

TEST(an_accelerator_that_vanishes)
{
	struct opened o;
	char path[128];

	set_up(&o, &sensor_pm_counters, "cray");
	assert_int_equal(o.ops->read(o.s, o.v), 0);
	snprintf(path, sizeof(path), "%s/" PM "accel2_power", o.dir);
	assert_int_equal(unlink(path), 0);
	put(o.dir, PM "freshness", "4712\n");
	assert_int_equal(o.ops->read(o.s, o.v), 0);
	expect(&o, "accel-2 power", PART_GPU, 2, READING_NONE, NAN);
	expect(&o, "accel-1 power", PART_GPU, 1, READING_GOOD, 211);
	tear_down(&o);
}

int main(void)
{
	return run_all_tests();
}
