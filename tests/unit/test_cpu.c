// SPDX-License-Identifier: GPL-2.0-only
/* Clocks, throttling, temperature, pressure and memory: on machines made of files, and on this one.
 */

#include "tests/unit/unit.h"
#include "sensor/core/event.h"
#include "sensor/node/cpu.h"
#include "sensor/sensors.h"
#include "schema/describe.h"
#include "tests/unit/reading.h"
#include "tests/unit/tree.h"

#define CPU  "sys/devices/system/cpu/"
#define IMC  "sys/bus/event_source/devices/uncore_imc/"
#define CHIP "sys/class/hwmon/hwmon"
#define ZONE "sys/class/thermal/thermal_zone"

static char dir[64], sys[80], proc[80];
static const struct sensor_roots roots = {.sys = sys, .proc = proc, .dev = "/nonexistent"};
static const struct sensor_ops *ops;
static struct sensor *s;
static const struct sensor_channel *channel;
static struct sensor_value value[16];
static unsigned n;

static int set_up(void **state)
{
	strcpy(dir, "/tmp/jobprof-cpu.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(sys, sizeof(sys), "%s/sys", dir);
	snprintf(proc, sizeof(proc), "%s/proc", dir);
	s = NULL;
	return 0;
}

static void take_away(const char *path)
{
	char cmd[256];

	snprintf(cmd, sizeof(cmd), "rm -r '%s/%s'", dir, path);
	assert_int_equal(system(cmd), 0);
}

static int tear_down(void **state)
{
	if (s)
		sensor__close(ops, s);
	take_away("");
	return 0;
}

static void open_it(const struct sensor_ops *which)
{
	ops = which;
	assert_int_equal(sensor__open(ops, &s, &roots), 0);
	n = ops->channels(s, &channel);
	assert_in_range(n, 1, 16);
}

static void read_it(int want)
{
	assert_int_equal(ops->read(s, value), want);
}

static void expect(const char *column, enum sensor_quality quality, double v)
{
	for (unsigned i = 0; i < n; i++) {
		if (strcmp(channel[i].column, column) != 0)
			continue;
		expect_reading(&value[i], quality, v);
		return;
	}
	fail_msg("no column \"%s\"", column);
}

static void put_cpu(int cpu, const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), CPU "cpu%d/%s", cpu, file);
	put(dir, path, text);
}

/* Two packages of two cores of two threads: threads of a core are four apart. */
static void make_cpus(void)
{
	static const char *const files[] = {"core_throttle_count", "core_throttle_total_time_ms",
					    "package_throttle_count",
					    "package_throttle_total_time_ms"};
	char text[32], path[64];

	for (int cpu = 0; cpu < 8; cpu++) {
		put_cpu(cpu, "topology/physical_package_id", cpu & 2 ? "1\n" : "0\n");
		put_cpu(cpu, "topology/core_id", cpu & 1 ? "1\n" : "0\n");
		put_cpu(cpu, "topology/die_id", "0\n");
		snprintf(text, sizeof(text), "%d\n", 2000000 + 100000 * cpu);
		put_cpu(cpu, "cpufreq/scaling_cur_freq", text);
		for (unsigned i = 0; i < 4; i++) {
			snprintf(path, sizeof(path), "thermal_throttle/%s", files[i]);
			snprintf(text, sizeof(text), "%u\n", 100 * (i + 1));
			put_cpu(cpu, path, text);
		}
	}
	put(dir, CPU "cpufreq/boost", "1\n");
	put(dir, CPU "cpuidle/current_driver", "none\n");
	put(dir, "proc/cpuinfo", "vendor_id\t: GenuineIntel\n");
}

TEST(clocks_of_all_that_are_online)
{
	make_cpus();
	open_it(&sensor_cpu);
	read_it(0);
	expect("FreqMean", READING_GOOD, 2350);
	expect("FreqMin", READING_GOOD, 2000);
	expect("FreqMax", READING_GOOD, 2700);
	take_away(CPU "cpu7/cpufreq");
	put_cpu(6, "cpufreq/scaling_cur_freq", "<unknown>\n");
	put_cpu(5, "cpufreq/scaling_cur_freq", "0\n");
	put_cpu(4, "cpufreq/scaling_cur_freq", "99999999999999999999999\n");
	put_cpu(3, "cpufreq/scaling_cur_freq", "");
	read_it(0);
	expect("FreqMean", READING_GOOD, 2100);
	expect("FreqMax", READING_GOOD, 2200);
	put_cpu(7, "cpufreq/scaling_cur_freq", "3000000\n");
	read_it(0);
	expect("FreqMax", READING_GOOD, 3000);
	for (int cpu = 0; cpu < 8; cpu++)
		put_cpu(cpu, "cpufreq/scaling_cur_freq", "1000000000\n");
	read_it(0); /* there are counts */
	expect("FreqMean", READING_NONE, NAN);
	expect("FreqMin", READING_NONE, NAN);
}

