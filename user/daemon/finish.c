// SPDX-License-Identifier: GPL-2.0-only
/* The end of the daemon: every step's journal is completed, and its file waited for. */
#include "daemon/daemon.h"

#include <poll.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/daemon_state.h"
#include "daemon/loop.h"
#include "daemon/step_ask.h"
#include "daemon/step_end.h"
#include "daemon/step_identity.h"
#include "daemon/step_list.h"

#define ANSWERS_NS (NSEC_PER_SEC / 2)

/* A file that cannot be written now is left to the next start: its journal stays. */
static bool is_awaited(const struct publication *p)
{
	return p->pid || !p->failures;
}

static bool still_writing(const struct daemon *d)
{
	const struct orphan *o = d->orphans;
	const struct step *s = d->steps;

	while (s && !is_awaited(&s->pub))
		s = s->next;
	while (o && !is_awaited(&o->pub))
		o = o->next;
	return s || o;
}

static bool any_asks(const struct step *s)
{
	for (; s; s = s->next)
		if (step__asks(s))
			return true;
	return false;
}

/* What has been asked about steps that are cut short, as far as it comes at once. */
static void wait_for_answers(struct daemon *d)
{
	uint64_t now = clock__boot_ns(), end = now + ANSWERS_NS;

	while (now < end && any_asks(d->steps)) {
		struct pollfd p = {.fd = lookups__fd(d->env.lookups), .events = POLLIN};

		lookups__turn(d->env.lookups, now);
		daemon_sync_steps(d);
		poll(&p, 1, 20);
		now = clock__boot_ns();
	}
}

/* Of one step, as the snapshot has it. */
static void finish_step(struct step *s, const struct daemon *d, const char *reason)
{
	step__identify(s, &d->env, d->steps, true);
	if (s->state == STEP_ACTIVE || s->state == STEP_ENDING)
		step__last_rows(s, &d->env);
	if (s->state == STEP_ACTIVE || s->state == STEP_ENDING || s->state == STEP_ASKING) {
		step__finish(s, &d->env, s->state == STEP_ASKING ? NULL : reason);
		step__release(s, d->env.k);
		s->pub.next_ns = s->pub.failures = 0;
	} else if (s->state == STEP_NEW || s->state == STEP_IGNORED) {
		step__release(s, d->env.k);
		s->state = STEP_DONE;
	}
}

void daemon__finish(struct daemon *d, const char *reason, unsigned seconds)
{
	uint64_t end = clock__boot_ns() + seconds * NSEC_PER_SEC;
	struct step *s;

	if (d->handover)
		return;
	daemon_sync_steps(d);
	d->finishing = true;
	for (s = d->steps; s; s = s->next)
		step__identify(s, &d->env, d->steps, true);
	wait_for_answers(d);
	d->env.leaving = true;
	for (s = d->steps; s; s = s->next)
		if (s->state == STEP_ACTIVE || s->state == STEP_ENDING)
			step__close(s, d->env.k);
	if (!snapshot__take(d->env.snap))
		for (s = d->steps; s; s = s->next)
			finish_step(s, d, reason);
	while (still_writing(d) && clock__boot_ns() < end)
		daemon_turn(d, 50);
	if (d->steps || d->orphans)
		log_warn("some files are not finished: their journals stay in %s and are taken up "
			 "by the next start",
			 d->env.state_dir);
}
