/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The analyses of pika.h of a whole job. */
#ifndef JP_ANALYSIS_PIKA_JOB_H
#define JP_ANALYSIS_PIKA_JOB_H

#include "analysis/job/facts.h"
#include "analysis/pika/pika.h"
#include "model/job/job.h"
#include "peaks/peaks.h"

struct pika_options {
	const struct peaks *peaks; /* of each node of the job; NULL: none is known */
	bool force;		   /* issues of jobs that are not eligible, too */
};

enum pika_vector { PIKA_READ_BW, PIKA_WRITE_BW, PIKA_METADATA, PIKA_IO_VECTORS };
extern const char *const pika_vector_names[PIKA_IO_VECTORS];

/* What a tag compares, and why it is not given where its metric or peak is not known. */
struct pika_tag {
	struct tag_metric metric;
	const char *missing; /* a constant of few words joined by "_"; "" when it was judged */
};

/* A network file system, as the counters of the job's nodes have it. */
struct pika_mount {
	const char *name; /* the model's */
	struct periodic io[PIKA_IO_VECTORS];
};

struct pika_job {
	struct analysis_verdict verdict; /* UNSUITABLE: bin_length; INSUFFICIENT: no_bins */
	unsigned bins;			 /* whole ones */
	double dt_s, duration_s;
	const char *unit;	      /* whose load is a CPU load: "task" or "node" */
	unsigned units, missing_bins; /* of the loads, summed over units */

	struct footprint footprint;
	unsigned tags;
	struct pika_tag tag[JOB_TAGS]; /* IPC is in ipc, the rest of JOB_TAG_COMPUTE in flops */
	struct tag_metric ipc;

	unsigned ineligible; /* bits 1 << enum ineligible */
	/* UNSUITABLE, "not_eligible": the job is not, and that was not overruled. */
	struct analysis_verdict issues;
	struct idle cpu_idle, gpu_idle;
	struct imbalance cpu_imbalance, gpu_imbalance;
	struct periodic io[PIKA_IO_VECTORS], offload; /* offload: with the GPUs' load */
	/* Where no other job uses the nodes; else there are none. */
	struct pika_mount *mounts;
	unsigned nmounts;
	/* IOB: of all vectors the detected one with the most periods; NULL: none is. */
	const struct periodic *strongest;
	const char *strongest_vector, *strongest_mount; /* mount NULL: it is of io[] */
	struct io_congestion congestion;
	struct memleak leak;
	unsigned leaking_nodes;
};

/* 0 or -ENOMEM; pika_job__free() in both cases, and before the model's. */
int pika_job__of(struct pika_job *out, const struct model_job *j, const struct facts *f,
		 const struct pika_options *o);
void pika_job__free(struct pika_job *p);

#endif
