/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sensor rsmi: channels of AMD's GPUs and their readings. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "sensor/core/file.h"
#include "sensor/gpu/rsmi_api.h"

/* ---- loading the library */

#define OF(member) offsetof(struct rsmi_api, member)
#define MIN_HZ	   1000000ull
#define MAX_HZ	   100000000000ull

/* The name for linking, and the names of ROCm's versions, which exist without development files. */
static const char *const libraries[] = {
	"librocm_smi64.so",   "librocm_smi64.so.8", "librocm_smi64.so.7",
	"librocm_smi64.so.6", "librocm_smi64.so.5", "librocm_smi64.so.1",
};

/* Directories of the library: the loader may not search that of ROCm's packages. */
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

/* Loads a library of that name. -ENOENT: there is none. */
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

static void rsmi_api_unload(struct rsmi_api *api)
{
	if (api->handle)
		dlclose(api->handle);
	*api = (struct rsmi_api){0};
}

/* Loads the library from dir (NULL: the places above) and finds its functions. -ENOENT: there is no
 * library; -ELIBBAD: it cannot be loaded, or lacks a function that is needed; -ENAMETOOLONG. */
static int rsmi_api_load(struct rsmi_api *api, const char *dir)
{
	int err;

	*api = (struct rsmi_api){0};
	err = find_library(api, dir);
	if (!err)
		err = gpu__find_functions(api, api->handle, functions, N_FUNCTIONS);
	if (err)
		rsmi_api_unload(api);
	return err;
}

/* The -errno that is nearest to an error of the library. */
static int rsmi_api_errno(int err)
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

/* The current clock in Hz; 0: no layout fits what the library wrote. The two layouts cannot be
 * confused, for no clock in Hz is as small as an index. */
static uint64_t rsmi_api_clock(const union rsmi_clocks *c)
{
	uint64_t hz = 0;

	if (c->with_sleep.deep_sleep <= 1)
		hz = pick(c->with_sleep.hz, 33, c->with_sleep.n, c->with_sleep.now);
	return hz ? hz : pick(c->old.hz, 32, c->old.n, c->old.now);
}

/* ---- processes and their memory */

#define MORE  64 /* room for processes that start between two calls, and for longer structures */
#define TRIES 4

static int list_processes(const struct rsmi_api *api, struct rsmi_process **out, uint32_t *n)
{
	int err = RSMI_TOO_SMALL;

	for (unsigned tries = 0; tries < TRIES && err == RSMI_TOO_SMALL; tries++) {
		uint32_t room;
		void *p;

		*n = 0;
		err = api->processes(NULL, n);
		if (err)
			break;
		if (*n > GPU_USE_MAX)
			return -E2BIG;
		room = *n + MORE;
		p = realloc(*out, 2 * room * sizeof(**out));
		if (!p)
			return -ENOMEM;
		*out = p;
		*n = room;
		err = api->processes(*out, n);
		if (!err && *n > room)
			err = RSMI_NO_DATA;
	}
	if (err)
		*n = 0;
	return rsmi_api_errno(err);
}

/* What a process uses of one GPU; unknown for a process on several, if the library lacks the
 * function for one GPU. */
static struct gpu_use use_on(struct sensor *s, const struct rsmi_process *p, uint32_t gpu,
			     bool only)
{
	struct gpu_use use = {.pid = p->pid, .gpu = s->first + gpu, .mem = UINT64_MAX};
	struct rsmi_process here = *p;
	int err = s->api.process_on ? s->api.process_on(p->pid, gpu, &here)
		  : only	    ? RSMI_SUCCESS
				    : RSMI_NOT_SUPPORTED;

	use.mem = err ? UINT64_MAX : here.memory;
	use.util = err || here.occupancy > 100 ? NAN : here.occupancy;
	return use;
}

