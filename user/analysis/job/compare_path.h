/* SPDX-License-Identifier: GPL-2.0-only */
/* A job's tasks in one bin: which of them the critical path goes through. */
#ifndef JP_ANALYSIS_COMPARE_PATH_H
#define JP_ANALYSIS_COMPARE_PATH_H

#include "analysis/job/compare_job.h"

/* The tasks, or the ranks inside of them, of all steps; the nodes where there are no tasks. */
struct compare_units {
	struct compare_unit {
		const struct job_unit *unit;
		double cpus; /* that it can have: those of its node */
	} * v;
	unsigned n;
};

/* Seconds of a bin. */
struct compare_seconds {
	double cpu, wait, disk;
	double busy_cpus; /* of the unit, or of all of them */
};

/* 0 or -ENOMEM; compare_units__free() in both cases. */
int compare_units__of(struct compare_units *u, const struct model_job *j);
void compare_units__free(struct compare_units *u);
/* The path's unit in a bin, whose seconds are *s; s->busy_cpus are those of all units. NULL: of
 * none is the CPU time known. */
const struct job_unit *compare_units__path(const struct compare_units *u, const struct time_grid *g,
					   const struct compare_how *how, unsigned bin,
					   struct compare_seconds *s);

/* Splits rest_s of the path's unit in a bin, in which it neither ran nor waited for a CPU or a
 * disk, by what its threads were blocked by meanwhile, in proportion; adds them to cause_s. A
 * thread that waits for a child counts for no more than what no other thread was blocked by. What
 * is of other causes, or of none, is not added. */
void compare_path__causes(const struct job_unit *path, const struct time_grid *g,
			  const struct compare_how *how, unsigned bin, double rest_s,
			  double cause_s[static COMPARE_CAUSES]);

#endif
