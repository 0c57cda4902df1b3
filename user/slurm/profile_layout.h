/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What slurmstepd's record of a step tells the AcctGatherProfile plugin. The record's type is
 * Slurm's own and differs by release: it is opaque but for the few fields named here, whose places
 * are in one table. Reading is safe at any address.
 */
#ifndef JP_SLURM_PROFILE_LAYOUT_H
#define JP_SLURM_PROFILE_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

/* Slurm's bits of --profile, the same in every release. */
#define PROFILE_NOT_SET 0u
#define PROFILE_NONE	0x01u
#define PROFILE_ENERGY	0x02u
#define PROFILE_TASK	0x04u
#define PROFILE_LUSTRE	0x08u
#define PROFILE_NETWORK 0x10u
#define PROFILE_SERIES	(PROFILE_ENERGY | PROFILE_TASK | PROFILE_LUSTRE | PROFILE_NETWORK)
#define PROFILE_ALL	0xffffffffu

/* Bytes from the start of the record. */
struct profile_layout {
	uint32_t release; /* SLURM_VERSION_NUM(major, minor, 0) */
	uint16_t job_id;
	uint16_t step_id;
	uint16_t env; /* char **, the tasks' environment */
	uint16_t uid;
	uint16_t profile;
	uint16_t msg;	     /* the launch message, NULL in a batch step */
	uint16_t acctg_freq; /* char *, within that message */
};

/* Of a version as SLURM_VERSION_NUM() makes it; NULL: not known. */
const struct profile_layout *profile_layout__find(uint32_t version);

struct profile_step {
	uint32_t mask;
	uint32_t uid;
	char freq[128]; /* --acctg-freq, "" when not given or not known */
};

/* Reads the record and compares it with the ids of the process title. 0; -EFAULT: no such memory;
 * -ESRCH: other ids; -EINVAL: no mask of --profile. The reason is in err. */
int profile_step__read(const struct profile_layout *l, const void *record, uint32_t job_id,
		       uint32_t step_id, struct profile_step *s, char *err, size_t errlen);
/* A variable of the tasks' environment. -ENODATA: not there; -EFAULT; -E2BIG. */
int profile_step__getenv(const struct profile_layout *l, const void *record, const char *name,
			 char *buf, size_t size);

/* "none", "all", "energy,task" ...: "" of PROFILE_NOT_SET. -EINVAL: no mask of --profile. */
int profile_mask__print(uint32_t mask, char *buf, size_t size);
/* Of a list that family__parse() takes, the mask of the words that are Slurm's; PROFILE_NONE when
 * there are none. "all" is PROFILE_ALL. -EINVAL with the bad word in bad. */
int profile_mask__parse(const char *list, uint32_t *mask, char *bad, size_t badlen);
/* What Slurm's gatherers are to sample: asked less what is measured elsewhere. */
uint32_t profile_mask__running(uint32_t asked, uint32_t measures);

#endif
