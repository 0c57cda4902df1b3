/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the Slurm of a node, where it is installed and which slurm.conf it reads, by the processes
 * slurmd and slurmstepd. */
#ifndef JP_IDENTITY_SLURMD_H
#define JP_IDENTITY_SLURMD_H

#include <sys/types.h>

#define SLURMD_PATH 256

struct slurmd {
	char squeue[SLURMD_PATH]; /* path of the command squeue, which need not exist; "": not known
				   */
	char conf[SLURMD_PATH];	  /* value for SLURM_CONF; "": its commands find the file themselves
				   */
};

/*
 * Finds the slurmd of a node: the one with that -N, or else the only one without -N. Reads the
 * command line and environment of all root's processes, so only a child may call it. -ENOENT: there
 * is none; -ENOTUNIQ: several.
 */
int slurmd__find(struct slurmd *s, const char *node);
/* The path of the squeue that belongs to a process of root called name ("slurmd", "slurmstepd"). 0;
 * -ENOENT: it is no such process, or has another root directory; -E2BIG: squeue[size] is too small.
 * Does not wait for the process. */
int slurmd__squeue(pid_t pid, const char *name, char *squeue, size_t size);

#endif
