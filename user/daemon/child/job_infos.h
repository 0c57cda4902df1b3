/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What Slurm's controller says of the jobs of this node: scontrol is asked once per job, in a child
 * process, and once more when the job ends, for its final state. A node asks at most once per
 * second on average: of many short jobs some are not asked about.
 */
#ifndef JP_DAEMON_CHILD_JOB_INFOS_H
#define JP_DAEMON_CHILD_JOB_INFOS_H

#include "daemon/child/job_facts.h"
#include "identity/slurmd.h"

struct job_infos;

struct job_infos *job_infos__new(void); /* NULL: out of memory. All else takes NULL. */
void job_infos__free(struct job_infos *j);
/* Asks about a job, unless that was done. slurmd as for slurm_command__init(). */
void job_infos__ask(struct job_infos *j, uint32_t job_id, const struct slurmd *slurmd,
		    const char *node, uint64_t now_ns);
/* Asks about a job that is known until Slurm calls it ended, for some seconds. The job is forgotten
 * some time after. */
void job_infos__ask_end(struct job_infos *j, uint32_t job_id, uint64_t now_ns);
/* What is known of the job, NULL: nothing. */
const struct job_facts *job_infos__get(struct job_infos *j, uint32_t job_id, uint64_t now_ns);
/* An answer may still come. */
bool job_infos__pending(const struct job_infos *j, uint32_t job_id);
/* Starts what is due, gives up what takes too long. */
void job_infos__turn(struct job_infos *j, uint64_t now_ns);
/* A child has ended. True if it was one of these. */
bool job_infos__reaped(struct job_infos *j, pid_t pid, uint64_t now_ns);

#endif