TEST(throttling_counts_once_per_core_and_package)
{
	make_cpus();
	open_it(&sensor_cpu);
	read_it(0);
	expect("CoreThrottles", READING_GOOD, 0);
	for (int cpu = 0; cpu < 8; cpu++) {
		put_cpu(cpu, "thermal_throttle/core_throttle_count", "107\n");
		put_cpu(cpu, "thermal_throttle/core_throttle_total_time_ms", "1200\n");
		put_cpu(cpu, "thermal_throttle/package_throttle_count", "305\n");
	}
	read_it(0);
	expect("CoreThrottles", READING_GOOD, 4 * 7);
	expect("CoreThrottleTime", READING_GOOD, 4.0);
	expect("PkgThrottles", READING_GOOD, 2 * 5);
	expect("PkgThrottleTime", READING_GOOD, 0);
}

TEST(a_cpu_that_goes_and_comes_back)
{
	make_cpus();
	open_it(&sensor_cpu);
	read_it(0);
	put_cpu(0, "thermal_throttle/core_throttle_count", "110\n");
	read_it(0);
	take_away(CPU "cpu0/thermal_throttle");
	put_cpu(1, "thermal_throttle/core_throttle_count", "101\n");
	read_it(0);
	expect("CoreThrottles", READING_GOOD, 11); /* the 10 stay */
	put_cpu(0, "thermal_throttle/core_throttle_count", "5\n");
	put_cpu(2, "thermal_throttle/core_throttle_count", "102\n");
	read_it(0);
	expect("CoreThrottles", READING_GAP, 13);
	expect("PkgThrottles", READING_GOOD, 0);
	put_cpu(1, "thermal_throttle/core_throttle_count", "3\n"); /* jumped back */
	put_cpu(0, "thermal_throttle/core_throttle_count", "6\n");
	read_it(0);
	expect("CoreThrottles", READING_GAP, 14);
	read_it(0);
	expect("CoreThrottles", READING_GOOD, 14);
}

TEST(the_hottest_package)
{
	put(dir, CPU "cpu0/topology/physical_package_id", "0\n");
	put(dir, CHIP "0/name", "nvme\n");
	put(dir, CHIP "0/temp1_label", "Package id 0\n");
	put(dir, CHIP "0/temp1_input", "90000\n");
	put(dir, CHIP "1/name", "coretemp\n");
	put(dir, CHIP "1/temp1_label", "Package id 0\n");
	put(dir, CHIP "1/temp1_input", "41000\n");
	put(dir, CHIP "1/temp2_label", "Core 0\n");
	put(dir, CHIP "1/temp2_input", "70000\n");
	put(dir, CHIP "10/name", "coretemp\n");
	put(dir, CHIP "10/temp1_label", "Package id 1\n");
	put(dir, CHIP "10/temp1_input", "52500\n");
	put(dir, ZONE "0/type", "x86_pkg_temp\n");
	put(dir, ZONE "0/temp", "99000\n");
	open_it(&sensor_cpu);
	assert_int_equal(n, 1);
	read_it(0);
	expect("PkgTemperature", READING_GOOD, 52.5);
	put(dir, CHIP "10/temp1_input", "-128000000\n");
	read_it(0);
	expect("PkgTemperature", READING_GOOD, 41);
	put(dir, CHIP "1/temp1_input", "-1500\n");
	read_it(0);
	expect("PkgTemperature", READING_GOOD, -1.5);
	take_away(CHIP "1");
	read_it(-ENODATA);
	expect("PkgTemperature", READING_NONE, NAN);
}

TEST(heat_by_other_drivers)
{
	struct cpu_heat h;
	double c;

	put(dir, ZONE "0/type", "acpitz\n");
	put(dir, ZONE "0/temp", "20000\n");
	assert_int_equal(cpu_heat__find(&h, &roots), 0);
	assert_int_equal(h.n, 0);
	assert_int_equal(cpu_heat__read(&h, &c), -ENODATA);
	put(dir, ZONE "1/type", "x86_pkg_temp\n");
	put(dir, ZONE "1/temp", "61000\n");
	assert_int_equal(cpu_heat__find(&h, &roots), 0);
	assert_int_equal(cpu_heat__read(&h, &c), 0);
	assert_float_equal(c, 61, 1e-9);
	cpu_heat__free(&h);
	put(dir, CHIP "0/name", "k10temp\n");
	put(dir, CHIP "0/temp1_label", "Tctl\n");
	put(dir, CHIP "0/temp1_input", "77000\n");
	assert_int_equal(cpu_heat__find(&h, &roots), 0);
	assert_int_equal(cpu_heat__read(&h, &c), 0);
	assert_float_equal(c, 77, 1e-9);
	cpu_heat__free(&h);
	put(dir, CHIP "0/temp2_label", "Tdie\n");
	put(dir, CHIP "0/temp2_input", "50000\n");
	assert_int_equal(cpu_heat__find(&h, &roots), 0);
	assert_int_equal(cpu_heat__read(&h, &c), 0);
	assert_float_equal(c, 50, 1e-9);
	cpu_heat__free(&h);
}

