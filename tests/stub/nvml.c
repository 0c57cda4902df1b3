// SPDX-License-Identifier: GPL-2.0-or-later
/* A stand-in for libnvidia-ml.so.1, by its documented interface: it has what stub says. */
#include "nvml.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct stub stub = {
	.ngpus = 2,
	.gpu = {{.power_mw = 301000,
		 .energy_mj = 77000123,
		 .busy = 93,
		 .memory_busy = 41,
		 .memory_used = 8ull << 30,
		 .memory_total = 80ull << 30,
		 .celsius = 61,
		 .sm_mhz = 1755,
		 .memory_mhz = 2619,
		 .throttle = 4},
		{.power_mw = 70500, .energy_mj = 5, .memory_total = 80ull << 30, .celsius = 30}},
};

#define EXPORT __attribute__((visibility("default")))

static void take_process(struct stub_gpu *g, unsigned pid, unsigned long long memory, unsigned util)
{
	struct timespec now;

	if (g->ncompute == STUB_PROCESSES)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	g->compute[g->ncompute++] = (struct stub_process){.pid = pid, .memory = memory};
	g->sample[g->nsamples++] = (struct stub_sample){
		.pid = pid, .time_us = now.tv_sec * 1000000ull + now.tv_nsec / 1000, .sm = util};
}

/*
 * Programs under test are told by the file $JOBPROF_STUB_GPUS, read anew for every answer: lines
 * "energy GPU MJ" and "process GPU PID BYTES UTIL".
 */
static void refresh(struct stub_gpu *g, bool processes)
{
	const char *path = getenv("JOBPROF_STUB_GPUS");
	FILE *f = path ? fopen(path, "re") : NULL;
	unsigned gpu, pid, util;
	unsigned long long v;
	char line[128];

	if (!f)
		return;
	if (processes)
		g->ncompute = g->nsamples = 0;
	while (fgets(line, sizeof(line), f))
		if (!processes && sscanf(line, "energy %u %llu", &gpu, &v) == 2 &&
		    g == &stub.gpu[gpu % STUB_GPUS])
			g->energy_mj = v;
		else if (processes &&
			 sscanf(line, "process %u %u %llu %u", &gpu, &pid, &v, &util) == 4 &&
			 g == &stub.gpu[gpu % STUB_GPUS])
			take_process(g, pid, v, util);
	fclose(f);
}

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlInit_v2(void)
{
	stub.inits += !stub.init_err;
	return stub.init_err;
}

EXPORT int nvmlShutdown(void);
EXPORT int nvmlShutdown(void)
{
	stub.shutdowns++;
	return 0;
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *n);
EXPORT int nvmlDeviceGetCount_v2(unsigned *n)
{
	*n = stub.ngpus;
	return 0;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned i, struct stub_gpu **g);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned i, struct stub_gpu **g)
{
	if (i >= stub.ngpus)
		return 2;
	*g = &stub.gpu[i];
	return stub.gpu[i].err;
}

#define GETTER(name, type, own_err, expr)              \
	EXPORT int name(struct stub_gpu *g, type *v);  \
	EXPORT int name(struct stub_gpu *g, type *v)   \
	{                                              \
		int err = g->err ? g->err : (own_err); \
		refresh(g, false);                     \
		if (!err)                              \
			*v = (expr);                   \
		return err;                            \
	}

struct pair {
	unsigned a, b;
};

struct memory {
	unsigned long long total, free, used;
};

GETTER(nvmlDeviceGetPowerUsage, unsigned, g->power_err, g->power_mw)
GETTER(nvmlDeviceGetTotalEnergyConsumption, unsigned long long, g->energy_err, g->energy_mj)
GETTER(nvmlDeviceGetUtilizationRates, struct pair, g->utilization_err,
       ((struct pair){g->busy, g->memory_busy}))
GETTER(nvmlDeviceGetMemoryInfo, struct memory, 0,
       ((struct memory){g->memory_total, g->memory_total - g->memory_used, g->memory_used}))
GETTER(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, 0, g->throttle)

EXPORT int nvmlDeviceGetTemperature(struct stub_gpu *g, int kind, unsigned *c);
EXPORT int nvmlDeviceGetTemperature(struct stub_gpu *g, int kind, unsigned *c)
{
	*c = g->celsius;
	return g->err ? g->err : kind ? 2 : 0;
}

EXPORT int nvmlDeviceGetClockInfo(struct stub_gpu *g, int kind, unsigned *mhz);
EXPORT int nvmlDeviceGetClockInfo(struct stub_gpu *g, int kind, unsigned *mhz)
{
	*mhz = kind == 1 ? g->sm_mhz : kind == 2 ? g->memory_mhz : 0;
	return g->err;
}

EXPORT int nvmlDeviceGetMigMode(struct stub_gpu *g, unsigned *now, unsigned *later);
EXPORT int nvmlDeviceGetMigMode(struct stub_gpu *g, unsigned *now, unsigned *later)
{
	*now = *later = g->mig;
	return g->err;
}

/* Too little room: how much it takes, and error 7. */
static int copy(const void *from, unsigned have, size_t size, unsigned *n, void *to)
{
	unsigned room = *n;

	*n = have;
	if (have > room || (!to && have))
		return 7;
	if (have)
		memcpy(to, from, have * size);
	return 0;
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(struct stub_gpu *g, unsigned *n,
						   struct stub_process *p);
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(struct stub_gpu *g, unsigned *n,
						   struct stub_process *p)
{
	int err = g->err ? g->err : g->list_err;

	refresh(g, true);
	return err ? err : copy(g->compute, g->ncompute, sizeof(*p), n, p);
}

EXPORT int nvmlDeviceGetGraphicsRunningProcesses_v3(struct stub_gpu *g, unsigned *n,
						    struct stub_process *p);
EXPORT int nvmlDeviceGetGraphicsRunningProcesses_v3(struct stub_gpu *g, unsigned *n,
						    struct stub_process *p)
{
	int err = g->err ? g->err : g->list_err;

	return err ? err : copy(g->graphics, g->ngraphics, sizeof(*p), n, p);
}

/* Error 6: none is newer. */
EXPORT int nvmlDeviceGetProcessUtilization(struct stub_gpu *g, struct stub_sample *s, unsigned *n,
					   unsigned long long since);
EXPORT int nvmlDeviceGetProcessUtilization(struct stub_gpu *g, struct stub_sample *s, unsigned *n,
					   unsigned long long since)
{
	int err = g->err ? g->err : g->samples_err;
	unsigned newer = 0;

	for (unsigned i = 0; i < g->nsamples; i++)
		newer += g->sample[i].time_us > since;
	if (!err && !newer)
		err = 6;
	return err ? err : copy(g->sample, g->nsamples, sizeof(*s), n, s);
}
