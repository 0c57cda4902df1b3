/* SPDX-License-Identifier: GPL-2.0-only */
/* What Slurm's own commands, as PATH has them, say of a job. */
#ifndef JP_IDENTITY_SLURMJOB_H
#define JP_IDENTITY_SLURMJOB_H

#include <stdbool.h>
#include <stdint.h>

struct slurmjob {
	uint32_t id;	/* of its own, also where it is an array's task */
	char state[32]; /* "RUNNING", "PENDING" ... */
	int64_t start;	/* unix time of the run that is or was, -1: not begun, or not said */
};

/*
 * job: as Slurm takes it, 7 or 7_2. raw: of an array only the task with that id, 0: any, and one
 * that runs if there is one. squeue is asked, then sacct, each for some seconds. False: neither
 * knows.
 */
bool slurmjob__ask(const char *job, uint32_t raw, struct slurmjob *out);
/* The ids of what runs of it, as names of files and cgroups have them: at most max, by squeue. */
unsigned slurmjob__running(const char *job, uint32_t *ids, unsigned max);
bool slurmjob__runs(const struct slurmjob *j);

#endif