TEST(pressure_and_memory)
{
	char files[256];

	put(dir, "proc/pressure/cpu",
	    "some avg10=0.14 avg60=0.47 avg300=2.08 total=9445730251\n"
	    "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n");
	put(dir, "proc/pressure/io",
	    "some avg10=0.00 avg60=0.00 avg300=0.00 total=100\nfull total=1\n");
	put(dir, "proc/stat", "cpu  100 20 300 4000 500 6 7 80 9 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n");
	put(dir, "proc/meminfo",
	    "MemTotal:       24684084 kB\nMemFree:  1 kB\nMemAvailable:   24109140 kB\n");
	open_it(&sensor_node);
	assert_int_equal(n, 5); /* this kernel tells nothing of memory's pressure */
	assert_int_equal(sensor__probe(&sensor_node, &roots, files, sizeof(files)), 0);
	assert_string_equal(files, "pressure/cpu, pressure/io, stat, meminfo");
	read_it(0);
	expect("PSICpu", READING_GOOD, 0);
	expect("MemUsedMB", READING_GOOD, (24684084 - 24109140) * 1024.0);
	put(dir, "proc/pressure/cpu",
	    "some avg10=0.14 avg60=0.47 avg300=2.08 total=9447230251\nfull total=9\n");
	put(dir, "proc/pressure/io", "full total=1\n");
	put(dir, "proc/stat", "cpu  100 20 300 4100 550 6 7 100 9 0\n");
	put(dir, "proc/meminfo", "MemTotal: 10 kB\nMemAvailable: 11 kB\n");
	read_it(0);
	expect("PSICpu", READING_GOOD, 1.5);
	expect("PSIIO", READING_NONE, NAN);
	expect("IdleTime", READING_GOOD, 1.5);
	expect("StolenTime", READING_GOOD, 0.2);
	expect("MemUsedMB", READING_NONE, NAN);
	put(dir, "proc/pressure/cpu", "some total=99999999999999999999999999\n");
	put(dir, "proc/pressure/io", "some avg10=0 total=300\n");
	take_away("proc/meminfo");
	put(dir, "proc/stat", "cpu 1 2\n");
	read_it(0);
	expect("PSICpu", READING_NONE, NAN);
	expect("PSIIO", READING_GAP, 0);
	expect("MemUsedMB", READING_NONE, NAN);
	take_away("proc/pressure");
	read_it(-ENODATA);
}

TEST(nothing_there)
{
	char why[256];

	put(dir, CPU "cpu0/topology/physical_package_id", "0\n");
	put(dir, "proc/pressure/cpu", "");
	put(dir, "proc/meminfo", "garbage\n");
	assert_int_equal(sensor__probe(&sensor_cpu, &roots, why, sizeof(why)), -ENOENT);
	assert_int_equal(sensor__open(&sensor_cpu, &s, &roots), -ENOENT);
	assert_int_equal(sensor__probe(&sensor_node, &roots, why, sizeof(why)), -ENOENT);
	assert_int_equal(sensor__open(&sensor_node, &s, &roots), -ENOENT);
	take_away("sys");
	assert_int_equal(sensor__probe(&sensor_cpu, &roots, why, sizeof(why)), -ENOENT);
	sensor__close(&sensor_cpu, NULL);
	sensor__close(&sensor_node, NULL);
}

static int open_nothing(struct perf_event_attr *attr, int cpu, int group_fd)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void make_controller(void)
{
	put(dir, IMC "type", "20\n");
	put(dir, IMC "cpumask", "0\n");
	put(dir, IMC "format/event", "config:0-7\n");
	put(dir, IMC "events/data_reads", "event=0x1\n");
	put(dir, IMC "events/data_reads.scale", "1e-6\n");
	put(dir, IMC "events/data_reads.unit", "MiB\n");
	put(dir, IMC "events/data_writes", "event=0x2\n");
	put(dir, IMC "events/data_writes.scale", "1e-6\n");
	put(dir, IMC "events/data_writes.unit", "MiB\n");
}

