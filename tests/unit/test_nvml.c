// SPDX-License-Identifier: GPL-2.0-only
/* NVIDIA GPUs, by a stand-in for the library that tells what the test sets. */
#include <dlfcn.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "sensor/gpu/nvml.h"
#include "schema/describe.h"
#include "tests/stub/nvml.h"

#define MAX_READ 64

static char library_dir[PATH_MAX];
static const struct sensor_roots roots = {.sys = "/sys", .proc = "/proc", .lib = library_dir};
static struct stub *stub, as_it_was;
static struct sensor *s;
static const struct sensor_channel *channel;
static struct sensor_value value[MAX_READ];
static unsigned n;

static int find_stub(void **state)
{
	char exe[PATH_MAX] = "", path[PATH_MAX + 32];
	void *library;

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return -1;
	snprintf(library_dir, sizeof(library_dir), "%.4000s/stub", dirname(dirname(exe)));
	snprintf(path, sizeof(path), "%s/libnvidia-ml.so.1", library_dir);
	library = dlopen(path, RTLD_NOW);
	stub = library ? dlsym(library, "stub") : NULL;
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
	sensor_nvml.close(s);
	return stub->inits == stub->shutdowns ? 0 : -1;
}

static void open_it(void)
{
	assert_int_equal(sensor_nvml.open(&s, &roots), 0);
	n = sensor_nvml.channels(s, &channel);
	assert_in_range(n, 1, MAX_READ);
}

static unsigned find(const char *name)
{
	for (unsigned i = 0; i < n; i++)
		if (!strcmp(channel[i].name, name))
			return i;
	fail_msg("no channel \"%s\"", name);
	return 0;
}

static void expect(const char *name, enum sensor_quality quality, double v)
{
	unsigned i = find(name);

	assert_int_equal(value[i].quality, quality);
	if (isnan(v))
		assert_true(isnan(value[i].value));
	else
		assert_float_equal(value[i].value, v, 1e-9);
}

static void all_of_two_gpus(void **state)
{
	char why[128];

	assert_int_equal(sensor_nvml.probe(&roots, why, sizeof(why)), 0);
	assert_string_equal(why, "libnvidia-ml.so.1, 2 GPUs");
	open_it();
	assert_int_equal(n, 22);
	assert_int_equal(sensor_nvml.read(s, value), 0);
	expect("gpu-0 power", READING_GOOD, 301);
	expect("gpu-0 energy", READING_GOOD, 0);
	expect("gpu-0 utilisation", READING_GOOD, 93);
	expect("gpu-0 memory utilisation", READING_GOOD, 41);
	expect("gpu-0 memory", READING_GOOD, 8.0 * (1 << 30));
	expect("gpu-0 memory size", READING_GOOD, 80.0 * (1 << 30));
	expect("gpu-0 temperature", READING_GOOD, 61);
	expect("gpu-0 clock", READING_GOOD, 1755);
	expect("gpu-0 memory clock", READING_GOOD, 2619);
	expect("gpu-0 throttle reasons", READING_GOOD, 4);
	expect("gpu-0 mig", READING_GOOD, 0);
	expect("gpu-1 power", READING_GOOD, 70.5);
	assert_int_equal(channel[find("gpu-1 power")].part, PART_GPU);
	assert_int_equal(channel[find("gpu-1 power")].index, 1);
	stub->gpu[0].energy_mj += 1500;
	assert_int_equal(sensor_nvml.read(s, value), 0);
	expect("gpu-0 energy", READING_GOOD, 1.5);
	expect("gpu-1 energy", READING_GOOD, 0);
}

