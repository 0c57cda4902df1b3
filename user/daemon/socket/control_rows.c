// SPDX-License-Identifier: GPL-2.0-only
/* Messages that bring external series: their rows go to the request of a step. */
#include "daemon/socket/control_internal.h"

#include <errno.h>

#include "base/clock.h"
#include "daemon/follow/follow.h"

/* How far the time of a row from a job's own program may be from now. */
#define AHEAD_NS NSEC_PER_SEC

/* A task's first message may come before the events of the kernel have been read. */
struct step *control_rows__own_step(const struct call *k)
{
	const struct peer *p = k->p;
	struct step *s = p->in_step ? request_match__find_step(k->c->d->steps, &p->key) : NULL;

	if (p->in_step && (!s || s->state == STEP_NEW)) {
		daemon_sync_steps(k->c->d);
		s = request_match__find_step(k->c->d->steps, &p->key);
	}
	return s;
}

struct request *control_rows__request(struct call *k, int *err)
{
	struct peer *p = k->p;
	struct request *r = request_match__of_serial(&k->c->d->env, p->request);
	struct step *s;

	if (r && !p->in_task)
		return r;
	s = control_rows__own_step(k);
	if (!s || s->state == STEP_IGNORED) {
		*err = reply__refuse(&k->reply, -ESRCH,
				     s ? "this step is not profiled: ask for it with --jobprof"
				     : p->in_step ? "this step is not known to jobprofd"
						  : CONTROL_NO_STEP);
		return NULL;
	}
	if (p->uid && (!s->uid_known || s->uid != p->uid)) {
		*err = reply__refuse(&k->reply, -EACCES, "this step is another user's");
		return NULL;
	}
	r = request_match__of_step(&k->c->d->env, &p->key, true);
	p->request = r ? r->serial : 0;
	*err = r ? 0 : -ENOMEM;
	return r;
}

static int refuse_error(struct call *k, int err)
{
	switch (err) {
	case -EINVAL:
		return reply__refuse(&k->reply, err,
				     "a name is missing, given twice, taken, or has a "
				     "character that no name has");
	case -EDQUOT:
		return reply__refuse(&k->reply, err,
				     "too much for one step: not stored, and counted");
	default:
		return err;
	}
}

#define COLUMNS 110 /* what they may have of the reply's text */

static int refuse_table(struct call *k, const struct request *r, const struct jpc_table *m, int err)
{
	char columns[COLUMNS];

	if (err != -EEXIST)
		return refuse_error(k, err);
	external_series__columns(&r->external, m, k->p->in_task, columns, sizeof(columns));
	return reply__refuse(
		&k->reply, err,
		"series %s has the columns %s in this step: give these, or another name", m->name,
		columns);
}

int control_rows__table(struct call *k, const struct jpc_head *h)
{
	const struct jpc_table *m = (const void *)h;
	struct request *r;
	int err = 0;

	if (m->ncols > JPC_COLUMNS || h->length != sizeof(*m) + m->ncols * sizeof(m->col[0]) ||
	    m->table >= PEER_TABLES)
		return reply__refuse(&k->reply, -EINVAL,
				     "a table of %u columns does not fit its message", m->ncols);
	r = control_rows__request(k, &err);
	if (!r)
		return err;
	err = external_series__declare(&r->external, m, k->p->in_task);
	if (err < 0)
		return refuse_table(k, r, m, err);
	k->p->tables[m->table] = (int16_t)err;
	return 0;
}

/* Unix time of a row: the time in the message, or now. */
static int row_time(struct call *k, const struct request *r, int64_t sent_ns, int64_t *time)
{
	int64_t now = (int64_t)clock__real_ns();
	const struct step *s;

	*time = sent_ns ? sent_ns : now;
	if (!sent_ns || !k->p->in_task)
		return sent_ns < 0 ? reply__refuse(&k->reply, -ERANGE, "there is no such time") : 0;
	s = request_match__find_step(k->c->d->steps, &r->key);
	if (sent_ns > now + (int64_t)AHEAD_NS || !s || sent_ns < (int64_t)s->start_real_ns)
		return reply__refuse(&k->reply, -ERANGE,
				     "the time is not between the step's start and now");
	return 0;
}

int control_rows__rows(struct call *k, const struct jpc_head *h)
{
	const struct jpc_rows *m = (const void *)h;
	struct request *r;
	int err = 0, index;
	unsigned ncols, i;
	int64_t time;

	r = control_rows__request(k, &err);
	if (!r)
		return err;
	index = m->table < PEER_TABLES ? k->p->tables[m->table] : -1;
	if (index < 0 || (unsigned)index >= r->external.ntables)
		return reply__refuse(&k->reply, -EINVAL, "table %u was not declared", m->table);
	ncols = r->external.table[index]->ncols;
	if (m->nrows > JPC_MAX || h->length != sizeof(*m) + 8ull * m->nrows * (1 + ncols))
		return reply__refuse(&k->reply, -EINVAL,
				     "%u rows of %u columns do not fit their message", m->nrows,
				     ncols);
	for (i = 0; !err && i < m->nrows; i++) {
		const uint64_t *row = &m->cell[i * (1 + ncols)];

		err = row_time(k, r, (int64_t)row[0], &time);
		if (!err)
			err = refuse_error(k, external_series__row(&r->external, (unsigned)index,
								   time, row + 1));
	}
	k->c->d->env.external_rows = true;
	return err;
}

int control_rows__mark(struct call *k, const struct jpc_head *h)
{
	const struct jpc_mark *m = (const void *)h;
	struct request *r;
	int64_t time;
	int err = 0;

	if (!TERMINATED(m->name))
		return reply__refuse(&k->reply, -EINVAL, "a text does not end");
	r = control_rows__request(k, &err);
	if (!r)
		return err;
	err = row_time(k, r, m->time_ns, &time);
	if (!err)
		err = refuse_error(k, external_series__mark(&r->external, time, m->name));
	k->c->d->env.external_rows = true;
	return err;
}
