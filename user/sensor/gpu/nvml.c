/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sensor nvml: channels of NVIDIA's GPUs and their readings. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sensor/core/file.h"
#include "sensor/gpu/gpu_internal.h"

enum nvml_error {
	NVML_SUCCESS = 0,
	NVML_NOT_SUPPORTED = 3,
	NVML_NO_PERMISSION = 4,
	NVML_NOT_FOUND = 6,
	NVML_TOO_SMALL = 7,
	NVML_NO_DRIVER = 9,
	NVML_NO_FUNCTION = 13,
	NVML_GPU_LOST = 15,
	NVML_MISMATCH = 18, /* the versions of library and driver differ */
	NVML_UNKNOWN = 999,
};

#define NVML_TEMPERATURE_GPU 0
#define NVML_CLOCK_SM	     1
#define NVML_CLOCK_MEM	     2
#define NVML_NO_INSTANCE     UINT32_MAX

struct nvml_device; /* opaque, the library's */

struct nvml_utilization {
	unsigned gpu, memory; /* % */
};

struct nvml_memory {
	unsigned long long total, free, used; /* B */
};

struct nvml_process {
	unsigned pid;
	unsigned long long memory; /* B; all ones: not known */
	unsigned instance;	   /* a part of a GPU (MIG), or NVML_NO_INSTANCE */
	unsigned compute_instance;
};

struct nvml_sample {
	unsigned pid;
	unsigned long long time_us;
	unsigned sm, memory, encoder, decoder; /* % */
};

/* NULL: this library has no such function. */
struct nvml_api {
	void *handle;
	int (*init)(void);
	int (*shutdown)(void);
	const char *(*error_string)(int err);
	int (*count)(unsigned *n);
	int (*device)(unsigned index, struct nvml_device **dev);
	int (*power)(struct nvml_device *dev, unsigned *mw);
	int (*energy)(struct nvml_device *dev, unsigned long long *mj);
	int (*utilization)(struct nvml_device *dev, struct nvml_utilization *u);
	int (*memory)(struct nvml_device *dev, struct nvml_memory *m);
	int (*temperature)(struct nvml_device *dev, unsigned kind, unsigned *celsius);
	int (*clock)(struct nvml_device *dev, unsigned kind, unsigned *mhz);
	int (*throttle)(struct nvml_device *dev, unsigned long long *bits);
	int (*mig)(struct nvml_device *dev, unsigned *now, unsigned *after_reset);
	int (*compute)(struct nvml_device *dev, unsigned *n, struct nvml_process *p);
	int (*graphics)(struct nvml_device *dev, unsigned *n, struct nvml_process *p);
	int (*samples)(struct nvml_device *dev, struct nvml_sample *s, unsigned *n,
		       unsigned long long since_us);
};

#define NVML_MAX_GPUS 128

struct nvml_gpu {
	struct nvml_device *dev;       /* NULL: lost; each reading tries to find it again */
	unsigned long long sampled_us; /* time of the newest sample that was read */
};

struct nvml_reader;

/* An open source. */
struct sensor {
	struct nvml_api api;
	unsigned ngpus;
	struct nvml_gpu gpu[NVML_MAX_GPUS];
	struct sensor_channel *channel; /* [n] */
	struct nvml_reader *reader;	/* [n] */
	unsigned n;
};

/* ---- loading the library */

#define LIBRARY	   "libnvidia-ml.so.1"
#define OF(member) offsetof(struct nvml_api, member)

/* Names of each function, newer ones first; only names of one binary interface are here. */
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

static void nvml_api_unload(struct nvml_api *api)
{
	if (api->handle)
		dlclose(api->handle);
	*api = (struct nvml_api){0};
}

/* Loads the library from dir (NULL: the loader's search path) and finds its functions. -ENOENT:
 * there is no library; -ELIBBAD: it cannot be loaded, or lacks a function that is needed;
 * -ENAMETOOLONG. */
static int nvml_api_load(struct nvml_api *api, const char *dir)
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
		nvml_api_unload(api);
	return err;
}

/* The -errno that is nearest to an error of the library. */
static int nvml_api_errno(int err)
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

/* ---- processes and their memory */

#define FIRST_ROOM 256
#define TRIES	   4 /* the lists may grow between two calls */

struct uses {
	struct gpu_uses all;
	unsigned first; /* index of the first use of the current GPU */
	unsigned gpu;
};

typedef int (*list_fn)(struct nvml_device *dev, unsigned *n, struct nvml_process *p);

