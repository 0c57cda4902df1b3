// SPDX-License-Identifier: GPL-2.0-or-later
/* Traffic of memory: PMUs made of files, with events that the test feeds or the kernel counts. */
#include "tests/unit/unit.h"
#include <linux/perf_event.h>

#include "base/clock.h"
#include "sensor/core/event.h"
#include "sensor/sensors.h"
#include "tests/unit/machine.h"

#define IMC "sys/bus/event_source/devices/uncore_imc"
#define SCF "sys/bus/event_source/devices/nvidia_scf_pmu"

static sensor_event_open_fn *kernel_open;
/* By type (of four PMUs, from 20) and event: a pipe of what perf's read(2) gives. */
static int pipes[4][2][2];
static unsigned opened;

static void put_event(const char *pmu, const char *event, const char *text, const char *scale)
{
	char path[160], files[256];

	snprintf(path, sizeof(path), "%s/events/%s", pmu, event);
	snprintf(files, sizeof(files), "=%s|.scale=%s|.unit=MiB", text, scale);
	machine_puts(path, files);
}

static void put_pmu(const char *pmu, const char *type, const char *cpus)
{
	char files[160];

	snprintf(files, sizeof(files),
		 "/type=%s|/cpumask=%s|/format/event=config:0-7|/format/umask=config:8-15", type,
		 cpus);
	machine_puts(pmu, files);
}

/* As Linux has it on an Ice Lake server: 64 bytes a count, and free-running counters of the same.
 */
static void put_controllers(void)
{
	put_pmu(IMC "_0", "20", "0");
	put_event(IMC "_0", "cas_count_read", "event=0x04,umask=0x0f", "6.103515625e-5");
	put_event(IMC "_0", "cas_count_write", "event=0x04,umask=0x30", "6.103515625e-5");
	put_pmu(IMC "_1", "21", "0");
	put_event(IMC "_1", "cas_count_read", "event=0x04,umask=0x0f", "6.103515625e-5");
	put_event(IMC "_1", "cas_count_write", "event=0x04,umask=0x30", "6.103515625e-5");
	put_pmu(IMC "_free_running_0", "22", "0");
	put_event(IMC "_free_running_0", "read", "event=0xff,umask=0x20", "3.814697266E-6");
	put_event(IMC "_free_running_0", "write", "event=0xff,umask=0x30", "3.814697266E-6");
}

/* As Linux has it on a server with two Grace: no units. */
static void put_fabrics(void)
{
	const char *const pmus[] = {SCF "_0", SCF "_1"}, *const types[] = {"20", "21"},
			  *const cpus[] = {"0", "72"};

	for (int i = 0; i < 2; i++) {
		put_pmu(pmus[i], types[i], cpus[i]);
		machine_puts(pmus[i], "/format/event=config:0-31|/events/cmem_rd_data=event=0x1a5|"
				      "/events/cmem_wr_total_bytes=event=0x1db");
	}
}

static int open_pipe(unsigned pmu, int kind)
{
	int *p = pipes[pmu][kind];

	if (!p[0])
		assert_int_equal(pipe2(p, O_DIRECT | O_NONBLOCK | O_CLOEXEC), 0);
	opened++;
	return dup(p[0]);
}

static int fabric_open(struct perf_event_attr *attr, int cpu, int group_fd)
{
	assert_in_range(attr->type, 20, 21);
	assert_int_equal(cpu, attr->type == 20 ? 0 : 72);
	assert_true(attr->config == 0x1a5 || attr->config == 0x1db);
	return open_pipe(attr->type - 20, attr->config == 0x1db);
}

static int fake_open(struct perf_event_attr *attr, int cpu, int group_fd)
{
	int written = attr->config == 0x3004;

	assert_in_range(attr->type, 20, 21);
	assert_true(written || attr->config == 0x0f04);
	assert_true(!cpu && group_fd < 0 && !attr->sample_period);
	return open_pipe(attr->type - 20, written);
}

static void feed(unsigned pmu, unsigned kind, uint64_t count, uint64_t enabled, uint64_t running)
{
	uint64_t packet[3] = {count, enabled, running};

	assert_int_equal(write(pipes[pmu][kind][1], packet, sizeof(packet)), sizeof(packet));
}

static int set_up(void **state)
{
	kernel_open = sensor_event_open;
	machine_make("intel-2s");
	opened = 0;
	return 0;
}

static int tear_down(void **state)
{
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < 2; k++) {
			if (pipes[i][k][0])
				close(pipes[i][k][0]), close(pipes[i][k][1]);
			pipes[i][k][0] = 0;
		}
	sensor_event_open = kernel_open;
	return machine_end(state);
}