/* Three sources fill the table, each column once. */
TEST(every_column_of_the_table_has_its_channel)
{
	static const struct sensor_ops *const sources[] = {&sensor_cpu, &sensor_node,
							   &sensor_memory};
	const struct series *table = series__find("CPU");
	sensor_event_open_fn *was = sensor_event_open;
	unsigned filled = 0;

	assert_non_null(table);
	make_cpus();
	put(dir, CHIP "1/name", "coretemp\n");
	put(dir, CHIP "1/temp1_label", "Package id 0\n");
	put(dir, CHIP "1/temp1_input", "41000\n");
	put(dir, "proc/pressure/cpu", "some avg10=0 total=1\n");
	put(dir, "proc/pressure/memory", "some avg10=0 total=1\n");
	put(dir, "proc/pressure/io", "some avg10=0 total=1\n");
	put(dir, "proc/stat", "cpu 1 2 3 4 5 6 7 8 9 0\n");
	put(dir, "proc/meminfo", "MemTotal: 10 kB\nMemAvailable: 5 kB\n");
	make_controller();
	sensor_event_open = open_nothing;
	for (unsigned k = 0; k < 3; k++) {
		open_it(sources[k]);
		for (unsigned i = 0; i < n; i++, filled++) {
			assert_string_equal(channel[i].series, "CPU");
			assert_int_equal(column__describe("CPU", channel[i].column, NULL).how,
					 HOW_SENSOR);
		}
		sensor__close(ops, s);
		s = NULL;
	}
	sensor_event_open = was;
	assert_int_equal(filled, table->ncols - 3);
}

/* Idle seconds of all CPUs by the second number of /proc/uptime, which leaves waiting for I/O out.
 */
static double kernels_idle(void)
{
	FILE *f = fopen("/proc/uptime", "r");
	double up, idle = NAN;

	if (!f || fscanf(f, "%lf %lf", &up, &idle) != 2)
		idle = NAN;
	if (f)
		fclose(f);
	return idle;
}

TEST(idle_is_the_kernels)
{
	double idle, read = 0;

	strcpy(proc, "/proc");
	open_it(&sensor_node);
	idle = kernels_idle();
	read_it(0);
	for (unsigned i = 0; i < 10; i++) {
		usleep(100000);
		read_it(0);
		for (unsigned k = 0; k < n; k++)
			if (!strcmp(channel[k].column, "IdleTime"))
				read = value[k].value; /* since the first reading */
	}
	/* Waiting for I/O counts here, and not there. */
	assert_true(read >= kernels_idle() - idle - 0.1);
	assert_true(read <= 1.5 * sysconf(_SC_NPROCESSORS_ONLN));
}

/* Read by a way of our own: "some" of /proc/pressure/cpu in us. */
static double kernels_pressure(void)
{
	FILE *f = fopen("/proc/pressure/cpu", "r");
	unsigned long long total = 0;
	float avg[3];

	if (!f)
		return NAN;
	if (fscanf(f, "some avg10=%f avg60=%f avg300=%f total=%llu", &avg[0], &avg[1], &avg[2],
		   &total) != 4)
		total = 0;
	fclose(f);
	return total ? (double)total * 1e-6 : NAN;
}

static double kernels_memory(void)
{
	unsigned long long total, available;
	FILE *f = fopen("/proc/meminfo", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "MemTotal: %llu kB MemFree: %*u kB MemAvailable: %llu kB",
				&total, &available),
			 2);
	fclose(f);
	return (double)(total - available) * 1024;
}

/* What the kernel said before and after a reading bounds it. */
TEST(this_machines_pressure_and_memory)
{
	double before[2], after[2], memory[2];

	strcpy(proc, "/proc");
	before[0] = kernels_pressure();
	if (isnan(before[0]))
		skip();
	open_it(&sensor_node);
	assert_int_equal(n, 6);
	read_it(0);
	after[0] = kernels_pressure();
	for (unsigned i = 0; i < 20; i++) {
		volatile unsigned long spin = 0;

		while (spin < 5000000)
			spin++;
		memory[0] = kernels_memory();
		before[1] = kernels_pressure();
		read_it(0);
		after[1] = kernels_pressure();
		memory[1] = kernels_memory();
		assert_true(value[0].value >= before[1] - after[0] - 1e-9);
		assert_true(value[0].value <= after[1] - before[0] + 1e-9);
		assert_float_equal(value[5].value, (memory[0] + memory[1]) / 2,
				   fabs(memory[0] - memory[1]) + (256 << 20));
	}
}

static struct unit_fixture fixture = {.setup = set_up, .teardown = tear_down};
