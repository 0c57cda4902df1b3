// SPDX-License-Identifier: GPL-2.0-only
/* The sensor nvml: channels of NVIDIA's GPUs and their readings. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sensor/core/file.h"
#include "sensor/gpu/nvml_api.h"

/* Power has this error, as the library's documentation says; energy is the sum of power. */
#define POWER_ERROR 0.05

/* Reads a quantity of a GPU in the library's own unit. Returns the library's error. */
typedef int (*read_fn)(const struct nvml_api *api, struct nvml_device *dev, uint64_t *raw);

struct nvml_reader {
	unsigned gpu;
	unsigned kind; /* index of kinds[] */
	struct sensor_count count;
};

/* A read_fn: the library's call, and the part of what it has written that is the reading. */
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

/* What a GPU never has is no channel; what only fails now may come. */
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
		return nvml_api__errno(err);
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
	nvml_api__unload(&s->api);
	free(s->channel);
	free(s->reader);
}

static int nvml_open(struct sensor *s, const struct sensor_ops *ops,
		     const struct sensor_roots *roots)
{
	int err = nvml_api__load(&s->api, roots->lib);

	if (err)
		return err;
	err = nvml_api__errno(s->api.init());
	if (err) {
		nvml_api__unload(&s->api); /* nothing to shut down */
		return err;
	}
	return add_gpus(s);
}

unsigned nvml__count(const char *dir)
{
	struct nvml_api api;
	unsigned n = 0;

	if (nvml_api__load(&api, dir))
		return 0;
	if (!api.init()) {
		if (api.count(&n) || n > NVML_MAX_GPUS)
			n = 0;
		api.shutdown();
	}
	nvml_api__unload(&api);
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
	*v = sensor_count__value(&r->count, s->channel[i].quantity, nvml_api__errno(err),
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
