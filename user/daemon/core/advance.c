// SPDX-License-Identifier: GPL-2.0-or-later
/* Moves every step forward through its states as far as it can go, and defines what each state
 * waits for. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/child/job_infos.h"
#include "daemon/core/core.h"
#include "daemon/files/automerge.h"
#include "daemon/files/files.h"
#include "daemon/follow/daemon_state.h"
#include "daemon/follow/follow.h"
#include "daemon/node/node.h"
#include "daemon/record/job_use.h"
#include "daemon/record/record.h"
#include "daemon/record/step_journal.h"
#include "daemon/record/step_stacks.h"
#include "daemon/socket/control.h"
#include "daemon/step/step_ask.h"
#include "daemon/step/task_about.h"

/* How long the last tasks of a removed cgroup may take to leave the CPU, and its disk requests to
 * come back. */
#define QUIET_MAX_NS (2 * NSEC_PER_SEC)

/* How long tasks and requests may take where other processes of the step go on outside its cgroup:
 * these never leave, and a longer wait would bring nothing. */
#define QUIET_LEFT_NS (20 * NSEC_PER_MSEC)

/* How long jobprof run waits, from the end of its command, for room for the last rows. */
#define REST_MAX_NS (5 * NSEC_PER_SEC)

static bool has_left(const struct step *s, const struct kern *k)
{
	uint32_t slot;

	for_each_slot(slot, s) if (kern__slot(k, slot)->away_ns) return true;
	return false;
}

/* Where births or switches rest, or have rested: a thread counts when the kernel frees it. One that
 * has left the step while its births were seen may still be in its slot. */
static uint64_t unseen_ends(const struct step *s, struct kern *k)
{
	const struct jp_slot *own = kern__slot(k, s->slot);
	const bool rested = kern__control(k)->unseen ||
			    (kern__rested(k, s->start_boot_ns) & FAM_SCHED && !has_left(s, k));
	uint64_t n = 0;
	uint32_t slot;

	if (rested && own->end_ns && !(own->flags & JP_SLOT_F_TAKEN))
		for_each_slot(slot, s) n += kern__tasks_left(k, slot);
	return n;
}

void step__close(struct step *s, const struct step_env *env)
{
	uint32_t slot;

	step__collect_slots(s, kern__slots(env->k));
	for_each_slot(slot, s) kern__close(env->k, slot);
	s->late_requests = kern__requests(env->k, s->slot);
	s->unseen_ends = unseen_ends(s, env->k);
	if (s->asking_env && !s->job_env) /* an answer would come too late */
		step__use_kept_env(s, env->k);
	step__find_tasks(s, env);
}

void step__last_rows(struct step *s, const struct step_env *env)
{
	s->closing = true;
	sampling__rows_of(s, env);
}

/* How often the step's job had been started before; UINT32_MAX: not known. SPANK tells nothing
 * about a first run, and about no run of a batch step. */
static uint32_t restarts_of(const struct step *s)
{
	bool by_spank = s->req && s->req->known && s->req->spank;

	if (!by_spank || s->req->info.restart != JPC_UNKNOWN)
		return by_spank ? s->req->info.restart : UINT32_MAX;
	return s->ids.step_id == STEP_BATCH ? UINT32_MAX : 0;
}

static void ask_squeue(struct step *s, const struct step_env *env, uint64_t now_ns)
{
	end_reason__begin(&s->end_reason, s->req ? &s->req->slurmd : NULL,
			  step__node_name(s, env->node_name), s->ids.job_id, restarts_of(s),
			  now_ns);
}

/* False: it is tried again. The slots stay until then: should this process be killed meanwhile, the
 * next one has only them for what the journal lacks. Were it killed after a complete journal is
 * written, the step must not begin again: so it is done before. */
static bool complete_journal(struct step *s, const struct step_env *env, bool last)
{
	bool complete;

	if (!s->journal)
		return true;
	kern__set_done(env->k, s->slot, true);
	complete = step__write_rest(s, last);
	if (complete)
		step__release(s, env->k);
	else
		kern__set_done(env->k, s->slot, false);
	return complete;
}

void step__finish(struct step *s, const struct step_env *env, const char *reason)
{
	job_uses__end_step(env->uses, s, env);
	step__begin_frame(s, env);
	step__put_end_attrs(s, env, reason);
	kern__set_done(env->k, s->slot, true);
	journal__end(s->journal);
	step__commit_frame(s);
	complete_journal(s, env, false);
	s->state = STEP_FINISHING;
}

static bool cgroup_gone(struct kern *k, const struct step *s)
{
	const struct jp_slot *info = kern__slot(k, s->slot);

	return info->gen == s->gen && info->state != JP_SLOT_ACTIVE;
}

/* Messages that slurmstepd sent before its end have arrived by now. */
static void read_last_messages(struct daemon *d, const struct step *s, uint64_t now)
{
	if (!d->control || (s->req && s->req->spank && !step__began_before(s, d->env.k)))
		return;
	control__turn(d->control, now);
	request_match__claim(&d->env, now);
}

static void begin_end(struct daemon *d, struct step *s, uint64_t now)
{
	if (!s->end_boot_ns)
		s->end_boot_ns = now;
	read_last_messages(d, s, now);
	step__identify(s, &d->env, d->steps, true);
	if (s->state == STEP_ACTIVE) {
		control__read_last(d->control, s, now);
		kern__book(d->env.k);
		s->state = STEP_ENDING;
		s->end_boot_ns = now;
	}
}

static void close_step(struct step_env *env, struct step *s, const char *reason)
{
	step__finish(s, env, reason);
	s->pub.next_ns = 0;
}

