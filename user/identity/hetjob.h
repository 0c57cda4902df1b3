/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which component of a heterogeneous job a step belongs to. Each component has a job id of its own,
 * and the environment of a task only lists all of them: SLURM_JOB_ID_HET_GROUP_<n>=<job id>, PACK
 * instead of HET from srun's own allocation. Component 0 is the leader.
 */
#ifndef JP_IDENTITY_HETJOB_H
#define JP_IDENTITY_HETJOB_H

#include <stdbool.h>
#include <stdint.h>

/* Variables with the nodes of a component; SLURM_JOB_NODELIST and SLURM_STEP_NODELIST may have
 * those of all together. */
#define HETJOB_NODELIST_FMTS "SLURM_JOB_NODELIST_HET_GROUP_%u", "SLURM_JOB_NODELIST_PACK_GROUP_%u"

struct hetjob {
	uint32_t job_id; /* the job whose component is searched for */
	bool has_leader, has_offset;
	uint32_t leader; /* job id of component 0 */
	uint32_t offset; /* number of job_id's component */
};

/* Takes a string of a task's environment, "NAME=VALUE"; other variables than those above are
 * ignored. */
void hetjob__take(struct hetjob *h, const char *text);

#endif
