/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of NVIDIA's management library that we call, as its binary interface is: declared here,
 * since its header may be missing where we are built. Functions return NVML_SUCCESS or another of
 * enum nvml_error.
 */
#ifndef JP_SENSOR_GPU_NVML_API_H
#define JP_SENSOR_GPU_NVML_API_H

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
	NVML_MISMATCH = 18, /* library and driver are of different versions */
	NVML_UNKNOWN = 999,
};

#define NVML_TEMPERATURE_GPU 0
#define NVML_CLOCK_SM	     1
#define NVML_CLOCK_MEM	     2
#define NVML_NO_INSTANCE     UINT32_MAX

struct nvml_device; /* the library's */

struct nvml_utilization {
	unsigned gpu, memory; /* % */
};

struct nvml_memory {
	unsigned long long total, free, used; /* B */
};

struct nvml_process {
	unsigned pid;
	unsigned long long memory; /* B; all ones: not known */
	unsigned instance;	   /* of a GPU that is split; NVML_NO_INSTANCE */
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

/* Loads the library from dir (NULL: where libraries are) and finds its functions. -ENOENT: there is
 * no library; -ELIBBAD: it lacks what we cannot do without, or cannot be loaded; -ENAMETOOLONG. */
int nvml_api__load(struct nvml_api *api, const char *dir);
void nvml_api__unload(struct nvml_api *api);
/* -errno that an error of the library is nearest to. */
int nvml_api__errno(int err);

#define NVML_MAX_GPUS 128

struct nvml_gpu {
	struct nvml_device *dev;       /* NULL: lost; asked for again at each reading */
	unsigned long long sampled_us; /* time of the newest sample that was seen */
};

struct nvml_reader; /* nvml.c's */

/* An open source: of nvml.c, and nvml_process.c. */
struct sensor {
	struct nvml_api api;
	unsigned ngpus;
	struct nvml_gpu gpu[NVML_MAX_GPUS];
	struct sensor_channel *channel; /* [n] */
	struct nvml_reader *reader;	/* [n] */
	unsigned n;
};

#endif
