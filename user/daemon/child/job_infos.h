/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What Slurm's controller knows of the jobs of this node: scontrol is run in a child process, once
 * per job and once more when the job ends, for its final state. A node runs it at most once per
 * second on average, so that some of many short jobs are left out.
 */
#ifndef JP_DAEMON_CHILD_JOB_INFOS_H
#define JP_DAEMON_CHILD_JOB_INFOS_H

#include <stdbool.h>
#include <stdint.h>

#include "identity/slurmd.h"

/* ---- What Slurm's controller says of a job, in a line of "scontrol -o show job". */

struct job_facts {
	int64_t time_limit;		/* s; -1: none, or not known, as all below */
	int64_t submitted, eligible;	/* unix time */
	double node_memory, cpu_memory; /* MB asked for per node, or per CPU; NaN */
	char sharing[16];		/* "exclusive", "shared", "user" ...; "" */
	char state[32];			/* "RUNNING" ...; "" */
};

/* Takes the line of that job among lines whose times are seconds since 1970. Texts that users
 * choose are in the line as well, such as the job's name: a key that is there twice is not taken.
 * False: there is no line of the job, or there are several. */
bool job_facts__parse(const char *text, uint32_t job_id, struct job_facts *f);
/* Whether the state is one in which a job has ended. */
bool job_facts__ended(const struct job_facts *f);

struct job_infos;

struct job_infos *job_infos__new(void); /* NULL: out of memory. All else takes NULL. */
void job_infos__free(struct job_infos *j);
/* Asks about a job, unless it was asked about before. slurmd as for slurm_command__init(). */
void job_infos__ask(struct job_infos *j, uint32_t job_id, const struct slurmd *slurmd,
		    const char *node, uint64_t now_ns);
/* Asks about a job that is known until Slurm calls it ended, for some seconds. The job is forgotten
 * some time after. */
void job_infos__ask_end(struct job_infos *j, uint32_t job_id, uint64_t now_ns);
/* What is known of the job, NULL: nothing. */
const struct job_facts *job_infos__get(struct job_infos *j, uint32_t job_id, uint64_t now_ns);
/* Whether an answer may still come. */
bool job_infos__pending(const struct job_infos *j, uint32_t job_id);
/* Starts what is due, gives up what takes too long. */
void job_infos__turn(struct job_infos *j, uint64_t now_ns);
/* A child has ended. True if it was one of these. */
bool job_infos__reaped(struct job_infos *j, pid_t pid, uint64_t now_ns);

#endif
