/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmstepd's record of a step. The AcctGatherProfile plugin gets only the address of this record:
 * no call of Slurm's returns --profile. The record's type is Slurm's own and changes from release
 * to release, and the code here does not tell releases apart. So the record is searched for the
 * step's ids and the node's name, which are known from elsewhere, and the request is read at a
 * known distance from them. Reading is safe at any address.
 */
#ifndef JP_SLURM_PROFILE_RECORD_H
#define JP_SLURM_PROFILE_RECORD_H

#include <stddef.h>
#include <stdint.h>

/* The step as slurmstepd's title and environment name it. */
struct profile_ids {
	uint32_t job_id;
	uint32_t step_id; /* as Slurm numbers it */
	const char *node; /* NodeName */
};

struct profile_step {
	const void *env; /* the tasks' environment in the record, a char ** */
	uint32_t mask;	 /* profile_mask.h */
	uint32_t uid;
	uint32_t gid;
	char freq[128]; /* --acctg-freq, "" when not given or not known */
};

/* Finds the request. 0; -ESRCH: the record does not have the ids or the name, or no valid request
 * at its distance from them; err names the part that is missing. */
int profile_step__find(const void *record, const struct profile_ids *ids, struct profile_step *s,
		       char *err, size_t errlen);
/* Reads a variable of the tasks' environment. -ENODATA: it is not set; -EFAULT; -E2BIG. */
int profile_step__getenv(const struct profile_step *s, const char *name, char *buf, size_t size);

#endif
