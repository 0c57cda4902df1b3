/* SPDX-License-Identifier: GPL-2.0-only */
/* Which step a slurmstepd is of, where SPANK's items leave it open. Needs nothing of Slurm. */
#ifndef JP_SLURM_SPANK_IDS_H
#define JP_SLURM_SPANK_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/protocol.h"

/*
 * The step's name as in cgroup names: the number, "batch", "extern", "interactive", "TBD", and
 * "N+C" for component C of a heterogeneous step. Only slurmstepd's title, "slurmstepd: [JOB.STEP]",
 * has the last one; a title that is not of that job and step, or NULL, is passed over.
 */
void spank_ids__step_name(char *name, size_t size, uint32_t job_id, uint32_t step_id,
			  const char *title);

/* A variable of the job's environment into buf: false if it is not set or does not fit. */
typedef bool (*spank_ids__env_fn)(void *arg, const char *name, char *buf, size_t size);

/* Fills het_job_id and het_offset of s: the component whose job id is s->job_id, JPC_UNKNOWN
 * without one. The environment is the user's word and is used for nothing else. */
void spank_ids__het(struct jpc_step *s, spank_ids__env_fn env, void *arg);
/* Of a component the job's node list in s becomes its own, "" where the environment does not have
 * it, and the step's, which is that of all components, "". */
void spank_ids__own_nodes(struct jpc_step *s, spank_ids__env_fn env, void *arg);

/* SPANK counts the tasks of each component from 0, Slurm's files those of all. Whether both are
 * the same in this step. step_tasks: those of all components as the environment says, JPC_UNKNOWN
 * if it does not: 26.05 names no component in the title of a step inside one plain job. */
bool spank_ids__gtid_is_global(const struct jpc_step *s, uint32_t step_tasks);

/* Control characters become '?': what goes into Slurm's log is one line, whoever wrote it. */
void spank_ids__plain(char *text);

/* What stands behind the plugin in plugstack.conf. */
struct spank_args {
	const char *socket; /* NULL: not given */
	unsigned timeout_ms;
};

/* A launch is to be held up by less than 50 ms; by some 10 more than we wait, since after such a
 * pause the kernel's first moves between cgroups take longer. */
#define SPANK_TIMEOUT_MS     30
#define SPANK_TIMEOUT_MS_MAX 1000

/* socket=PATH, timeout=MS. -EINVAL: *bad is the word that is wrong, a keeps its defaults there. The
 * words must live as long as *a. */
int spank_ids__args(struct spank_args *a, int argc, char **argv, const char **bad);

#endif
