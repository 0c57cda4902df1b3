// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests that came through the socket, and the steps to which they belong. */
#include "daemon/follow/follow.h"

#include "base/clock.h"
#include "daemon/record/record.h"
#include "daemon/step/step.h"

/* A request is freed when its step has not appeared within that time. */
#define EXPIRE_NS (120 * NSEC_PER_SEC)

bool request_match__has_key(const struct step *s, const struct step_key *p)
{
	struct step_key here;

	if (!s->ids.has_step)
		return false;
	step__key(s, &here);
	return step_key__equal(&here, p);
}

static bool is_alive(const struct step *s)
{
	return s->state == STEP_NEW || s->state == STEP_ACTIVE || s->state == STEP_IGNORED;
}

struct step *request_match__find_step(struct step *s, const struct step_key *p)
{
	for (; s; s = s->next)
		if (is_alive(s) && request_match__has_key(s, p))
			return s;
	return NULL;
}

struct request *request_match__of_serial(const struct step_env *env, uint64_t serial)
{
	struct request *r;
	struct step *s;

	if (!serial)
		return NULL;
	for (r = *env->requests; r; r = r->next)
		if (r->serial == serial)
			return r;
	for (s = *env->steps; s; s = s->next)
		if (s->req && s->req->serial == serial)
			return s->req;
	return NULL;
}

struct request *request_match__of_step(const struct step_env *env, const struct step_key *p,
				       bool make)
{
	struct step *s = request_match__find_step(*env->steps, p);
	struct request *r;

	for (r = *env->requests; r; r = r->next)
		if (step_key__equal(&r->key, p)) {
			if (!r->key.job_path[0]) /* this key says more */
				r->key = *p;
			return r;
		}
	if (s && s->req)
		return s->req;
	r = make ? request__new(p) : NULL;
	if (!r)
		return NULL;
	if (s) {
		s->req = r;
	} else {
		r->next = *env->requests;
		*env->requests = r;
	}
	return r;
}

static void claim_request(struct request **requests, struct step *s, struct kern *k)
{
	struct request **at;

	for (at = requests; *at && !s->req; at = &(*at)->next) {
		struct request *r = *at;

		if (!request_match__has_key(s, &r->key))
			continue;
		*at = r->next;
		r->next = NULL;
		s->req = r;
		return;
	}
}

void request_match__claim(const struct step_env *env, uint64_t now)
{
	struct request **at = env->requests;
	struct step *s;

	for (s = *env->steps; s; s = s->next) {
		if (!is_alive(s))
			continue;
		if (!s->req)
			claim_request(env->requests, s, env->k);
		/* the request came after the step had been ignored */
		if (s->state == STEP_IGNORED && !s->given_up && s->req && s->req->asked_by &&
		    !request__refuses(s->req))
			s->state = STEP_NEW;
	}
	while (*at) {
		struct request *r = *at;

		if (now < r->updated_ns + EXPIRE_NS) { /* it may have come after now */
			at = &r->next;
			continue;
		}
		*at = r->next;
		request__free(r);
	}
}

void request_match__journal_external(struct step *s, const struct step_env *env)
{
	for (; s; s = s->next)
		if (s->state == STEP_ACTIVE && s->req)
			step__journal_external(s, env);
}
