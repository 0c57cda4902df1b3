/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A job as jobstats stores it in Slurm's AdminComment, where jobstats, Job Defense Shield and
 * reportseff read it: "JS1:" and base64(gzip(JSON)); without values "JS1:Short" (jobs below a
 * minute) or "JS1:None". Its readers need possible values: none is negative or unknown, used memory
 * is at most the memory that was granted, CPU time at most run time x CPUs, use of GPUs at most 100
 * %.
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
	char *name; /* its minor device number */
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
/* Makes it from the row of a job on one node whose profile is not there. 0; -ENODATA: the job had
 * several nodes, or a value is unknown; -ENOMEM. js1__free() in all cases. */
int js1__of_row(struct js1 *s, const struct row *r);

/* js1__put() writes what the report knows into a message, js1__take() reads it in another process.
 * 0; -EBADMSG; -ENOMEM. js1__free() in all cases. */
int js1__put(const struct report *r, struct message *m);
int js1__take(struct js1 *s, struct message *m);

/* The text of AdminComment; the caller frees it. NULL: no memory. */
char *js1__text(const struct js1 *s);

#endif
