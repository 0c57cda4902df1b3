// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the components of a heterogeneous job from the environment of a task. */
#include "identity/hetjob.h"

#include <stddef.h>
#include <string.h>

#include "base/str.h"

/* Slurm's own limit. */
#define COMPONENTS_MAX 128

static const char *const prefixes[] = {"SLURM_JOB_ID_HET_GROUP_", "SLURM_JOB_ID_PACK_GROUP_"};

static void take_component(struct hetjob *h, const char *rest)
{
	const char *equals = strchr(rest, '=');
	uint32_t component, job;
	char number[8];

	if (!equals || (size_t)(equals - rest) >= sizeof(number))
		return;
	memcpy(number, rest, (size_t)(equals - rest));
	number[equals - rest] = '\0';
	if (parse_u32(number, &component) || component >= COMPONENTS_MAX ||
	    parse_u32(equals + 1, &job) || !job)
		return;
	if (!component && !h->has_leader) {
		h->leader = job;
		h->has_leader = true;
	}
	if (job == h->job_id && !h->has_offset) {
		h->offset = component;
		h->has_offset = true;
	}
}

void hetjob__take(struct hetjob *h, const char *text)
{
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (str__starts(text, prefixes[i]))
			take_component(h, text + strlen(prefixes[i]));
}
