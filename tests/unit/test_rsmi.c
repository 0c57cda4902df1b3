// SPDX-License-Identifier: GPL-2.0-or-later
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
	return 0;
}

static int tear_down(void **state)
{
	machine_close();
	return stub->inits == stub->shutdowns ? 0 : -1;
}

TEST(all_of_two_gpus)
{
	const double count_j = (double)15.259f * 1e-6;

	machine_probe(&sensor_rsmi, 0, "");
	assert_string_equal(m.why, "librocm_smi64.so, 2 GPUs");
	machine_open(&sensor_rsmi);
	assert_int_equal(m.n, 18);
	machine_read(0);
	expect("",
	       "gpu-0 power=412, gpu-0 energy=0, gpu-0 utilisation=87, gpu-0 memory "
	       "utilisation=33, gpu-0 memory=%.17g, gpu-0 memory size=%.17g, gpu-0 temperature=51, "
	       "gpu-0 clock=1700, gpu-0 memory clock=1600, gpu-1 clock=500",
	       16.0 * (1 << 30), 64.0 * (1 << 30));
	expect("", "gpu-1 temperature=34.5"); /* at the junction: it has no edge */
	stub->gpu[0].energy += 1000000;
	machine_read(0);
	expect("", "gpu-0 energy=%.17g, gpu-1 energy=0", 1000000 * count_j);
	assert_float_equal(channel_of("", "gpu-0 energy")->step, count_j, 1e-12);
}

TEST(channels_are_columns_of_their_gpus_table)
{
	machine_open(&sensor_rsmi);
	for (unsigned i = 0; i < m.n; i++) {
		char want[16];

		snprintf(want, sizeof(want), "GPU/%d", m.c[i].index);
		assert_string_equal(m.c[i].series, want);
		assert_int_equal(column__describe("GPU", m.c[i].column, NULL).how, HOW_SENSOR);
		assert_int_equal(m.c[i].part, PART_GPU);
	}
}

/* A library each in one directory, as where both are installed. */
TEST(numbers_go_on_behind_those_of_nvidia)
{
	char both[64];

	strcpy(both, in_dir("both"));
	shell("mkdir %s; ln -s %s/librocm_smi64.so %s/libnvidia-ml.so.1 %s", both, library_dir,
	      stub_dir, both);
	m.roots.lib = both;
	machine_open(&sensor_rsmi);
	m.roots.lib = library_dir;
	assert_int_equal(m.c[0].index, 2);
	assert_string_equal(m.c[0].series, "GPU/2");
	assert_string_equal(m.c[m.n - 1].series, "GPU/3");
}

TEST(libraries_of_all_ages)
{
	stub->old_clocks = 1;
	machine_open(&sensor_rsmi);
	reads("", "gpu-0 clock=1700");
	stub->bad_clock = 1;
	reads("", "gpu-0 clock=none");
	stub->old_clocks = 0;
	reads("", "gpu-0 clock=none");
	machine_close();
	stub->old_energy = 1;
	machine_open(&sensor_rsmi);
	assert_int_equal(m.n, 16); /* energy in a unit that is not told is none */
}

TEST(what_a_gpu_never_has_is_no_channel)
{
	stub->gpu[1].energy_err = 2;
	stub->gpu[0].busy_err = 9;
	machine_open(&sensor_rsmi);
	assert_int_equal(m.n, 16);
	for (unsigned i = 0; i < m.n; i++)
		assert_string_not_equal(m.c[i].name, "gpu-1 energy");
}

TEST(what_cannot_be_is_no_value)
{
	struct stub_rsmi_gpu *g = stub->gpu;

	machine_open(&sensor_rsmi);
	g[0].busy = 101;
	g[0].memory_busy = UINT32_MAX;
	g[0].edge = INT64_MIN;
	g[0].energy = UINT64_MAX;
	g[0].memory_used = UINT64_MAX;
	g[1].power_uw = 0; /* the second chip of a card */
	g[1].system_hz = 0;
	g[1].memory_hz = UINT64_MAX;
	reads("", "gpu-0 utilisation=none, gpu-0 memory utilisation=none, gpu-0 temperature=none, "
		  "gpu-0 energy=none, gpu-0 memory=none, gpu-1 power=none, gpu-1 clock=none, gpu-1 "
		  "memory clock=none");
	g[1].resolution = -3;
	reads("", "gpu-1 energy=none");
}

TEST(a_gpu_that_is_away)
{
	machine_open(&sensor_rsmi);
	machine_read(0);
	stub->gpu[0].err = 4;
	stub->gpu[1].err = 6;
	machine_read(-ENODATA);
	expect("", "gpu-0 power=denied, gpu-1 power=none");
	stub->gpu[0].err = stub->gpu[1].err = 0;
	stub->gpu[0].energy += 5000;
	stub->gpu[1].energy = 1; /* it was reset */
	reads("", "gpu-0 energy=gap 0, gpu-1 energy=gap 0, gpu-0 power=412");
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
	machine_open(&sensor_rsmi);
	assert_int_equal(rsmi__processes(m.s, &use), 4);
	assert_int_equal(use[0].pid, 100);
	assert_int_equal(use[0].gpu, 1);
	assert_int_equal(use[0].mem, 8192);
	assert_float_equal(use[0].util, 40, 0);
	assert_int_equal(use[1].gpu, 0);
	assert_int_equal(use[1].mem, 4096);
	assert_int_equal(use[2].pid, 101);
	assert_true(isnan(use[2].util));
	assert_int_equal(use[3].pid, 102); /* its GPU 9 is none */
	assert_int_equal(use[3].gpu, 1);
	free(use);
	stub->nprocesses = 0;
	assert_int_equal(rsmi__processes(m.s, &use), 0);
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
	machine_open(&sensor_rsmi);
	assert_int_equal(rsmi__processes(m.s, &use), STUB_RSMI_PROCESSES);
	assert_int_equal(use[STUB_RSMI_PROCESSES - 1].mem, STUB_RSMI_PROCESSES - 1);
	free(use);
}

TEST(nothing_there)
{
	static const struct no_gpu cases[] = {{8, -ENOENT}, {4, -EACCES}, {-1, -EIO}};

	check_errors(&sensor_rsmi, &stub->init_err, cases, sizeof(cases) / sizeof(cases[0]));
	stub->ngpus = 0;
	machine_probe(&sensor_rsmi, -ENOENT, "");
	stub->ngpus = UINT32_MAX;
	machine_probe(&sensor_rsmi, -E2BIG, "");
}

TEST(a_library_that_is_none)
{
	check_file_of_text(&sensor_rsmi, "librocm_smi64.so");
}

static struct unit_fixture fixture = {
	.setup = set_up, .teardown = tear_down, .setup_all = find_stub};
