// SPDX-License-Identifier: GPL-2.0-only
/* The end of a step. */
#include "daemon/step_end.h"

#include "daemon/node.h"
#include "daemon/step_ask.h"
#include "daemon/step_attrs.h"
#include "daemon/step_frame.h"
#include "daemon/step_rows.h"

void step__close(struct step *s, struct kern *k)
{
	uint32_t slot;

	step__collect_slots(s, k);
	for_each_slot(slot, s) kern__close(k, slot);
	s->late_requests = kern__requests(k, s->slot);
	if (s->asking_env && !s->job_env) /* the answer would come too late */
		step__use_kept_env(s, k);
}

void step__last_rows(struct step *s, const struct step_env *env)
{
	s->closing = true;
	if (s->families & FAM_SENSORS)
		node__tick(env->node, *env->steps, env, snapshot__boot_ns(env->snap));
	if (s->req)
		step__journal_external(s);
	step__rows(s, env, true);
}

void step__ask_squeue(struct step *s, const struct step_env *env, uint64_t now_ns)
{
	end_reason__begin(&s->end_reason, s->req ? &s->req->site : NULL,
			  step__node_name(s, env->node_name), s->ids.job_id, now_ns);
}

void step__finish(struct step *s, const struct step_env *env, const char *reason)
{
	step__put_end_attrs(s, env, reason);
	kern__set_done(env->k, s->slot);
	journal__end(s->journal);
	step__commit(s, 0, 0);
	step__write_rest(s);
	s->state = STEP_FINISHING;
}
