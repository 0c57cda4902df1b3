/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares a job with earlier runs of its signature, and with all users' jobs of its program. */
#ifndef JP_INDEX_ALIKE_H
#define JP_INDEX_ALIKE_H

#include "index/query.h"

#define ALIKE_JOBS    30 /* a comparison of fewer jobs is not shown */
#define ALIKE_USERS   3
#define ALIKE_SHARE   0.9  /* of the jobs had a smaller share */
#define ALIKE_LEAST   0.05 /* of the job's time: smaller shares are not shown */
#define ALIKE_RUNS    3	   /* earlier runs of which there is a median */
#define ALIKE_OF_LAST 3000 /* jobs of the program */

struct alike {
	/* The cause that takes a larger share of its time than of most jobs of its program; NULL:
	 * there is none. */
	const char *what; /* "wait for a disk" */
	double share;	  /* of the job's time */
	double than;	  /* share of the jobs whose own share was smaller */
	double jobs, users;
	char *program;
	/* Earlier runs that completed; runs 0: there are too few. */
	unsigned runs;
	double median_s;
	double elapsed_s; /* of this one */
};

/* Compares the job whose profile this file is; its number (0: not known) makes the search quicker.
 * Jobs that the viewer may not see are left out. 0, also where the index has no such job; -errno,
 * logged. alike__free() in all cases. */
int alike__of(struct alike *out, struct index *ix, uint32_t job, const char *file,
	      const struct viewer *v);
void alike__free(struct alike *a);

/* Appends the profiles of the last jobs with this job's signature, without its own, at most `most`.
 * 0, also where the index has no such job; -errno, logged. */
int alike__files(struct string_list *files, struct index *ix, uint32_t job, const char *file,
		 unsigned most);

#endif
