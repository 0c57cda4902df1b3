// SPDX-License-Identifier: GPL-2.0-or-later
/* The identity of a step: its job, and its user. */
#include "daemon/follow/follow.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "daemon/record/step_journal.h"
#include "daemon/record/step_kinds.h"
#include "daemon/step/step_ask.h"
#include "identity/proc.h"

/* Directories of steps that have ended may stay for ever, so the interval between two questions
 * grows. When a program begins there the kernel side reports its user. */
#define ASK_OWNER_MIN_NS (NSEC_PER_SEC / 10)
#define ASK_OWNER_MAX_NS (60 * NSEC_PER_SEC)
/* How long an ended step waits for answers. */
#define ANSWER_NS (3 * NSEC_PER_SEC)

static void copy_job_from_siblings(struct step *s, const struct step *all)
{
	for (; all; all = all->next) {
		if (all == s || !step__same_job(all, s))
			continue;
		if (!s->ids.has_job && all->ids.has_job) {
			s->ids.has_job = true;
			s->ids.job_id = all->ids.job_id;
		}
		if (!s->uid_known && all->uid_known) {
			s->uid_known = true;
			s->uid = all->uid;
		}
	}
}

/* Asks which user the processes of the step have: its first program began before it could be
 * seen. */
static void ask_owner(struct step *s, const struct step_env *env)
{
	uint64_t now = clock__boot_ns();

	if (now < s->next_ask_ns)
		return;
	s->ask_every_ns = s->ask_every_ns ? 2 * s->ask_every_ns : ASK_OWNER_MIN_NS;
	if (s->ask_every_ns > ASK_OWNER_MAX_NS)
		s->ask_every_ns = ASK_OWNER_MAX_NS;
	s->next_ask_ns = now + s->ask_every_ns;
	step__ask_owner(s, env);
}

static void find_uid(struct step *s, const struct step_env *env)
{
	const struct jp_slot *own;
	uint32_t slot;

	if (env->embedded) {
		s->uid = env->uid;
		s->gid = env->gid;
		s->uid_known = true;
	} else if (s->ids.has_uid) {
		s->uid = s->ids.uid;
		s->uid_known = true;
	}
	step__collect_slots(s, kern__slots(env->k));
	for_each_slot(slot, s)
	{
		const struct jp_slot *info = kern__slot(env->k, slot);

		if (!s->uid_known && info->root_pid && step__may_own(s, info->uid)) {
			s->uid = info->uid;
			s->uid_known = true;
		}
	}
	own = kern__slot(env->k, s->slot);
	if (!s->uid_known && own->uid) {
		s->uid = own->uid;
		s->uid_known = true;
	}
	if (!s->uid_known &&
	    (step__began_before(s, env->k) || clock__boot_ns() > s->start_boot_ns + STEP_YOUNG_NS))
		ask_owner(s, env);
}

/* Sets the user's name and group. False: the name service has not answered yet. */
static bool name_user(struct step *s, const struct step_env *env)
{
	const struct user *u = NULL;
	int err = 0;

	if (!env->embedded) {
		u = users__find(env->users, env->lookups, s->uid, clock__boot_ns(), &err);
		s->gid = s->req && s->req->known && s->req->info.gid != JPC_UNKNOWN
				 ? s->req->info.gid
			 : u ? u->gid
			     : s->uid;
		if (u && str__safe_name(u->name))
			str__copy(s->pub.user, sizeof(s->pub.user), u->name);
		else
			snprintf(s->pub.user, sizeof(s->pub.user), "%u", s->uid);
	}
	s->pub.uid = s->uid;
	s->pub.gid = s->gid;
	snprintf(s->pub.dir, sizeof(s->pub.dir), "%s", env->hdf5_dir ? env->hdf5_dir : "");
	return err != -EAGAIN;
}

static bool ignore_step(struct step *s, const char *reason)
{
	s->given_up = true;
	log_warn("step at %s is not profiled: %s", s->path, reason);
	s->state = STEP_IGNORED;
	return false;
}

/* The job's user is not known, and root's directory is not the right one. Where no program was seen
 * the step was not used: every node that a job has and does not use has such an extern step. */
static bool ignore_unused(struct step *s, struct kern *k)
{
	if (s->ids.step_id != STEP_EXTERN && step__began_before(s, k))
		return ignore_step(s,
				   "it was over before it could be counted, and nothing says whose "
				   "it was");
	s->given_up = true;
	log_debug("nobody has used the step at %s: it has no file", s->path);
	s->state = STEP_IGNORED;
	return false;
}

/* Takes the ids that root's Slurm plugins have sent. */
static void take_slurm_ids(struct step *s)
{
	const struct jpc_step *info = s->req && s->req->known ? &s->req->info : NULL;

	if (info && !s->ids.has_job && info->job_id != JPC_UNKNOWN) {
		s->ids.has_job = true;
		s->ids.job_id = info->job_id;
	}
	if (info && !s->uid_known && info->uid != JPC_UNKNOWN) {
		s->uid_known = true;
		s->uid = info->uid;
	}
}

