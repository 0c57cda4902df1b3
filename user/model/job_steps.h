/* SPDX-License-Identifier: GPL-2.0-only */
/* A job's steps, a line each: the first page of "jobprof show" about a merged file. */
#ifndef JP_MODEL_JOB_STEPS_H
#define JP_MODEL_JOB_STEPS_H

#include <jansson.h>
#include <stdio.h>

#include "hdf5/reader.h"

/* One step over all its nodes. NaN: not known. */
struct job_step {
	const char *name; /* the reader's */
	unsigned nodes;
	unsigned damaged; /* nodes that could not be read; they are in none of the sums */
	double tasks;
	double wall; /* s, of the longest node */
	double cpu_s;
	double offered_s;  /* CPUs x wall of every node */
	double max_rss_mb; /* of one task */
	double read_mb, write_mb;
};

/* From Totals where the file has them, else from the rows. 0 or -ENOMEM. */
int show_job__sum(const struct reader *r, unsigned step, struct job_step *out);

void show_job__head(FILE *out);
void show_job__line(const struct job_step *s, FILE *out);
json_t *show_job__json(const struct job_step *s);

#endif
