// SPDX-License-Identifier: GPL-2.0-or-later
/* The list of steps, which follows the kernel's slots; makes and frees steps. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/follow/daemon_state.h"
#include "daemon/follow/follow.h"
#include "daemon/node/node.h"
#include "daemon/record/record.h"
#include "daemon/record/step_bursts.h"
#include "daemon/record/step_kinds.h"
#include "daemon/record/step_stacks.h"
#include "daemon/record/step_tables.h"
#include "daemon/step/step_ask.h"
#include "sample/counters.h"
#include "sensor/node/cgroup.h"

struct step *step__new(const struct step_env *env, uint32_t slot)
{
	const struct jp_slot *info = kern__slot(env->k, slot);
	struct step *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->slot = slot;
	s->gen = info->gen;
	s->hier = info->hier;
	s->cgroup_id = info->cgroup_id;
	s->baseline = info->flags & JP_SLOT_F_BASE;
	memcpy(s->path, info->path, sizeof(s->path) - 1);
	s->start_boot_ns = info->start_ns;
	s->start_real_ns = clock__real_ns() - (clock__boot_ns() - info->start_ns);
	s->clock_steps0 = env->clock_steps;
	counters__add(env->k, JP_SLOT_OTHER, &s->others0);
	s->memory_limit = NAN;
	s->state = env->families || env->can_ask ? STEP_NEW : STEP_IGNORED;
	s->families = env->families;
	step__set_freq(s, &env->freq);
	step__set_grid(s, env);
	step__select_columns(s, env);
	step__parse_path(s, env);
	s->sensors = step_sensors__new(env->node, env->families, clock__boot_ns());
	return s;
}

void step__free(struct step *s)
{
	unsigned i;

	if (!s)
		return;
	end_reason__stop(&s->end_reason);
	if (s->journal && s->state == STEP_FINISHING)
		log_error("%s: the end of its journal %s could not be written: it has no last rows",
			  s->pub.name, s->pub.journal);
	journal__free(s->journal);
	publication__end(&s->pub);
	for (i = 0; i < s->ntables; i++)
		step_table__free(&s->tables[i]);
	request__free(s->req);
	cgroup_files__free(s->cg);
	step_sensors__free(s->sensors);
	step_stacks__free(s->stacks);
	if (s->recent)
		recent_bursts__free(s->recent);
	free(s->recent);
	free(s->tables);
	free(s->slots);
	free(s->slot_owners);
	free(s->job_env);
	free(s->lineages);
	free(s->about);
	free(s);
}

static struct step *find_step_of_slot(struct step *s, uint32_t slot, uint32_t gen)
{
	for (; s; s = s->next)
		if (s->slot == slot && s->gen == gen)
			return s;
	return NULL;
}

static void add_step(struct daemon *d, uint32_t slot)
{
	struct step *s;

	if (!d->steps) /* energy used until now belongs to no step */
		node__tick(d->env.node, NULL, &d->env, clock__boot_ns());
	s = step__new(&d->env, slot);
	if (!s) {
		log_error("out of memory: a step is not profiled");
		return;
	}
	node_tables__note_new(s, &d->env);
	s->next = d->steps;
	d->steps = s;
	d->watch.idle_since_ns = 0;
	lookups__prepare(d->env.lookups);
}

void daemon_answered(void *ctx, const struct lookup *q, const struct lookup_answer *a)
{
	struct daemon *d = ctx;
	struct step *s;

	d->watch.sync |= q->kind != LOOKUP_MAPS;
	if (q->kind == LOOKUP_USER) {
		users__answered(d->env.users, q->uid, a, clock__boot_ns());
		return;
	}
	s = find_step_of_slot(d->steps, q->slot, q->gen);
	if (s && q->kind == LOOKUP_MAPS)
		step_stacks__answered(s, &d->env, q, a);
	else if (s)
		step__answered(s, &d->env, q, a);
}

void daemon_sync_steps(struct daemon *d)
{
	const uint32_t *used;
	unsigned n, i;
	struct step *s;

	d->slots_seen = kern__slots_changed(d->env.k);
	/* steps that begin while this daemon ends are left to the next one */
	used = kern__used(d->env.k, &n);
	for (i = 0; !d->finishing && i < n; i++) {
		const struct jp_slot *info = kern__slot(d->env.k, used[i]);

		if (used[i] < JP_SLOT_FIRST || info->kind != JP_KIND_STEP ||
		    kern__released(d->env.k, used[i]))
			continue;
		if (!find_step_of_slot(d->steps, used[i], info->gen))
			add_step(d, used[i]);
	}
	request_match__claim(&d->env, clock__boot_ns());
	for (s = d->steps; s; s = s->next) {
		step__identify(s, &d->env, d->steps, false);
		step__find_new_tasks(s, &d->env);
	}
}

/* Nothing new can be learnt about an extern step that nobody has used. */
static bool stays_unused(const struct step *s, struct kern *k)
{
	return s->unused && !kern__slot(k, s->slot)->uid && clock__boot_ns() < s->next_ask_ns;
}

bool daemon_in_sync(const struct daemon *d)
{
	const struct step *s;

	if (d->requests || d->slots_seen != kern__slots_changed(d->env.k))
		return false;
	for (s = d->steps; s; s = s->next)
		if ((s->state == STEP_NEW && !stays_unused(s, d->env.k)) ||
		    (s->state == STEP_ACTIVE && !s->env_journaled))
			return false;
	return true;
}

const struct step *daemon__steps(const struct daemon *d)
{
	return d->steps;
}