static void end_step(struct step_env *env, struct step *s, uint64_t now)
{
	int err;

	step__close(s, env);
	step_stacks__settle(env);
	err = sampling__snapshot(env);
	if (err)
		log_error("cannot read the counters: %s: the last row of %s is lost",
			  strerror(-err), s->pub.name);
	step__last_rows(s, env);
	s->asks_reason = step__must_ask_squeue(s, env);
	if (s->asks_reason)
		ask_squeue(s, env, now);
	s->asks_state = job_attrs__ask_end(s, env, now);
	if (s->asks_reason || s->asks_state)
		s->state = STEP_ASKING;
	else
		close_step(env, s, NULL);
}

static void take_slurms_answers(struct step_env *env, struct step *s, uint64_t now)
{
	if (s->asks_reason && end_reason__advance(&s->end_reason, now))
		s->asks_reason = false;
	if (s->asks_state && !job_infos__pending(env->jobs, s->ids.job_id)) {
		job_attrs__put_end(s, env, now);
		s->asks_state = false;
	}
	if (!s->asks_reason && !s->asks_state)
		close_step(env, s, s->end_reason.answer[0] ? s->end_reason.answer : NULL);
}

/* Records other than rows: those about the step's job, and about the programs of its tasks. */
static void learn_more(struct step_env *env, struct step *s, uint64_t now)
{
	job_attrs__take(s, env, now);
	if (now < task_about__due(s))
		return;
	step__collect_slots(s, kern__slots(env->k));
	task_about__ask(s, env, now);
}

/* Nothing that belongs to the step comes any more, or it has been waited for long enough. */
static bool has_come_to_rest(struct step *s, const struct step_env *env, bool left_behind,
			     uint64_t now)
{
	uint64_t waited = now - s->end_boot_ns;
	bool quiet = step__quiet(s, env->k) || (left_behind && waited > QUIET_LEFT_NS);

	return (quiet && !step__asks(s) && !job_attrs__waits(s, env)) || waited > QUIET_MAX_NS;
}

/* What was published of a step whose user wants no file is removed. */
static void advance_ignored(struct daemon *d, struct step *s, uint64_t now)
{
	bool published = s->pub.unwanted && s->intervals && !s->pub.done;

	if (published)
		daemon_finish_file(d, &s->pub, now);
	if (!cgroup_gone(d->env.k, s))
		return;
	step__release(s, d->env.k);
	if (!published)
		step__drop_journal(s);
	s->state = published ? STEP_FINISHING : STEP_DONE;
}

void daemon__leave_behind(struct daemon *d)
{
	d->left_behind = true;
}

static void advance_step(struct daemon *d, struct step *s, uint64_t now)
{
	if (now >= step_sensors__settle_due(s->sensors))
		step_sensors__settle(s->sensors, s->families, now);
	switch (s->state) {
	case STEP_NEW:
	case STEP_ACTIVE:
		if (cgroup_gone(d->env.k, s))
			begin_end(d, s, now);
		else if (s->state == STEP_ACTIVE)
			daemon_publish_live(d, s, now);
		if (s->state == STEP_ACTIVE)
			learn_more(&d->env, s, now);
		publication__check(&s->pub, now);
		break;
	case STEP_ENDING:
		job_attrs__take(s, &d->env, now);
		if (has_come_to_rest(s, &d->env, d->left_behind, now))
			end_step(&d->env, s, now);
		break;
	case STEP_ASKING:
		take_slurms_answers(&d->env, s, now);
		break;
	case STEP_FINISHING:
		if (complete_journal(s, &d->env,
				     d->opts.embedded && now > s->end_boot_ns + REST_MAX_NS))
			daemon_finish_file(d, &s->pub, now);
		break;
	case STEP_IGNORED:
		advance_ignored(d, s, now);
		break;
	case STEP_DONE:
		break;
	}
}

static void drop_done(struct daemon *d)
{
	struct pending_file **o = &d->pending_files;
	struct step **p = &d->steps;

	while (*p) {
		struct step *s = *p;

		if (s->state != STEP_DONE) {
			p = &s->next;
			continue;
		}
		*p = s->next;
		d->journals.left_out += s->lost_rows;
		step__free(s);
	}
	while (*o) {
		struct pending_file *done = *o;

		if (!done->pub.done) {
			o = &done->next;
			continue;
		}
		*o = done->next;
		publication__end(&done->pub);
		free(done);
	}
}

/* Some step is profiled, or may be. */
static bool any_wanted(const struct step *s)
{
	for (; s; s = s->next)
		if (s->state != STEP_IGNORED)
			return true;
	return false;
}

void daemon_advance(struct daemon *d, uint64_t now)
{
	struct pending_file *o;
	struct step *s;
	bool again = true;

	job_infos__turn(d->env.jobs, now);
	while (again) { /* a step may go through several states at once */
		again = false;
		for (s = d->steps; s; s = s->next) {
			enum step_state was = s->state;

			advance_step(d, s, now);
			again |= s->state != was;
		}
	}
	for (o = d->pending_files; o; o = o->next)
		daemon_finish_file(d, &o->pub, now);
	daemon_limit_journals(d, now);
	kern__reap(d->env.k);
	drop_done(d);
	if (d->automerge)
		automerge__advance(d->automerge, d, now);
	if (any_wanted(d->steps))
		d->watch.idle_since_ns = 0;
	else if (!d->watch.idle_since_ns)
		d->watch.idle_since_ns = now;
}

bool step_list__busy(const struct step *s, uint64_t now)
{
	for (; s; s = s->next)
		if (s->state == STEP_ENDING || s->state == STEP_ASKING ||
		    (s->state == STEP_NEW && now < s->start_boot_ns + STEP_YOUNG_NS))
			return true;
	return false;
}