static bool find_identity(struct step *s, const struct step_env *env, const struct step *all,
			  bool last)
{
	char name[160];

	if (step__parse_path(s, env))
		return ignore_step(s, "its directory has no valid step name");
	take_slurm_ids(s);
	if (!s->ids.has_job && s->ids.row->family == LAYOUT_SLURM)
		step__ask_stepd(s, env);
	find_uid(s, env);
	copy_job_from_siblings(s, all);
	if (!s->ids.has_job && s->ids.row->family == LAYOUT_SLURM)
		return last ? ignore_step(s, "its job id is not known") : false;
	if (!s->uid_known) {
		if (!last)
			return false;
		if (s->ids.row->family == LAYOUT_SLURM)
			return ignore_unused(s, env->k);
		s->uid_known = true;
	}
	s->asking_name = !name_user(s, env);
	if (s->asking_name && !env->leaving) /* later, every question about names is answered */
		return false;
	if (layout__step_file_name(&s->ids, name, sizeof(name)))
		return ignore_step(s, "no file name can be made of its ids");
	if (env->file)
		str__copy(s->pub.name, sizeof(s->pub.name), env->file);
	else
		snprintf(s->pub.name, sizeof(s->pub.name), "%s_%s.h5", name,
			 step__node_name(s, env->node_name));
	return true;
}

/* Whether the step is to be profiled is known. SPANK sends its message before the tasks are forked,
 * so none will come once a task's first program runs, or after STEP_YOUNG_NS. */
static bool is_decided(const struct step *s, const struct step_env *env, bool last)
{
	uint32_t slot;

	if (last || !env->can_ask || s->ids.row->family != LAYOUT_SLURM ||
	    (s->req && s->req->spank) || step__began_before(s, env->k) ||
	    clock__boot_ns() > s->start_boot_ns + STEP_YOUNG_NS)
		return true;
	for_each_slot(slot, s) if (kern__slot(env->k, slot)->root_pid) return true;
	return false;
}

/* False: the step is not to be profiled. */
static bool take_request(struct step *s, const struct step_env *env)
{
	const struct request *r = s->req;

	s->families = r && r->asked_by ? r->families : env->families;
	s->own_freq = r && r->own_freq;
	step__set_freq(s, s->own_freq ? &r->freq : &env->freq);
	step__select_columns(s, env);
	return r && r->asked_by ? !r->none : env->families != 0;
}

/* An extern step has no request of its own. It has no file where no step of its job on this node is
 * profiled, and one of them has no file by its user's wish. */
static bool job_refuses(const struct step *s, const struct step *all)
{
	bool refuses = false;

	for (; all; all = all->next) {
		if (all == s || !step__same_job(all, s))
			continue;
		if (all->state != STEP_NEW && all->state != STEP_IGNORED && !all->pub.unwanted)
			return false;
		refuses |= all->state == STEP_IGNORED && request__refuses(all->req);
		refuses |= all->pub.unwanted;
	}
	return refuses;
}

static bool is_refused(struct step *s, const struct step_env *env)
{
	if (s->ids.step_id == STEP_EXTERN && s->ids.has_step)
		s->refused |= job_refuses(s, *env->steps);
	return s->refused || request__refuses(s->req);
}

/* The step may be gone when its job's extern step is looked at. */
static void tell_extern(const struct step *s, const struct step_env *env)
{
	for (struct step *o = *env->steps; o; o = o->next)
		if (step__same_job(o, s))
			is_refused(o, env);
}

/* Every job has an extern step, which is useful only where the job's user has logged in. */
static bool is_unused(struct step *s, const struct step_env *env)
{
	uint32_t slot;

	if (env->extern_all || s->ids.step_id != STEP_EXTERN || s->user_seen)
		return false;
	for_each_slot(slot, s) if (kern__slot(env->k, slot)->uid) return false;
	ask_owner(s, env); /* of a program that began before it could be seen */
	return true;
}

/* The step ended before an answer came: it waits for ANSWER_NS. */
static bool still_waits(struct step *s)
{
	uint64_t now = clock__boot_ns();

	if (!s->asking_ns)
		s->asking_ns = now;
	return s->unanswered && now < s->asking_ns + ANSWER_NS;
}

/* Whether everything is known that decides whether the step has a file. */
static void begin(struct step *s, const struct step_env *env, bool last)
{
	bool wanted = take_request(s, env);

	if (is_refused(s, env)) {
		step__refuse(s, env);
		return;
	}
	if (!wanted) {
		s->state = STEP_IGNORED;
		return;
	}
	if (!env->hdf5_dir) {
		ignore_step(s, "ProfileHDF5Dir is not set");
		return;
	}
	s->unused = is_unused(s, env);
	if (s->unused) {
		if (last)
			ignore_unused(s, env->k);
		return;
	}
	step__drop_journal(
		s); /* the first request asked for nothing, and another one has precedence */
	s->state = step__open_journal(s, env) ? STEP_IGNORED : STEP_ACTIVE;
	step__set_grid(s, env);
	if (s->state == STEP_ACTIVE)
		log_debug("profiling %s (uid %u)", s->pub.name, s->uid);
}

void step__identify(struct step *s, const struct step_env *env, const struct step *all, bool last)
{
	bool found;

	if (s->state == STEP_ACTIVE && is_refused(s, env)) {
		step__refuse(s, env);
	} else if (s->state == STEP_NEW) {
		/* this also asks for what is not known */
		found = find_identity(s, env, all, false);
		last = last && !still_waits(s);
		if (!found && last && s->state == STEP_NEW)
			found = find_identity(s, env, all, true);
		if (found && is_decided(s, env, last))
			begin(s, env, last);
	} else {
		return;
	}
	if (s->state == STEP_IGNORED && request__refuses(s->req))
		tell_extern(s, env);
}
