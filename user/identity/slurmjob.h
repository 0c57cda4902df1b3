/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks Slurm's own commands, which are found by PATH, about a job. */
#ifndef JP_IDENTITY_SLURMJOB_H
#define JP_IDENTITY_SLURMJOB_H

#include <stdbool.h>
#include <stdint.h>

struct slurmjob {
	uint32_t id;	/* the job's own, also of a task of an array */
	char state[32]; /* "RUNNING", "PENDING" ... */
	int64_t start;	/* unix time when the run began; -1: it has not, or Slurm does not say */
};

/*
 * job: as Slurm takes it, 7 or 7_2. raw: the id of the wanted task of an array; 0: any task, a
 * running one if there is one. Runs squeue, then sacct, each for some seconds at most. False:
 * neither knows the job.
 */
bool slurmjob__ask(const char *job, uint32_t raw, struct slurmjob *out);
/* Puts the ids of the job's running elements, as they are in names of files and cgroups, into
 * ids[max], by squeue; returns how many. */
unsigned slurmjob__running(const char *job, uint32_t *ids, unsigned max);
bool slurmjob__runs(const struct slurmjob *j);

#endif
