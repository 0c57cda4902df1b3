/* SPDX-License-Identifier: GPL-2.0-only */
/* The tags of a job: which part of the machine it comes near the peak of. */
#include "analysis/pika/pika.h"

#include <stddef.h>

#define MEMORY_ABOVE  0.80
#define FLOPS_ABOVE   0.70
#define IPC_ABOVE     0.60
#define GPU_ABOVE     0.70
#define IO_ABOVE      0.60
#define NETWORK_ABOVE 0.60

const struct analysis_param job_tags__params[] = {
	{"mem_bw_above", MEMORY_ABOVE},
	{"flops_above", FLOPS_ABOVE},
	{"ipc_above", IPC_ABOVE},
	{"gpu_usage_above", GPU_ABOVE},
	{"io_bw_above", IO_ABOVE},
	{"net_bw_above", NETWORK_ABOVE},
	{NULL, 0},
};

static const char *const names[JOB_TAGS] = {
	[JOB_TAG_UNRESTRAINED] = "unrestrained",
	[JOB_TAG_MEMORY] = "memory-bound",
	[JOB_TAG_COMPUTE] = "compute-bound",
	[JOB_TAG_GPU] = "GPU-bound",
	[JOB_TAG_IO] = "IO-heavy",
	[JOB_TAG_NETWORK] = "network-heavy",
};

/* Comparisons with NaN are false: what is not known gives no tag. */
static bool is_above(struct tag_metric m, double share)
{
	return m.peak > 0 && m.value / m.peak > share;
}

unsigned job_tags__of(const struct tag_metrics *m)
{
	unsigned tags = 0;

	if (is_above(m->mem_bw, MEMORY_ABOVE))
		tags |= 1U << JOB_TAG_MEMORY;
	if (is_above(m->flops, FLOPS_ABOVE) || is_above(m->ipc, IPC_ABOVE))
		tags |= 1U << JOB_TAG_COMPUTE;
	if (m->gpu_usage > GPU_ABOVE || m->gpu_usage > m->cpu_usage)
		tags |= 1U << JOB_TAG_GPU;
	if (is_above(m->io_bw, IO_ABOVE))
		tags |= 1U << JOB_TAG_IO;
	if (is_above(m->net_bw, NETWORK_ABOVE))
		tags |= 1U << JOB_TAG_NETWORK;
	return tags ? tags : 1U << JOB_TAG_UNRESTRAINED;
}

const char *job_tag__name(enum job_tag tag)
{
	return names[tag];
}
