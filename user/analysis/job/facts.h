/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts: the quantities of schemas/facts.def of one report, with a reason for each that is not
 * known. They are all that rules see of a job, and `report --facts` lists them.
 */
#ifndef JP_ANALYSIS_FACTS_H
#define JP_ANALYSIS_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/binned.h"

enum fact_scope { SCOPE_JOB, SCOPE_NODE, SCOPE_TASK, SCOPE_GPU, SCOPE_BIN, N_SCOPES };

/* FACT_JOB_wall_s ... in the order of schemas/facts.def. */
enum fact {
#define FACT(scope, name, unit, doc) FACT_##scope##_##name,
#include "schemas/facts.def"
	N_FACTS
};

struct fact_info {
	const char *name, *unit, *doc;
	enum fact_scope scope;
	enum quantity of; /* the fact is the total of this quantity; N_QUANTITIES: it is computed */
};
extern const struct fact_info fact_infos[N_FACTS];

struct facts {
	size_t count[N_SCOPES];	 /* items of each scope; 1 of SCOPE_JOB */
	double *values[N_FACTS]; /* values[fact][count[scope]]; NaN: not known */
	char *missing[N_FACTS];	 /* why no value of it is known; NULL: some are */
	char **names[N_SCOPES];	 /* of nodes ("n1"), tasks ("5") and GPUs ("0"); NULL: none */
	double start_ns;	 /* Unix time of the start; NaN: not known */
	double scale; /* factor for the least durations in rules: 1, or less for a run below an hour
		       */
	char *state;  /* of Slurm, "COMPLETED"; NULL: not known */
	char *program; /* the name of what ran, for texts; NULL: not known */
};

/* Makes room: all values are NaN and no reason is set. 0 or -ENOMEM; facts__free() in both cases.
 */
int facts__alloc(struct facts *f, const size_t count[N_SCOPES]);
void facts__free(struct facts *f);

/* The value of a fact of the job. */
static inline double facts__job(const struct facts *f, enum fact fact)
{
	return f->values[fact][0];
}

/* Sets why a fact is not known; the first reason stays. 0 or -ENOMEM. */
int facts__miss(struct facts *f, enum fact fact, const char *reason);

#endif
