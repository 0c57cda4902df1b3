/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which Slurm a node has: where it is installed and which slurm.conf it reads, as the processes of
 * its slurmd and slurmstepd show. */
#ifndef JP_IDENTITY_SLURMD_H
#define JP_IDENTITY_SLURMD_H

#include <sys/types.h>

#define SLURMD_PATH 256

struct slurmd {
	char squeue[SLURMD_PATH]; /* its command, which need not be there; "": not known */
	char conf[SLURMD_PATH];	  /* for SLURM_CONF, "": what its commands find by themselves */
};

/*
 * The slurmd of that node: the one whose -N says so, or else the only one without -N. Looks at
 * every process, and at the command line and environment of root's: for a child only. -ENOENT:
 * there is none; -ENOTUNIQ: several.
 */
int slurmd__find(struct slurmd *s, const char *node);
/* The path of the squeue that belongs to a process of root called name ("slurmd", "slurmstepd"). 0;
 * -ENOENT: the process is no such one, or has another root directory; -E2BIG: squeue[size] is too
 * small. Does not wait for the process. */
int slurmd__squeue(pid_t pid, const char *name, char *squeue, size_t size);

#endif