static int list_processes(list_fn list, struct nvml_device *dev, struct nvml_process **out,
			  unsigned *n)
{
	unsigned room = FIRST_ROOM;
	int err = NVML_TOO_SMALL;

	*n = 0;
	if (!list)
		return -EOPNOTSUPP;
	for (unsigned tries = 0; tries < TRIES && err == NVML_TOO_SMALL; tries++, room *= 2) {
		struct nvml_process *p;

		if (*n > room)
			room = *n;
		p = room > GPU_USE_MAX ? NULL : realloc(*out, room * sizeof(*p));
		if (!p)
			return -ENOMEM;
		*out = p;
		*n = room;
		err = list(dev, n, p);
		if (!err && *n > room)
			err = NVML_UNKNOWN;
	}
	if (err)
		*n = 0;
	return nvml_api_errno(err);
}

static struct gpu_use *use_of(struct uses *u, uint32_t pid)
{
	const struct gpu_use new = {.pid = pid, .gpu = u->gpu, .util = NAN};

	for (unsigned i = u->first; i < u->all.n; i++)
		if (u->all.use[i].pid == pid)
			return &u->all.use[i];
	return gpu_uses__add(&u->all, &new) ? NULL : &u->all.use[u->all.n - 1];
}

/* Adds a process. Its memory is the sum over its instances; unknown if that of one is. */
static int add_process(struct uses *u, const struct nvml_process *p)
{
	struct gpu_use *use = use_of(u, p->pid);

	if (!use)
		return -ENOMEM;
	if (p->memory == UINT64_MAX)
		use->mem = UINT64_MAX;
	else if (use->mem != UINT64_MAX)
		use->mem += p->memory;
	use->mig |= p->instance != NVML_NO_INSTANCE;
	return 0;
}

static bool is_listed(const struct nvml_process *list, unsigned n, const struct nvml_process *p)
{
	for (unsigned i = 0; i < n; i++)
		if (list[i].pid == p->pid && list[i].instance == p->instance &&
		    list[i].compute_instance == p->compute_instance)
			return true;
	return false;
}

/* A process that both computes and draws is in both lists, with the same memory: it is counted
 * once. */
static int add_lists(struct sensor *s, struct uses *u)
{
	_cleanup_free_ struct nvml_process *compute = NULL, *graphics = NULL;
	struct nvml_device *dev = s->gpu[u->gpu].dev;
	unsigned nc, ng;
	int err = list_processes(s->api.compute, dev, &compute, &nc);
	int err2 = list_processes(s->api.graphics, dev, &graphics, &ng);

	if (err && err2)
		return err;
	err = 0;
	for (unsigned i = 0; i < nc && !err; i++)
		err = add_process(u, &compute[i]);
	for (unsigned i = 0; i < ng && !err; i++)
		if (!is_listed(compute, nc, &graphics[i]))
			err = add_process(u, &graphics[i]);
	return err;
}

