/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares a job with others: with earlier runs of its signature, and with the jobs of its
 * program. */
#ifndef JP_INDEX_ALIKE_H
#define JP_INDEX_ALIKE_H

#include "index/query.h"

#define ALIKE_JOBS    30 /* fewer jobs are not compared */
#define ALIKE_USERS   3
#define ALIKE_SHARE   0.9  /* share of the jobs that must have less of it */
#define ALIKE_LEAST   0.05 /* share of the job's time; a smaller one is not reported */
#define ALIKE_RUNS    3	   /* earlier runs that a median needs */
#define ALIKE_OF_LAST 3000 /* latest jobs of the program that are compared */

struct alike {
	/* What takes a larger share of its time than of most jobs of its program; NULL: nothing. */
	const char *what; /* "wait for a disk" */
	double share;	  /* of the job's time */
	double than;	  /* share of the jobs whose own share was smaller */
	double jobs, users;
	char *program;
	/* Earlier runs that completed; runs is 0 if there are too few. */
	unsigned runs;
	double median_s;
	double elapsed_s; /* of this job */
};

/* Compares the job of this profile. job: its number, by which it is found sooner; 0: unknown. Jobs
 * that the viewer may not see do not count. 0, also if the index does not have the job; -errno,
 * logged. alike__free() in all cases. */
int alike__of(struct alike *out, struct index *ix, uint32_t job, const char *file,
	      const struct viewer *v);
void alike__free(struct alike *a);

/* Appends the profiles of the latest jobs with the signature of this one that the viewer may see,
 * at most `most`, without its own. Returns as alike__of(). */
int alike__files(struct string_list *files, struct index *ix, uint32_t job, const char *file,
		 const struct viewer *v, unsigned most);

#endif
