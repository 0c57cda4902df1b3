// SPDX-License-Identifier: GPL-2.0-only
/* Finds NVIDIA's library and its functions. */
#include "sensor/gpu/nvml_api.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY	   "libnvidia-ml.so.1"
#define OF(member) offsetof(struct nvml_api, member)

/* Where to find each function: newer names first. Only those whose binary interface is the same. */
static const struct gpu_function functions[] = {
	{OF(init), true, {"nvmlInit_v2", "nvmlInit"}},
	{OF(shutdown), true, {"nvmlShutdown"}},
	{OF(error_string), false, {"nvmlErrorString"}},
	{OF(count), true, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"}},
	{OF(device), true, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"}},
	{OF(power), false, {"nvmlDeviceGetPowerUsage"}},
	{OF(energy), false, {"nvmlDeviceGetTotalEnergyConsumption"}},
	{OF(utilization), false, {"nvmlDeviceGetUtilizationRates"}},
	{OF(memory), false, {"nvmlDeviceGetMemoryInfo"}},
	{OF(temperature), false, {"nvmlDeviceGetTemperature"}},
	{OF(clock), false, {"nvmlDeviceGetClockInfo"}},
	{OF(throttle),
	 false,
	 {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}},
	{OF(mig), false, {"nvmlDeviceGetMigMode"}},
	{OF(compute),
	 false,
	 {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"}},
	{OF(graphics),
	 false,
	 {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2"}},
	{OF(samples), false, {"nvmlDeviceGetProcessUtilization"}},
};

#define N_FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

int nvml_api__load(struct nvml_api *api, const char *dir)
{
	char path[PATH_MAX];
	int err;

	*api = (struct nvml_api){0};
	if (snprintf(path, sizeof(path), "%s%s" LIBRARY, dir ? dir : "", dir ? "/" : "") >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	if (dir && access(path, F_OK))
		return -ENOENT;
	api->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!api->handle)
		return dir ? -ELIBBAD : -ENOENT;
	err = gpu__find_functions(api, api->handle, functions, N_FUNCTIONS);
	if (err)
		nvml_api__unload(api);
	return err;
}

void nvml_api__unload(struct nvml_api *api)
{
	if (api->handle)
		dlclose(api->handle);
	*api = (struct nvml_api){0};
}

int nvml_api__errno(int err)
{
	static const struct gpu_error table[] = {
		{NVML_SUCCESS, 0},
		{NVML_NOT_SUPPORTED, -EOPNOTSUPP},
		{NVML_NO_PERMISSION, -EACCES},
		{NVML_NOT_FOUND, -ENODATA},
		{NVML_NO_DRIVER, -ENOENT},
		{NVML_NO_FUNCTION, -EOPNOTSUPP},
		{NVML_GPU_LOST, -ENODEV},
		{NVML_MISMATCH, -EPROTO},
		{NVML_TOO_SMALL, -ENOBUFS},
	};

	return gpu__errno(table, sizeof(table) / sizeof(table[0]), err);
}
