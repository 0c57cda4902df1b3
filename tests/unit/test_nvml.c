// SPDX-License-Identifier: GPL-2.0-or-later
/* NVIDIA GPUs, by a stand-in for the library that tells what the test sets. */

#include "tests/unit/unit.h"
#include "schema/describe.h"
#include "tests/stub/nvml.h"
#include "tests/unit/gpu.h"

static struct stub *stub, as_it_was;

static int find_stub(void **state)
{
	stub = stub_symbol("", "libnvidia-ml.so.1", "stub");
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
	machine_probe(&sensor_nvml, 0, "");
	assert_string_equal(m.why, "libnvidia-ml.so.1, 2 GPUs");
	machine_open(&sensor_nvml);
	assert_int_equal(m.n, 22);
	machine_read(0);
	expect("",
	       "gpu-0 power=301, gpu-0 energy=0, gpu-0 utilisation=93, gpu-0 memory "
	       "utilisation=41, gpu-0 memory=%.17g, gpu-0 memory size=%.17g, gpu-0 temperature=61, "
	       "gpu-0 clock=1755, gpu-0 memory clock=2619, gpu-0 throttle reasons=4, gpu-0 mig=0, "
	       "gpu-1 power=70.5",
	       8.0 * (1 << 30), 80.0 * (1 << 30));
	assert_int_equal(channel_of("", "gpu-1 power")->part, PART_GPU);
	assert_int_equal(channel_of("", "gpu-1 power")->index, 1);
	stub->gpu[0].energy_mj += 1500;
	reads("", "gpu-0 energy=1.5, gpu-1 energy=0");
}

/* Every channel is a column of the table of its GPU, each of them once. */
TEST(channels_are_columns_of_their_gpus_table)
{
	const struct series *gpu = series__find("GPU");
	unsigned cells[2] = {0};

	assert_non_null(gpu);
	machine_open(&sensor_nvml);
	for (unsigned i = 0; i < m.n; i++) {
		char want[16];

		snprintf(want, sizeof(want), "GPU/%d", m.c[i].index);
		assert_string_equal(m.c[i].series, want);
		assert_int_equal(column__describe("GPU", m.c[i].column, NULL).how, HOW_SENSOR);
		for (unsigned k = 0; k < i; k++)
			assert_false(m.c[k].index == m.c[i].index &&
				     !strcmp(m.c[k].column, m.c[i].column));
		cells[m.c[i].index]++;
	}
	assert_int_equal(cells[0], gpu->ncols - 3); /* all but the times */
	assert_int_equal(cells[1], gpu->ncols - 3);
	assert_string_equal(channel_of("", "gpu-1 memory")->column, "MemMB");
	assert_string_equal(channel_of("", "gpu-0 mig")->column, "Split");
	assert_int_equal(nvml__count(library_dir), 2);
	assert_int_equal(nvml__count("/nonexistent"), 0);
}

TEST(what_a_gpu_never_has_is_no_channel)
{
	stub->gpu[1].energy_err = 3;
	machine_open(&sensor_nvml);
	assert_int_equal(m.n, 21);
	for (unsigned i = 0; i < m.n; i++)
		assert_string_not_equal(m.c[i].name, "gpu-1 energy");
}

TEST(an_error_of_one_call_is_of_its_channel)
{
	machine_open(&sensor_nvml);
	stub->gpu[0].power_err = 999;
	stub->gpu[1].utilization_err = 4;
	reads("", "gpu-0 power=none, gpu-0 energy=0, gpu-1 utilisation=denied, gpu-1 memory "
		  "utilisation=denied, gpu-1 power=70.5");
}

TEST(a_gpu_that_falls_off_the_bus)
{
	struct gpu_use *use;

	machine_open(&sensor_nvml);
	machine_read(0);
	stub->gpu[0].err = 15;
	stub->gpu[1].ncompute = 1;
	stub->gpu[1].compute[0] = (struct stub_process){7, 1, UINT_MAX, UINT_MAX};
	machine_read(0);
	for (unsigned i = 0; i < m.n; i++) {
		assert_int_equal(m.v[i].quality, m.c[i].index ? READING_GOOD : READING_NONE);
		assert_int_equal(!isnan(m.v[i].value), m.c[i].index);
	}
	assert_int_equal(nvml__processes(m.s, &use), 1);
	assert_int_equal(use[0].gpu, 1);
	free(use);
	stub->gpu[1].err = 15;
	machine_read(-ENODATA);
	assert_int_equal(nvml__processes(m.s, &use), -ENODEV);
	assert_null(use);
	stub->gpu[0].err = stub->gpu[1].err = 0;
	stub->gpu[0].energy_mj += 5000; /* of which nobody knows whether it counted from anew */
	reads("", "gpu-0 energy=gap 0, gpu-0 power=301");
	stub->gpu[0].energy_mj += 250;
	reads("", "gpu-0 energy=0.25");
}

