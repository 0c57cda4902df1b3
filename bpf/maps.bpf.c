// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Defines the maps and settings of bpf/maps.bpf.h, once. */
#define JP_MAPS_DEFINE
#include "bpf/maps.bpf.h"

/* The kernel lets GPL-compatible programs use the tracing helpers. */
char LICENSE[] SEC("license") = "Dual BSD/GPL";
