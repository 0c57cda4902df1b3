/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a command of this node's Slurm, such as squeue, in a child process, and reads what it
 * prints. Nothing here waits for the command: the event loop reports its end. Paths that slurmstepd
 * has not sent are searched by the child.
 */
#ifndef JP_DAEMON_CHILD_SLURM_COMMAND_H
#define JP_DAEMON_CHILD_SLURM_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

#include "identity/slurmd.h"

struct slurm_command {
	struct slurmd slurmd; /* where Slurm is, as far as slurmstepd has sent it */
	char node[65];
	pid_t pid; /* 0: does not run */
	int fd;	   /* what it prints */
};

/* slurmd may be NULL: nothing is known. */
void slurm_command__init(struct slurm_command *c, const struct slurmd *slurmd, const char *node);
/* Starts argv[0], which is in the directory of squeue. False: it cannot be started. */
bool slurm_command__start(struct slurm_command *c, const char *const argv[]);
/* A child has ended. True: it was this command, and *text is what it has printed, which the caller
 * frees; NULL: nothing, or there is no memory. If Slurm was not found, *text is a line without
 * meaning. */
bool slurm_command__reaped(struct slurm_command *c, pid_t pid, char **text);
/* Ends a command that runs. */
void slurm_command__stop(struct slurm_command *c);

#endif
