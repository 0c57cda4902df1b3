/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GPUs, by their makers' management libraries, which are loaded at run time: a source for each
 * maker, and a thread that asks which processes use which GPU.
 */
#ifndef JP_SENSOR_GPU_GPU_H
#define JP_SENSOR_GPU_GPU_H

#include "sensor/core/sensor.h"

/*
 * NVIDIA. For each GPU, by the library's number, which is the order on the PCI bus and the one that
 * jobs know (CUDA_DEVICE_ORDER=PCI_BUS_ID; Slurm's too): energy (where the chip counts it: Volta
 * and later), power, utilisation of its processors and of its memory's interface, memory in use,
 * temperature, clocks, why the clock is held back (the bits of NVML), and whether the GPU is split
 * into instances ("mig", 1 or 0: power and energy are of the whole GPU, utilisation is not known).
 * A quantity that a GPU does not have is no channel; one that fails later is READING_NONE. A GPU
 * that is gone for a while has READING_GAP in its energy.
 */
extern const struct sensor_ops sensor_nvml;

/*
 * AMD. For each GPU: energy (where the chip counts it: Instinct), power, utilisation of its
 * processors and of its memory's interface, memory in use and memory, temperature (at the edge;
 * where there is no such sensor, at the junction) and clocks. A quantity that a GPU does not have
 * is no channel; one that fails later is READING_NONE. 0 W, which the second of two chips on one
 * card gives, is no value.
 *
 * Numbers are the library's, in the order of the PCI bus, as in ROCR_VISIBLE_DEVICES and Slurm; on
 * a node that also has GPUs of NVIDIA, they continue after those.
 */
extern const struct sensor_ops sensor_rsmi;

/* The use of one GPU by one process. */
struct gpu_use {
	uint32_t pid;
	unsigned gpu;
	uint64_t mem; /* B; UINT64_MAX: not known */
	double util;  /* %, of the processors' time in the library's last period; NAN: not known */
	bool mig;     /* the process runs in an instance: mem is of all its instances on this GPU */
};

#define GPU_USE_MAX 16384

/* The thread that asks both libraries for all processes: a library may be slow. */
struct gpu_users;

/* Starts the thread, which asks every period. The roots are copied. 0; -ENOENT: there is no GPU;
 * -errno. */
int gpu_users__start(struct gpu_users **out, const struct sensor_roots *roots, uint64_t period_ns);
/* The last answer: *out[n] is valid until the next call. Returns n; -EAGAIN: there is none yet, or
 * none for ten periods. Never waits for the library. */
int gpu_users__take(struct gpu_users *u, const struct gpu_use **out);
/* Sets the time from one question to the next. */
void gpu_users__set_period(struct gpu_users *u, uint64_t ns);
/* Ends the thread; one that hangs in the library is abandoned. NULL is fine. */
void gpu_users__stop(struct gpu_users *u);

#endif
