/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of the binary interface of AMD's ROCm SMI library that we call, declared here because
 * its header may be missing where jobprof is built. Functions return RSMI_SUCCESS or another of
 * enum rsmi_error. GPUs are numbers from 0.
 */
#ifndef JP_SENSOR_GPU_RSMI_API_H
#define JP_SENSOR_GPU_RSMI_API_H

#include "sensor/gpu/gpu_internal.h"

enum rsmi_error {
	RSMI_SUCCESS = 0,
	RSMI_INVALID = 1, /* also returned for GPUs that do not exist */
	RSMI_NOT_SUPPORTED = 2,
	RSMI_FILE_ERROR = 3,
	RSMI_NO_PERMISSION = 4,
	RSMI_INIT_ERROR = 8, /* no driver, no GPU */
	RSMI_NOT_YET = 9,
	RSMI_NOT_FOUND = 10,
	RSMI_TOO_SMALL = 11,
	RSMI_NO_DATA = 14,
};

#define RSMI_MEMORY_VRAM   0
#define RSMI_TEMP_EDGE	   0
#define RSMI_TEMP_JUNCTION 1
#define RSMI_TEMP_NOW	   0
#define RSMI_CLOCK_SYSTEM  0
#define RSMI_CLOCK_MEMORY  4

/* Memory to which the library writes clocks: its structure got a member at the front with ROCm 6,
 * and may grow at the end. */
union rsmi_clocks {
	uint64_t room[128];
	struct {
		uint32_t n, now;
		uint64_t hz[32];
	} old;
	struct {
		uint8_t deep_sleep;
		uint32_t n, now;
		uint64_t hz[33];
	} with_sleep;
};

/* Libraries before ROCm 4.1 write the time where later ones write the resolution. */
union rsmi_resolution {
	float uj;
	uint64_t time_ns;
};

struct rsmi_process {
	uint32_t pid;
	uint32_t pasid;
	uint64_t memory; /* B */
	uint64_t sdma_us;
	uint32_t occupancy; /* % of the compute units; all ones: not known */
};

/* NULL: this library has no such function. */
struct rsmi_api {
	void *handle;
	int (*init)(uint64_t flags);
	int (*shutdown)(void);
	int (*count)(uint32_t *n);
	int (*power)(uint32_t gpu, uint64_t *uw, int *kind);
	int (*power_average)(uint32_t gpu, uint32_t sensor, uint64_t *uw);
	int (*energy)(uint32_t gpu, uint64_t *count, union rsmi_resolution *uj, uint64_t *time_ns);
	int (*busy)(uint32_t gpu, uint32_t *percent);
	int (*memory_busy)(uint32_t gpu, uint32_t *percent);
	int (*memory)(uint32_t gpu, int kind, uint64_t *bytes);
	int (*memory_size)(uint32_t gpu, int kind, uint64_t *bytes);
	int (*temperature)(uint32_t gpu, uint32_t where, int what, int64_t *millicelsius);
	int (*clock)(uint32_t gpu, int kind, union rsmi_clocks *c);
	int (*processes)(struct rsmi_process *p, uint32_t *n);
	int (*process_gpus)(uint32_t pid, uint32_t *gpus, uint32_t *n);
	int (*process_on)(uint32_t pid, uint32_t gpu, struct rsmi_process *p);
};

#define RSMI_MAX_GPUS 128

struct rsmi_reader; /* rsmi.c's */

/* An open source. */
struct sensor {
	struct rsmi_api api;
	uint32_t ngpus;
	unsigned first;			/* number on the node of the library's GPU 0 */
	struct sensor_channel *channel; /* [n] */
	struct rsmi_reader *reader;	/* [n] */
	unsigned n;
};

#endif
