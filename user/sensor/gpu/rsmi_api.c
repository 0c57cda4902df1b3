// SPDX-License-Identifier: GPL-2.0-only
/* Finds AMD's library and its functions. */
#include "sensor/gpu/rsmi_api.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OF(member) offsetof(struct rsmi_api, member)
#define MIN_HZ	   1000000ull
#define MAX_HZ	   100000000000ull

/* The name that programs link, and those of ROCm's versions where no development files are. */
static const char *const libraries[] = {
	"librocm_smi64.so",   "librocm_smi64.so.8", "librocm_smi64.so.7",
	"librocm_smi64.so.6", "librocm_smi64.so.5", "librocm_smi64.so.1",
};

/* Directories of the library: the loader may not know the one of ROCm's packages. */
static const char *const places[] = {"", "/opt/rocm/lib/"};

static const struct gpu_function functions[] = {
	{OF(init), true, {"rsmi_init"}},
	{OF(shutdown), true, {"rsmi_shut_down"}},
	{OF(count), true, {"rsmi_num_monitor_devices"}},
	{OF(power), false, {"rsmi_dev_power_get"}},
	{OF(power_average), false, {"rsmi_dev_power_ave_get"}},
	{OF(energy), false, {"rsmi_dev_energy_count_get"}},
	{OF(busy), false, {"rsmi_dev_busy_percent_get"}},
	{OF(memory_busy), false, {"rsmi_dev_memory_busy_percent_get"}},
	{OF(memory), false, {"rsmi_dev_memory_usage_get"}},
	{OF(memory_size), false, {"rsmi_dev_memory_total_get"}},
	{OF(temperature), false, {"rsmi_dev_temp_metric_get"}},
	{OF(clock), false, {"rsmi_dev_gpu_clk_freq_get"}},
	{OF(processes), false, {"rsmi_compute_process_info_get"}},
	{OF(process_gpus), false, {"rsmi_compute_process_gpus_get"}},
	{OF(process_on), false, {"rsmi_compute_process_info_by_device_get"}},
};

#define N_FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

/* -ENOENT: none of that name there. */
static int try_library(struct rsmi_api *api, const char *dir, const char *name)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s%s", dir, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (*dir && access(path, F_OK))
		return -ENOENT;
	api->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!api->handle)
		return *dir ? -ELIBBAD : -ENOENT;
	return 0;
}

static int find_library(struct rsmi_api *api, const char *dir)
{
	char own[PATH_MAX] = "";
	int err = -ENOENT;

	if (dir && snprintf(own, sizeof(own), "%s/", dir) >= (int)sizeof(own))
		return -ENAMETOOLONG;
	for (size_t p = 0; p < (dir ? 1 : sizeof(places) / sizeof(places[0])); p++)
		for (size_t i = 0; err == -ENOENT && i < sizeof(libraries) / sizeof(libraries[0]);
		     i++)
			err = try_library(api, dir ? own : places[p], libraries[i]);
	return err;
}

int rsmi_api__load(struct rsmi_api *api, const char *dir)
{
	int err;

	*api = (struct rsmi_api){0};
	err = find_library(api, dir);
	if (!err)
		err = gpu__find_functions(api, api->handle, functions, N_FUNCTIONS);
	if (err)
		rsmi_api__unload(api);
	return err;
}

void rsmi_api__unload(struct rsmi_api *api)
{
	if (api->handle)
		dlclose(api->handle);
	*api = (struct rsmi_api){0};
}

int rsmi_api__errno(int err)
{
	static const struct gpu_error table[] = {
		{RSMI_SUCCESS, 0},
		{RSMI_INVALID, -ENODEV},
		{RSMI_NOT_SUPPORTED, -EOPNOTSUPP},
		{RSMI_NOT_YET, -EOPNOTSUPP},
		{RSMI_FILE_ERROR, -ENODATA},
		{RSMI_NO_PERMISSION, -EACCES},
		{RSMI_INIT_ERROR, -ENOENT},
		{RSMI_NOT_FOUND, -ENODATA},
		{RSMI_NO_DATA, -ENODATA},
		{RSMI_TOO_SMALL, -ENOBUFS},
	};

	return gpu__errno(table, sizeof(table) / sizeof(table[0]), err);
}

static uint64_t pick(const uint64_t *hz, uint32_t room, uint32_t n, uint32_t now)
{
	return n <= room && now < n && hz[now] >= MIN_HZ && hz[now] <= MAX_HZ ? hz[now] : 0;
}

/* No clock in Hz is as small as an index, so that what is one layout is not the other. */
uint64_t rsmi_api__clock(const union rsmi_clocks *c)
{
	uint64_t hz = 0;

	if (c->with_sleep.deep_sleep <= 1)
		hz = pick(c->with_sleep.hz, 33, c->with_sleep.n, c->with_sleep.now);
	return hz ? hz : pick(c->old.hz, 32, c->old.n, c->old.now);
}