static int read_samples(struct sensor *s, unsigned gpu, struct nvml_sample **out, unsigned *n)
{
	struct nvml_gpu *g = &s->gpu[gpu];
	unsigned room = 0;
	int err = s->api.samples ? s->api.samples(g->dev, NULL, &room, g->sampled_us)
				 : NVML_NO_FUNCTION;

	*n = 0;
	if (err != NVML_TOO_SMALL || !room || room > GPU_USE_MAX)
		return -ENODATA;
	*out = calloc(room, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	*n = room;
	err = s->api.samples(g->dev, *out, n, g->sampled_us);
	if (err || *n > room)
		*n = 0;
	return nvml_api_errno(err);
}

/* The library has a sample for each process that used the GPU in its last period: the newest of a
 * process counts, and a process without a sample used nothing. No sample at all means that no
 * period ended since the last call. */
static void add_samples(struct sensor *s, struct uses *u)
{
	_cleanup_free_ struct nvml_sample *sample = NULL;
	unsigned long long newest = s->gpu[u->gpu].sampled_us;
	unsigned n;

	if (read_samples(s, u->gpu, &sample, &n) || !n)
		return;
	for (unsigned k = u->first; k < u->all.n; k++) {
		unsigned long long at = 0;

		u->all.use[k].util = 0;
		for (unsigned i = 0; i < n; i++) {
			if (sample[i].pid != u->all.use[k].pid || sample[i].time_us < at)
				continue;
			at = sample[i].time_us;
			u->all.use[k].util = sample[i].sm <= 100 ? sample[i].sm : NAN;
		}
	}
	for (unsigned i = 0; i < n; i++)
		if (sample[i].time_us > newest)
			newest = sample[i].time_us;
	s->gpu[u->gpu].sampled_us = newest;
}

int nvml__processes(struct sensor *s, struct gpu_use **out)
{
	struct uses u = {0};
	int err = -ENODATA;
	bool any = false;

	*out = NULL;
	for (u.gpu = 0; u.gpu < s->ngpus; u.gpu++) {
		int e = s->gpu[u.gpu].dev ? 0 : -ENODEV;

		u.first = u.all.n;
		e = e ? e : add_lists(s, &u);
		if (e == -ENOMEM) {
			free(u.all.use);
			return e;
		}
		err = e ? e : err;
		any |= !e;
		if (!e)
			add_samples(s, &u);
	}
	if (!any) {
		free(u.all.use);
		return err;
	}
	*out = u.all.use;
	return (int)u.all.n;
}

/* ---- channels and readings */

/* By the library's documentation, of power; energy is the integral of power. */
#define POWER_ERROR 0.05

/* Reads a quantity of a GPU in the library's own unit. Returns the library's error. */
typedef int (*read_fn)(const struct nvml_api *api, struct nvml_device *dev, uint64_t *raw);

struct nvml_reader {
	unsigned gpu;
	unsigned kind; /* index of kinds[] */
	struct sensor_count count;
};

/* Defines a read_fn: the library's call, and the part of its result that is the reading. */
#define READER(name, type, call, args, value)                                                      \
	static int read_##name(const struct nvml_api *api, struct nvml_device *dev, uint64_t *raw) \
	{                                                                                          \
		type v = {0};                                                                      \
		int err = api->call ? api->call args : NVML_NO_FUNCTION;                           \
                                                                                                   \
		*raw = value;                                                                      \
		return err;                                                                        \
	}

struct mig_mode {
	unsigned now, after_reset;
};

READER(energy, unsigned long long, energy, (dev, &v), v)
READER(power, unsigned, power, (dev, &v), v)
READER(busy, struct nvml_utilization, utilization, (dev, &v), v.gpu)
READER(memory_busy, struct nvml_utilization, utilization, (dev, &v), v.memory)
READER(memory, struct nvml_memory, memory, (dev, &v), v.used)
READER(memory_size, struct nvml_memory, memory, (dev, &v), v.total)
READER(temperature, unsigned, temperature, (dev, NVML_TEMPERATURE_GPU, &v), v)
READER(clock, unsigned, clock, (dev, NVML_CLOCK_SM, &v), v)
READER(memory_clock, unsigned, clock, (dev, NVML_CLOCK_MEM, &v), v)
READER(throttle, unsigned long long, throttle, (dev, &v), v)
READER(mig, struct mig_mode, mig, (dev, &v.now, &v.after_reset), v.now)

static const struct {
	struct gpu_kind kind;
	double error;
	read_fn read;
} kinds[] = {
	{{"energy", "J", "Energy", QUANTITY_ENERGY, 1e-3}, POWER_ERROR, read_energy},
	{{"power", "W", "Power", QUANTITY_POWER, 1e-3}, POWER_ERROR, read_power},
	{{"utilisation", "%", "Utilization", QUANTITY_LEVEL, 1}, NAN, read_busy},
	{{"memory utilisation", "%", "MemUtilization", QUANTITY_LEVEL, 1}, NAN, read_memory_busy},
	{{"memory", "B", "MemMB", QUANTITY_LEVEL, 1}, NAN, read_memory},
	{{"memory size", "B", "MemTotalMB", QUANTITY_LEVEL, 1}, NAN, read_memory_size},
	{{"temperature", "C", "Temperature", QUANTITY_LEVEL, 1}, NAN, read_temperature},
	{{"clock", "MHz", "Clock", QUANTITY_LEVEL, 1}, NAN, read_clock},
	{{"memory clock", "MHz", "MemClock", QUANTITY_LEVEL, 1}, NAN, read_memory_clock},
	{{"throttle reasons", "", "ThrottleReasons", QUANTITY_LEVEL, 1}, NAN, read_throttle},
	{{"mig", "", "Split", QUANTITY_LEVEL, 1}, NAN, read_mig},
};

#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void add_channel(struct sensor *s, unsigned gpu, unsigned kind)
{
	s->channel[s->n] = gpu__channel(gpu, &kinds[kind].kind);
	s->channel[s->n].error = kinds[kind].error;
	s->reader[s->n++] = (struct nvml_reader){.gpu = gpu, .kind = kind};
}

/* Adds the GPU's channels. One that the GPU does not support is left out; one that fails now may
 * work later. */
static void add_gpu(struct sensor *s, unsigned gpu)
{
	struct nvml_device *dev = s->gpu[gpu].dev;
	uint64_t raw;

	for (unsigned kind = 0; kind < N_KINDS; kind++) {
		int err = dev ? kinds[kind].read(&s->api, dev, &raw) : NVML_GPU_LOST;

		if (err != NVML_NOT_SUPPORTED && err != NVML_NO_FUNCTION)
			add_channel(s, gpu, kind);
	}
}

static int add_gpus(struct sensor *s)
{
	int err = s->api.count(&s->ngpus);

	if (err)
		return nvml_api_errno(err);
	if (!s->ngpus)
		return -ENOENT;
	if (s->ngpus > NVML_MAX_GPUS)
		return -E2BIG;
	s->channel = calloc(s->ngpus * N_KINDS, sizeof(*s->channel));
	s->reader = calloc(s->ngpus * N_KINDS, sizeof(*s->reader));
	if (!s->channel || !s->reader)
		return -ENOMEM;
	for (unsigned i = 0; i < s->ngpus; i++) {
		if (s->api.device(i, &s->gpu[i].dev))
			s->gpu[i].dev = NULL;
		add_gpu(s, i);
	}
	return 0;
}

static void nvml_close(struct sensor *s)
{
	if (s->api.handle)
		s->api.shutdown();
	nvml_api_unload(&s->api);
	free(s->channel);
	free(s->reader);
}

static int nvml_open(struct sensor *s, const struct sensor_ops *ops,
		     const struct sensor_roots *roots)
{
	int err = nvml_api_load(&s->api, roots->lib);

	if (err)
		return err;
	err = nvml_api_errno(s->api.init());
	if (err) {
		nvml_api_unload(&s->api); /* init failed: there is nothing to shut down */
		return err;
	}
	return add_gpus(s);
}

unsigned nvml__count(const char *dir)
{
	struct nvml_api api;
	unsigned n = 0;

	if (nvml_api_load(&api, dir))
		return 0;
	if (!api.init()) {
		if (api.count(&n) || n > NVML_MAX_GPUS)
			n = 0;
		api.shutdown();
	}
	nvml_api_unload(&api);
	return n;
}

static const struct {
	int err;
	const char *text;
} reasons[] = {
	{-ENOENT, "no NVIDIA GPU, driver or libnvidia-ml.so.1"},
	{-EACCES, "libnvidia-ml.so.1: not permitted; needs access to /dev/nvidiactl"},
	{-ELIBBAD,
	 "libnvidia-ml.so.1 cannot be loaded, or lacks functions; install the driver's own"},
	{-EPROTO,
	 "libnvidia-ml.so.1 is not of the version of the driver that is loaded; restart it"},
};

static void nvml_describe(const struct sensor *s, const struct sensor_roots *roots, int err,
			  char *text, size_t len)
{
	snprintf(text, len, "libnvidia-ml.so.1: %s", err ? strerror(-err) : "");
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].err == err)
			snprintf(text, len, "%s", reasons[i].text);
	if (!err)
		snprintf(text, len, "libnvidia-ml.so.1, %u GPUs", s->ngpus);
}

