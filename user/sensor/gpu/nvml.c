// SPDX-License-Identifier: GPL-2.0-only
/* The sensor nvml: channels of NVIDIA's GPUs and their readings. */
#include "sensor/gpu/nvml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sensor/core/file.h"
#include "sensor/gpu/nvml_api.h"

/* Of power, as the library's documentation has it; energy is the sum of it. */
#define POWER_ERROR 0.05

/* Readings of a GPU in the library's own units. Each function returns the library's error. */
typedef int (*read_fn)(const struct nvml_api *api, struct nvml_device *dev, uint64_t *raw);

struct nvml_reader {
	unsigned gpu;
	unsigned kind; /* index of kinds[] */
	struct sensor_count count;
};

static int read_energy(const struct nvml_api *api, struct nvml_device *dev, uint64_t *raw)
{
	unsigned long long mj = 0;
	int err = api->energy ? api->energy(dev, &mj) : NVML_NO_FUNCTION;

	*raw = mj;
	return err;
}

static int read_power(const struct nvml_api *api, struct nvml_device *dev, uint64_t *raw)
{
	unsigned mw = 0;
	int err = api->power ? api->power(dev, &mw) : NVML_NO_FUNCTION;

	*raw = mw;
	return err;
}

static int read_busy(const struct nvml_api *api, struct nvml_device *dev, uint64_t *raw)
{
	struct nvml_utilization u = {0};
	int err = api->utilization ? api->utilization(dev, &u) : NVML_NO_FUNCTION;

	*raw = u.gpu;
	return err;
}

static int read_memory_busy(const struct nvml_api *api, struct nvml_device *dev, uint64_t *raw)
{
	struct nvml_utilization u = {0};
	int err = api->utilization ? api->utilization(dev, &u) : NVML_NO_FUNCTION;

	*raw = u.memory;
	return err;
}

static int read_memory(const struct nvml_api *api, struct nvml_device *dev, uint64_t *raw)
{
	struct nvml_memory m = {0};
	int err = api->memory ? api->memory(dev, &m) : NVML_NO_FUNCTION;

	*raw = m.used;
	return err;
}

static int read_memory_size(const struct nvml_api *api, struct nvml_device *dev, uint64_t *raw)
{
	struct nvml_memory m = {0};
	int err = api->memory ? api->memory(dev, &m) : NVML_NO_FUNCTION;

	*raw = m.total;
	return err;
}

static int read_temperature(const struct nvml_api *api, struct nvml_device *dev, uint64_t *raw)
{
	unsigned c = 0;
	int err = api->temperature ? api->temperature(dev, NVML_TEMPERATURE_GPU, &c)
				   : NVML_NO_FUNCTION;

	*raw = c;
	return err;
}

static int read_clock(const struct nvml_api *api, struct nvml_device *dev, uint64_t *raw)
{
	unsigned mhz = 0;
	int err = api->clock ? api->clock(dev, NVML_CLOCK_SM, &mhz) : NVML_NO_FUNCTION;

	*raw = mhz;
	return err;
}

static int read_memory_clock(const struct nvml_api *api, struct nvml_device *dev, uint64_t *raw)
{
	unsigned mhz = 0;
	int err = api->clock ? api->clock(dev, NVML_CLOCK_MEM, &mhz) : NVML_NO_FUNCTION;

	*raw = mhz;
	return err;
}

static int read_throttle(const struct nvml_api *api, struct nvml_device *dev, uint64_t *raw)
{
	unsigned long long bits = 0;
	int err = api->throttle ? api->throttle(dev, &bits) : NVML_NO_FUNCTION;

	*raw = bits;
	return err;
}

static int read_mig(const struct nvml_api *api, struct nvml_device *dev, uint64_t *raw)
{
	unsigned now = 0, later;
	int err = api->mig ? api->mig(dev, &now, &later) : NVML_NO_FUNCTION;

	*raw = now;
	return err;
}

