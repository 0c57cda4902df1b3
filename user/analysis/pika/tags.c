/* SPDX-License-Identifier: GPL-2.0-only */
/* The tags of a job: which part of the machine it comes near the peak of. */
#include "analysis/pika/pika.h"

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

	if (is_above(m->mem_bw, 0.80))
		tags |= 1U << JOB_TAG_MEMORY;
	if (is_above(m->flops, 0.70) || is_above(m->ipc, 0.60))
		tags |= 1U << JOB_TAG_COMPUTE;
	if (m->gpu_usage > 0.70 || m->gpu_usage > m->cpu_usage)
		tags |= 1U << JOB_TAG_GPU;
	if (is_above(m->io_bw, 0.60))
		tags |= 1U << JOB_TAG_IO;
	if (is_above(m->net_bw, 0.60))
		tags |= 1U << JOB_TAG_NETWORK;
	return tags ? tags : 1U << JOB_TAG_UNRESTRAINED;
}

const char *job_tag__name(enum job_tag tag)
{
	return names[tag];
}
