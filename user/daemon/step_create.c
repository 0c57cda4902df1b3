// SPDX-License-Identifier: GPL-2.0-only
/* A step is made of a slot of the kernel's maps, and freed. */
#include "daemon/step_create.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/step_columns.h"
#include "daemon/step_due.h"
#include "daemon/step_sensors.h"
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
	for (i = 0; i < s->ntables; i++)
		free(s->tables[i].last);
	request__free(s->req);
	cgroup_files__free(s->cg);
	step_sensors__free(s->sensors);
	free(s->tables);
	free(s->slots);
	free(s->slot_gtids);
	free(s->job_env);
	free(s->lineages);
	free(s);
}
