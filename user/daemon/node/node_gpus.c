// SPDX-License-Identifier: GPL-2.0-only
/* Which steps use the node's GPUs: those whose processes are on them. */

#include <stdlib.h>

#include "base/str.h"
#include "daemon/node/node_internal.h"

#define GPU_BITS 64 /* GPUs of which it is kept who uses them */

bool node_gpus__known(const struct node *n)
{
	return n && n->gpu_users;
}

void node_gpus__mark(struct node *n, struct snapshot *snap)
{
	static const struct gpu_use none;

	if (!n || !n->gpu_users)
		return;
	n->nuse = gpu_users__take(n->gpu_users, &n->use);
	if (n->nuse < 0)
		snapshot__set_gpus(snap, NULL, 0);
	else
		snapshot__set_gpus(snap, n->nuse ? n->use : &none, (unsigned)n->nuse);
}

/* A GPU that several processes share is split by their utilization or, where that is not known of
 * one of them or is 0, in equal parts. */
static double gpu_weight(const struct gpu_use *use, unsigned n, unsigned i)
{
	double work = 0;
	bool known = true;

	for (unsigned k = 0; k < n; k++) {
		if (use[k].gpu != use[i].gpu)
			continue;
		known = known && use[k].util >= 0;
		work += use[k].util >= 0 ? use[k].util : 0;
	}
	return known && work > 0 ? use[i].util : 1;
}

static struct step *step_of_use(const struct step_env *env, struct step *steps, int use)
{
	uint32_t slot = snapshot__gpu_slot(env->snap, (unsigned)use);
	uint32_t of = slot == JP_SLOT_NONE ? slot : snapshot__slot(env->snap, slot)->step;

	for (struct step *s = steps; s && of != JP_SLOT_NONE; s = s->next)
		if (s->slot == of && s->sensors)
			return s;
	return NULL;
}

static void clear_parts(struct step *steps, unsigned ngpus)
{
	for (struct step *s = steps; s; s = s->next) {
		if (!s->sensors)
			continue;
		free(s->sensors->gpu);
		s->sensors->gpu = ngpus ? calloc(ngpus, sizeof(*s->sensors->gpu)) : NULL;
	}
}

void node_gpus__share(struct node *n, struct step *steps, const struct step_env *env)
{
	unsigned ngpus = node_energy__ngpus(n->energy);
	const struct gpu_use *use = n->use;
	int count = n->nuse;

	clear_parts(steps, ngpus);
	for (unsigned g = 0; g < ngpus; g++) {
		int index = node_energy__gpu_index(n->energy, g);
		double all = 0;

		for (int i = 0; i < count; i++)
			if ((int)use[i].gpu == index)
				all += gpu_weight(use, (unsigned)count, (unsigned)i);
		for (int i = 0; i < count; i++) {
			struct step *s;

			if ((int)use[i].gpu != index || !(all > 0))
				continue;
			s = step_of_use(env, steps, i);
			if (s && s->sensors->gpu)
				s->sensors->gpu[g] +=
					gpu_weight(use, (unsigned)count, (unsigned)i) / all;
		}
	}
}

static void note_uses(struct step *s, const struct step_env *env)
{
	const struct node *n = s->sensors->node;

	for (int i = 0; i < n->nuse; i++) {
		const struct step *by = step_of_use(env, *env->steps, i);

		if (!by || n->use[i].gpu >= GPU_BITS)
			continue;
		if (by == s || step__same_job(by, s))
			s->sensors->gpus_own |= 1ull << n->use[i].gpu;
		else
			s->sensors->gpus_others |= 1ull << n->use[i].gpu;
	}
}

bool node_gpus__is_jobs(struct step *s, const struct step_env *env, const char *number)
{
	uint32_t gpu;

	if (parse_u32(number, &gpu) || gpu >= GPU_BITS)
		return false;
	note_uses(s, env);
	return s->sensors->gpus_own & ~s->sensors->gpus_others & 1ull << gpu;
}