/* Adds a process, unless it has ended since it was listed. */
static int add_process(struct sensor *s, struct gpu_uses *u, const struct rsmi_process *p)
{
	uint32_t gpus[RSMI_MAX_GPUS], n = RSMI_MAX_GPUS;
	int err = s->api.process_gpus(p->pid, gpus, &n) || n > RSMI_MAX_GPUS ? -ESRCH : 0;

	for (uint32_t i = 0; !err && i < n; i++) {
		struct gpu_use use;

		if (gpus[i] >= s->ngpus)
			continue;
		use = use_on(s, p, gpus[i], n == 1);
		err = gpu_uses__add(u, &use);
	}
	return err == -ESRCH ? 0 : err;
}

int rsmi__processes(struct sensor *s, struct gpu_use **out)
{
	_cleanup_free_ struct rsmi_process *list = NULL;
	struct gpu_uses u = {0};
	uint32_t n = 0;
	int err;

	*out = NULL;
	if (!s->api.processes || !s->api.process_gpus)
		return -EOPNOTSUPP;
	err = list_processes(&s->api, &list, &n);
	for (uint32_t i = 0; !err && i < n; i++)
		err = add_process(s, &u, &list[i]);
	if (err) {
		free(u.use);
		return err;
	}
	*out = u.use;
	return (int)u.n;
}

struct output_capture {
	int out, err; /* duplicates of stdout and stderr */
	int captured; /* file with what was printed meanwhile */
};

/* ---- the library's own output, which it prints to stdout and stderr */

/* Between begin and end, stdout and stderr of the process are captured, and then logged for
 * LogLevel=debug. This must be short: the output of other threads is captured, too. */
static void output_capture_begin(struct output_capture *q)
{
	fflush(stdout);
	q->captured = memfd_create("said", MFD_CLOEXEC);
	q->out = q->err = -1;
	if (q->captured < 0)
		return;
	q->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	q->err = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (q->out >= 0)
		dup2(q->captured, STDOUT_FILENO);
	if (q->err >= 0)
		dup2(q->captured, STDERR_FILENO);
}

static void log_captured(int fd)
{
	char text[2048], *rest = text, *line;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	while ((line = strsep(&rest, "\n")))
		if (*line)
			log_debug("a library says: %s", line);
}

static void put_back(int *fd, int where)
{
	if (*fd < 0)
		return;
	dup2(*fd, where);
	close(*fd);
	*fd = -1;
}

static void output_capture_end(struct output_capture *q)
{
	fflush(stdout);
	put_back(&q->out, STDOUT_FILENO);
	put_back(&q->err, STDERR_FILENO);
	if (q->captured < 0)
		return;
	log_captured(q->captured);
	close(q->captured);
}

/* ---- channels and readings */

#define NO_TIME	  UINT64_MAX /* the library wrote no time */
#define MAX_UJ	  1e6	     /* uJ; one count of energy cannot be more */
#define MAX_MILLI 500000     /* thousandths of a degree; more is an impossible value */

/* Reads a quantity of a GPU in the library's unit; *unit is the factor to the channel's unit, and
 * may be changed. Returns the library's error. */
typedef int (*read_fn)(const struct rsmi_api *api, uint32_t gpu, int64_t *raw, double *unit);

struct rsmi_reader {
	uint32_t gpu;
	unsigned kind; /* index of kinds[] */
	struct sensor_count count;
};

/* Refuses an impossible value, above most. */
static int check_value(int err, uint64_t v, uint64_t most, int64_t *raw)
{
	if (!err && v > most)
		return RSMI_NO_DATA;
	*raw = (int64_t)v;
	return err;
}

static int read_energy(const struct rsmi_api *api, uint32_t gpu, int64_t *raw, double *unit)
{
	uint64_t count = 0, time_ns = NO_TIME;
	union rsmi_resolution uj = {0};
	int err = api->energy ? api->energy(gpu, &count, &uj, &time_ns) : RSMI_NOT_SUPPORTED;

	if (!err && (time_ns == NO_TIME || !(uj.uj > 0 && uj.uj <= MAX_UJ)))
		return RSMI_NOT_SUPPORTED;
	*unit = (double)uj.uj * 1e-6;
	return check_value(err, count, INT64_MAX, raw);
}

