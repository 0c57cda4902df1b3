/* SPDX-License-Identifier: GPL-2.0-only */
/* Which jobs are looked at for issues: those that ran long enough, in parallel, and to an end. */
#include "analysis/pika/pika.h"

#include <string.h>

#define SHORTEST_S  3600
#define CORES_ABOVE 1

const struct analysis_param eligibility__params[] = {
	{"shortest_s", SHORTEST_S},
	{"cores_above", CORES_ABOVE},
	{NULL, 0},
};

static const char *const names[INELIGIBLE_REASONS] = {
	[INELIGIBLE_DURATION] = "duration",
	[INELIGIBLE_CORES] = "cores",
	[INELIGIBLE_STATE] = "state",
};

static bool has_ended_well(const char *state)
{
	static const char *const states[] = {"COMPLETED", "OUT_OF_MEMORY", "TIMEOUT"};

	for (size_t i = 0; state && i < sizeof(states) / sizeof(states[0]); i++)
		if (!strcmp(state, states[i]))
			return true;
	return false;
}

unsigned eligibility__of(double duration_s, double physical_cores, const char *state)
{
	unsigned failed = 0;

	if (!(duration_s >= SHORTEST_S))
		failed |= 1U << INELIGIBLE_DURATION;
	if (!(physical_cores > CORES_ABOVE))
		failed |= 1U << INELIGIBLE_CORES;
	if (!has_ended_well(state))
		failed |= 1U << INELIGIBLE_STATE;
	return failed;
}

const char *ineligible__name(enum ineligible reason)
{
	return names[reason];
}
