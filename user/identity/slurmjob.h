/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What Slurm's own commands, as PATH has them, say of a job. */
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
 * job: as Slurm takes it, 7 or 7_2. raw: of an array only the task with that id, 0: any, and one
 * that runs if there is one. squeue is asked, then sacct, each for some seconds. False: neither
 * knows.
 */
bool slurmjob__ask(const char *job, uint32_t raw, struct slurmjob *out);
/* The ids of the job's elements that run, as names of files and cgroups have them, by squeue: at
 * most max to ids; returns how many. */
unsigned slurmjob__running(const char *job, uint32_t *ids, unsigned max);
bool slurmjob__runs(const struct slurmjob *j);

#endif