static int read_power(const struct rsmi_api *api, uint32_t gpu, int64_t *raw, double *unit)
{
	uint64_t uw = 0;
	int kind = 0, err = RSMI_NOT_SUPPORTED;

	if (api->power)
		err = api->power(gpu, &uw, &kind);
	if (err && api->power_average)
		err = api->power_average(gpu, 0, &uw);
	return !err && !uw ? RSMI_NO_DATA : check_value(err, uw, INT64_MAX, raw);
}

/* Defines a read_fn: the library's call, and the highest possible value. */
#define READER(name, type, args, most)                                                 \
	static int read_##name(const struct rsmi_api *api, uint32_t gpu, int64_t *raw, \
			       double *unit)                                           \
	{                                                                              \
		type v = 0;                                                            \
		int err = api->name ? api->name args : RSMI_NOT_SUPPORTED;             \
                                                                                       \
		return check_value(err, v, most, raw);                                 \
	}

READER(busy, uint32_t, (gpu, &v), 100)
READER(memory_busy, uint32_t, (gpu, &v), 100)
READER(memory, uint64_t, (gpu, RSMI_MEMORY_VRAM, &v), INT64_MAX)
READER(memory_size, uint64_t, (gpu, RSMI_MEMORY_VRAM, &v), INT64_MAX)

static int read_temperature(const struct rsmi_api *api, uint32_t gpu, int64_t *raw, double *unit)
{
	int err = RSMI_NOT_SUPPORTED;

	if (api->temperature)
		err = api->temperature(gpu, RSMI_TEMP_EDGE, RSMI_TEMP_NOW, raw);
	if (err && api->temperature)
		err = api->temperature(gpu, RSMI_TEMP_JUNCTION, RSMI_TEMP_NOW, raw);
	return !err && (*raw < -MAX_MILLI || *raw > MAX_MILLI) ? RSMI_NO_DATA : err;
}

static int read_any_clock(const struct rsmi_api *api, uint32_t gpu, int kind, int64_t *raw)
{
	union rsmi_clocks c = {.room = {0}};
	int err = api->clock ? api->clock(gpu, kind, &c) : RSMI_NOT_SUPPORTED;

	*raw = err ? 0 : (int64_t)rsmi_api_clock(&c);
	return !err && !*raw ? RSMI_NO_DATA : err;
}

static int read_clock(const struct rsmi_api *api, uint32_t gpu, int64_t *raw, double *unit)
{
	return read_any_clock(api, gpu, RSMI_CLOCK_SYSTEM, raw);
}

static int read_memory_clock(const struct rsmi_api *api, uint32_t gpu, int64_t *raw, double *unit)
{
	return read_any_clock(api, gpu, RSMI_CLOCK_MEMORY, raw);
}

static const struct {
	struct gpu_kind kind;
	read_fn read;
} kinds[] = {
	{{"energy", "J", "Energy", QUANTITY_ENERGY, 1e-6}, read_energy},
	{{"power", "W", "Power", QUANTITY_POWER, 1e-6}, read_power},
	{{"utilisation", "%", "Utilization", QUANTITY_LEVEL, 1}, read_busy},
	{{"memory utilisation", "%", "MemUtilization", QUANTITY_LEVEL, 1}, read_memory_busy},
	{{"memory", "B", "MemMB", QUANTITY_LEVEL, 1}, read_memory},
	{{"memory size", "B", "MemTotalMB", QUANTITY_LEVEL, 1}, read_memory_size},
	{{"temperature", "C", "Temperature", QUANTITY_LEVEL, 1e-3}, read_temperature},
	{{"clock", "MHz", "Clock", QUANTITY_LEVEL, 1e-6}, read_clock},
	{{"memory clock", "MHz", "MemClock", QUANTITY_LEVEL, 1e-6}, read_memory_clock},
};

#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void add_channel(struct sensor *s, uint32_t gpu, unsigned kind, double unit)
{
	s->channel[s->n] = gpu__channel(s->first + gpu, &kinds[kind].kind);
	s->channel[s->n].step = unit;
	s->reader[s->n++] = (struct rsmi_reader){.gpu = gpu, .kind = kind};
}

