/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Why Slurm ended a step: Slurm tells no process of the node, so squeue is asked. Only of steps
 * whose tasks were ended by a signal as Slurm sends it, on the step's first node only, so that a
 * large job asks the controller once; what it says in time is in the file, else the signal alone.
 */
#ifndef JP_DAEMON_END_REASON_H
#define JP_DAEMON_END_REASON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "identity/slurmd.h"

struct end_reason {
	struct slurmd site; /* where Slurm can be asked, as far as slurmstepd said */
	char node[65];
	uint32_t job_id;
	pid_t pid; /* squeue, 0: does not run */
	int fd;	   /* what it says */
	unsigned asked;
	uint64_t next_ns, end_ns; /* when to ask again, and when to give up */
	char answer[64];	  /* the reason, "" as long as none is known */
};

/* Of a process that is root's slurmstepd, else "". */
void end_reason__find_squeue(struct slurmd *site, pid_t stepd);
/* Begins. site may be NULL: what slurmstepd did not say is looked for (identity/slurmd.h). The
 * first question is asked by end_reason__advance(). */
void end_reason__begin(struct end_reason *w, const struct slurmd *site, const char *node,
		       uint32_t job_id, uint64_t now_ns);
/* Asks, again if need be. True: there is an answer, or no more hope of one. */
bool end_reason__advance(struct end_reason *w, uint64_t now_ns);
/* A child has ended. True if it was ours. */
bool end_reason__reaped(struct end_reason *w, pid_t pid);
/* Ends what runs. */
void end_reason__stop(struct end_reason *w);
/* For tests: what lines of squeue's "%A %T %r" say of that job, which may be one of them only.
 * *meaning: why it ended, or NULL. False: nothing, now and later. */
bool end_reason__meaning(const char *text, uint32_t job_id, const char **meaning);

#endif
