// SPDX-License-Identifier: GPL-2.0-only
/* AMD GPUs, by a stand-in for the library that tells what the test sets. */

#include "tests/unit/unit.h"
#include "sensor/gpu/rsmi_api.h"
#include "schema/describe.h"
#include "tests/stub/rsmi.h"
#include "tests/unit/gpu.h"

static struct stub_rsmi *stub, as_it_was;

static int find_stub(void **state)
{
	stub = stub_symbol("/rocm", "librocm_smi64.so", "stub_rsmi");
	if (stub)
		as_it_was = *stub;
	return stub ? 0 : -1;
}

static int set_up(void **state)
{
	*stub = as_it_was;
	s = NULL;
	return 0;
}

static int tear_down(void **state)
{
	sensor__close(&sensor_rsmi, s);
	return stub->inits == stub->shutdowns ? 0 : -1;
}

TEST(all_of_two_gpus)
{
	const double count_j = (double)15.259f * 1e-6;
	char why[128];

	assert_int_equal(sensor__probe(&sensor_rsmi, &roots, why, sizeof(why)), 0);
	assert_string_equal(why, "librocm_smi64.so, 2 GPUs");
	open_it(&sensor_rsmi);
	assert_int_equal(n, 18);
	assert_int_equal(sensor_rsmi.read(s, value), 0);
	expect("gpu-0 power", READING_GOOD, 412);
	expect("gpu-0 energy", READING_GOOD, 0);
	expect("gpu-0 utilisation", READING_GOOD, 87);
	expect("gpu-0 memory utilisation", READING_GOOD, 33);
	expect("gpu-0 memory", READING_GOOD, 16.0 * (1 << 30));
	expect("gpu-0 memory size", READING_GOOD, 64.0 * (1 << 30));
	expect("gpu-0 temperature", READING_GOOD, 51);
	expect("gpu-1 temperature", READING_GOOD, 34.5); /* at the junction: it has no edge */
	expect("gpu-0 clock", READING_GOOD, 1700);
	expect("gpu-0 memory clock", READING_GOOD, 1600);
	expect("gpu-1 clock", READING_GOOD, 500);
	stub->gpu[0].energy += 1000000;
	assert_int_equal(sensor_rsmi.read(s, value), 0);
	expect("gpu-0 energy", READING_GOOD, 1000000 * count_j);
	expect("gpu-1 energy", READING_GOOD, 0);
	assert_float_equal(channel[find("gpu-0 energy")].step, count_j, 1e-12);
}

TEST(channels_are_columns_of_their_gpus_table)
{
	open_it(&sensor_rsmi);
	for (unsigned i = 0; i < n; i++) {
		char want[16];

		snprintf(want, sizeof(want), "GPU/%d", channel[i].index);
		assert_string_equal(channel[i].series, want);
		assert_int_equal(column__describe("GPU", channel[i].column, NULL).how, HOW_SENSOR);
		assert_int_equal(channel[i].part, PART_GPU);
	}
}

/* A library each in one directory, as where both are installed. */
TEST(numbers_go_on_behind_those_of_nvidia)
{
	char dir[] = "/tmp/jp-rsmi-XXXXXX", from[PATH_MAX + 32], path[2][64];
	const struct sensor_roots both = {.lib = dir};

	assert_non_null(mkdtemp(dir));
	snprintf(from, sizeof(from), "%s/librocm_smi64.so", library_dir);
	snprintf(path[0], sizeof(path[0]), "%s/librocm_smi64.so", dir);
	assert_int_equal(symlink(from, path[0]), 0);
	snprintf(from, sizeof(from), "%s/libnvidia-ml.so.1", stub_dir);
	snprintf(path[1], sizeof(path[1]), "%s/libnvidia-ml.so.1", dir);
	assert_int_equal(symlink(from, path[1]), 0);
	assert_int_equal(sensor__open(&sensor_rsmi, &s, &both), 0);
	n = sensor_rsmi.channels(s, &channel);
	assert_int_equal(channel[0].index, 2);
	assert_string_equal(channel[0].series, "GPU/2");
	assert_string_equal(channel[n - 1].series, "GPU/3");
	unlink(path[0]);
	unlink(path[1]);
	rmdir(dir);
}

TEST(libraries_of_all_ages)
{
	stub->old_clocks = 1;
	open_it(&sensor_rsmi);
	assert_int_equal(sensor_rsmi.read(s, value), 0);
	expect("gpu-0 clock", READING_GOOD, 1700);
	stub->bad_clock = 1;
	assert_int_equal(sensor_rsmi.read(s, value), 0);
	expect("gpu-0 clock", READING_NONE, NAN);
	stub->old_clocks = 0;
	assert_int_equal(sensor_rsmi.read(s, value), 0);
	expect("gpu-0 clock", READING_NONE, NAN);
	sensor__close(&sensor_rsmi, s);
	stub->old_energy = 1;
	open_it(&sensor_rsmi);
	assert_int_equal(n, 16); /* energy in a unit that is not told is none */
}

TEST(what_a_gpu_never_has_is_no_channel)
{
	stub->gpu[1].energy_err = 2;
	stub->gpu[0].busy_err = 9;
	open_it(&sensor_rsmi);
	assert_int_equal(n, 16);
	for (unsigned i = 0; i < n; i++)
		assert_string_not_equal(channel[i].name, "gpu-1 energy");
}

