/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SLUID: the id that Slurm 26.05 gives each run of a job, and by which it names the job's cgroup.
 * 64 bits: 12 of cluster, 42 of unix time in ms, 10 of sequence; written as 's' and 13 digits of
 * Crockford's base 32. It does not contain the job id.
 */
#ifndef JP_IDENTITY_SLUID_H
#define JP_IDENTITY_SLUID_H

#include <stdint.h>

#define SLUID_LEN 14 /* characters; a buffer takes one more */

/* Takes lower case, O for 0, I and L for 1. 0 or -EINVAL; -ERANGE: more than 64 bits. */
int sluid__decode(const char *text, uint64_t *id);
void sluid__encode(uint64_t id, char out[SLUID_LEN + 1]);

static inline uint32_t sluid__cluster(uint64_t id)
{
	return (uint32_t)(id >> 52);
}

static inline uint64_t sluid__unix_ms(uint64_t id)
{
	return (id >> 10) & ((1ull << 42) - 1);
}

static inline uint32_t sluid__sequence(uint64_t id)
{
	return id & 1023;
}

#endif
