/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds out why Slurm ended a step. Slurm informs no process of the node, so squeue is run: only
 * for steps whose tasks were ended by a signal that Slurm sends, and only on the step's first node,
 * so that a large job asks the controller once. The file has the answer if it comes in time, else
 * only the signal.
 */
#ifndef JP_DAEMON_CHILD_END_REASON_H
#define JP_DAEMON_CHILD_END_REASON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/child/slurm_command.h"

struct end_reason {
	struct slurm_command squeue;
	uint32_t job_id;
	uint32_t restarts; /* restarts of the job before the run that the step is in; UINT32_MAX:
			      not known */
	unsigned asked;
	uint64_t next_ns, end_ns; /* when to run squeue again, and when to give up */
	char answer[64];	  /* the reason, "" as long as none is known */
};

/* Sets the path of squeue that belongs to that slurmstepd; "" if the process is not root's
 * slurmstepd. */
void end_reason__find_squeue(struct slurmd *slurmd, pid_t stepd);
/* Begins; restarts as above. slurmd may be NULL: paths that slurmstepd has not sent are searched
 * (identity/slurmd.h). end_reason__advance() runs squeue for the first time. */
void end_reason__begin(struct end_reason *w, const struct slurmd *slurmd, const char *node,
		       uint32_t job_id, uint32_t restarts, uint64_t now_ns);
/* Runs squeue, again if necessary. True: there is an answer, or none will come. */
bool end_reason__advance(struct end_reason *w, uint64_t now_ns);
/* A child has ended. True if it was the squeue of this step. */
bool end_reason__reaped(struct end_reason *w, pid_t pid);
/* Ends a squeue that runs. */
void end_reason__stop(struct end_reason *w);
/* For tests: reads squeue's lines of id, state, restarts and reason, of which one may be that
 * job's. *meaning: why the job's run ended, or NULL. False: the lines have no answer, and later
 * ones will have none. */
bool end_reason__meaning(const char *text, uint32_t job_id, uint32_t restarts,
			 const char **meaning);

#endif
