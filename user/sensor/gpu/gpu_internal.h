/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of this folder share: what the two makers' libraries have in common. */
#ifndef JP_SENSOR_GPU_GPU_INTERNAL_H
#define JP_SENSOR_GPU_GPU_INTERNAL_H

#include "sensor/gpu/gpu.h"

/* A quantity of a GPU: its channel and its column. */
struct gpu_kind {
	const char *name, *unit, *column;
	enum sensor_quantity quantity;
	double scale; /* from the library's number to the unit */
};

/* The channel of a quantity of the GPU with that number; the caller sets its error. */
struct sensor_channel gpu__channel(unsigned gpu, const struct gpu_kind *kind);

/* A function of a library: its place in a struct of pointers, and its names, newer ones first. */
struct gpu_function {
	size_t offset;
	bool needed;
	const char *name[3];
};

/* Sets the n pointers in api, NULL for what the library lacks. 0; -ELIBBAD: it lacks a needed one.
 */
int gpu__find_functions(void *api, void *library, const struct gpu_function *f, size_t n);

/* An error of a library and the negative errno that is nearest to it. */
struct gpu_error {
	int code, err;
};

/* The errno for a library's code; -EIO: the table does not have the code. */
int gpu__errno(const struct gpu_error *table, size_t n, int code);

/* A list that grows. */
struct gpu_uses {
	struct gpu_use *use; /* [n] */
	unsigned n;
	size_t room;
};

/* Appends a use. 0; -E2BIG: there are GPU_USE_MAX; -ENOMEM. */
int gpu_uses__add(struct gpu_uses *u, const struct gpu_use *use);

/* How many GPUs of NVIDIA there are, which have the first numbers. dir: as sensor_roots.lib. */
unsigned nvml__count(const char *dir);
/*
 * Sets *out to all processes on all GPUs, by GPU and pid, which the caller frees (NULL where there
 * are none). Returns how many, at most GPU_USE_MAX; -errno where no GPU gave its processes. May
 * take milliseconds, so the sampling thread must not call it. s: an open sensor_nvml.
 */
int nvml__processes(struct sensor *s, struct gpu_use **out);
/* As nvml__processes(), but ordered by pid and GPU; util is the part of the GPU's compute units
 * that a process holds. s: an open sensor_rsmi. */
int rsmi__processes(struct sensor *s, struct gpu_use **out);

#endif