/* Every channel is a column of the table of its GPU, each of them once. */
static void channels_are_columns_of_their_gpus_table(void **state)
{
	const struct series *gpu = series__find("GPU");
	unsigned cells[2] = {0};

	assert_non_null(gpu);
	open_it();
	for (unsigned i = 0; i < n; i++) {
		char want[16];

		snprintf(want, sizeof(want), "GPU/%d", channel[i].index);
		assert_string_equal(channel[i].series, want);
		assert_int_equal(column__describe("GPU", channel[i].column, NULL).how, HOW_SENSOR);
		for (unsigned k = 0; k < i; k++)
			assert_false(channel[k].index == channel[i].index &&
				     !strcmp(channel[k].column, channel[i].column));
		cells[channel[i].index]++;
	}
	assert_int_equal(cells[0], gpu->ncols - 3); /* all but the times */
	assert_int_equal(cells[1], gpu->ncols - 3);
	assert_string_equal(channel[find("gpu-1 memory")].column, "MemMB");
	assert_string_equal(channel[find("gpu-0 mig")].column, "Split");
	assert_int_equal(nvml__count(library_dir), 2);
	assert_int_equal(nvml__count("/nonexistent"), 0);
}

static void what_a_gpu_never_has_is_no_channel(void **state)
{
	stub->gpu[1].energy_err = 3;
	open_it();
	assert_int_equal(n, 21);
	for (unsigned i = 0; i < n; i++)
		assert_string_not_equal(channel[i].name, "gpu-1 energy");
}

static void an_error_of_one_call_is_of_its_channel(void **state)
{
	open_it();
	stub->gpu[0].power_err = 999;
	stub->gpu[1].utilization_err = 4;
	assert_int_equal(sensor_nvml.read(s, value), 0);
	expect("gpu-0 power", READING_NONE, NAN);
	expect("gpu-0 energy", READING_GOOD, 0);
	expect("gpu-1 utilisation", READING_DENIED, NAN);
	expect("gpu-1 memory utilisation", READING_DENIED, NAN);
	expect("gpu-1 power", READING_GOOD, 70.5);
}

static void a_gpu_that_falls_off_the_bus(void **state)
{
	struct gpu_use *use;

	open_it();
	assert_int_equal(sensor_nvml.read(s, value), 0);
	stub->gpu[0].err = 15;
	stub->gpu[1].ncompute = 1;
	stub->gpu[1].compute[0] = (struct stub_process){7, 1, UINT_MAX, UINT_MAX};
	assert_int_equal(sensor_nvml.read(s, value), 0);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(value[i].quality, channel[i].index ? READING_GOOD : READING_NONE);
		assert_int_equal(!isnan(value[i].value), channel[i].index);
	}
	assert_int_equal(nvml__processes(s, &use), 1);
	assert_int_equal(use[0].gpu, 1);
	free(use);
	stub->gpu[1].err = 15;
	assert_int_equal(sensor_nvml.read(s, value), -ENODATA);
	assert_int_equal(nvml__processes(s, &use), -ENODEV);
	assert_null(use);
	stub->gpu[0].err = stub->gpu[1].err = 0;
	stub->gpu[0].energy_mj += 5000; /* of which nobody knows whether it counted from anew */
	assert_int_equal(sensor_nvml.read(s, value), 0);
	expect("gpu-0 energy", READING_GAP, 0);
	expect("gpu-0 power", READING_GOOD, 301);
	stub->gpu[0].energy_mj += 250;
	assert_int_equal(sensor_nvml.read(s, value), 0);
	expect("gpu-0 energy", READING_GOOD, 0.25);
}

static void a_gpu_that_is_lost_when_it_is_opened(void **state)
{
	stub->gpu[1].err = 15;
	open_it();
	assert_int_equal(n, 22);
	assert_int_equal(sensor_nvml.read(s, value), 0);
	expect("gpu-1 power", READING_NONE, NAN);
	stub->gpu[1].err = 0;
	assert_int_equal(sensor_nvml.read(s, value), 0);
	expect("gpu-1 power", READING_GOOD, 70.5);
}

