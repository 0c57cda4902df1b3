/* SPDX-License-Identifier: GPL-2.0-only */
/* NVIDIA GPUs, by the driver's own management library, which is looked for at run time. */
#ifndef JP_SENSOR_GPU_NVML_H
#define JP_SENSOR_GPU_NVML_H

#include "sensor/core/sensor.h"

/*
 * Per GPU, by the library's number, which is the order on the PCI bus and the one that jobs know
 * (CUDA_DEVICE_ORDER=PCI_BUS_ID; Slurm's too): energy (where the chip counts it: Volta and later),
 * power, utilisation of its processors and of its memory's interface, memory in use, temperature,
 * clocks, why the clock is held back (the bits of NVML), and whether the GPU is split into
 * instances ("mig", 1 or 0: power and energy are of the whole GPU, utilisation is not known). A
 * quantity that a GPU does not have is no channel; one that fails later is READING_NONE. A GPU that
 * is gone for a while has READING_GAP in its energy.
 */
extern const struct sensor_ops sensor_nvml;

/* How many GPUs of NVIDIA there are: the first numbers are of these. dir: as sensor_roots.lib. */
unsigned nvml__count(const char *dir);

/* What one process has of one GPU. */
struct gpu_use {
	uint32_t pid;
	unsigned gpu;
	uint64_t memory; /* B; UINT64_MAX: not known */
	double util; /* %, of the processors' time in the library's last period; NAN: not known */
	bool mig;    /* it runs in an instance: memory is of all its instances of this GPU */
};

#define GPU_USE_MAX 16384

/*
 * All processes on all GPUs, by GPU and pid, to *out (the caller's to free; NULL when there are
 * none). Returns how many, at most GPU_USE_MAX; -errno when not one GPU gave its processes. May
 * take milliseconds: not for the sampling thread. s: an open sensor_nvml.
 */
int nvml__processes(struct sensor *s, struct gpu_use **out);

#endif
