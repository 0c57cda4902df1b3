// SPDX-License-Identifier: GPL-2.0-or-later
/* Clocks, throttling, temperature, pressure and memory: on machines made of files, and on this one.
 */

#include "tests/unit/unit.h"
#include "sensor/core/event.h"
#include "sensor/node/cpu.h"
#include "sensor/sensors.h"
#include "schema/describe.h"
#include "tests/unit/machine.h"

#define CPU  "sys/devices/system/cpu/"
#define IMC  "sys/bus/event_source/devices/uncore_imc/"
#define CHIP "sys/class/hwmon/hwmon"
#define ZONE "sys/class/thermal/thermal_zone"

static void put_cpu(int cpu, const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), CPU "cpu%d/%s", cpu, file);
	put_text(m.dir, path, text);
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
	machine_puts(CPU, "cpufreq/boost=1|cpuidle/current_driver=none");
	machine_put("proc/cpuinfo", "vendor_id\t: GenuineIntel");
}

TEST(clocks_of_all_that_are_online)
{
	make_cpus();
	machine_open(&sensor_cpu);
	reads("CPU", "FreqMean=2350, FreqMin=2000, FreqMax=2700");
	machine_remove(CPU "cpu7/cpufreq");
	put_cpu(6, "cpufreq/scaling_cur_freq", "<unknown>\n");
	put_cpu(5, "cpufreq/scaling_cur_freq", "0\n");
	put_cpu(4, "cpufreq/scaling_cur_freq", "99999999999999999999999\n");
	put_cpu(3, "cpufreq/scaling_cur_freq", "");
	reads("CPU", "FreqMean=2100, FreqMax=2200");
	put_cpu(7, "cpufreq/scaling_cur_freq", "3000000\n");
	reads("CPU", "FreqMax=3000");
	for (int cpu = 0; cpu < 8; cpu++)
		put_cpu(cpu, "cpufreq/scaling_cur_freq", "1000000000\n");
	machine_read(0); /* there are counts */
	expect("CPU", "FreqMean=none, FreqMin=none");
}

TEST(throttling_counts_once_per_core_and_package)
{
	make_cpus();
	machine_open(&sensor_cpu);
	reads("CPU", "CoreThrottles=0");
	for (int cpu = 0; cpu < 8; cpu++) {
		put_cpu(cpu, "thermal_throttle/core_throttle_count", "107\n");
		put_cpu(cpu, "thermal_throttle/core_throttle_total_time_ms", "1200\n");
		put_cpu(cpu, "thermal_throttle/package_throttle_count", "305\n");
	}
	/* 4 cores 7, 2 packages 5 times more */
	reads("CPU", "CoreThrottles=28, CoreThrottleTime=4.0, PkgThrottles=10, PkgThrottleTime=0");
}

TEST(a_cpu_that_goes_and_comes_back)
{
	make_cpus();
	machine_open(&sensor_cpu);
	machine_read(0);
	put_cpu(0, "thermal_throttle/core_throttle_count", "110\n");
	machine_read(0);
	machine_remove(CPU "cpu0/thermal_throttle");
	put_cpu(1, "thermal_throttle/core_throttle_count", "101\n");
	reads("CPU", "CoreThrottles=11"); /* the 10 stay */
	put_cpu(0, "thermal_throttle/core_throttle_count", "5\n");
	put_cpu(2, "thermal_throttle/core_throttle_count", "102\n");
	reads("CPU", "CoreThrottles=gap 13, PkgThrottles=0");
	put_cpu(1, "thermal_throttle/core_throttle_count", "3\n"); /* jumped back */
	put_cpu(0, "thermal_throttle/core_throttle_count", "6\n");
	reads("CPU", "CoreThrottles=gap 14");
	reads("CPU", "CoreThrottles=14");
}

TEST(the_hottest_package)
{
	machine_put(CPU "cpu0/topology/physical_package_id", "0");
	machine_puts(CHIP, "0/name=nvme|0/temp1_label=Package id 0|0/temp1_input=90000|"
			   "1/name=coretemp|1/temp1_label=Package id 0|1/temp1_input=41000|"
			   "1/temp2_label=Core 0|1/temp2_input=70000|"
			   "10/name=coretemp|10/temp1_label=Package id 1|10/temp1_input=52500");
	machine_puts(ZONE, "0/type=x86_pkg_temp|0/temp=99000");
	machine_open(&sensor_cpu);
	assert_int_equal(m.n, 1);
	reads("CPU", "PkgTemperature=52.5");
	machine_put(CHIP "10/temp1_input", "-128000000");
	reads("CPU", "PkgTemperature=41");
	machine_put(CHIP "1/temp1_input", "-1500");
	reads("CPU", "PkgTemperature=-1.5");
	machine_remove(CHIP "1");
	machine_read(-ENODATA);
	expect("CPU", "PkgTemperature=none");
}

TEST(heat_by_other_drivers)
{
	struct cpu_heat h;
	double c;

	machine_puts(ZONE, "0/type=acpitz|0/temp=20000");
	assert_int_equal(cpu_heat__find(&h, &m.roots), 0);
	assert_int_equal(h.n, 0);
	assert_int_equal(cpu_heat__read(&h, &c), -ENODATA);
	machine_puts(ZONE, "1/type=x86_pkg_temp|1/temp=61000");
	assert_int_equal(cpu_heat__find(&h, &m.roots), 0);
	assert_int_equal(cpu_heat__read(&h, &c), 0);
	assert_float_equal(c, 61, 1e-9);
	cpu_heat__free(&h);
	machine_puts(CHIP, "0/name=k10temp|0/temp1_label=Tctl|0/temp1_input=77000");
	assert_int_equal(cpu_heat__find(&h, &m.roots), 0);
	assert_int_equal(cpu_heat__read(&h, &c), 0);
	assert_float_equal(c, 77, 1e-9);
	cpu_heat__free(&h);
	machine_puts(CHIP, "0/temp2_label=Tdie|0/temp2_input=50000");
	assert_int_equal(cpu_heat__find(&h, &m.roots), 0);
	assert_int_equal(cpu_heat__read(&h, &c), 0);
	assert_float_equal(c, 50, 1e-9);
	cpu_heat__free(&h);
}