static const struct {
	const char *name, *unit, *column;
	enum sensor_quantity quantity;
	double scale; /* from the library's number to the unit */
	double error;
	read_fn read;
} kinds[] = {
	{"energy", "J", "Energy", QUANTITY_ENERGY, 1e-3, POWER_ERROR, read_energy},
	{"power", "W", "Power", QUANTITY_POWER, 1e-3, POWER_ERROR, read_power},
	{"utilisation", "%", "Utilization", QUANTITY_LEVEL, 1, NAN, read_busy},
	{"memory utilisation", "%", "MemUtilization", QUANTITY_LEVEL, 1, NAN, read_memory_busy},
	{"memory", "B", "MemMB", QUANTITY_LEVEL, 1, NAN, read_memory},
	{"memory size", "B", "MemTotalMB", QUANTITY_LEVEL, 1, NAN, read_memory_size},
	{"temperature", "C", "Temperature", QUANTITY_LEVEL, 1, NAN, read_temperature},
	{"clock", "MHz", "Clock", QUANTITY_LEVEL, 1, NAN, read_clock},
	{"memory clock", "MHz", "MemClock", QUANTITY_LEVEL, 1, NAN, read_memory_clock},
	{"throttle reasons", "", "ThrottleReasons", QUANTITY_LEVEL, 1, NAN, read_throttle},
	{"mig", "", "Split", QUANTITY_LEVEL, 1, NAN, read_mig},
};

#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void add_channel(struct sensor *s, unsigned gpu, unsigned kind)
{
	struct sensor_channel *c = &s->channel[s->n];
	char name[SENSOR_NAME];

	snprintf(name, sizeof(name), "gpu-%u %s", gpu, kinds[kind].name);
	*c = sensor__channel(name);
	snprintf(c->unit, sizeof(c->unit), "%s", kinds[kind].unit);
	snprintf(c->series, sizeof(c->series), "GPU/%u", gpu);
	snprintf(c->column, sizeof(c->column), "%s", kinds[kind].column);
	c->part = PART_GPU;
	c->index = (int)gpu;
	c->quantity = kinds[kind].quantity;
	c->step = kinds[kind].scale;
	c->error = kinds[kind].error;
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
	if (!s)
		return;
	if (s->api.handle)
		s->api.shutdown();
	nvml_api__unload(&s->api);
	free(s->channel);
	free(s->reader);
	free(s);
}

static int nvml_open(struct sensor **out, const struct sensor_roots *roots)
{
	struct sensor *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	err = nvml_api__load(&s->api, roots->lib);
	if (err)
		goto fail;
	err = nvml_api__errno(s->api.init());
	if (err) {
		nvml_api__unload(&s->api);
		goto fail;
	}
	err = add_gpus(s);
	if (err)
		goto fail;
	*out = s;
	return 0;
fail:
	nvml_close(s);
	return err;
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

static int nvml_probe(const struct sensor_roots *roots, char *why, size_t len)
{
	struct sensor *s = NULL;
	int err = nvml_open(&s, roots);

	snprintf(why, len, "libnvidia-ml.so.1: %s", err ? strerror(-err) : "");
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].err == err)
			snprintf(why, len, "%s", reasons[i].text);
	if (!err)
		snprintf(why, len, "libnvidia-ml.so.1, %u GPUs", s->ngpus);
	nvml_close(s);
	return err;
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
	uint64_t raw;
	int err = gpu->dev ? kinds[r->kind].read(&s->api, gpu->dev, &raw) : NVML_GPU_LOST;

	if (err == NVML_GPU_LOST)
		gpu->dev = NULL;
	if (err) {
		*v = sensor__no_value(sensor__quality_of(nvml_api__errno(err)));
		r->count.away = true;
	} else if (kinds[r->kind].quantity == QUANTITY_ENERGY) {
		v->quality = sensor_count__add(&r->count, raw, kinds[r->kind].scale, &v->value);
	} else {
		v->quality = READING_GOOD;
		v->value = (double)raw * kinds[r->kind].scale;
	}
	v->time_ns = clock__boot_ns();
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
	.probe = nvml_probe,
	.open = nvml_open,
	.channels = nvml_channels,
	.read = nvml_read,
	.close = nvml_close,
};