/* Adds the GPU's channels. One that the GPU does not support is left out; one that fails now may
 * work later. */
static void add_gpu(struct sensor *s, uint32_t gpu)
{
	for (unsigned kind = 0; kind < N_KINDS; kind++) {
		double unit = kinds[kind].kind.scale;
		int64_t raw;
		int err = kinds[kind].read(&s->api, gpu, &raw, &unit);

		if (err != RSMI_NOT_SUPPORTED && err != RSMI_NOT_YET && err != RSMI_FILE_ERROR)
			add_channel(s, gpu, kind, unit);
	}
}

static int add_gpus(struct sensor *s, const struct sensor_roots *roots)
{
	int err = s->api.count(&s->ngpus);

	if (err)
		return rsmi_api_errno(err);
	if (!s->ngpus)
		return -ENOENT;
	if (s->ngpus > RSMI_MAX_GPUS)
		return -E2BIG;
	s->first = nvml__count(roots->lib);
	s->channel = calloc(s->ngpus * N_KINDS, sizeof(*s->channel));
	s->reader = calloc(s->ngpus * N_KINDS, sizeof(*s->reader));
	if (!s->channel || !s->reader)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->ngpus; i++)
		add_gpu(s, i);
	return 0;
}

static void rsmi_close(struct sensor *s)
{
	if (s->api.handle)
		s->api.shutdown();
	rsmi_api_unload(&s->api);
	free(s->channel);
	free(s->reader);
}

/* Without a driver the library prints a message to the terminal: it is captured. */
static int begin_library(struct rsmi_api *api, const char *dir)
{
	struct output_capture q;
	int err;

	output_capture_begin(&q);
	err = rsmi_api_load(api, dir);
	if (!err)
		err = rsmi_api_errno(api->init(0));
	if (err)
		rsmi_api_unload(api);
	output_capture_end(&q);
	return err;
}

static int rsmi_open(struct sensor *s, const struct sensor_ops *ops,
		     const struct sensor_roots *roots)
{
	int err = begin_library(&s->api, roots->lib);

	return err ? err : add_gpus(s, roots);
}

static const struct {
	int err;
	const char *text;
} reasons[] = {
	{-ENOENT, "no AMD GPU, driver or librocm_smi64.so"},
	{-EACCES, "librocm_smi64.so: not permitted; needs root"},
	{-ELIBBAD, "librocm_smi64.so cannot be loaded, or lacks functions; install ROCm's own"},
};

static void rsmi_describe(const struct sensor *s, const struct sensor_roots *roots, int err,
			  char *text, size_t len)
{
	snprintf(text, len, "librocm_smi64.so: %s", err ? strerror(-err) : "");
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].err == err)
			snprintf(text, len, "%s", reasons[i].text);
	if (!err)
		snprintf(text, len, "librocm_smi64.so, %u GPUs", s->ngpus);
}

static unsigned rsmi_channels(const struct sensor *s, const struct sensor_channel **out)
{
	*out = s->channel;
	return s->n;
}

static void read_channel(struct sensor *s, unsigned i, struct sensor_value *v)
{
	struct rsmi_reader *r = &s->reader[i];
	double unit = kinds[r->kind].kind.scale;
	int64_t raw = 0;
	int err = kinds[r->kind].read(&s->api, r->gpu, &raw, &unit);

	*v = sensor_count__value(&r->count, s->channel[i].quantity, rsmi_api_errno(err), raw, unit);
}

static int rsmi_read(struct sensor *s, struct sensor_value *values)
{
	for (unsigned i = 0; i < s->n; i++)
		read_channel(s, i, &values[i]);
	return sensor__any_value(values, s->n);
}

const struct sensor_ops sensor_rsmi = {
	.name = "rsmi",
	.doc = "AMD GPUs: energy, power, use, memory, temperature, clocks",
	.slow = true,
	.size = sizeof(struct sensor),
	.open = rsmi_open,
	.describe = rsmi_describe,
	.channels = rsmi_channels,
	.read = rsmi_read,
	.close = rsmi_close,
};
