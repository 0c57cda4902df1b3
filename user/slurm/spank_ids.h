/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of a step's identity that SPANK's items do not have. This code does not depend on
 * Slurm.
 */
#ifndef JP_SLURM_SPANK_IDS_H
#define JP_SLURM_SPANK_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/protocol.h"

/*
 * The step's name as in cgroup names: the number, "batch", "extern", "interactive", "TBD", and
 * "N+C" for component C of a heterogeneous step. Only slurmstepd's title, "slurmstepd: [JOB.STEP]",
 * has the last form; a title of another job or step, and NULL, are ignored.
 */
void spank_ids__step_name(char *name, size_t size, uint32_t job_id, uint32_t step_id,
			  const char *title);

/* Copies a variable of the job's environment to buf; false: it is not set, or does not fit. */
typedef bool (*spank_ids__env_fn)(void *arg, const char *name, char *buf, size_t size);

/* Fills het_job_id and het_offset of s: the component whose job id is s->job_id, JPC_UNKNOWN
 * without one. The user may have changed the environment, so it is used for nothing else. */
void spank_ids__het(struct jpc_step *s, spank_ids__env_fn env, void *arg);
/* In a component of a heterogeneous job: replaces the job's node list in s by that of the component
 * ("" if the environment does not have it), and the step's, which lists all components, by "". */
void spank_ids__own_nodes(struct jpc_step *s, spank_ids__env_fn env, void *arg);

/* SPANK numbers the tasks of each component from 0, Slurm's files number those of all components
 * together: returns whether both numbers are the same in this step. step_tasks: the number of tasks
 * of all components from the environment, JPC_UNKNOWN if it is not there: 26.05 names no component
 * in the title of a step inside one plain job. */
bool spank_ids__gtid_is_global(const struct jpc_step *s, uint32_t step_tasks);

/* Replaces control characters by '?', so that any text is one line of Slurm's log. */
void spank_ids__plain(char *text);

/* The arguments after the plugin's name in plugstack.conf. */
struct spank_args {
	const char *socket; /* NULL: not given */
	unsigned timeout_ms;
};

/* A launch must be delayed by less than 50 ms. The delay is some 10 ms longer than the wait,
 * because the kernel's first moves between cgroups take longer after such a pause. */
#define SPANK_TIMEOUT_MS     30
#define SPANK_TIMEOUT_MS_MAX 1000

/* Parses socket=PATH and timeout=MS. -EINVAL: *bad is the wrong word, for which *a keeps its
 * default. The words must live as long as *a. */
int spank_ids__args(struct spank_args *a, int argc, char **argv, const char **bad);

#endif
