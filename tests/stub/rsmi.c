// SPDX-License-Identifier: GPL-2.0-or-later
/* A stand-in for librocm_smi64.so, by its documented interface: it has what stub_rsmi says. */
#include "rsmi.h"

#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT struct stub_rsmi stub_rsmi = {
	.ngpus = 2,
	.gpu = {{.power_uw = 412000000,
		 .energy = 1ull << 40,
		 .resolution = 15.259f,
		 .busy = 87,
		 .memory_busy = 33,
		 .memory_used = 16ull << 30,
		 .memory_total = 64ull << 30,
		 .edge = 51000,
		 .junction = 66000,
		 .system_hz = 1700000000,
		 .memory_hz = 1600000000},
		{.power_uw = 90500000,
		 .energy = 7,
		 .resolution = 15.259f,
		 .memory_total = 64ull << 30,
		 .edge_err = 2,
		 .junction = 34500,
		 .system_hz = 500000000,
		 .memory_hz = 1600000000}},
};

#define GPU(i)                      \
	if ((i) >= stub_rsmi.ngpus) \
		return 1;           \
	struct stub_rsmi_gpu *g = &stub_rsmi.gpu[i]

EXPORT int rsmi_init(uint64_t flags);
EXPORT int rsmi_init(uint64_t flags)
{
	/* as the library does where there is no driver */
	printf("rsmi_init\n");
	fprintf(stderr, "Failed to open drm root directory\n");
	stub_rsmi.inits += !stub_rsmi.init_err;
	return stub_rsmi.init_err;
}

EXPORT int rsmi_shut_down(void);
EXPORT int rsmi_shut_down(void)
{
	stub_rsmi.shutdowns++;
	return 0;
}

EXPORT int rsmi_num_monitor_devices(uint32_t *n);
EXPORT int rsmi_num_monitor_devices(uint32_t *n)
{
	*n = stub_rsmi.ngpus;
	return 0;
}

/* As with chips that only know the average. */
EXPORT int rsmi_dev_power_get(uint32_t i, uint64_t *uw, int *kind);
EXPORT int rsmi_dev_power_get(uint32_t i, uint64_t *uw, int *kind)
{
	*uw = 0;
	*kind = -1;
	return 2;
}

EXPORT int rsmi_dev_power_ave_get(uint32_t i, uint32_t sensor, uint64_t *uw);
EXPORT int rsmi_dev_power_ave_get(uint32_t i, uint32_t sensor, uint64_t *uw)
{
	GPU(i);
	*uw = g->power_uw;
	return g->err ? g->err : g->power_err;
}

EXPORT int rsmi_dev_energy_count_get(uint32_t i, uint64_t *count, void *resolution,
				     uint64_t *time_ns);
EXPORT int rsmi_dev_energy_count_get(uint32_t i, uint64_t *count, void *resolution,
				     uint64_t *time_ns)
{
	const uint64_t now = 1234567890123;

	GPU(i);
	*count = g->energy;
	if (stub_rsmi.old_energy) {
		memcpy(resolution, &now, sizeof(now)); /* it is the time there */
	} else {
		memcpy(resolution, &g->resolution, sizeof(float));
		*time_ns = now;
	}
	return g->err ? g->err : g->energy_err;
}

EXPORT int rsmi_dev_busy_percent_get(uint32_t i, uint32_t *percent);
EXPORT int rsmi_dev_busy_percent_get(uint32_t i, uint32_t *percent)
{
	GPU(i);
	*percent = g->busy;
	return g->err ? g->err : g->busy_err;
}

EXPORT int rsmi_dev_memory_busy_percent_get(uint32_t i, uint32_t *percent);
EXPORT int rsmi_dev_memory_busy_percent_get(uint32_t i, uint32_t *percent)
{
	GPU(i);
	*percent = g->memory_busy;
	return g->err;
}

EXPORT int rsmi_dev_memory_usage_get(uint32_t i, int kind, uint64_t *bytes);
EXPORT int rsmi_dev_memory_usage_get(uint32_t i, int kind, uint64_t *bytes)
{
	GPU(i);
	*bytes = g->memory_used;
	return g->err ? g->err : kind ? 1 : 0;
}

