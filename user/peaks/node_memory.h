/* SPDX-License-Identifier: GPL-2.0-only */
/* How large the arrays of a measure must be, and may be. */
#ifndef JP_PEAKS_NODE_MEMORY_H
#define JP_PEAKS_NODE_MEMORY_H

#include <stdint.h>

/* Bytes of the last-level caches that the CPUs have, each cache once; 0: the tree does not say. */
uint64_t node_memory__caches(const char *sys, const int *cpus, unsigned ncpus);
/* Bytes that this process may take: the node's free memory, or what its cgroups leave. */
uint64_t node_memory__free(void);

#endif
