/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Quantities of a job's units as matrices over its whole bins. */
#ifndef JP_ANALYSIS_JOB_MATRIX_H
#define JP_ANALYSIS_JOB_MATRIX_H

#include "analysis/matrix.h"
#include "model/job/job.h"

/* Units in an array of structs that each begin with a struct job_unit. */
struct job_units {
	const void *first;
	size_t size;
	unsigned n;
};

static inline const struct job_unit *job_units__at(const struct job_units *u, unsigned i)
{
	return (const struct job_unit *)((const char *)u->first + i * u->size);
}

static inline struct job_units job_units__nodes(const struct model_job *j)
{
	return (struct job_units){j->nodes, sizeof(*j->nodes), j->nnodes};
}

static inline struct job_units job_units__gpus(const struct model_job *j)
{
	return (struct job_units){j->gpus, sizeof(*j->gpus), j->ngpus};
}

static inline struct job_units job_units__mounts(const struct model_job *j)
{
	return (struct job_units){j->mounts, sizeof(*j->mounts), j->nmounts};
}

/* Numbers the different names of units from 0, in the order in which they come: of[i] is the number
 * of unit i's name, *n how many names there are. 0 or -ENOMEM. */
int job_units__by_name(const struct job_units *u, unsigned *of, unsigned *n);
/* Whether a total of a quantity is known of one of them. */
bool job_units__know(const struct job_units *u, enum quantity q);
/* Each unit's bins times scale; no units where the quantity is not known of any. m->v is the
 * caller's to free. 0 or -ENOMEM. */
int job_matrix__of(struct matrix *m, const struct job_units *u, enum quantity q, double scale,
		   const struct time_grid *g, unsigned bins);
void job_matrix__free(struct matrix *m);

#endif
