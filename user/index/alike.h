/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job beside others: earlier runs of its signature, and what all users' jobs of its program did.
 */
#ifndef JP_INDEX_ALIKE_H
#define JP_INDEX_ALIKE_H

#include "index/query.h"

#define ALIKE_JOBS    30 /* with fewer behind it nothing is said */
#define ALIKE_USERS   3
#define ALIKE_SHARE   0.9  /* of the jobs that had less of it */
#define ALIKE_LEAST   0.05 /* of the job's time: what is less needs no word */
#define ALIKE_RUNS    3	   /* earlier runs of which there is a median */
#define ALIKE_OF_LAST 3000 /* jobs of the program */

struct alike {
	/* What takes more of its time than of most jobs of its program; NULL: nothing. */
	const char *what; /* "wait for a disk" */
	double share;	  /* of the job's time */
	double than;	  /* share of the jobs that had less of it */
	double jobs, users;
	char *program;
	/* Of earlier runs that completed; runs 0: they are too few. */
	unsigned runs;
	double median_s;
	double elapsed_s; /* of this one */
};

/* The job whose profile this file is, found sooner by its number (0: not known). Jobs that the
 * viewer may not see count as none. 0, also where the index has no such job; -errno, said.
 * alike__free() in all cases. */
int alike__of(struct alike *out, struct index *ix, uint32_t job, const char *file,
	      const struct viewer *v);
void alike__free(struct alike *a);

/* Profiles of the last jobs with the signature of this one, but for its own, at most so many. The
 * same. */
int alike__files(struct string_list *files, struct index *ix, uint32_t job, const char *file,
		 unsigned most);

#endif
