// SPDX-License-Identifier: GPL-2.0-or-later
/* Snapshots of all slots, and the rows that steps get from them. */
#include "daemon/follow/follow.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/follow/daemon_state.h"
#include "daemon/node/node.h"
#include "daemon/record/record.h"
#include "daemon/record/step_bursts.h"
#include "daemon/record/step_kinds.h"
#include "daemon/record/step_stacks.h"

int sampling__snapshot(const struct step_env *env)
{
	int err;

	node_gpus__mark(env->node, env->snap);
	step_stacks__take(env);
	err = snapshot__take(env->snap);
	if (!err)
		kern__read_bursts(env->k); /* what stays in a ring that is full is counted there */
	return err;
}

int sampling__look(const struct step_env *env)
{
	int err = sampling__snapshot(env);
	struct step *s;

	for (s = err ? NULL : *env->steps; s; s = s->next)
		if (s->state == STEP_ACTIVE || s->state == STEP_ENDING)
			step__watch_peak(s, env, false);
	return err;
}

void sampling__rows_of(struct step *s, const struct step_env *env)
{
	if (s->families & FAM_SENSORS)
		node__tick(env->node, *env->steps, env, snapshot__boot_ns(env->snap));
	if (s->req)
		step__journal_external(s, env);
	step__rows(s, env, true);
}

/* Reads the sensors at the snapshot's instant if some step is due a row of their values. */
static void tick_node(struct step_env *env, struct step *steps)
{
	const struct step *s;

	for (s = steps; s; s = s->next)
		if (step__wants_sensors(s, env))
			break;
	if (s)
		node__tick(env->node, steps, env, snapshot__boot_ns(env->snap));
}

/* Some counters must be read now and then, whether rows are due or not. */
void sampling__watch_node(struct step_env *env, uint64_t now)
{
	struct step *steps = *env->steps;

	if (now < node__due(env->node, steps != NULL))
		return;
	if (steps && !sampling__look(env))
		now = snapshot__boot_ns(env->snap);
	node__tick(env->node, steps, env, now);
}

void sampling__rows(struct step_env *env)
{
	struct step *steps = *env->steps;
	bool any = false;
	struct step *s;
	int err;

	for (s = steps; s; s = s->next)
		any |= s->state == STEP_ACTIVE;
	if (!any)
		return;
	for (s = steps; s; s = s->next) /* the snapshot has the numbers that this gives them */
		if (s->state == STEP_ACTIVE || s->state == STEP_ENDING)
			step__find_tasks(s, env);
	err = sampling__snapshot(env);
	if (err) {
		log_error("cannot read the counters: %s: this interval's rows are late",
			  strerror(-err));
		return;
	}
	tick_node(env, steps);
	for (s = steps; s; s = s->next) {
		step__watch_peak(s, env, true);
		step__rows(s, env, false);
	}
	step_bursts__drop_others(steps, env);
	kern__next_set(env->k);
}

uint64_t sampling__least_interval(const struct step_env *env)
{
	uint64_t least = UINT64_MAX;

	for (const struct step *s = *env->steps; s; s = s->next)
		for (int i = 0; s->state == STEP_ACTIVE && i < ALL_KINDS; i++)
			if (s->interval_ns[i] && step__interval(s, env, i) < least)
				least = step__interval(s, env, i);
	return least;
}

void daemon_schedule_sample(struct daemon *d, uint64_t now)
{
	uint64_t least = sampling__least_interval(&d->env);

	d->least_ns = least;
	d->next_sample_ns = least == UINT64_MAX ? UINT64_MAX
						: clock__next_aligned(now, d->env.boot0_ns,
								      d->env.real0_ns, least);
}

void daemon_set_intervals(struct daemon *d)
{
	struct step *s;

	d->env.freq = d->opts.cfg->freq;
	for (s = d->steps; s; s = s->next)
		if (!s->own_freq)
			step__set_freq(s, &d->env.freq);
	d->env.boot0_ns = clock__boot_ns();
	d->env.real0_ns = clock__real_ns();
	daemon_schedule_sample(d, d->env.boot0_ns);
}
