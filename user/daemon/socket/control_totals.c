// SPDX-License-Identifier: GPL-2.0-only
/* What a program's own step, and one task of it, have used up to now, sent to that program: no row
 * of the profile comes of it. */
#include "daemon/socket/control_internal.h"

#include <errno.h>

#include "daemon/follow/sampling.h"
#include "daemon/record/step_rows.h"

static int check_step(struct call *k, const struct step *s)
{
	const struct peer *p = k->p;

	if (!s || s->state == STEP_IGNORED)
		return control_call__refuse(k, -ESRCH,
					    "this process is in no step that is profiled");
	if (p->uid && s->uid_known && s->uid != p->uid)
		return control_call__refuse(k, -EACCES, "this step is another user's");
	if (s->state != STEP_ACTIVE || (p->uid && !s->uid_known))
		return control_call__refuse(k, -EAGAIN, "this step has just begun");
	return 0;
}

/* 0 also where the step has no such table. */
static int send_kind(struct call *k, struct step *s, int kind, int gtid)
{
	const struct table t = {.kind = kind, .gtid = gtid};
	union cell cells[MAX_COLUMNS];

	if (!step__totals(s, &k->c->d->env, kind, gtid, cells))
		return 0;
	return control_live__send(k->c, k->p, s, &t, cells, k->now);
}

int control_totals__send(struct call *k, const struct jpc_totals *question)
{
	const uint32_t task = question->task; /* the buffer is used for the answer */
	struct step *s = control_rows__own_step(k);
	int err = check_step(k, s);

	if (err)
		return err;
	quota__charge(k->p->quota, QUOTA_LOOK);
	err = sampling__look(&k->c->d->env);
	if (err)
		return control_call__refuse(k, err, "the counters cannot be read");
	k->p->live.tables = 0;
	err = send_kind(k, s, KIND_STEP, JP_GTID_NONE);
	if (!err && task <= INT32_MAX)
		err = send_kind(k, s, KIND_TASKS, (int)task);
	k->reply.number = k->p->live.tables;
	return err;
}