TEST(what_cannot_be_is_no_value)
{
	struct stub_rsmi_gpu *g = stub->gpu;

	open_it(&sensor_rsmi);
	g[0].busy = 101;
	g[0].memory_busy = UINT32_MAX;
	g[0].edge = INT64_MIN;
	g[0].energy = UINT64_MAX;
	g[0].memory_used = UINT64_MAX;
	g[1].power_uw = 0; /* the second chip of a card */
	g[1].system_hz = 0;
	g[1].memory_hz = UINT64_MAX;
	assert_int_equal(sensor_rsmi.read(s, value), 0);
	expect("gpu-0 utilisation", READING_NONE, NAN);
	expect("gpu-0 memory utilisation", READING_NONE, NAN);
	expect("gpu-0 temperature", READING_NONE, NAN);
	expect("gpu-0 energy", READING_NONE, NAN);
	expect("gpu-0 memory", READING_NONE, NAN);
	expect("gpu-1 power", READING_NONE, NAN);
	expect("gpu-1 clock", READING_NONE, NAN);
	expect("gpu-1 memory clock", READING_NONE, NAN);
	g[1].resolution = -3;
	assert_int_equal(sensor_rsmi.read(s, value), 0);
	expect("gpu-1 energy", READING_NONE, NAN);
}

TEST(a_gpu_that_is_away)
{
	open_it(&sensor_rsmi);
	assert_int_equal(sensor_rsmi.read(s, value), 0);
	stub->gpu[0].err = 4;
	stub->gpu[1].err = 6;
	assert_int_equal(sensor_rsmi.read(s, value), -ENODATA);
	expect("gpu-0 power", READING_DENIED, NAN);
	expect("gpu-1 power", READING_NONE, NAN);
	stub->gpu[0].err = stub->gpu[1].err = 0;
	stub->gpu[0].energy += 5000;
	stub->gpu[1].energy = 1; /* it was reset */
	assert_int_equal(sensor_rsmi.read(s, value), 0);
	expect("gpu-0 energy", READING_GAP, 0);
	expect("gpu-1 energy", READING_GAP, 0);
	expect("gpu-0 power", READING_GOOD, 412);
}

TEST(processes)
{
	struct gpu_use *use;

	stub->nprocesses = 3;
	stub->process[0] = (struct stub_rsmi_process){
		.pid = 100, .ngpus = 2, .gpu = {1, 0}, .memory = {8192, 4096}, .occupancy = 40};
	stub->process[1] = (struct stub_rsmi_process){
		.pid = 101, .ngpus = 1, .gpu = {1}, .memory = {7}, .occupancy = UINT32_MAX};
	stub->process[2] = (struct stub_rsmi_process){.pid = 102, .ngpus = 2, .gpu = {9, 1}};
	open_it(&sensor_rsmi);
	assert_int_equal(rsmi__processes(s, &use), 4);
	assert_int_equal(use[0].pid, 100);
	assert_int_equal(use[0].gpu, 1);
	assert_int_equal(use[0].memory, 8192);
	assert_float_equal(use[0].util, 40, 0);
	assert_int_equal(use[1].gpu, 0);
	assert_int_equal(use[1].memory, 4096);
	assert_int_equal(use[2].pid, 101);
	assert_true(isnan(use[2].util));
	assert_int_equal(use[3].pid, 102); /* its GPU 9 is none */
	assert_int_equal(use[3].gpu, 1);
	free(use);
	stub->nprocesses = 0;
	assert_int_equal(rsmi__processes(s, &use), 0);
	assert_null(use);
}

TEST(more_processes_than_expected)
{
	struct gpu_use *use;

	stub->nprocesses = STUB_RSMI_PROCESSES;
	stub->growing = 200;
	for (unsigned i = 0; i < STUB_RSMI_PROCESSES; i++)
		stub->process[i] = (struct stub_rsmi_process){
			.pid = i + 1, .ngpus = 1, .gpu = {0}, .memory = {i}};
	open_it(&sensor_rsmi);
	assert_int_equal(rsmi__processes(s, &use), STUB_RSMI_PROCESSES);
	assert_int_equal(use[STUB_RSMI_PROCESSES - 1].memory, STUB_RSMI_PROCESSES - 1);
	free(use);
}

TEST(nothing_there)
{
	static const struct no_gpu cases[] = {{8, -ENOENT}, {4, -EACCES}, {-1, -EIO}};
	char why[128];

	check_errors(&sensor_rsmi, &stub->init_err, cases, sizeof(cases) / sizeof(cases[0]));
	stub->ngpus = 0;
	assert_int_equal(sensor__probe(&sensor_rsmi, &roots, why, sizeof(why)), -ENOENT);
	stub->ngpus = UINT32_MAX;
	assert_int_equal(sensor__probe(&sensor_rsmi, &roots, why, sizeof(why)), -E2BIG);
}

TEST(a_library_that_is_none)
{
	check_file_of_text(&sensor_rsmi, "librocm_smi64.so");
}

static struct unit_fixture fixture = {
	.setup = set_up, .teardown = tear_down, .setup_all = find_stub};
