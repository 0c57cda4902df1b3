/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The analyses of pika.h of a whole job. */
#ifndef JP_ANALYSIS_PIKA_JOB_H
#define JP_ANALYSIS_PIKA_JOB_H

#include "analysis/job/facts.h"
#include "analysis/pika/pika.h"
#include "model/job/job.h"
#include "peaks/peaks.h"

struct pika_options {
	const struct peaks *peaks; /* an element per node of the job; NULL: none is known */
	bool force;		   /* finds issues also of jobs that are not eligible */
};

enum pika_vector { PIKA_READ_BW, PIKA_WRITE_BW, PIKA_METADATA, PIKA_IO_VECTORS };
extern const char *const pika_vector_names[PIKA_IO_VECTORS];

/* The metric that a tag compares, or why the tag could not be judged. */
struct pika_tag {
	struct tag_metric metric;
	const char *missing; /* a constant of few words joined by "_"; "" when it was judged */
};

/* A network file system, by the counters of the job's nodes. */
struct pika_mount {
	const char *name; /* the model's */
	struct periodic io[PIKA_IO_VECTORS];
};

struct pika_job {
	struct analysis_verdict verdict; /* UNSUITABLE: bin_length; INSUFFICIENT: no_bins */
	unsigned bins;			 /* whole ones */
	double dt_s, duration_s;
	const char *unit;	      /* the unit of which CPU loads are: "task" or "node" */
	unsigned units, missing_bins; /* of the loads, summed over units */

	struct footprint footprint;
	unsigned tags;
	struct pika_tag tag[JOB_TAGS]; /* IPC is in ipc, the rest of JOB_TAG_COMPUTE in flops */
	struct tag_metric ipc;

	unsigned ineligible; /* bits 1 << enum ineligible */
	/* UNSUITABLE, "not_eligible": the job is not eligible, and `force` is not set. */
	struct analysis_verdict issues;
	struct idle cpu_idle, gpu_idle;
	struct imbalance cpu_imbalance, gpu_imbalance;
	struct periodic io[PIKA_IO_VECTORS], offload; /* offload: with the GPUs' load */
	/* Set where no other job uses the nodes. */
	struct pika_mount *mounts;
	unsigned nmounts;
	/* IOB: the detected vector with the most periods; NULL: none is detected. */
	const struct periodic *strongest;
	const char *strongest_vector, *strongest_mount; /* mount NULL: it is of io[] */
	struct io_congestion congestion;
	struct memleak leak;
	unsigned leaking_nodes;
};

/* 0 or -ENOMEM; call pika_job__free() in both cases, before the model is freed. */
int pika_job__of(struct pika_job *out, const struct model_job *j, const struct facts *f,
		 const struct pika_options *o);
void pika_job__free(struct pika_job *p);

#endif
