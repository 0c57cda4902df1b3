// SPDX-License-Identifier: GPL-2.0-only
/* When rows of a step are due. */
#include "daemon/step_due.h"

#include "base/clock.h"
#include "daemon/step_columns.h"

/* Number of the interval an instant is in, counted on the wall clock as it was at boot0. */
static uint64_t grid_of(const struct step *s, const struct step_env *env, int kind,
			uint64_t boot_ns)
{
	if (!s->interval_ns[kind])
		return 0;
	return (env->real0_ns + (boot_ns - env->boot0_ns)) / s->interval_ns[kind];
}

void step__set_grid(struct step *s, const struct step_env *env)
{
	uint64_t now = clock__boot_ns();
	int i;

	for (i = 0; i < ALL_KINDS; i++)
		s->grid[i] = grid_of(s, env, i, now);
}

void step__set_freq(struct step *s, const struct freq *f)
{
	int i;

	for (i = 0; i < ALL_KINDS; i++)
		s->interval_ns[i] =
			(uint64_t)(freq__interval(f, step_kinds[i].freq) * NSEC_PER_SEC);
}

/* A series none of whose columns was asked for has no columns at all. */
bool step__has_kind(const struct step *s, int kind)
{
	bool any = kind < COUNTED_KINDS ? s->sets[kind].ncols > 0
					: s->sensors && s->families & FAM_SENSORS;

	return any && s->interval_ns[kind];
}

bool step__is_due(const struct step *s, const struct step_env *env, int kind)
{
	return step__has_kind(s, kind) &&
	       grid_of(s, env, kind, snapshot__boot_ns(env->snap)) != s->grid[kind];
}

void step__mark_written(struct step *s, const struct step_env *env, int kind)
{
	s->grid[kind] = grid_of(s, env, kind, snapshot__boot_ns(env->snap));
}

bool step__wants_sensors(const struct step *s, const struct step_env *env)
{
	for (int kind = COUNTED_KINDS; kind < ALL_KINDS; kind++)
		if (s->state == STEP_ACTIVE && step__is_due(s, env, kind))
			return true;
	return false;
}
