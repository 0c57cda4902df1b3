/* SPDX-License-Identifier: GPL-2.0-only */
/* Computes what the job's share of its nodes can do at most, and the tags that follow from it. */
#include <math.h>

#include "analysis/job/pika_job.h"

/* Returns the job's share of a node's cores, or of its sockets, which are taken whole. Where a peak
 * is of the whole node, the share is 1. */
static double share_of(const struct job_node *n, const struct peaks *p, enum peak_kind kind)
{
	double sockets = p->of[PEAK_SOCKETS].value, share = n->cores / n->cores_in_all;

	switch (kind) {
	case PEAK_FLOPS:
		return fmin(1,
			    n->cores / (isnan(p->of[PEAK_CORES].value) ? n->cores_in_all
								       : p->of[PEAK_CORES].value));
	case PEAK_MEMORY:
		return share >= 1 ? 1 : fmin(1, ceil(share * sockets - 1e-9) / sockets);
	default:
		return 1;
	}
}

/* Adds up the nodes' peaks. NaN: the peak of one node is not known. */
static double peak_of(const struct model_job *j, const struct peaks *peaks, enum peak_kind kind)
{
	double sum = j->nnodes && peaks ? 0 : NAN;

	for (unsigned i = 0; peaks && i < j->nnodes; i++)
		sum += peaks[i].of[kind].value * share_of(&j->nodes[i], &peaks[i], kind);
	return sum;
}

/* Adds up the nodes' disks, of each node in the faster direction. */
static double io_peak(const struct model_job *j, const struct peaks *peaks)
{
	double sum = j->nnodes && peaks ? 0 : NAN;

	for (unsigned i = 0; peaks && i < j->nnodes; i++)
		sum += fmax(peaks[i].of[PEAK_DISK_READ].value, peaks[i].of[PEAK_DISK_WRITE].value);
	return sum;
}

/* Returns the mean over nodes; a node whose peak is not known counts with the optimal value. */
static double ipc_peak(const struct model_job *j, const struct peaks *peaks)
{
	double sum = 0;

	for (unsigned i = 0; i < j->nnodes; i++) {
		double own = peaks ? peaks[i].of[PEAK_IPC].value : NAN;

		sum += isnan(own) ? JOB_IPC_OPTIMAL : own;
	}
	return j->nnodes ? sum / j->nnodes : NAN;
}

static const char *missing_of(struct tag_metric m)
{
	return isnan(m.value) ? "no_metric" : m.peak > 0 ? "" : "no_peak";
}

void pika_peaks__of(struct pika_job *out, const struct model_job *j, const struct peaks *peaks)
{
	const struct footprint *p = &out->footprint;
	struct tag_metrics m = {
		.mem_bw = {p->mem_bw, peak_of(j, peaks, PEAK_MEMORY)},
		.flops = {p->flops, 2 * peak_of(j, peaks, PEAK_FLOPS)}, /* double precision */
		.ipc = {p->ipc, ipc_peak(j, peaks)},
		.io_bw = {(p->read_bytes + p->write_bytes) / (out->bins * out->dt_s),
			  io_peak(j, peaks)},
		.net_bw = {p->net_bw, peak_of(j, peaks, PEAK_NETWORK)},
		.cpu_usage = p->cpu_usage,
		.gpu_usage = p->gpu_usage,
	};

	out->tags = job_tags__of(&m);
	out->ipc = m.ipc;
	out->tag[JOB_TAG_UNRESTRAINED] = (struct pika_tag){{NAN, NAN}, ""};
	out->tag[JOB_TAG_MEMORY] = (struct pika_tag){m.mem_bw, missing_of(m.mem_bw)};
	out->tag[JOB_TAG_COMPUTE] = (struct pika_tag){m.flops, missing_of(m.flops)};
	if (!*missing_of(m.ipc))
		out->tag[JOB_TAG_COMPUTE].missing = "";
	out->tag[JOB_TAG_GPU] =
		(struct pika_tag){{m.gpu_usage, 1}, isnan(m.gpu_usage) ? "no_metric" : ""};
	out->tag[JOB_TAG_IO] = (struct pika_tag){m.io_bw, missing_of(m.io_bw)};
	out->tag[JOB_TAG_NETWORK] = (struct pika_tag){m.net_bw, missing_of(m.net_bw)};
}