EXPORT int rsmi_dev_memory_total_get(uint32_t i, int kind, uint64_t *bytes);
EXPORT int rsmi_dev_memory_total_get(uint32_t i, int kind, uint64_t *bytes)
{
	GPU(i);
	*bytes = g->memory_total;
	return g->err ? g->err : kind ? 1 : 0;
}

EXPORT int rsmi_dev_temp_metric_get(uint32_t i, uint32_t where, int what, int64_t *t);
EXPORT int rsmi_dev_temp_metric_get(uint32_t i, uint32_t where, int what, int64_t *t)
{
	GPU(i);
	*t = where ? g->junction : g->edge;
	return g->err ? g->err : what || where > 1 ? 1 : where ? 0 : g->edge_err;
}

EXPORT int rsmi_dev_gpu_clk_freq_get(uint32_t i, int kind, void *out);
EXPORT int rsmi_dev_gpu_clk_freq_get(uint32_t i, int kind, void *out)
{
	struct {
		uint8_t deep_sleep;
		uint32_t n, now;
		uint64_t hz[33];
	} with_sleep = {0};
	struct {
		uint32_t n, now;
		uint64_t hz[32];
	} old = {0};

	GPU(i);
	with_sleep.n = old.n = 3;
	with_sleep.now = old.now = stub_rsmi.bad_clock ? 7 : 1;
	with_sleep.hz[0] = old.hz[0] = 132000000;
	with_sleep.hz[1] = old.hz[1] = kind == 0 ? g->system_hz : kind == 4 ? g->memory_hz : 0;
	with_sleep.hz[2] = old.hz[2] = 2100000000;
	if (stub_rsmi.old_clocks)
		memcpy(out, &old, sizeof(old));
	else
		memcpy(out, &with_sleep, sizeof(with_sleep));
	return g->err;
}

struct process {
	uint32_t pid, pasid;
	uint64_t memory, sdma;
	uint32_t occupancy;
};

static struct process as_told(const struct stub_rsmi_process *p, int gpu)
{
	struct process out = {.pid = p->pid, .occupancy = p->occupancy};

	for (uint32_t i = 0; i < p->ngpus; i++)
		if (gpu < 0 || p->gpu[i] == (uint32_t)gpu)
			out.memory += p->memory[i];
	return out;
}

EXPORT int rsmi_compute_process_info_get(struct process *p, uint32_t *n);
EXPORT int rsmi_compute_process_info_get(struct process *p, uint32_t *n)
{
	uint32_t room = *n;

	if (!p) {
		*n = stub_rsmi.nprocesses - stub_rsmi.growing;
		return 0;
	}
	stub_rsmi.growing = 0;
	for (uint32_t i = 0; i < room && i < stub_rsmi.nprocesses; i++)
		p[i] = as_told(&stub_rsmi.process[i], -1);
	if (room < stub_rsmi.nprocesses)
		return 11;
	*n = stub_rsmi.nprocesses;
	return 0;
}

static const struct stub_rsmi_process *find(uint32_t pid)
{
	for (uint32_t i = 0; i < stub_rsmi.nprocesses; i++)
		if (stub_rsmi.process[i].pid == pid)
			return &stub_rsmi.process[i];
	return 0;
}

EXPORT int rsmi_compute_process_gpus_get(uint32_t pid, uint32_t *gpus, uint32_t *n);
EXPORT int rsmi_compute_process_gpus_get(uint32_t pid, uint32_t *gpus, uint32_t *n)
{
	const struct stub_rsmi_process *p = find(pid);

	if (!p)
		return 10;
	for (uint32_t i = 0; i < *n && i < p->ngpus; i++)
		gpus[i] = p->gpu[i];
	*n = p->ngpus;
	return 0;
}

EXPORT int rsmi_compute_process_info_by_device_get(uint32_t pid, uint32_t gpu, struct process *p);
EXPORT int rsmi_compute_process_info_by_device_get(uint32_t pid, uint32_t gpu, struct process *p)
{
	const struct stub_rsmi_process *from = find(pid);

	if (!from)
		return 10;
	*p = as_told(from, (int)gpu);
	return 0;
}
