/* SPDX-License-Identifier: GPL-2.0-only */
/* AMD GPUs, by ROCm's management library, which is looked for at run time. */
#ifndef JP_SENSOR_GPU_RSMI_H
#define JP_SENSOR_GPU_RSMI_H

#include "sensor/gpu/nvml.h"
#include "sensor/core/sensor.h"

/*
 * Per GPU: energy (where the chip counts it: Instinct), power, utilisation of its processors and of
 * its memory's interface, memory in use and memory, temperature (at the edge; where there is no
 * such sensor, at the junction) and clocks. A quantity that a GPU does not have is no channel; one
 * that fails later is READING_NONE. 0 W is said by the second of two chips on one card: no value.
 *
 * Numbers are the library's, in the order of the PCI bus, as ROCR_VISIBLE_DEVICES and Slurm have
 * them; on a node that has GPUs of NVIDIA too, they go on behind those.
 */
extern const struct sensor_ops sensor_rsmi;

/* As nvml__processes(), by pid and GPU; util is the part of the GPU's compute units that it holds.
 * s: an open sensor_rsmi. */
int rsmi__processes(struct sensor *s, struct gpu_use **out);

#endif
