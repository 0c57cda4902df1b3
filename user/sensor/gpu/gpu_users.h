/* SPDX-License-Identifier: GPL-2.0-only */
/* Which processes use the node's GPUs, asked by a thread of its own: the library may be slow. */
#ifndef JP_SENSOR_GPU_GPU_USERS_H
#define JP_SENSOR_GPU_GPU_USERS_H

#include "sensor/gpu/nvml.h"

struct gpu_users;

/* Starts the thread, which asks every period. The roots are copied. 0; -ENOENT: there is no GPU
 * that could be asked; -errno. */
int gpu_users__start(struct gpu_users **out, const struct sensor_roots *roots, uint64_t period_ns);
/* What it heard last: *out[n] is good until the next call. Returns n; -EAGAIN: nothing yet, or not
 * for ten periods. Never waits for the library. */
int gpu_users__take(struct gpu_users *u, const struct gpu_use **out);
/* From one question to the next, from now on. */
void gpu_users__set_period(struct gpu_users *u, uint64_t ns);
/* Ends the thread; one that hangs in the library is left to itself. NULL is fine. */
void gpu_users__stop(struct gpu_users *u);

#endif