TEST(a_gpu_that_is_lost_when_it_is_opened)
{
	stub->gpu[1].err = 15;
	machine_open(&sensor_nvml);
	assert_int_equal(m.n, 22);
	reads("", "gpu-1 power=none");
	stub->gpu[1].err = 0;
	reads("", "gpu-1 power=70.5");
}

TEST(a_split_gpu_says_so)
{
	struct gpu_use *use;

	stub->gpu[1].mig = 1;
	stub->gpu[1].utilization_err = 3;
	stub->gpu[1].samples_err = 3;
	stub->gpu[1].ncompute = 2;
	stub->gpu[1].compute[0] = (struct stub_process){42, 100, 1, 0};
	stub->gpu[1].compute[1] = (struct stub_process){42, 23, 2, 0};
	machine_open(&sensor_nvml);
	assert_int_equal(m.n, 20);
	reads("", "gpu-1 mig=1");
	assert_int_equal(nvml__processes(m.s, &use), 1);
	assert_true(use[0].mig);
	assert_int_equal(use[0].mem, 123);
	assert_true(isnan(use[0].util));
	free(use);
}

TEST(processes)
{
	struct stub_gpu *g = stub->gpu;
	struct gpu_use *use;

	g[0].ncompute = 2;
	g[0].compute[0] = (struct stub_process){100, 4096, UINT_MAX, UINT_MAX};
	g[0].compute[1] = (struct stub_process){101, ULLONG_MAX, UINT_MAX, UINT_MAX};
	g[0].ngraphics = 2;
	g[0].graphics[0] = (struct stub_process){100, 4096, UINT_MAX, UINT_MAX}; /* both */
	g[0].graphics[1] = (struct stub_process){102, 7, UINT_MAX, UINT_MAX};
	g[0].nsamples = 3;
	g[0].sample[0] = (struct stub_sample){100, 5000, 30, 1, 0, 0};
	g[0].sample[1] = (struct stub_sample){100, 6000, 80, 1, 0, 0};
	g[0].sample[2] = (struct stub_sample){102, 6000, 255, 1, 0, 0};
	g[1].ncompute = 1;
	g[1].compute[0] = (struct stub_process){100, 8192, UINT_MAX, UINT_MAX};
	machine_open(&sensor_nvml);
	assert_int_equal(nvml__processes(m.s, &use), 4);
	assert_int_equal(use[0].pid, 100);
	assert_int_equal(use[0].gpu, 0);
	assert_int_equal(use[0].mem, 4096);
	assert_float_equal(use[0].util, 80, 0);
	assert_false(use[0].mig);
	assert_true(use[1].mem == UINT64_MAX);
	assert_float_equal(use[1].util, 0, 0); /* others have samples */
	assert_int_equal(use[2].pid, 102);
	assert_true(isnan(use[2].util)); /* 255 % */
	assert_int_equal(use[3].pid, 100);
	assert_int_equal(use[3].gpu, 1);
	assert_int_equal(use[3].mem, 8192);
	assert_true(isnan(use[3].util)); /* no sample of anybody */
	free(use);
	assert_int_equal(nvml__processes(m.s, &use), 4);
	assert_true(isnan(use[0].util)); /* none since */
	free(use);
}

TEST(more_processes_than_expected)
{
	struct gpu_use *use;

	stub->gpu[0].ncompute = STUB_PROCESSES;
	for (unsigned i = 0; i < STUB_PROCESSES; i++)
		stub->gpu[0].compute[i] = (struct stub_process){i + 1, i, UINT_MAX, UINT_MAX};
	machine_open(&sensor_nvml);
	assert_int_equal(nvml__processes(m.s, &use), STUB_PROCESSES);
	assert_int_equal(use[STUB_PROCESSES - 1].mem, STUB_PROCESSES - 1);
	free(use);
}

TEST(nothing_there)
{
	static const struct no_gpu cases[] = {
		{9, -ENOENT}, {4, -EACCES}, {18, -EPROTO}, {999, -EIO}};

	check_errors(&sensor_nvml, &stub->init_err, cases, sizeof(cases) / sizeof(cases[0]));
	stub->ngpus = 0;
	machine_probe(&sensor_nvml, -ENOENT, "");
}

TEST(a_library_that_is_none)
{
	check_file_of_text(&sensor_nvml, "libnvidia-ml.so.1");
}

static struct unit_fixture fixture = {
	.setup = set_up, .teardown = tear_down, .setup_all = find_stub};