static void a_split_gpu_says_so(void **state)
{
	struct gpu_use *use;

	stub->gpu[1].mig = 1;
	stub->gpu[1].utilization_err = 3;
	stub->gpu[1].samples_err = 3;
	stub->gpu[1].ncompute = 2;
	stub->gpu[1].compute[0] = (struct stub_process){42, 100, 1, 0};
	stub->gpu[1].compute[1] = (struct stub_process){42, 23, 2, 0};
	open_it();
	assert_int_equal(n, 20);
	assert_int_equal(sensor_nvml.read(s, value), 0);
	expect("gpu-1 mig", READING_GOOD, 1);
	assert_int_equal(nvml__processes(s, &use), 1);
	assert_true(use[0].mig);
	assert_int_equal(use[0].memory, 123);
	assert_true(isnan(use[0].util));
	free(use);
}

static void processes(void **state)
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
	open_it();
	assert_int_equal(nvml__processes(s, &use), 4);
	assert_int_equal(use[0].pid, 100);
	assert_int_equal(use[0].gpu, 0);
	assert_int_equal(use[0].memory, 4096);
	assert_float_equal(use[0].util, 80, 0);
	assert_false(use[0].mig);
	assert_true(use[1].memory == UINT64_MAX);
	assert_float_equal(use[1].util, 0, 0); /* others have samples */
	assert_int_equal(use[2].pid, 102);
	assert_true(isnan(use[2].util)); /* 255 % */
	assert_int_equal(use[3].pid, 100);
	assert_int_equal(use[3].gpu, 1);
	assert_int_equal(use[3].memory, 8192);
	assert_true(isnan(use[3].util)); /* no sample of anybody */
	free(use);
	assert_int_equal(nvml__processes(s, &use), 4);
	assert_true(isnan(use[0].util)); /* none since */
	free(use);
}

static void more_processes_than_expected(void **state)
{
	struct gpu_use *use;

	stub->gpu[0].ncompute = STUB_PROCESSES;
	for (unsigned i = 0; i < STUB_PROCESSES; i++)
		stub->gpu[0].compute[i] = (struct stub_process){i + 1, i, UINT_MAX, UINT_MAX};
	open_it();
	assert_int_equal(nvml__processes(s, &use), STUB_PROCESSES);
	assert_int_equal(use[STUB_PROCESSES - 1].memory, STUB_PROCESSES - 1);
	free(use);
}

static void nothing_there(void **state)
{
	static const struct {
		int init_err, want;
	} cases[] = {{9, -ENOENT}, {4, -EACCES}, {18, -EPROTO}, {999, -EIO}};
	const struct sensor_roots none = {.lib = "/nonexistent"};
	char why[128];

	assert_int_equal(sensor_nvml.probe(&none, why, sizeof(why)), -ENOENT);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		stub->init_err = cases[i].init_err;
		assert_int_equal(sensor_nvml.probe(&roots, why, sizeof(why)), cases[i].want);
		assert_int_equal(sensor_nvml.open(&s, &roots), cases[i].want);
	}
	stub->init_err = 0;
	stub->ngpus = 0;
	assert_int_equal(sensor_nvml.probe(&roots, why, sizeof(why)), -ENOENT);
}

static void a_library_that_is_none(void **state)
{
	char dir[] = "/tmp/jp-nvml-XXXXXX", path[64], why[128];
	const struct sensor_roots bad = {.lib = dir};
	FILE *f;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/libnvidia-ml.so.1", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("no library\n", f);
	fclose(f);
	assert_int_equal(sensor_nvml.probe(&bad, why, sizeof(why)), -ELIBBAD);
	assert_non_null(strstr(why, "cannot be loaded"));
	unlink(path);
	rmdir(dir);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_of_two_gpus),
		TEST(channels_are_columns_of_their_gpus_table),
		TEST(what_a_gpu_never_has_is_no_channel),
		TEST(an_error_of_one_call_is_of_its_channel),
		TEST(a_gpu_that_falls_off_the_bus),
		TEST(a_gpu_that_is_lost_when_it_is_opened),
		TEST(a_split_gpu_says_so),
		TEST(processes),
		TEST(more_processes_than_expected),
		TEST(nothing_there),
		TEST(a_library_that_is_none),
	};

	return cmocka_run_group_tests(tests, find_stub, NULL);
}