TEST(controllers_add_up)
{
	put_controllers();
	sensor_event_open = fake_open;
	machine_open(&sensor_memory);
	assert_int_equal(opened, 4); /* not what free-running counters count again */
	assert_int_equal(m.n, 2);
	assert_string_equal(m.c[0].column, "MemReadMB");
	assert_string_equal(m.c[1].column, "MemWriteMB");
	feed(0, 0, 100, 10, 10);
	feed(1, 0, 11, 10, 10);
	feed(0, 1, 7, 10, 10);
	feed(1, 1, 0, 10, 10);
	reads("CPU", "MemReadMB=7104, MemWriteMB=448");
}

TEST(a_counter_that_is_shared_is_scaled_and_a_missing_one_is_no_sum)
{
	put_controllers();
	sensor_event_open = fake_open;
	machine_open(&sensor_memory);
	feed(0, 0, 100, 10, 10);
	feed(1, 0, 100, 10, 10);
	feed(0, 1, 100, 10, 10);
	feed(1, 1, 100, 10, 10);
	machine_read(0);
	feed(0, 0, 200, 20, 15); /* on the hardware for half of the time */
	feed(1, 0, 200, 20, 20);
	feed(0, 1, 100, 20, 10); /* not at all */
	reads("CPU", "MemReadMB=32000, MemWriteMB=none");
}

TEST(a_counter_that_hardly_counted_is_no_measure)
{
	put_controllers();
	sensor_event_open = fake_open;
	machine_open(&sensor_memory);
	for (int i = 0; i < 4; i++)
		feed(i / 2, i % 2, 100, 100, 100);
	machine_read(0);
	feed(0, 0, 200, 200, 104); /* for 4 % of the time */
	feed(1, 0, 200, 200, 200);
	reads("CPU", "MemReadMB=gap 19200");
}

TEST(fabrics_count_what_their_maker_says)
{
	put_fabrics();
	sensor_event_open = fabric_open;
	machine_open(&sensor_memory);
	assert_int_equal(opened, 4);
	assert_float_equal(m.c[0].step, 32, 0);
	assert_float_equal(m.c[1].step, 1, 0);
	feed(0, 0, 100, 10, 10);
	feed(1, 0, 11, 10, 10);
	feed(0, 1, 4096, 10, 10);
	feed(1, 1, 64, 10, 10);
	reads("CPU", "MemReadMB=3552, MemWriteMB=4160");
	machine_probe(&sensor_memory, 0, "not tried on hardware");
}

/* AMD's controllers and Arm's interconnects have formats, but name no events of memory. */
TEST(what_names_no_event_is_not_guessed)
{
	put_pmu("sys/bus/event_source/devices/amd_umc_0", "20", "0");
	put_pmu("sys/bus/event_source/devices/amd_df", "21", "0");
	put_pmu("sys/bus/event_source/devices/nvidia_uncore_pmu_0", "20", "0");
	sensor_event_open = fabric_open;
	assert_int_equal(sensor__open(&sensor_memory, &m.s, &m.roots), -ENOENT);
	assert_int_equal(opened, 0);
	m.s = NULL;
}

TEST(a_controller_on_unknown_cpus_is_no_sum_without_it)
{
	put_controllers();
	machine_put(IMC "_1/cpumask", "0-");
	sensor_event_open = fake_open;
	assert_int_equal(sensor__open(&sensor_memory, &m.s, &m.roots), -EINVAL);
	m.s = NULL;
}

TEST(a_controller_without_a_scale_is_no_sum)
{
	put_controllers();
	machine_remove(IMC "_1/events/cas_count_write.scale");
	sensor_event_open = fake_open;
	machine_probe(&sensor_memory, -EBADMSG, "what a count is worth");
	assert_int_equal(opened, 0);
}

/* A tree of files is not given the kernel's own events. */
static int real_open(struct perf_event_attr *attr, int cpu, int group_fd)
{
	return kernel_open(attr, cpu, group_fd);
}

/* The kernel's clock stands in for a controller: a count is a nanosecond, and a MiB as many. */
TEST(the_kernels_own_events_are_read)
{
	uint64_t before, after;
	int err;

	put_pmu(IMC, "1", "0");
	put_event(IMC, "data_reads", "event=0x00", "1e-9");
	put_event(IMC, "data_writes", "event=0x00", "1e-9");
	sensor_event_open = real_open;
	before = clock__boot_ns();
	err = sensor__open(&sensor_memory, &m.s, &m.roots);
	if (err) {
		m.s = NULL;
		skip();
	}
	usleep(20000);
	machine_read(0);
	after = clock__boot_ns();
	for (int k = 0; k < 2; k++) {
		double seconds = m.v[k].value / (1 << 20);

		assert_int_equal(m.v[k].quality, READING_GOOD);
		assert_true(seconds >= 0.0199 && seconds <= (double)(after - before) / 1e9 * 1.01);
	}
}

static struct unit_fixture fixture = {.setup = set_up, .teardown = tear_down};
