/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slurm's bits of --profile, the same in every release, and the words for them. */
#ifndef JP_SLURM_PROFILE_MASK_H
#define JP_SLURM_PROFILE_MASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROFILE_NOT_SET 0u
#define PROFILE_NONE	0x01u
#define PROFILE_ENERGY	0x02u
#define PROFILE_TASK	0x04u
#define PROFILE_LUSTRE	0x08u
#define PROFILE_NETWORK 0x10u
#define PROFILE_SERIES	(PROFILE_ENERGY | PROFILE_TASK | PROFILE_LUSTRE | PROFILE_NETWORK)
#define PROFILE_ALL	0xffffffffu

bool profile_mask__is_valid(uint32_t mask);
/* Writes "none", "all", "energy,task" ...; "" for PROFILE_NOT_SET. -EINVAL: it is no mask of
 * --profile. */
int profile_mask__print(uint32_t mask, char *buf, size_t size);
/* Parses a list that family__parse() accepts: *mask is that of the words that are Slurm's,
 * PROFILE_NONE if none is. "all" is PROFILE_ALL. 0, or -EINVAL with the bad word in bad. */
int profile_mask__parse(const char *list, uint32_t *mask, char *bad, size_t badlen);
/* The series that Slurm's gatherers sample: those that were asked for, without those that jobprofd
 * measures.
 */
uint32_t profile_mask__running(uint32_t asked, uint32_t measures);

#endif
