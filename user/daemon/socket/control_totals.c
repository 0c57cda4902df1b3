// SPDX-License-Identifier: GPL-2.0-only
/* What a program's own step, and one task of it, have used up to now, sent to that program: rows of
 * the profile come of it only where they and the step's journal are asked for. */
#include "daemon/socket/control_internal.h"

#include <errno.h>
#include <unistd.h>

#include "daemon/child/journal_copy.h"
#include "daemon/follow/sampling.h"
#include "daemon/record/step_rows.h"

static int check_step(struct call *k, const struct step *s)
{
	const struct peer *p = k->p;

	if (!s || s->state == STEP_IGNORED)
		return control_call__refuse(k, -ESRCH, CONTROL_NO_STEP);
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

/* The user reads what the step's file will have. Without it the answer is good for something. */
static void send_journal(struct call *k, const struct step *s)
{
	const struct child_user u = {s->pub.user, s->pub.uid, s->pub.gid};
	const struct jpc_journal m = {.head = {.magic = JPC_MAGIC,
					       .version = JPC_VERSION,
					       .type = JPC_JOURNAL,
					       .length = sizeof(m)}};
	int fd = s->unnamed ? -1 : journal_copy__start(s->pub.journal, &u);

	if (fd < 0)
		return;
	peer__send_fds(k->p, &m, (const int[FD_MESSAGE_FILES]){fd, -1});
	close(fd);
}

int control_totals__send(struct call *k, const struct jpc_totals *question)
{
	const bool rows = question->head.flags & JPC_F_ROWS;
	const bool journal = rows && question->head.flags & JPC_F_JOURNAL;
	const uint32_t task = question->task; /* the buffer is used for the answer */
	struct step *s = control_rows__own_step(k);
	int err = check_step(k, s);

	if (err)
		return err;
	quota__charge(k->p->quota, QUOTA_LOOK + (rows ? QUOTA_ROWS : 0));
	err = sampling__look(&k->c->d->env);
	if (err)
		return control_call__refuse(k, err, "the counters cannot be read");
	if (rows)
		sampling__rows_of(s, &k->c->d->env);
	if (journal)
		send_journal(k, s);
	k->p->live.tables = 0;
	err = send_kind(k, s, KIND_STEP, JP_GTID_NONE);
	if (!err && task <= INT32_MAX)
		err = send_kind(k, s, KIND_TASKS, (int)task);
	k->reply.number = k->p->live.tables;
	return err;
}