TEST(pressure_and_memory)
{
	machine_put("proc/pressure/cpu", "some avg10=0.14 avg60=0.47 avg300=2.08 total=9445730251\n"
					 "full avg10=0.00 avg60=0.00 avg300=0.00 total=7");
	machine_put("proc/pressure/io",
		    "some avg10=0.00 avg60=0.00 avg300=0.00 total=100\nfull total=1");
	machine_put("proc/stat", "cpu  100 20 300 4000 500 6 7 80 9 0\ncpu0 1 2 3 4 5 6 7 8 9 0");
	machine_put("proc/meminfo",
		    "MemTotal:       24684084 kB\nMemFree:  1 kB\nMemAvailable:   24109140 kB");
	machine_open(&sensor_node);
	assert_int_equal(m.n, 5); /* this kernel tells nothing of memory's pressure */
	machine_probe(&sensor_node, 0, "");
	assert_string_equal(m.why, "pressure/cpu, pressure/io, stat, meminfo");
	machine_read(0);
	expect("CPU", "PSICpu=0, MemUsedMB=%.17g", (24684084 - 24109140) * 1024.0);
	machine_put("proc/pressure/cpu",
		    "some avg10=0.14 avg60=0.47 avg300=2.08 total=9447230251\nfull total=9");
	machine_put("proc/pressure/io", "full total=1");
	machine_put("proc/stat", "cpu  100 20 300 4100 550 6 7 100 9 0");
	machine_put("proc/meminfo", "MemTotal: 10 kB\nMemAvailable: 11 kB");
	reads("CPU", "PSICpu=1.5, PSIIO=none, IdleTime=1.5, StolenTime=0.2, MemUsedMB=none");
	machine_put("proc/pressure/cpu", "some total=99999999999999999999999999");
	machine_put("proc/pressure/io", "some avg10=0 total=300");
	machine_remove("proc/meminfo");
	machine_put("proc/stat", "cpu 1 2");
	reads("CPU", "PSICpu=none, PSIIO=gap 0, MemUsedMB=none");
	machine_remove("proc/pressure");
	machine_read(-ENODATA);
}

TEST(nothing_there)
{
	machine_put(CPU "cpu0/topology/physical_package_id", "0");
	put_text(m.dir, "proc/pressure/cpu", "");
	machine_put("proc/meminfo", "garbage");
	machine_lacks(&sensor_cpu);
	machine_lacks(&sensor_node);
	machine_remove("sys");
	machine_lacks(&sensor_cpu);
}

static int open_nothing(struct perf_event_attr *attr, int cpu, int group_fd)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void make_controller(void)
{
	machine_puts(IMC, "type=20|cpumask=0|format/event=config:0-7|"
			  "events/data_reads=event=0x1|events/data_reads.scale=1e-6|"
			  "events/data_reads.unit=MiB|events/data_writes=event=0x2|"
			  "events/data_writes.scale=1e-6|events/data_writes.unit=MiB");
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
	machine_puts(CHIP, "1/name=coretemp|1/temp1_label=Package id 0|1/temp1_input=41000");
	machine_puts("proc/",
		     "pressure/cpu=some avg10=0 total=1|pressure/memory=some avg10=0 total=1|"
		     "pressure/io=some avg10=0 total=1|stat=cpu 1 2 3 4 5 6 7 8 9 0|"
		     "meminfo=MemTotal: 10 kB\nMemAvailable: 5 kB");
	make_controller();
	sensor_event_open = open_nothing;
	for (unsigned k = 0; k < 3; k++) {
		machine_open(sources[k]);
		for (unsigned i = 0; i < m.n; i++, filled++) {
			assert_string_equal(m.c[i].series, "CPU");
			assert_int_equal(column__describe("CPU", m.c[i].column, NULL).how,
					 HOW_SENSOR);
		}
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

	strcpy(m.proc, "/proc");
	machine_open(&sensor_node);
	idle = kernels_idle();
	machine_read(0);
	for (unsigned i = 0; i < 10; i++) {
		usleep(100000);
		machine_read(0);
		for (unsigned k = 0; k < m.n; k++)
			if (!strcmp(m.c[k].column, "IdleTime"))
				read = m.v[k].value; /* since the first reading */
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

	strcpy(m.proc, "/proc");
	before[0] = kernels_pressure();
	if (isnan(before[0]))
		skip();
	machine_open(&sensor_node);
	assert_int_equal(m.n, 6);
	machine_read(0);
	after[0] = kernels_pressure();
	for (unsigned i = 0; i < 20; i++) {
		volatile unsigned long spin = 0;

		while (spin < 5000000)
			spin++;
		memory[0] = kernels_memory();
		before[1] = kernels_pressure();
		machine_read(0);
		after[1] = kernels_pressure();
		memory[1] = kernels_memory();
		assert_true(m.v[0].value >= before[1] - after[0] - 1e-9);
		assert_true(m.v[0].value <= after[1] - before[0] + 1e-9);
		assert_float_equal(m.v[5].value, (memory[0] + memory[1]) / 2,
				   fabs(memory[0] - memory[1]) + (256 << 20));
	}
}

static struct unit_fixture fixture = {.setup = empty_machine, .teardown = machine_end};