static unsigned nvml_channels(const struct sensor *s, const struct sensor_channel **out)
{
	*out = s->channel;
	return s->n;
}

static void read_channel(struct sensor *s, unsigned i, struct sensor_value *v)
{
	struct nvml_reader *r = &s->reader[i];
	struct nvml_gpu *gpu = &s->gpu[r->gpu];
	uint64_t raw = 0;
	int err = gpu->dev ? kinds[r->kind].read(&s->api, gpu->dev, &raw) : NVML_GPU_LOST;

	if (err == NVML_GPU_LOST)
		gpu->dev = NULL;
	*v = sensor_count__value(&r->count, s->channel[i].quantity, nvml_api_errno(err),
				 (int64_t)raw, kinds[r->kind].kind.scale);
}

static int nvml_read(struct sensor *s, struct sensor_value *values)
{
	for (unsigned i = 0; i < s->ngpus; i++)
		if (!s->gpu[i].dev && s->api.device(i, &s->gpu[i].dev))
			s->gpu[i].dev = NULL;
	for (unsigned i = 0; i < s->n; i++)
		read_channel(s, i, &values[i]);
	return sensor__any_value(values, s->n);
}

const struct sensor_ops sensor_nvml = {
	.name = "nvml",
	.doc = "NVIDIA GPUs: energy, power, use, memory, temperature, clocks",
	.slow = true,
	.size = sizeof(struct sensor),
	.open = nvml_open,
	.describe = nvml_describe,
	.channels = nvml_channels,
	.read = nvml_read,
	.close = nvml_close,
};
