/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A job as jobstats stores it in Slurm's AdminComment, where jobstats, Job Defense Shield and
 * reportseff read it: "JS1:" and base64(gzip(JSON)); without values "JS1:Short" (jobs below a
 * minute) or "JS1:None". Its readers accept only possible values: no value is below 0 or
 * unknown, used memory is at most the memory that was granted, CPU time at most time by CPUs, GPUs
 * are used at most 100 %.
 */
#ifndef JP_VIEW_SITE_JS1_H
#define JP_VIEW_SITE_JS1_H

#include "index/row.h"
#include "view/report/report.h"

#define JS1_PREFIX  "JS1:"
#define JS1_SHORT   "JS1:Short"
#define JS1_NONE    "JS1:None"
#define JS1_SHORT_S 60

struct js1_gpu {
	char *name; /* its minor number */
	double use, used_mb, in_all_mb;
};

struct js1_node {
	char *name;
	double cpus, cpu_s, memory_mb, used_mb;
	struct js1_gpu *gpus;
	unsigned ngpus;
};

struct js1 {
	double elapsed_s, gpus;
	struct js1_node *nodes;
	unsigned nnodes;
};

void js1__free(struct js1 *s);
/* For a job of one node without a profile: fills in what its row has. 0; -ENODATA: the job has
 * several nodes, or the row lacks a value; -ENOMEM. js1__free() in all cases. */
int js1__of_row(struct js1 *s, const struct row *r);

/* Puts what the report knows into a message, and takes it in another process. 0; -EBADMSG; -ENOMEM.
 * js1__free() in all cases. */
int js1__put(const struct report *r, struct message *m);
int js1__take(struct js1 *s, struct message *m);

/* The text; the caller frees it. NULL: no memory. */
char *js1__text(const struct js1 *s);

#endif
