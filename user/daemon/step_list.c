// SPDX-License-Identifier: GPL-2.0-only
/* The list of steps: the kernel's slots say which there are. */
#include "daemon/step_list.h"

#include "base/clock.h"
#include "base/log.h"
#include "daemon/daemon_state.h"
#include "daemon/node.h"
#include "daemon/request_match.h"
#include "daemon/step_answers.h"
#include "daemon/step_create.h"
#include "daemon/step_identity.h"
#include "daemon/step_tasks.h"

/* How often the log says that there are too few slots. */
#define SAY_AGAIN_NS (10 * NSEC_PER_SEC)

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

	if (!d->steps) /* until now the node was nobody's */
		node__tick(d->env.node, NULL, &d->env, clock__boot_ns());
	s = step__new(&d->env, slot);
	if (!s) {
		log_error("out of memory: a step is not profiled");
		return;
	}
	s->next = d->steps;
	d->steps = s;
	d->idle_since_ns = 0;
	lookups__prepare(d->env.lookups);
}

void daemon_answered(void *ctx, const struct lookup *q, const struct lookup_answer *a)
{
	struct daemon *d = ctx;
	struct step *s;

	d->sync = true;
	if (q->kind == LOOKUP_USER) {
		users__answered(d->env.users, q->uid, a, clock__boot_ns());
		return;
	}
	s = find_step_of_slot(d->steps, q->slot, q->gen);
	if (s)
		step__answered(s, &d->env, q, a);
}

/* At once, and then now and then how many it has become. */
static void log_exhausted(struct daemon *d)
{
	uint64_t exhausted = kern__control(d->env.k)->stats.slots_exhausted, now = clock__boot_ns();

	if (exhausted <= d->exhausted_seen || now < d->next_exhausted_ns)
		return;
	log_warn(
		"all %u slots are taken: %llu cgroups or tasks were counted as unattributed; raise "
		"MaxSlots",
		kern__nslots(d->env.k), (unsigned long long)exhausted);
	d->exhausted_seen = exhausted;
	d->next_exhausted_ns = now + SAY_AGAIN_NS;
}

void daemon_sync_steps(struct daemon *d)
{
	const uint32_t *used;
	unsigned n, i;
	struct step *s;

	d->slots_seen = kern__slots_changed(d->env.k);
	/* what begins while we leave is for the next jobprofd */
	used = kern__used(d->env.k, &n);
	for (i = 0; !d->finishing && i < n; i++) {
		const struct jp_slot *info = kern__slot(d->env.k, used[i]);

		if (used[i] < JP_SLOT_FIRST || info->kind != JP_KIND_STEP ||
		    kern__released(d->env.k, used[i]))
			continue;
		if (!find_step_of_slot(d->steps, used[i], info->gen))
			add_step(d, used[i]);
	}
	daemon_claim_requests(d, clock__boot_ns());
	for (s = d->steps; s; s = s->next) {
		step__identify(s, &d->env, d->steps, false);
		step__notice(s, &d->env);
	}
	log_exhausted(d);
}

bool daemon_in_sync(const struct daemon *d)
{
	const struct step *s;

	if (d->requests || d->slots_seen != kern__slots_changed(d->env.k) ||
	    d->exhausted_seen != kern__control(d->env.k)->stats.slots_exhausted)
		return false;
	for (s = d->steps; s; s = s->next)
		if (s->state == STEP_NEW || (s->state == STEP_ACTIVE && !s->env_journaled))
			return false;
	return true;
}

const struct step *daemon__steps(const struct daemon *d)
{
	return d->steps;
}
